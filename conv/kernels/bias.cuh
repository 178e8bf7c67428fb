// Numbers of a bias of f32, f16 or bf16 to a thread's registers.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/ptx/conversion.cuh"
#include "conv/kernels/bias.hpp"
#include "conv/kernels/neighbours.cuh"

namespace shiftconv::kernels {

__device__ __forceinline__ Bias biasOf(const gemm::EpilogueParams& e) { return {e.bias, e.biasType}; }

/// Of a bias of 16 bits.
__device__ __forceinline__ float halfNumber(const Bias& bias, int32_t channel) {
  const uint32_t bits = static_cast<const uint16_t*>(bias.numbers)[channel];
  return bias.type == gemm::NumberType::F16 ? ptx::unpackF16(bits) : ptx::unpackBf16(bits);
}

/// Of a channel that exists, of a bias that exists.
__device__ __forceinline__ float biasNumber(const Bias& bias, int32_t channel) {
  return bias.type == gemm::NumberType::F32 ? static_cast<const float*>(bias.numbers)[channel] : halfNumber(bias, channel);
}

/// Of the channels below `columns`; zeros for others, and without a bias.
template <int32_t kCount>
__device__ __forceinline__ void loadBias(const Bias& bias, int32_t channel, int32_t columns, float (&to)[kCount]) {
  if (bias.type == gemm::NumberType::F32 || bias.numbers == nullptr)
    return loadNeighbours(static_cast<const float*>(bias.numbers), channel, columns, 0.0f, to);
#pragma unroll
  for (int32_t i = 0; i < kCount; ++i) to[i] = channel + i < columns ? halfNumber(bias, channel + i) : 0.0f;
}

}  // namespace shiftconv::kernels
