// The geometry of the direct kernels and what the host tells them. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/layout/fast_divisor.hpp"
#include "conv/kernels/input_part.hpp"

namespace shiftconv::kernels::direct {

inline constexpr int32_t kThreads = 128;
inline constexpr int32_t kCtasPerMultiprocessor = 3;  ///< at least, by registers
inline constexpr int32_t kPixels = 4;                 ///< output pixels of a thread
inline constexpr int32_t kColumns = 4;                ///< neighbouring output channels of a thread

/// Bytes of channels that a vector kernel loads at once. 8-bit floats would need more registers as f32.
SHIFTCONV_HOST_DEVICE constexpr int32_t vectorBytes(numerics::NumberType type) {
  return type == numerics::NumberType::E4M3 || type == numerics::NumberType::E5M2 ? 8 : 16;
}

/// One spatial axis: where the tap `i` of output position `o` lies is o * stride + i * dilation - padBefore; of a transposed
/// convolution it is (o + padBefore - i * dilation) / stride, and nowhere if that leaves a rest.
struct Axis {
  int32_t extent = 1, taps = 1, stride = 1, dilation = 1, padBefore = 0;  ///< extent: of the image, repeated pixels included
  int32_t storedExtent = 1;                                               ///< of the tensor: extent / upsample
  layout::FastDivisor upsample;                                           ///< how often a pixel is repeated
};

struct Params {
  InputPart parts[2];
  int32_t partCount = 1;
  const void* filter = nullptr;
  Axis depth, height, width;
  layout::FastDivisor outputDepth, outputHeight, outputWidth;
  layout::FastDivisor groupOutputs;  ///< K / groups
  int32_t groupChannels = 0;         ///< C / groups
  int32_t inputZeroPoint = 0, filterZeroPoint = 0;
  /// Threads of a CTA side by side along the output channels; the others are along the pixels. A power of two.
  uint32_t channelThreads = 1;
  bool transposed = false;
  gemm::EpilogueParams epilogue;  ///< rows are output pixels, columns output channels
};

}  // namespace shiftconv::kernels::direct
