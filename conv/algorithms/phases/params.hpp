// What the launches around the phases of a transposed convolution are told. Shared by planner and device code.
//
// Output positions that leave the same rest at the division by the stride are a phase: an ordinary convolution of the input with
// the taps that such positions have. Its filter is gathered into the packed filter, its outputs lie in the workspace, and the last
// launch puts those of all phases where they belong. Phases are convolutions of their own, or, united, the output channels of one.
#pragma once

#include <cstdint>

#include "common/layout/fast_divisor.hpp"

namespace shiftconv::kernels::phases {

inline constexpr int32_t kThreads = 256;
inline constexpr int32_t kMostPhases = 27;  ///< that are not united: strides up to 3 in three dimensions
inline constexpr int32_t kMostStride = 32;  ///< of an axis
inline constexpr int32_t kAxes = 3;         ///< depth, height, width

/// What all phases with the same rest along an axis have in common.
struct AxisOfPhase {
  int32_t taps = 0;             ///< of the packed filter; 0: no output has this rest
  int32_t before = 0, own = 0;  ///< those of the phase, after so many of zeros; zeros are after them, too
  int32_t firstTap = 0;         ///< its tap i is that at firstTap + (own - 1 - i) * tapStep of the filter
  int32_t extent = 0;           ///< of the outputs as they lie in the workspace
  int32_t skip = 0;             ///< of them in front of those that are outputs of the convolution
};

/// Byte offsets: in the packed filter; of outputs and residual in the workspace.
struct PhasePlace {
  uint64_t filter = 0, output = 0, residual = 0;
};

/// Copies of whole vectors between a tensor and the workspace.
struct Params {
  void* tensor = nullptr;        ///< the filter; the output; the residual
  uint8_t* workspace = nullptr;  ///< for the filter: where it is packed
  AxisOfPhase axis[kAxes][kMostStride] = {};
  int32_t stride[kAxes] = {1, 1, 1};
  bool isUnited = false;
  PhasePlace place[kMostPhases] = {};  ///< of phases that are not united; else of the first one,
  PhasePlace step;                     ///< and from each to the next

  // Of the filter
  int32_t tapStep[kAxes] = {1, 1, 1};  ///< negative where the filter is flipped
  int32_t filterTaps[kAxes] = {1, 1, 1};
  int32_t filterRows = 0;  ///< K
  uint32_t zeros = 0;      ///< a word of what an absent tap holds, each byte the same

  // Of output and residual
  layout::FastDivisor outputDepth, outputHeight, outputWidth;
  uint32_t pixels = 0;     ///< of all images
  int64_t pitchBytes = 0;  ///< from pixel to pixel in the tensor
  int64_t phasePitch = 0;  ///< the same of a phase in the workspace

  layout::FastDivisor rowVectors;  ///< of a filter row's channels, or of a pixel
  int32_t vectorBytes = 1;         ///< 1, 2, 4, 8 or 16
};

/// A number for each output channel, repeated for every phase of those that are united.
struct RepeatParams {
  const void* tensor = nullptr;
  uint8_t* workspace = nullptr;
  uint64_t place = 0;  ///< in the workspace
  layout::FastDivisor channels;
  uint32_t all = 0;   ///< channels of all phases
  int32_t bytes = 4;  ///< of a number
};

}  // namespace shiftconv::kernels::phases
