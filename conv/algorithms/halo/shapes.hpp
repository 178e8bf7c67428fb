// The halo kernels that exist: one list for the device code that instantiates them and the planner that chooses among them.
#pragma once

#include <cstdint>

// X(name, channel blocks of the first and the second warpgroup, pixels, PixelShare, Staging, pixels that some taps leave out)
#define SHIFTCONV_HALO_SHAPES(X)                      \
  X(k64_n32, 1, 0, 32, Common, Own, 0)                \
  X(k64_n64, 1, 0, 64, Common, Own, 0)                \
  X(k64x2_n128, 1, 1, 128, Separate, Own, 0)          \
  X(k64x2_n256, 1, 1, 256, Separate, Own, 0)          \
  X(k64x2_n208_over, 1, 1, 208, Separate, OverBox, 0) \
  X(k64x2_n224_over, 1, 1, 224, Separate, OverBox, 0) \
  X(k64x2_n256_over, 1, 1, 256, Separate, OverBox, 0) \
  X(k128_n64, 1, 1, 64, Common, Own, 0)               \
  X(k128_n80, 1, 1, 80, Common, Own, 0)               \
  X(k128_n96, 1, 1, 96, Common, Own, 0)               \
  X(k128_n112, 1, 1, 112, Common, Own, 0)             \
  X(k128_n128, 1, 1, 128, Common, Own, 0)             \
  X(k128_n144, 1, 1, 144, Common, Own, 0)             \
  X(k128_n160, 1, 1, 160, Common, Own, 0)             \
  X(k128_n176, 1, 1, 176, Common, Own, 0)             \
  X(k128_n192, 1, 1, 192, Common, Own, 0)             \
  X(k128_n200, 1, 1, 200, Common, Own, 0)             \
  X(k128_n200_tail16, 1, 1, 200, Common, Own, 16)     \
  X(k128_n200_tail32, 1, 1, 200, Common, Own, 32)     \
  X(k128_n208, 1, 1, 208, Common, Own, 0)             \
  X(k128_n224, 1, 1, 224, Common, Own, 0)             \
  X(k128_n256, 1, 1, 256, Common, Own, 0)             \
  X(k256_n128, 2, 2, 128, Common, Own, 0)             \
  X(k320_n128, 3, 2, 128, Common, Own, 0)

// With three multiplying warpgroups, a channel block each, plain and with an activation. X(name, pixels)
#define SHIFTCONV_HALO_WIDE_SHAPES(X) \
  X(k192_n128, 128)                   \
  X(k192_n200, 200)

// Of pairs of CTAs that load boxes for each other, plain. X(name, pixels, multiplying warpgroups)
#define SHIFTCONV_HALO_SHARED_SHAPES(X) \
  X(k128_n112, 112, 2)                  \
  X(k128_n128, 128, 2)                  \
  X(k128_n144, 144, 2)                  \
  X(k128_n160, 160, 2)                  \
  X(k128_n176, 176, 2)                  \
  X(k128_n192, 192, 2)                  \
  X(k128_n224, 224, 2)                  \
  X(k192_n128, 128, 3)

// With pixels as operand A. X(name, blocks of 64 pixels of each of the two warpgroups, output channels)
#define SHIFTCONV_HALO_PIXEL_SHAPES(X) \
  X(m128x2_k8, 2, 8)                   \
  X(m256x2_k8, 4, 8)                   \
  X(m128x2_k16, 2, 16)                 \
  X(m64x2_k32, 1, 32)                  \
  X(m128x2_k32, 2, 32)                 \
  X(m256x2_k32, 4, 32)                 \
  X(m128x2_k48, 2, 48)                 \
  X(m64x2_k64, 1, 64)                  \
  X(m128x2_k64, 2, 64)                 \
  X(m64x2_k96, 1, 96)                  \
  X(m128x2_k96, 2, 96)                 \
  X(m64x2_k128, 1, 128)                \
  X(m128x2_k128, 2, 128)               \
  X(m64x2_k160, 1, 160)                \
  X(m64x2_k192, 1, 192)                \
  X(m64x2_k256, 1, 256)

// With an activation. In the plain layers that were timed on an H200, the best of these tiles takes 1 % longer than the best
// of all (geometric mean); times with an activation were not used. X has the arguments of SHIFTCONV_HALO_SHAPES without the last.
#define SHIFTCONV_HALO_ACTIVATED_SHAPES(X)         \
  X(k64_n32, 1, 0, 32, Common, Own)                \
  X(k64_n64, 1, 0, 64, Common, Own)                \
  X(k64x2_n128, 1, 1, 128, Separate, Own)          \
  X(k64x2_n224_over, 1, 1, 224, Separate, OverBox) \
  X(k128_n64, 1, 1, 64, Common, Own)               \
  X(k128_n128, 1, 1, 128, Common, Own)             \
  X(k128_n200, 1, 1, 200, Common, Own)             \
  X(k128_n256, 1, 1, 256, Common, Own)

// With pixels as operand A, as above.
#define SHIFTCONV_HALO_ACTIVATED_PIXEL_SHAPES(X) \
  X(m128x2_k8, 2, 8)                             \
  X(m128x2_k32, 2, 32)                           \
  X(m128x2_k48, 2, 48)                           \
  X(m64x2_k64, 1, 64)                            \
  X(m128x2_k64, 2, 64)                           \
  X(m64x2_k96, 1, 96)                            \
  X(m128x2_k96, 2, 96)                           \
  X(m64x2_k160, 1, 160)

// With a residual: what the larger layers want, and images of few pixels. X(name, channel blocks of the first and the second
// warpgroup, pixels, PixelShare, Staging)
#define SHIFTCONV_HALO_RESIDUAL_SHAPES(X)          \
  X(k64_n32, 1, 0, 32, Common, Own)                \
  X(k64_n64, 1, 0, 64, Common, Own)                \
  X(k64x2_n128, 1, 1, 128, Separate, Own)          \
  X(k64x2_n224_over, 1, 1, 224, Separate, OverBox) \
  X(k128_n200, 1, 1, 200, Common, Own)             \
  X(k128_n224, 1, 1, 224, Common, Own)             \
  X(k128_n256, 1, 1, 256, Common, Own)             \
  X(k320_n128, 3, 2, 128, Common, Own)

// With pixels as operand A, as above: what fits and has K of whole 8 channels. X(name, blocks of 64 pixels, output channels)
#define SHIFTCONV_HALO_RESIDUAL_PIXEL_SHAPES(X) \
  X(m128x2_k32, 2, 32)                          \
  X(m64x2_k64, 1, 64)                           \
  X(m128x2_k64, 2, 64)                          \
  X(m64x2_k96, 1, 96)                           \
  X(m64x2_k128, 1, 128)                         \
  X(m64x2_k160, 1, 160)                         \
  X(m64x2_k192, 1, 192)                         \
  X(m64x2_k256, 1, 256)

// With the whole epilogue. X(kind, name, channel blocks of the first and the second warpgroup, pixels, PixelShare)
#define SHIFTCONV_HALO_FULL_SHAPES(KIND, X) \
  X(KIND, k64_n32, 1, 0, 32, Common)        \
  X(KIND, k64x2_n128, 1, 1, 128, Separate)  \
  X(KIND, k128_n64, 1, 1, 64, Common)       \
  X(KIND, k128_n128, 1, 1, 128, Common)     \
  X(KIND, k128_n256, 1, 1, 256, Common)
// Of kinds that are rarer.
#define SHIFTCONV_HALO_FEW_FULL_SHAPES(KIND, X) \
  X(KIND, k64_n32, 1, 0, 32, Common)            \
  X(KIND, k128_n128, 1, 1, 128, Common)
// Kinds as "input_filter".
#define SHIFTCONV_HALO_HALF_KERNELS(X)   \
  SHIFTCONV_HALO_FULL_SHAPES(f16_f16, X) \
  SHIFTCONV_HALO_FULL_SHAPES(bf16_bf16, X)
#define SHIFTCONV_HALO_FLOAT_KERNELS(X)        \
  SHIFTCONV_HALO_FULL_SHAPES(tf32_tf32, X)     \
  SHIFTCONV_HALO_FULL_SHAPES(e4m3_e4m3, X)     \
  SHIFTCONV_HALO_FEW_FULL_SHAPES(e4m3_e5m2, X) \
  SHIFTCONV_HALO_FEW_FULL_SHAPES(e5m2_e4m3, X) \
  SHIFTCONV_HALO_FEW_FULL_SHAPES(e5m2_e5m2, X)
#define SHIFTCONV_HALO_INTEGER_KERNELS(X)  \
  SHIFTCONV_HALO_FULL_SHAPES(s8_s8, X)     \
  SHIFTCONV_HALO_FULL_SHAPES(u8_s8, X)     \
  SHIFTCONV_HALO_FEW_FULL_SHAPES(s8_u8, X) \
  SHIFTCONV_HALO_FEW_FULL_SHAPES(u8_u8, X)

// With an activation, of 8-bit operands: outputs of 8 bits or f16. As the plain ones that were fastest on an H200, where wgmma
// of integers has that width.
#define SHIFTCONV_HALO_ACTIVATED_BYTES_SHAPES(KIND, X)   \
  X(KIND, k64_n32, 1, 0, 32, Common, Own)                \
  X(KIND, k64_n64, 1, 0, 64, Common, Own)                \
  X(KIND, k64x2_n128, 1, 1, 128, Separate, Own)          \
  X(KIND, k64x2_n224_over, 1, 1, 224, Separate, OverBox) \
  X(KIND, k64x2_n256_over, 1, 1, 256, Separate, OverBox) \
  X(KIND, k128_n64, 1, 1, 64, Common, Own)               \
  X(KIND, k128_n96, 1, 1, 96, Common, Own)               \
  X(KIND, k128_n128, 1, 1, 128, Common, Own)             \
  X(KIND, k128_n160, 1, 1, 160, Common, Own)             \
  X(KIND, k128_n192, 1, 1, 192, Common, Own)             \
  X(KIND, k128_n224, 1, 1, 224, Common, Own)             \
  X(KIND, k128_n256, 1, 1, 256, Common, Own)             \
  X(KIND, k256_n128, 2, 2, 128, Common, Own)
// Of kinds that are rarer.
#define SHIFTCONV_HALO_ACTIVATED_FEW_BYTES_SHAPES(KIND, X) \
  X(KIND, k64_n32, 1, 0, 32, Common, Own)                  \
  X(KIND, k64x2_n128, 1, 1, 128, Separate, Own)            \
  X(KIND, k64x2_n224_over, 1, 1, 224, Separate, OverBox)   \
  X(KIND, k128_n128, 1, 1, 128, Common, Own)               \
  X(KIND, k128_n224, 1, 1, 224, Common, Own)
// Of three multiplying warpgroups, only for 8-bit operands: wgmma of integers has no width of 200. X(name, pixels)
#define SHIFTCONV_HALO_BYTES_ALONE_SHAPES(X) X(k192_n192, 192)
// All of them. X(kind, name, pixels)
#define SHIFTCONV_HALO_ACTIVATED_BYTES_WIDE_SHAPES(KIND, X) \
  X(KIND, k192_n128, 128)                                   \
  X(KIND, k192_n192, 192)
// With pixels as operand A: K in rows of whole 16 bytes that blocks of 64 do not divide, or few.
#define SHIFTCONV_HALO_ACTIVATED_BYTES_PIXEL_SHAPES(KIND, X) \
  X(KIND, m128x2_k16, 2, 16)                                 \
  X(KIND, m128x2_k32, 2, 32)                                 \
  X(KIND, m128x2_k48, 2, 48)                                 \
  X(KIND, m64x2_k64, 1, 64)                                  \
  X(KIND, m128x2_k64, 2, 64)                                 \
  X(KIND, m64x2_k96, 1, 96)                                  \
  X(KIND, m128x2_k96, 2, 96)                                 \
  X(KIND, m64x2_k160, 1, 160)
#define SHIFTCONV_HALO_ACTIVATED_FEW_BYTES_PIXEL_SHAPES(KIND, X) \
  X(KIND, m128x2_k32, 2, 32)                                     \
  X(KIND, m128x2_k64, 2, 64)                                     \
  X(KIND, m64x2_k96, 1, 96)
// With a residual of 8 bits: those of the tiles above that differ most.
#define SHIFTCONV_HALO_RESIDUAL_BYTES_SHAPES(KIND, X)    \
  X(KIND, k64_n32, 1, 0, 32, Common, Own)                \
  X(KIND, k64_n64, 1, 0, 64, Common, Own)                \
  X(KIND, k64x2_n128, 1, 1, 128, Separate, Own)          \
  X(KIND, k64x2_n224_over, 1, 1, 224, Separate, OverBox) \
  X(KIND, k128_n128, 1, 1, 128, Common, Own)             \
  X(KIND, k128_n160, 1, 1, 160, Common, Own)             \
  X(KIND, k128_n192, 1, 1, 192, Common, Own)             \
  X(KIND, k128_n224, 1, 1, 224, Common, Own)
#define SHIFTCONV_HALO_RESIDUAL_BYTES_PIXEL_SHAPES(KIND, X) \
  X(KIND, m128x2_k16, 2, 16)                                \
  X(KIND, m128x2_k32, 2, 32)                                \
  X(KIND, m64x2_k64, 1, 64)                                 \
  X(KIND, m128x2_k64, 2, 64)                                \
  X(KIND, m64x2_k96, 1, 96)                                 \
  X(KIND, m64x2_k160, 1, 160)
// With outputs that are converted, of 8-bit operands: as above. X(kind, name, ...); and X(kind, name, pixels)
#define SHIFTCONV_HALO_CONVERTED_BYTES_SHAPES(KIND, X)   \
  X(KIND, k64_n32, 1, 0, 32, Common, Own)                \
  X(KIND, k64_n64, 1, 0, 64, Common, Own)                \
  X(KIND, k64x2_n128, 1, 1, 128, Separate, Own)          \
  X(KIND, k64x2_n224_over, 1, 1, 224, Separate, OverBox) \
  X(KIND, k128_n64, 1, 1, 64, Common, Own)               \
  X(KIND, k128_n128, 1, 1, 128, Common, Own)             \
  X(KIND, k128_n192, 1, 1, 192, Common, Own)             \
  X(KIND, k128_n256, 1, 1, 256, Common, Own)
#define SHIFTCONV_HALO_CONVERTED_BYTES_WIDE_SHAPES(KIND, X) X(KIND, k192_n128, 128)
#define SHIFTCONV_HALO_ACTIVATED_FLOAT_WIDE_KERNELS(X) SHIFTCONV_HALO_ACTIVATED_BYTES_WIDE_SHAPES(e4m3_e4m3, X)
#define SHIFTCONV_HALO_ACTIVATED_INTEGER_WIDE_KERNELS(X) SHIFTCONV_HALO_ACTIVATED_BYTES_WIDE_SHAPES(s8_s8, X)
#define SHIFTCONV_HALO_ACTIVATED_FLOAT_PIXEL_KERNELS(X) SHIFTCONV_HALO_ACTIVATED_BYTES_PIXEL_SHAPES(e4m3_e4m3, X)
#define SHIFTCONV_HALO_ACTIVATED_INTEGER_PIXEL_KERNELS(X) \
  SHIFTCONV_HALO_ACTIVATED_BYTES_PIXEL_SHAPES(s8_s8, X)   \
  SHIFTCONV_HALO_ACTIVATED_FEW_BYTES_PIXEL_SHAPES(u8_s8, X)
#define SHIFTCONV_HALO_ACTIVATED_FLOAT_KERNELS(X) SHIFTCONV_HALO_ACTIVATED_BYTES_SHAPES(e4m3_e4m3, X)
#define SHIFTCONV_HALO_ACTIVATED_INTEGER_KERNELS(X) \
  SHIFTCONV_HALO_ACTIVATED_BYTES_SHAPES(s8_s8, X)   \
  SHIFTCONV_HALO_ACTIVATED_FEW_BYTES_SHAPES(u8_s8, X)
