// Correct kernels, one for every way to order two accesses, and what is missing when a piece of one is left out.
#pragma once

#include <string>
#include <vector>

#include "tests/support/kernel_run.hpp"

namespace shiftconv::tests {

/// The fault shows as an error of the machine or as a hazard, depending on the schedule.
inline constexpr emulator::HazardKind kAnyError = emulator::HazardKind::Count;

/// A change of a kernel's text, and what the checker must say then.
struct Fault {
  std::string name;
  std::string original;     ///< occurs once
  std::string replacement;  ///< of the same number of lines
  emulator::HazardKind kind;
  std::string missing;  ///< part of Hazard::missing
};

struct OrderedKernel {
  std::string name;
  LaunchConfig config;
  std::string body;  ///< between what all begin and end with
  std::vector<Fault> faults;
};

/// The whole kernel with such a body.
std::string withBody(const std::string& body);

std::vector<OrderedKernel> orderedKernels();

}  // namespace shiftconv::tests
