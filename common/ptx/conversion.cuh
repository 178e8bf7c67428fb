// Conversions of f32 to the types of outputs, in pairs, with round to nearest even (PTX ISA 9.7.9.21 cvt, 9.7.9.22 cvt.pack).
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// The low half of the result is `low`. Beyond the largest number: infinity.
__device__ __forceinline__ uint32_t packF16(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ __forceinline__ uint32_t packBf16(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
/// The larger of each half; NaN where one is (PTX ISA 9.7.4, half precision: max.NaN).
__device__ __forceinline__ uint32_t maximumF16x2(uint32_t a, uint32_t b) {
  uint32_t larger;
  asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
  return larger;
}
__device__ __forceinline__ uint32_t maximumBf16x2(uint32_t a, uint32_t b) {
  uint32_t larger;
  asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(larger) : "r"(a), "r"(b));
  return larger;
}
/// The smaller of each half; NaN where one is (PTX ISA 9.7.4, half precision: min.NaN).
__device__ __forceinline__ uint32_t minimumF16x2(uint32_t a, uint32_t b) {
  uint32_t smaller;
  asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(smaller) : "r"(a), "r"(b));
  return smaller;
}
__device__ __forceinline__ uint32_t minimumBf16x2(uint32_t a, uint32_t b) {
  uint32_t smaller;
  asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(smaller) : "r"(a), "r"(b));
  return smaller;
}
/// The larger and the smaller of two numbers; NaN where one is (PTX ISA 9.7.3.12, 9.7.3.11).
__device__ __forceinline__ float maximum(float a, float b) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}
__device__ __forceinline__ float minimum(float a, float b) {
  float smaller;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(smaller) : "f"(a), "f"(b));
  return smaller;
}
/// a * b, or 0 and 1 beyond these; NaN: 0 (PTX ISA 9.7.3.5, mul.sat).
__device__ __forceinline__ float multiplySaturated(float a, float b) {
  float product;
  asm("mul.rn.sat.f32 %0, %1, %2;" : "=f"(product) : "f"(a), "f"(b));
  return product;
}
/// 16 bits; beyond 448 (infinity, too): 448. NaN: 0x7f.
__device__ __forceinline__ uint32_t packE4m3(float low, float high) {
  uint16_t pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
}
/// 16 bits; beyond 57344 (infinity, too): 57344. NaN: 0x7f.
__device__ __forceinline__ uint32_t packE5m2(float low, float high) {
  uint16_t pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
}
#if __CUDA_ARCH__ >= 1000
/// 8 bits, `low` in the low nibble; beyond 6: 6. NaN: 6.
__device__ __forceinline__ uint32_t packE2m1(float low, float high) {
  uint16_t pair;
  asm("{\n\t"
      ".reg .b8 codes;\n\t"
      "cvt.rn.satfinite.e2m1x2.f32 codes, %1, %2;\n\t"
      "mov.b16 %0, {codes, 0};\n\t"
      "}"
      : "=h"(pair)
      : "f"(high), "f"(low));
  return pair;
}
/// 16 bits, a code in the low 6 bits of each byte; beyond 28: 28 (e3m2), beyond 7.5: 7.5 (e2m3).
__device__ __forceinline__ uint32_t packE3m2(float low, float high) {
  uint16_t pair;
  asm("cvt.rn.satfinite.e3m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
}
__device__ __forceinline__ uint32_t packE2m3(float low, float high) {
  uint16_t pair;
  asm("cvt.rn.satfinite.e2m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(high), "f"(low));
  return pair;
}
#endif

/// Four numbers as bytes, the first lowest, each clamped to the type.
__device__ __forceinline__ uint32_t packS8(int32_t a, int32_t b, int32_t c, int32_t d) {
  uint32_t upper, all;
  asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, 0;" : "=r"(upper) : "r"(d), "r"(c));
  asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(b), "r"(a), "r"(upper));
  return all;
}
__device__ __forceinline__ uint32_t packU8(int32_t a, int32_t b, int32_t c, int32_t d) {
  uint32_t upper, all;
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(upper) : "r"(d), "r"(c));
  asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(b), "r"(a), "r"(upper));
  return all;
}

/// Bytes of all ones where a byte of the word is negative, else zeros (PTX ISA 9.7.9.7, prmt: the sign of each byte).
__device__ __forceinline__ uint32_t signsOfBytes(uint32_t word) {
  uint32_t signs;
  asm("prmt.b32 %0, %1, 0, 0xBA98;" : "=r"(signs) : "r"(word));
  return signs;
}

/// An e4m3 code of the low byte as f32, exactly.
__device__ __forceinline__ float unpackE4m3(uint32_t code) {
  uint32_t halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<uint16_t>(code & 0xff)));
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<uint16_t>(halves & 0xffff)));
  return value;
}
/// The f16 and bf16 of the low 16 bits as f32, exactly.
__device__ __forceinline__ float unpackF16(uint32_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<uint16_t>(bits & 0xffff)));
  return value;
}
__device__ __forceinline__ float unpackBf16(uint32_t bits) { return __uint_as_float(bits << 16); }

/// 2^x within 2^-22 relative; subnormal results become 0 (PTX ISA 9.7.3, ex2).
__device__ __forceinline__ float exp2Approximate(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}
/// 1/x within 1 ulp; subnormal arguments count as 0, subnormal results become 0 (PTX ISA 9.7.3, rcp).
__device__ __forceinline__ float reciprocalApproximate(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

}  // namespace shiftconv::ptx
