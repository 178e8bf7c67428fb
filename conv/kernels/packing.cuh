// Pairs of f32 sums as pairs of 16-bit outputs, and pairs of residuals in front of them.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/ptx/conversion.cuh"
#include "conv/kernels/limits.hpp"

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

template <class Element>
__device__ __forceinline__ float2 unpackPair(uint32_t pair);
template <>
__device__ __forceinline__ float2 unpackPair<__half>(uint32_t pair) {
  return __half22float2(*reinterpret_cast<const __half2*>(&pair));
}
template <>
__device__ __forceinline__ float2 unpackPair<__nv_bfloat16>(uint32_t pair) {
  return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&pair));
}

/// What `atLeast` makes of a pair with the result: nothing, or ReLU. Both keep NaN, as frameworks do.
template <class Element>
__device__ __forceinline__ uint32_t leastPair(bool relu);
template <>
__device__ __forceinline__ uint32_t leastPair<__half>(bool relu) {
  return relu ? 0u : 0xFC00FC00u;  // minus infinity
}
template <>
__device__ __forceinline__ uint32_t leastPair<__nv_bfloat16>(bool relu) {
  return relu ? 0u : 0xFF80FF80u;
}
template <class Element>
__device__ __forceinline__ uint32_t atLeast(uint32_t pair, uint32_t least);
template <>
__device__ __forceinline__ uint32_t atLeast<__half>(uint32_t pair, uint32_t least) {
  return ptx::maximumF16x2(pair, least);
}
template <>
__device__ __forceinline__ uint32_t atLeast<__nv_bfloat16>(uint32_t pair, uint32_t least) {
  return ptx::maximumBf16x2(pair, least);
}

/// Keeps NaN.
template <class Element>
__device__ __forceinline__ uint32_t atMost(uint32_t pair, uint32_t most);
template <>
__device__ __forceinline__ uint32_t atMost<__half>(uint32_t pair, uint32_t most) {
  return ptx::minimumF16x2(pair, most);
}
template <>
__device__ __forceinline__ uint32_t atMost<__nv_bfloat16>(uint32_t pair, uint32_t most) {
  return ptx::minimumBf16x2(pair, most);
}

template <class Element>
__device__ __forceinline__ uint32_t limited(uint32_t pair, const Limits& limits) {
  return atMost<Element>(atLeast<Element>(pair, limits.least), limits.most);
}

/// To a pair of sums.
template <class Element>
__device__ __forceinline__ void addResidual(float& low, float& high, float beta, uint32_t residual) {
  const float2 pair = unpackPair<Element>(residual);
  low = fmaf(beta, pair.x, low);
  high = fmaf(beta, pair.y, high);
}

}  // namespace shiftconv::kernels
