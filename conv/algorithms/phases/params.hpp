// What the launches around the phases of a transposed convolution are told. Shared by planner and device code.
//
// Output positions that leave the same rest at the division by the stride are a phase: an ordinary convolution of the input with
// the taps that such positions have. Its filter is gathered into the packed filter, its outputs lie densely in the workspace, and
// the last launch puts those of all phases where they belong.
#pragma once

#include <cstdint>

#include "common/layout/fast_divisor.hpp"

namespace shiftconv::kernels::phases {

inline constexpr int32_t kThreads = 256;
inline constexpr int32_t kMostPhases = 27;  ///< strides up to 3 in three dimensions
inline constexpr int32_t kAxes = 3;         ///< depth, height, width

/// Byte offsets are in the workspace, that of the filter in the packed filter.
struct Phase {
  uint64_t filter = 0, output = 0, residual = 0;
  int32_t taps[kAxes] = {};      ///< of the phase's filter
  int32_t firstTap[kAxes] = {};  ///< tap i of the phase is that at firstTap + (taps - 1 - i) * tapStep of the filter
  int32_t extent[kAxes] = {};    ///< of the outputs as they lie in the workspace
  int32_t skip[kAxes] = {};      ///< of them in front of those that are outputs of the convolution
  bool isEmpty = false;          ///< without taps: the filter has one, of zeros
};

/// Copies of whole vectors between a tensor and the workspace.
struct Params {
  void* tensor = nullptr;        ///< the filter; the output; the residual
  uint8_t* workspace = nullptr;  ///< for the filter: where it is packed
  Phase phase[kMostPhases] = {};
  int32_t stride[kAxes] = {1, 1, 1};

  // Of the filter
  int32_t tapStep[kAxes] = {1, 1, 1};  ///< negative where the filter is flipped
  int32_t filterTaps[kAxes] = {1, 1, 1};
  int32_t filterRows = 0;  ///< K
  uint32_t zeros = 0;      ///< a word of what an absent tap holds

  // Of output and residual
  layout::FastDivisor outputDepth, outputHeight, outputWidth;
  uint32_t pixels = 0;     ///< of all images
  int64_t pitchBytes = 0;  ///< from pixel to pixel in the tensor

  layout::FastDivisor rowVectors;  ///< of a filter row's channels, or of a pixel
  int32_t vectorBytes = 1;         ///< 1, 2, 4, 8 or 16
};

}  // namespace shiftconv::kernels::phases
