// What kernels of im2col_sm90 are told of a transposed convolution. Output positions that leave the same rests at the division by
// the strides are a phase: positions of one window, of whose pixels each phase reads some. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/layout/fast_divisor.hpp"

namespace shiftconv::kernels::im2col {

inline constexpr int32_t kMostStride = 32;  ///< of an axis: a table has its phases

/// One axis of a phase.
struct AxisPhase {
  int16_t taps = 0;
  int16_t before = 0;    ///< pixels of the window in front of the one that the first tap reads
  int32_t firstTap = 0;  ///< tap i is tap firstTap + i * PhasedAxis::tapStep of the filter
};
/// One axis of all phases.
struct PhasedAxis {
  layout::FastDivisor stride;
  int32_t outputs = 1;  ///< of the whole convolution
  int32_t filterTaps = 1, tapStep = 1;
  AxisPhase phases[kMostStride];  ///< by rest
};
/// Tiles of the phases follow one another, the width fastest, so that they read the same pixels, and write neighbouring ones, at
/// about the same time.
struct Phases {
  layout::FastDivisor count;
  int32_t pixels = 0;  ///< of a phase
  PhasedAxis x, y, z;
};

}  // namespace shiftconv::kernels::im2col
