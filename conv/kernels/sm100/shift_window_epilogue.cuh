// Epilogue of shift_window: accumulator row -> bias, activation, conversion -> one pixel of NPQK output.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/ptx/tensor_memory.cuh"
#include "conv/kernels/sm100/shift_window_params.hpp"

namespace shiftconv::kernels {

struct PixelPosition {
  int32_t image, row, column;
};

/// Position of a flat pixel index in N x H x W.
__device__ __forceinline__ PixelPosition pixelOf(const ShiftWindowParams& p, int32_t anchor) {
  const uint32_t flat = static_cast<uint32_t>(anchor);
  const uint32_t image = p.byImage.quotient(flat);
  const uint32_t inImage = flat - image * p.byImage.divisor;
  const uint32_t row = p.byWidth.quotient(inImage);
  return {static_cast<int32_t>(image), static_cast<int32_t>(row), static_cast<int32_t>(inImage - row * p.byWidth.divisor)};
}

/// Eight neighbouring output channels. K is a multiple of 8, so a group is stored whole or not at all.
inline constexpr int32_t kStoreChannels = 8;

__device__ __forceinline__ uint32_t packPair(float low, float high, __half) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
__device__ __forceinline__ uint32_t packPair(float low, float high, __nv_bfloat16) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

template <class Output>
__device__ __forceinline__ void storeGroup(Output* destination, const float (&v)[kStoreChannels]) {
  *reinterpret_cast<uint4*>(destination) = make_uint4(packPair(v[0], v[1], Output{}), packPair(v[2], v[3], Output{}),
                                                      packPair(v[4], v[5], Output{}), packPair(v[6], v[7], Output{}));
}
__device__ __forceinline__ void storeGroup(float* destination, const float (&v)[kStoreChannels]) {
  reinterpret_cast<float4*>(destination)[0] = make_float4(v[0], v[1], v[2], v[3]);
  reinterpret_cast<float4*>(destination)[1] = make_float4(v[4], v[5], v[6], v[7]);
}

/// Whole warp. Reads tileN accumulator columns of this thread's lane from `accumulator` and stores the output channels
/// firstChannel.. of pixel `anchor`, if the lane has one and it is inside P x Q.
template <class Output>
__device__ __forceinline__ void storePixel(const ShiftWindowParams& p, uint32_t accumulator, int32_t firstChannel, bool hasAnchor,
                                           int32_t anchor) {
  const PixelPosition pixel = pixelOf(p, hasAnchor ? anchor : 0);
  const bool stored = hasAnchor && pixel.row < p.outputHeight && pixel.column < p.outputWidth;
  const int64_t outputPixel = (int64_t{pixel.image} * p.outputHeight + pixel.row) * p.outputWidth + pixel.column;
  Output* const row = static_cast<Output*>(p.output) + outputPixel * p.outputPitch;

  constexpr int32_t kColumns = 16;
  for (int32_t column = 0; column < p.tileN; column += kColumns) {
    uint32_t bits[kColumns];
    ptx::tensorLoad16(accumulator + static_cast<uint32_t>(column), bits);
    ptx::tensorLoadWait(bits);
#pragma unroll
    for (int32_t group = 0; group < kColumns; group += kStoreChannels) {
      const int32_t channel = firstChannel + column + group;
      if (!stored || channel >= p.outputChannels) continue;
      float v[kStoreChannels];
#pragma unroll
      for (int32_t i = 0; i < kStoreChannels; ++i) v[i] = __uint_as_float(bits[group + i]);
      if (p.bias != nullptr) {
        const float4 low = *reinterpret_cast<const float4*>(p.bias + channel);
        const float4 high = *reinterpret_cast<const float4*>(p.bias + channel + 4);
        const float bias[kStoreChannels] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int32_t i = 0; i < kStoreChannels; ++i) v[i] += bias[i];
      }
      if (p.relu) {
#pragma unroll
        for (int32_t i = 0; i < kStoreChannels; ++i) v[i] = v[i] < 0.0f ? 0.0f : v[i];  // keeps NaN, as frameworks do
      }
      storeGroup(row + channel, v);
    }
  }
}

}  // namespace shiftconv::kernels
