// The epilogues of lean.hpp, applied to neighbouring channels in registers.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/activation.cuh"
#include "conv/kernels/lean.hpp"
#include "conv/kernels/packing.cuh"

namespace shiftconv::kernels {

template <Lean kLeanOf>
struct LeanTag {
  static constexpr Lean kLean = kLeanOf;
};

/// Calls body(LeanTag) for a choice that all threads share; false where it is none.
template <class Body>
__device__ __forceinline__ bool withLean(const LeanFlags& lean, Body&& body) {
  if (lean.rectified) {
    body(LeanTag<Lean::Rectified>());
    return true;
  }
  if (lean.silu) {
    body(LeanTag<Lean::Silu>());
    return true;
  }
  if (lean.residual) {
    body(LeanTag<Lean::Residual>());
    return true;
  }
  if (lean.ramp) {
    body(LeanTag<Lean::Ramp>());
    return true;
  }
  if (lean.clamp) {
    body(LeanTag<Lean::Clamp>());
    return true;
  }
  if (lean.siluResidual) {
    body(LeanTag<Lean::SiluResidual>());
    return true;
  }
  return false;
}

/// What comes before packing, but for a residual, which is added before ReLU or after SiLU. kMostSilu: see silu.
template <Lean kLean, int32_t kMostSilu = 4, int32_t kCount>
__device__ __forceinline__ void activateLean(const gemm::EpilogueParams& e, float (&v)[kCount]) {
  if constexpr (kLean == Lean::Silu || kLean == Lean::SiluResidual) gemm::silu<kMostSilu>(v);
  if constexpr (kLean == Lean::Ramp) {
    const gemm::Ramp ramp(e);
#pragma unroll
    for (float& one : v) one = ramp.of(one);
  }
}
/// What comes after it; `least`: of leastPair, as the activation says.
template <class Element, Lean kLean>
__device__ __forceinline__ uint32_t limitLean(const gemm::EpilogueParams& e, uint32_t least, uint32_t packed) {
  if constexpr (kLean == Lean::Clamp)
    return atMost<Element>(atLeast<Element>(packed, packPair<Element>(e.activationA, e.activationA)),
                           packPair<Element>(e.activationB, e.activationB));
  else if constexpr (kLean == Lean::Rectified || kLean == Lean::Residual)
    return atLeast<Element>(packed, least);
  else
    return packed;
}

/// `v`: sums with their bias. `residual`: pairs, where there is one.
template <class Element, Lean kLean, int32_t kMostSilu = 4, int32_t kCount>
__device__ __forceinline__ void packLean(const gemm::EpilogueParams& e, uint32_t least, float (&v)[kCount],
                                         const uint32_t (&residual)[kCount / 2], uint32_t (&packed)[kCount / 2]) {
  static_assert(kLean != Lean::No);
  activateLean<kLean, kMostSilu>(e, v);
  if constexpr (kAddsResidual<kLean>) {
#pragma unroll
    for (int32_t i = 0; i < kCount; i += 2) addResidual<Element>(v[i], v[i + 1], e.beta, residual[i / 2]);
  }
#pragma unroll
  for (int32_t i = 0; i < kCount; i += 2) packed[i / 2] = limitLean<Element, kLean>(e, least, packPair<Element>(v[i], v[i + 1]));
}

}  // namespace shiftconv::kernels
