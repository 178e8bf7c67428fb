// Anything the user can put right, in one sentence.
#pragma once

#include <stdexcept>

namespace emurun {

struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace emurun
