// Packed elements of tensors as operands of ordinary arithmetic: words of 8-bit floats as f32, products of bytes.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// Two codes of the low 16 bits as two f16, the first lowest; exact (PTX ISA 9.7.9.21, cvt).
__device__ __forceinline__ uint32_t unpackPairE4m3(uint32_t codes) {
  uint32_t halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<uint16_t>(codes & 0xffff)));
  return halves;
}
__device__ __forceinline__ uint32_t unpackPairE5m2(uint32_t codes) {
  uint32_t halves;
  asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(halves) : "h"(static_cast<uint16_t>(codes & 0xffff)));
  return halves;
}

/// The sum of each half, rounded to nearest even.
__device__ __forceinline__ uint32_t addF16x2(uint32_t a, uint32_t b) {
  uint32_t sum;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
  return sum;
}

/// sum + the four products of bytes, modulo 2^32 (PTX ISA 9.7.1.23, dp4a).
template <bool kSignedA, bool kSignedB>
__device__ __forceinline__ int32_t addByteProducts(uint32_t a, uint32_t b, int32_t sum) {
  int32_t result;
  if constexpr (kSignedA && kSignedB)
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  else if constexpr (kSignedA)
    asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  else if constexpr (kSignedB)
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  else
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
}

}  // namespace shiftconv::ptx
