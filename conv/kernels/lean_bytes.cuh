// What becomes of sums in an epilogue of isLeanBytes (conv/plan/plain_segment.hpp): scales, a bias, ReLU or nothing, the output's
// scale, and bytes: s8 or e4m3.
//
// The output's scale goes into the factors and biases of the channels, which leaves one multiplication and addition for a number:
// exactly where it is 1, else with another rounding each (common/gemm/reference/epilogue_reference.cpp). ReLU comes last, on codes:
// conversion keeps the sign, and NaN has none.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/ptx/conversion.cuh"

namespace shiftconv::kernels {

struct LeanBytes {
  float factor, scale;
  uint32_t rectified;  ///< bits that negative codes lose

  __device__ __forceinline__ explicit LeanBytes(const gemm::EpilogueParams& e)
      : factor(e.alpha * e.outputScale),
        scale(e.outputScale),
        rectified(e.activation == gemm::Activation::Relu ? 0xffffffffu : 0u) {}

  /// Of a channel.
  __device__ __forceinline__ float factorOf(float columnScale) const { return factor * columnScale; }
  __device__ __forceinline__ float biasOf(float bias) const { return bias * scale; }

  /// Numbers as bytes, the first lowest. No limits but those of the type: nothing is added to the numbers.
  template <bool kIntegers>
  __device__ __forceinline__ uint32_t packed(float a, float b, float c, float d) const {
    uint32_t codes;
    if constexpr (kIntegers)
      codes = ptx::packS8(__float2int_rn(a), __float2int_rn(b), __float2int_rn(c), __float2int_rn(d));
    else
      codes = ptx::packE4m3(a, b) | ptx::packE4m3(c, d) << 16;
    return codes & ~(ptx::signsOfBytes(codes) & rectified);
  }
};

}  // namespace shiftconv::kernels
