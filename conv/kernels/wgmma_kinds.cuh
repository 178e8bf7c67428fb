// What the wgmma engines multiply: operand types, and how their wgmma is issued.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "common/ptx/wgmma.cuh"
#include "common/ptx/wgmma_kinds.cuh"

namespace shiftconv::kernels {

/// f16 or bf16; outputs of short epilogues have the same type.
template <class ElementType>
struct HalfKind {
  using Element = ElementType;
  using Sum = float;
  static constexpr int32_t kElementBytes = 2;

  template <int kN>
  static __device__ __forceinline__ void multiply(float (&d)[kN / 2], uint64_t a, uint64_t b, uint32_t accumulate) {
    ptx::wgmma<Element, kN>(d, a, b, accumulate);
  }
};
using F16 = HalfKind<__half>;
using BF16 = HalfKind<__nv_bfloat16>;

template <ptx::WgmmaKind kKind>
struct NarrowKind {
  using Element = void;
  using Sum = std::conditional_t<ptx::kHasIntegerSums<kKind>, int32_t, float>;
  static constexpr int32_t kElementBytes = kKind == ptx::WgmmaKind::Tf32 ? 4 : 1;

  template <int kN>
  static __device__ __forceinline__ void multiply(Sum (&d)[kN / 2], uint64_t a, uint64_t b, uint32_t accumulate) {
    ptx::wgmmaNarrow<kKind, kN>(d, a, b, accumulate);
  }
};

/// The bits of a sum, to carry it elsewhere.
__device__ __forceinline__ uint32_t bitsOf(float sum) { return __float_as_uint(sum); }
__device__ __forceinline__ uint32_t bitsOf(int32_t sum) { return static_cast<uint32_t>(sum); }
template <class Sum>
__device__ __forceinline__ Sum sumOf(uint32_t bits) {
  if constexpr (std::is_same_v<Sum, float>)
    return __uint_as_float(bits);
  else
    return static_cast<int32_t>(bits);
}

}  // namespace shiftconv::kernels
