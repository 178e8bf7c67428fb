// The approximate functions: what error the PTX ISA allows, and what this machine returns, for documentation.
#pragma once

#include <string_view>
#include <vector>

namespace shiftconv::emulator::isa {

struct Approximation {
  std::string_view syntax;   ///< of the form
  std::string_view bound;    ///< PTX ISA 9.0, 9.7.3 and 9.7.4
  std::string_view machine;  ///< what is returned here
};

/// One row for every form with .approx or .full.
const std::vector<Approximation>& approximations();

}  // namespace shiftconv::emulator::isa
