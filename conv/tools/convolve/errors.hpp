// How far an output tensor is from the exact result, in units that allow to compare libraries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "conv/reference/convolution.hpp"

namespace shiftconv::judged {

struct Errors {
  int64_t elements = 0;
  int64_t beyond = 0;     ///< elements outside their bound, NaN among them
  double worstShare = 0;  ///< largest |error| / bound; kNoShare where an element is infinite, NaN or must be exact and is not
  /// Largest (|error| - r) / (bound - r), r being half a unit in the last place of the output type at the exact value, and the
  /// bound being more than r: what is left of the error when the output's own rounding is taken away.
  double worstSumShare = 0;
  double relativeL2 = 0;     ///< sqrt(sum error^2 / sum value^2) of the finite elements
  bool gapsWritten = false;  ///< something between the pixels is no longer `gap`
  bool right() const { return beyond == 0 && !gapsWritten; }
};
inline constexpr double kNoShare = 1e30;

/// `output`: the problem's output tensor. Every element counts.
Errors compare(const Problem& problem, const reference::Expectation& exact, std::span<const std::byte> output, std::byte gap);

}  // namespace shiftconv::judged
