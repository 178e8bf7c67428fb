// What becomes of sums in an epilogue of leanBytes (conv/plan/plain_segment.hpp): scales, a bias, a residual, what Lean names, the
// output's scale, and bytes: s8 or e4m3.
//
// With ReLU or nothing the output's scale goes into the factors and biases of the channels, which leaves one multiplication and
// addition for a number, and one for its residual: exactly where the scale is 1, else with another rounding each
// (foldedError of conv/reference/general_convolution.cpp). ReLU comes last, on codes: conversion keeps the sign, and NaN has none.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/activation.cuh"
#include "common/gemm/epilogue/params.hpp"
#include "common/ptx/conversion.cuh"
#include "conv/kernels/lean.hpp"
#include "conv/kernels/residual_bytes.cuh"

namespace shiftconv::kernels {

/// Whether the output's scale is in factors and biases: before the activation.
template <Lean kLean>
inline constexpr bool kScalesFirst = kLean == Lean::Rectified || kLean == Lean::Residual;
__device__ __forceinline__ bool scalesFirst(const LeanFlags& lean) { return lean.rectified || lean.residual; }

struct LeanBytes {
  float factor, scale;
  uint32_t rectified;  ///< bits that negative codes lose

  __device__ __forceinline__ explicit LeanBytes(const gemm::EpilogueParams& e, bool scalesFirst = true)
      : factor(scalesFirst ? e.alpha * e.outputScale : e.alpha),
        scale(scalesFirst ? e.outputScale : 1.0f),
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

  /// The same of sums with their factor and bias, after what kLean has besides. `residual`: codes of the output's type.
  template <Lean kLean, bool kIntegers>
  __device__ __forceinline__ uint32_t finished(const gemm::EpilogueParams& e, float (&v)[4], uint32_t residual) const {
    if constexpr (kLean == Lean::Silu || kLean == Lean::SiluResidual) gemm::silu(v);
    if constexpr (kAddsResidual<kLean>)
      ResidualBytes<kIntegers>(kIntegers ? gemm::NumberType::S8 : gemm::NumberType::E4M3).add(e.beta * scale, residual, v);
    if constexpr (kLean == Lean::Ramp) {
      const gemm::Ramp ramp(e);
#pragma unroll
      for (float& one : v) one = ramp.of(one);
    }
    if constexpr (!kScalesFirst<kLean>) {
#pragma unroll
      for (float& one : v) {
        if constexpr (kLean == Lean::Clamp) one = gemm::clampOf(one, e.activationA, e.activationB);
        one *= e.outputScale;
      }
    }
    return packed<kIntegers>(v[0], v[1], v[2], v[3]);
  }
};

}  // namespace shiftconv::kernels
