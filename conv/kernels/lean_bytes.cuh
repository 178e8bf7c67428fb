// What follows scales and bias in an epilogue of isLeanBytes (conv/plan/plain_segment.hpp): ReLU or nothing, the output's scale,
// and bytes: s8 or e4m3.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/ptx/conversion.cuh"

namespace shiftconv::kernels {

struct LeanBytes {
  float least, scale;

  __device__ __forceinline__ explicit LeanBytes(const gemm::EpilogueParams& e)
      : least(e.activation == gemm::Activation::Relu ? 0.0f : -__builtin_huge_valf()), scale(e.outputScale) {}

  /// Keeps NaN, as frameworks do.
  __device__ __forceinline__ float finished(float v) const { return (v < least ? least : v) * scale; }
};

/// Finished numbers as bytes, the first lowest. No limits but those of the type: nothing is added to the numbers.
template <bool kIntegers>
__device__ __forceinline__ uint32_t packLean(float a, float b, float c, float d) {
  if constexpr (kIntegers)
    return ptx::packS8(__float2int_rn(a), __float2int_rn(b), __float2int_rn(c), __float2int_rn(d));
  else
    return ptx::packE4m3(a, b) | ptx::packE4m3(c, d) << 16;
}

}  // namespace shiftconv::kernels
