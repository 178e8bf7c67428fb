// Pairs of f32 sums as pairs of 16-bit outputs.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace shiftconv::kernels {

template <class Element>
__device__ __forceinline__ uint32_t packPair(float low, float high);
template <>
__device__ __forceinline__ uint32_t packPair<__half>(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
template <>
__device__ __forceinline__ uint32_t packPair<__nv_bfloat16>(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

/// Keeps NaN, as frameworks do.
__device__ __forceinline__ float rectified(float v) { return v < 0.0f ? 0.0f : v; }

}  // namespace shiftconv::kernels
