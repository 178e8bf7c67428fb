// The geometry of the channelwise kernels and what the host tells them. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/layout/fast_divisor.hpp"
#include "conv/kernels/decoding.hpp"
#include "conv/kernels/lean.hpp"

namespace shiftconv::kernels::channelwise {

inline constexpr int32_t kMostThreads = 128;  ///< of a CTA

/// One spatial axis: tap `i` of output position `o` lies at o * stride + i * dilation - padBefore.
struct Axis {
  int32_t extent = 1, taps = 1, stride = 1, dilation = 1, padBefore = 0;
};

/// A unit is the outputs of a thread but for their channels: `columns` of the kernel's Kind by `rows`. A CTA has ctaUnits units of
/// channelThreads * channels channels.
struct Params {
  // What images without depth read comes first, see EpilogueParams.
  const void* input = nullptr;
  const void* filter = nullptr;               ///< [K][T*R*S]
  layout::FastDivisor columnUnits, rowUnits;  ///< units of a row, of a plane
  layout::FastDivisor channelBlocks;          ///< blockIdx.x counts them first, then the CTAs along the units
  layout::FastDivisor channelThreads;
  layout::FastDivisor multiplier;  ///< K / C
  Axis height, width;
  int32_t outputHeight = 0, outputWidth = 0;
  int32_t units = 0, ctaUnits = 0;
  int32_t rows = 1;          ///< output rows of a unit
  int32_t pixelBytes = 0;    ///< from input pixel to input pixel
  uint32_t weightBytes = 0;  ///< of the filters of a CTA, staged in shared memory; 0: every thread loads its own
  bool bf16 = false;         ///< of 16 bits; else f16
  LeanFlags lean;
  gemm::EpilogueParams epilogue;  ///< rows are output pixels, columns output channels
  Axis depth;
  layout::FastDivisor outputDepth;  ///< planes of an image
  Decoding inputs, filters;         ///< of other types
};

}  // namespace shiftconv::kernels::channelwise
