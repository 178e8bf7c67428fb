// One axis of a transposed convolution, cut into phases: output positions with the same rest at the division by the stride, which
// are an ordinary convolution with stride 1 and some of the taps.
#pragma once

#include <array>
#include <cstdint>

#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

struct TransposedAxis {
  int64_t extent, outputs, taps, stride, dilation, padBefore;
};
/// Depth, height, width.
std::array<TransposedAxis, 3> transposedAxesOf(const Problem& problem);

/// Output positions residue, residue + stride, ... of the transposed convolution are the outputs skip, skip + 1, ... of a
/// convolution with `taps` taps, of which tap i is tap firstTap + (taps - 1 - i) * tapStep of the filter.
struct AxisPhase {
  int64_t outputs = 0;                          ///< 0: no output position has this rest
  int64_t taps = 0, firstTap = 0, tapStep = 1;  ///< taps 0: none; the convolution has one of zeros, which finds only padding
  int64_t dilation = 1, padBefore = 0, padAfter = 0;
  int64_t computed = 0, skip = 0;  ///< outputs of the convolution, and those in front of the first that counts

  /// Whether every output of the convolution is one of the transposed convolution.
  bool isExact() const { return computed == outputs && skip == 0; }
};

/// 0 <= residue < stride.
AxisPhase phaseOf(const TransposedAxis& axis, int64_t residue);

}  // namespace shiftconv::plan
