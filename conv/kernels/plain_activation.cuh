// The activations of plain_activation.hpp, applied to values in registers.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/activation.cuh"
#include "conv/kernels/packing.cuh"
#include "conv/kernels/plain_activation.hpp"

namespace shiftconv::kernels {

/// Those of isPlainActivation.
template <int32_t kCount>
__device__ __forceinline__ void activatePlain(const gemm::EpilogueParams& p, float (&v)[kCount]) {
  const auto forAll = [&](auto&& function) {
#pragma unroll
    for (int32_t i = 0; i < kCount; ++i) v[i] = function(v[i]);
  };
  const float least = p.activationA, most = p.activationB;
  // Long, and out of the way of the others.
  if (__builtin_expect(p.activation == gemm::Activation::GeluErf, 0)) return forAll([](float x) { return gemm::geluErfOf(x); });
  if (__builtin_expect(p.activation == gemm::Activation::GeluTanh, 0)) return forAll([](float x) { return gemm::geluTanhOf(x); });
  switch (p.activation) {
    case gemm::Activation::Relu:
      forAll([](float x) { return rectified(x); });
      break;
    case gemm::Activation::Clamp:
      forAll([least, most](float x) { return gemm::clampOf(x, least, most); });
      break;
    case gemm::Activation::Silu:
      gemm::silu<2>(v);
      break;
    case gemm::Activation::HardSwish:
      forAll([](float x) { return gemm::hardSwishOf(x); });
      break;
    default:
      break;
  }
}

}  // namespace shiftconv::kernels
