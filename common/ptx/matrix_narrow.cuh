// The matrix instruction of one warp for tf32 and for bytes (PTX ISA 9.7.14.5). Whole warp, g = lane / 4, t = lane % 4; operands as
// loadMatrices of matrix_move.cuh leaves 32 bytes of each row. d[2i + j] is row g + 8i, column 2t + j.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// D[16 x 8] += A[16 x 8] * B[8 x 8] in tf32, of which the low 13 bits of f32 words are no part, with f32 sums: a0 holds row g,
/// element t; a1 row g + 8, element t; a2 and a3 the same rows, element t + 4; b0 column g, element t; b1 element t + 4.
__device__ __forceinline__ void mma16x8x8Tf32(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                                              uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
/// D[16 x 8] += A[16 x 32] * B[32 x 8] of bytes with s32 sums, which wrap: a0 holds row g, elements 4t..4t + 3; a1 row g + 8; a2
/// and a3 the same rows, elements 16 + 4t..; b0 column g, elements 4t..4t + 3; b1 elements 16 + 4t...
#define SHIFTCONV_MMA_OF_BYTES(A, B)                                                  \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." A "." B                       \
               ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                       \
               : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1))
template <bool kSignedA, bool kSignedB>
__device__ __forceinline__ void mma16x8x32(int32_t (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                                           uint32_t b1) {
  if constexpr (kSignedA && kSignedB)
    SHIFTCONV_MMA_OF_BYTES("s8", "s8");
  else if constexpr (kSignedA)
    SHIFTCONV_MMA_OF_BYTES("s8", "u8");
  else if constexpr (kSignedB)
    SHIFTCONV_MMA_OF_BYTES("u8", "s8");
  else
    SHIFTCONV_MMA_OF_BYTES("u8", "u8");
}
#undef SHIFTCONV_MMA_OF_BYTES

}  // namespace shiftconv::ptx
