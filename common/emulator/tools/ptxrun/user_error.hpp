// Anything the user can put right: the command line, a file, a tensor map description.
#pragma once

#include <stdexcept>

namespace ptxrun {

struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace ptxrun
