// wgmma of tf32, 8-bit floats and 8-bit integers (PTX ISA 9.7.15.5.2): D[64 x N] = A[64 x K] * B[N x K], K being 32 bytes, both
// operands K-major in shared memory. See wgmma.cuh for the rest of the rules, and for the registers of D.
#pragma once

#include <cstdint>

#include "common/ptx/wgmma.cuh"

namespace shiftconv::ptx {

/// Of A, then B.
enum class WgmmaKind { Tf32, E4m3E4m3, E4m3E5m2, E5m2E4m3, E5m2E5m2, S8S8, S8U8, U8S8, U8U8 };
/// Sums are s32, not f32.
template <WgmmaKind kKind>
inline constexpr bool kHasIntegerSums =
    kKind == WgmmaKind::S8S8 || kKind == WgmmaKind::S8U8 || kKind == WgmmaKind::U8S8 || kKind == WgmmaKind::U8U8;

// clang-format off
#define SHIFTCONV_WGMMA_EIGHT(REGISTER, i) \
  REGISTER(d[i]), REGISTER(d[i + 1]), REGISTER(d[i + 2]), REGISTER(d[i + 3]), REGISTER(d[i + 4]), REGISTER(d[i + 5]), \
  REGISTER(d[i + 6]), REGISTER(d[i + 7])
#define SHIFTCONV_WGMMA_SIXTEEN(REGISTER, i) \
  SHIFTCONV_WGMMA_EIGHT(REGISTER, i), SHIFTCONV_WGMMA_EIGHT(REGISTER, i + 8)
#define SHIFTCONV_WGMMA_SUMS_16(REGISTER) SHIFTCONV_WGMMA_EIGHT(REGISTER, 0)
#define SHIFTCONV_WGMMA_SUMS_32(REGISTER) SHIFTCONV_WGMMA_SIXTEEN(REGISTER, 0)
#define SHIFTCONV_WGMMA_SUMS_48(REGISTER) SHIFTCONV_WGMMA_SUMS_32(REGISTER), SHIFTCONV_WGMMA_EIGHT(REGISTER, 16)
#define SHIFTCONV_WGMMA_SUMS_64(REGISTER) SHIFTCONV_WGMMA_SUMS_32(REGISTER), SHIFTCONV_WGMMA_SIXTEEN(REGISTER, 16)
#define SHIFTCONV_WGMMA_SUMS_80(REGISTER) SHIFTCONV_WGMMA_SUMS_64(REGISTER), SHIFTCONV_WGMMA_EIGHT(REGISTER, 32)
#define SHIFTCONV_WGMMA_SUMS_96(REGISTER) SHIFTCONV_WGMMA_SUMS_64(REGISTER), SHIFTCONV_WGMMA_SIXTEEN(REGISTER, 32)
#define SHIFTCONV_WGMMA_SUMS_128(REGISTER) \
  SHIFTCONV_WGMMA_SUMS_64(REGISTER), SHIFTCONV_WGMMA_SIXTEEN(REGISTER, 32), SHIFTCONV_WGMMA_SIXTEEN(REGISTER, 48)
#define SHIFTCONV_WGMMA_SUMS_160(REGISTER) SHIFTCONV_WGMMA_SUMS_128(REGISTER), SHIFTCONV_WGMMA_SIXTEEN(REGISTER, 64)
#define SHIFTCONV_WGMMA_SUMS_192(REGISTER) \
  SHIFTCONV_WGMMA_SUMS_128(REGISTER), SHIFTCONV_WGMMA_SIXTEEN(REGISTER, 64), SHIFTCONV_WGMMA_SIXTEEN(REGISTER, 80)
#define SHIFTCONV_WGMMA_SUMS_224(REGISTER) SHIFTCONV_WGMMA_SUMS_192(REGISTER), SHIFTCONV_WGMMA_SIXTEEN(REGISTER, 96)
#define SHIFTCONV_WGMMA_SUMS_256(REGISTER) SHIFTCONV_WGMMA_SUMS_224(REGISTER), SHIFTCONV_WGMMA_SIXTEEN(REGISTER, 112)
// clang-format on

#define SHIFTCONV_WGMMA_NARROW(REGISTER, N, A, B, ACCUMULATE, TYPES, SIGNS)                                           \
  asm volatile(                                                                                                       \
      "{\n\t"                                                                                                         \
      ".reg .pred accumulate;\n\t"                                                                                    \
      "setp.ne.u32 accumulate, " ACCUMULATE                                                                           \
      ", 0;\n\t"                                                                                                      \
      "wgmma.mma_async.sync.aligned.m64n" #N TYPES " {" SHIFTCONV_WGMMA_NAMES_##N "}, " A ", " B ", accumulate" SIGNS \
                                                                                  ";\n\t"                             \
                                                                                  "}"                                 \
      : SHIFTCONV_WGMMA_SUMS_##N(REGISTER)                                                                            \
      : "l"(a), "l"(b), "r"(accumulate))
#define SHIFTCONV_WGMMA_FLOATS(N, A, B, ACCUMULATE, TYPES) SHIFTCONV_WGMMA_NARROW("+f", N, A, B, ACCUMULATE, TYPES, ", 1, 1")
#define SHIFTCONV_WGMMA_INTEGERS(N, A, B, ACCUMULATE, TYPES) SHIFTCONV_WGMMA_NARROW("+r", N, A, B, ACCUMULATE, TYPES, "")
#define SHIFTCONV_WGMMA_KINDS(N, A, B, ACCUMULATE)                      \
  if constexpr (kN == N) {                                              \
    if constexpr (kKind == WgmmaKind::Tf32)                             \
      SHIFTCONV_WGMMA_FLOATS(N, A, B, ACCUMULATE, "k8.f32.tf32.tf32");  \
    else if constexpr (kKind == WgmmaKind::E4m3E4m3)                    \
      SHIFTCONV_WGMMA_FLOATS(N, A, B, ACCUMULATE, "k32.f32.e4m3.e4m3"); \
    else if constexpr (kKind == WgmmaKind::E4m3E5m2)                    \
      SHIFTCONV_WGMMA_FLOATS(N, A, B, ACCUMULATE, "k32.f32.e4m3.e5m2"); \
    else if constexpr (kKind == WgmmaKind::E5m2E4m3)                    \
      SHIFTCONV_WGMMA_FLOATS(N, A, B, ACCUMULATE, "k32.f32.e5m2.e4m3"); \
    else if constexpr (kKind == WgmmaKind::E5m2E5m2)                    \
      SHIFTCONV_WGMMA_FLOATS(N, A, B, ACCUMULATE, "k32.f32.e5m2.e5m2"); \
    else if constexpr (kKind == WgmmaKind::S8S8)                        \
      SHIFTCONV_WGMMA_INTEGERS(N, A, B, ACCUMULATE, "k32.s32.s8.s8");   \
    else if constexpr (kKind == WgmmaKind::S8U8)                        \
      SHIFTCONV_WGMMA_INTEGERS(N, A, B, ACCUMULATE, "k32.s32.s8.u8");   \
    else if constexpr (kKind == WgmmaKind::U8S8)                        \
      SHIFTCONV_WGMMA_INTEGERS(N, A, B, ACCUMULATE, "k32.s32.u8.s8");   \
    else                                                                \
      SHIFTCONV_WGMMA_INTEGERS(N, A, B, ACCUMULATE, "k32.s32.u8.u8");   \
  }

/// D = A * B^T (+ D when `accumulate` is not 0), both operands by descriptor (layout::wgmmaSwizzle128Descriptor). Sum: float, or
/// int32_t of integers, which wrap.
template <WgmmaKind kKind, int kN, class Sum>
__device__ __forceinline__ void wgmmaNarrow(Sum (&d)[kN / 2], uint64_t a, uint64_t b, uint32_t accumulate) {
  static_assert(kN == 16 || kN == 32 || kN == 48 || kN == 64 || kN == 80 || kN == 96 || kN == 128 || kN == 160 || kN == 192 ||
                    kN == 224 || kN == 256,
                "the widths that are instantiated");
  static_assert(std::is_same_v<Sum, std::conditional_t<kHasIntegerSums<kKind>, int32_t, float>>);
  SHIFTCONV_WGMMA_KINDS(16, "%8", "%9", "%10")
  SHIFTCONV_WGMMA_KINDS(32, "%16", "%17", "%18")
  SHIFTCONV_WGMMA_KINDS(48, "%24", "%25", "%26")
  SHIFTCONV_WGMMA_KINDS(64, "%32", "%33", "%34")
  SHIFTCONV_WGMMA_KINDS(80, "%40", "%41", "%42")
  SHIFTCONV_WGMMA_KINDS(96, "%48", "%49", "%50")
  SHIFTCONV_WGMMA_KINDS(128, "%64", "%65", "%66")
  SHIFTCONV_WGMMA_KINDS(160, "%80", "%81", "%82")
  SHIFTCONV_WGMMA_KINDS(192, "%96", "%97", "%98")
  SHIFTCONV_WGMMA_KINDS(224, "%112", "%113", "%114")
  SHIFTCONV_WGMMA_KINDS(256, "%128", "%129", "%130")
}

}  // namespace shiftconv::ptx
