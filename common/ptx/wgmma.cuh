// wgmma: matrix instructions of a warpgroup, four consecutive warps whose first index is a multiple of 4 (PTX ISA 9.7.15).
//
// D[64 x N] in f32 registers; A[64 x 16] and B[N x 16] K-major in 16-bit elements. B lies in shared memory, A there or in
// registers. Thread l of warp w has D[i] at row 16w + l/4 + 8*((i>>1)&1), column 8*(i>>2) + 2*(l%4) + (i&1). All are asynchronous.
// D, and A in registers, may be touched only after a wgmmaWait that covers the instruction, and a wgmmaFence has to come between
// other accesses to them and the next instruction that uses them. Operands in shared memory that threads wrote need
// fenceProxyAsyncShared() and a barrier; operands that a bulk copy wrote need only the wait on its mbarrier.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace shiftconv::ptx {

__device__ __forceinline__ void wgmmaFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Closes the group of this warpgroup's earlier instructions.
__device__ __forceinline__ void wgmmaCommit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Until at most `kPending` groups are incomplete.
template <int kPending>
__device__ __forceinline__ void wgmmaWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// Keeps the compiler from reading a register of D, if only to copy it, before a wgmmaWait that stands above: ptxas then has every
/// wgmma wait for the one before it (C7514).
__device__ __forceinline__ void wgmmaHold(float& sum) { asm volatile("" : "+f"(sum)::"memory"); }
__device__ __forceinline__ void wgmmaHold(int32_t& sum) { asm volatile("" : "+r"(sum)::"memory"); }

// clang-format off
// The registers of D in groups of four, one group for 8 columns: as text, and as operands of the asm statement.
#define SHIFTCONV_WGMMA_GROUP(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SHIFTCONV_WGMMA_NAMES_8 "%0, %1, %2, %3"
#define SHIFTCONV_WGMMA_NAMES_16 SHIFTCONV_WGMMA_NAMES_8 ", " "%4, %5, %6, %7"
#define SHIFTCONV_WGMMA_NAMES_24 SHIFTCONV_WGMMA_NAMES_16 ", " "%8, %9, %10, %11"
#define SHIFTCONV_WGMMA_NAMES_32 SHIFTCONV_WGMMA_NAMES_24 ", " "%12, %13, %14, %15"
#define SHIFTCONV_WGMMA_NAMES_40 SHIFTCONV_WGMMA_NAMES_32 ", " "%16, %17, %18, %19"
#define SHIFTCONV_WGMMA_NAMES_48 SHIFTCONV_WGMMA_NAMES_40 ", " "%20, %21, %22, %23"
#define SHIFTCONV_WGMMA_NAMES_56 SHIFTCONV_WGMMA_NAMES_48 ", " "%24, %25, %26, %27"
#define SHIFTCONV_WGMMA_NAMES_64 SHIFTCONV_WGMMA_NAMES_56 ", " "%28, %29, %30, %31"
#define SHIFTCONV_WGMMA_NAMES_72 SHIFTCONV_WGMMA_NAMES_64 ", " "%32, %33, %34, %35"
#define SHIFTCONV_WGMMA_NAMES_80 SHIFTCONV_WGMMA_NAMES_72 ", " "%36, %37, %38, %39"
#define SHIFTCONV_WGMMA_NAMES_88 SHIFTCONV_WGMMA_NAMES_80 ", " "%40, %41, %42, %43"
#define SHIFTCONV_WGMMA_NAMES_96 SHIFTCONV_WGMMA_NAMES_88 ", " "%44, %45, %46, %47"
#define SHIFTCONV_WGMMA_NAMES_104 SHIFTCONV_WGMMA_NAMES_96 ", " "%48, %49, %50, %51"
#define SHIFTCONV_WGMMA_NAMES_112 SHIFTCONV_WGMMA_NAMES_104 ", " "%52, %53, %54, %55"
#define SHIFTCONV_WGMMA_NAMES_120 SHIFTCONV_WGMMA_NAMES_112 ", " "%56, %57, %58, %59"
#define SHIFTCONV_WGMMA_NAMES_128 SHIFTCONV_WGMMA_NAMES_120 ", " "%60, %61, %62, %63"
#define SHIFTCONV_WGMMA_NAMES_136 SHIFTCONV_WGMMA_NAMES_128 ", " "%64, %65, %66, %67"
#define SHIFTCONV_WGMMA_NAMES_144 SHIFTCONV_WGMMA_NAMES_136 ", " "%68, %69, %70, %71"
#define SHIFTCONV_WGMMA_NAMES_152 SHIFTCONV_WGMMA_NAMES_144 ", " "%72, %73, %74, %75"
#define SHIFTCONV_WGMMA_NAMES_160 SHIFTCONV_WGMMA_NAMES_152 ", " "%76, %77, %78, %79"
#define SHIFTCONV_WGMMA_NAMES_168 SHIFTCONV_WGMMA_NAMES_160 ", " "%80, %81, %82, %83"
#define SHIFTCONV_WGMMA_NAMES_176 SHIFTCONV_WGMMA_NAMES_168 ", " "%84, %85, %86, %87"
#define SHIFTCONV_WGMMA_NAMES_184 SHIFTCONV_WGMMA_NAMES_176 ", " "%88, %89, %90, %91"
#define SHIFTCONV_WGMMA_NAMES_192 SHIFTCONV_WGMMA_NAMES_184 ", " "%92, %93, %94, %95"
#define SHIFTCONV_WGMMA_NAMES_200 SHIFTCONV_WGMMA_NAMES_192 ", " "%96, %97, %98, %99"
#define SHIFTCONV_WGMMA_NAMES_208 SHIFTCONV_WGMMA_NAMES_200 ", " "%100, %101, %102, %103"
#define SHIFTCONV_WGMMA_NAMES_216 SHIFTCONV_WGMMA_NAMES_208 ", " "%104, %105, %106, %107"
#define SHIFTCONV_WGMMA_NAMES_224 SHIFTCONV_WGMMA_NAMES_216 ", " "%108, %109, %110, %111"
#define SHIFTCONV_WGMMA_NAMES_232 SHIFTCONV_WGMMA_NAMES_224 ", " "%112, %113, %114, %115"
#define SHIFTCONV_WGMMA_NAMES_240 SHIFTCONV_WGMMA_NAMES_232 ", " "%116, %117, %118, %119"
#define SHIFTCONV_WGMMA_NAMES_248 SHIFTCONV_WGMMA_NAMES_240 ", " "%120, %121, %122, %123"
#define SHIFTCONV_WGMMA_NAMES_256 SHIFTCONV_WGMMA_NAMES_248 ", " "%124, %125, %126, %127"
#define SHIFTCONV_WGMMA_D_8 SHIFTCONV_WGMMA_GROUP(0)
#define SHIFTCONV_WGMMA_D_16 SHIFTCONV_WGMMA_D_8, SHIFTCONV_WGMMA_GROUP(4)
#define SHIFTCONV_WGMMA_D_24 SHIFTCONV_WGMMA_D_16, SHIFTCONV_WGMMA_GROUP(8)
#define SHIFTCONV_WGMMA_D_32 SHIFTCONV_WGMMA_D_24, SHIFTCONV_WGMMA_GROUP(12)
#define SHIFTCONV_WGMMA_D_40 SHIFTCONV_WGMMA_D_32, SHIFTCONV_WGMMA_GROUP(16)
#define SHIFTCONV_WGMMA_D_48 SHIFTCONV_WGMMA_D_40, SHIFTCONV_WGMMA_GROUP(20)
#define SHIFTCONV_WGMMA_D_56 SHIFTCONV_WGMMA_D_48, SHIFTCONV_WGMMA_GROUP(24)
#define SHIFTCONV_WGMMA_D_64 SHIFTCONV_WGMMA_D_56, SHIFTCONV_WGMMA_GROUP(28)
#define SHIFTCONV_WGMMA_D_72 SHIFTCONV_WGMMA_D_64, SHIFTCONV_WGMMA_GROUP(32)
#define SHIFTCONV_WGMMA_D_80 SHIFTCONV_WGMMA_D_72, SHIFTCONV_WGMMA_GROUP(36)
#define SHIFTCONV_WGMMA_D_88 SHIFTCONV_WGMMA_D_80, SHIFTCONV_WGMMA_GROUP(40)
#define SHIFTCONV_WGMMA_D_96 SHIFTCONV_WGMMA_D_88, SHIFTCONV_WGMMA_GROUP(44)
#define SHIFTCONV_WGMMA_D_104 SHIFTCONV_WGMMA_D_96, SHIFTCONV_WGMMA_GROUP(48)
#define SHIFTCONV_WGMMA_D_112 SHIFTCONV_WGMMA_D_104, SHIFTCONV_WGMMA_GROUP(52)
#define SHIFTCONV_WGMMA_D_120 SHIFTCONV_WGMMA_D_112, SHIFTCONV_WGMMA_GROUP(56)
#define SHIFTCONV_WGMMA_D_128 SHIFTCONV_WGMMA_D_120, SHIFTCONV_WGMMA_GROUP(60)
#define SHIFTCONV_WGMMA_D_136 SHIFTCONV_WGMMA_D_128, SHIFTCONV_WGMMA_GROUP(64)
#define SHIFTCONV_WGMMA_D_144 SHIFTCONV_WGMMA_D_136, SHIFTCONV_WGMMA_GROUP(68)
#define SHIFTCONV_WGMMA_D_152 SHIFTCONV_WGMMA_D_144, SHIFTCONV_WGMMA_GROUP(72)
#define SHIFTCONV_WGMMA_D_160 SHIFTCONV_WGMMA_D_152, SHIFTCONV_WGMMA_GROUP(76)
#define SHIFTCONV_WGMMA_D_168 SHIFTCONV_WGMMA_D_160, SHIFTCONV_WGMMA_GROUP(80)
#define SHIFTCONV_WGMMA_D_176 SHIFTCONV_WGMMA_D_168, SHIFTCONV_WGMMA_GROUP(84)
#define SHIFTCONV_WGMMA_D_184 SHIFTCONV_WGMMA_D_176, SHIFTCONV_WGMMA_GROUP(88)
#define SHIFTCONV_WGMMA_D_192 SHIFTCONV_WGMMA_D_184, SHIFTCONV_WGMMA_GROUP(92)
#define SHIFTCONV_WGMMA_D_200 SHIFTCONV_WGMMA_D_192, SHIFTCONV_WGMMA_GROUP(96)
#define SHIFTCONV_WGMMA_D_208 SHIFTCONV_WGMMA_D_200, SHIFTCONV_WGMMA_GROUP(100)
#define SHIFTCONV_WGMMA_D_216 SHIFTCONV_WGMMA_D_208, SHIFTCONV_WGMMA_GROUP(104)
#define SHIFTCONV_WGMMA_D_224 SHIFTCONV_WGMMA_D_216, SHIFTCONV_WGMMA_GROUP(108)
#define SHIFTCONV_WGMMA_D_232 SHIFTCONV_WGMMA_D_224, SHIFTCONV_WGMMA_GROUP(112)
#define SHIFTCONV_WGMMA_D_240 SHIFTCONV_WGMMA_D_232, SHIFTCONV_WGMMA_GROUP(116)
#define SHIFTCONV_WGMMA_D_248 SHIFTCONV_WGMMA_D_240, SHIFTCONV_WGMMA_GROUP(120)
#define SHIFTCONV_WGMMA_D_256 SHIFTCONV_WGMMA_D_248, SHIFTCONV_WGMMA_GROUP(124)

// X(N, numbers of the operands after D)
#define SHIFTCONV_WGMMA_SHAPES(X) \
  X(8, "%4", "%5", "%6", "%7", "%8", "%9") \
  X(16, "%8", "%9", "%10", "%11", "%12", "%13") \
  X(24, "%12", "%13", "%14", "%15", "%16", "%17") \
  X(32, "%16", "%17", "%18", "%19", "%20", "%21") \
  X(40, "%20", "%21", "%22", "%23", "%24", "%25") \
  X(48, "%24", "%25", "%26", "%27", "%28", "%29") \
  X(56, "%28", "%29", "%30", "%31", "%32", "%33") \
  X(64, "%32", "%33", "%34", "%35", "%36", "%37") \
  X(72, "%36", "%37", "%38", "%39", "%40", "%41") \
  X(80, "%40", "%41", "%42", "%43", "%44", "%45") \
  X(88, "%44", "%45", "%46", "%47", "%48", "%49") \
  X(96, "%48", "%49", "%50", "%51", "%52", "%53") \
  X(104, "%52", "%53", "%54", "%55", "%56", "%57") \
  X(112, "%56", "%57", "%58", "%59", "%60", "%61") \
  X(120, "%60", "%61", "%62", "%63", "%64", "%65") \
  X(128, "%64", "%65", "%66", "%67", "%68", "%69") \
  X(136, "%68", "%69", "%70", "%71", "%72", "%73") \
  X(144, "%72", "%73", "%74", "%75", "%76", "%77") \
  X(152, "%76", "%77", "%78", "%79", "%80", "%81") \
  X(160, "%80", "%81", "%82", "%83", "%84", "%85") \
  X(168, "%84", "%85", "%86", "%87", "%88", "%89") \
  X(176, "%88", "%89", "%90", "%91", "%92", "%93") \
  X(184, "%92", "%93", "%94", "%95", "%96", "%97") \
  X(192, "%96", "%97", "%98", "%99", "%100", "%101") \
  X(200, "%100", "%101", "%102", "%103", "%104", "%105") \
  X(208, "%104", "%105", "%106", "%107", "%108", "%109") \
  X(216, "%108", "%109", "%110", "%111", "%112", "%113") \
  X(224, "%112", "%113", "%114", "%115", "%116", "%117") \
  X(232, "%116", "%117", "%118", "%119", "%120", "%121") \
  X(240, "%120", "%121", "%122", "%123", "%124", "%125") \
  X(248, "%124", "%125", "%126", "%127", "%128", "%129") \
  X(256, "%128", "%129", "%130", "%131", "%132", "%133")
// clang-format on

template <class Element>
inline constexpr bool kIsWgmmaElement = std::is_same_v<Element, __half> || std::is_same_v<Element, __nv_bfloat16>;

#define SHIFTCONV_WGMMA_SHARED(TYPE, N, A, B, ACCUMULATE)                                            \
  asm volatile(                                                                                      \
      "{\n\t"                                                                                        \
      ".reg .pred accumulate;\n\t"                                                                   \
      "setp.ne.u32 accumulate, " ACCUMULATE                                                          \
      ", 0;\n\t"                                                                                     \
      "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" SHIFTCONV_WGMMA_NAMES_##N \
      "}, " A ", " B                                                                                 \
      ", accumulate, 1, 1, 0, 0;\n\t"                                                                \
      "}"                                                                                            \
      : SHIFTCONV_WGMMA_D_##N                                                                        \
      : "l"(a), "l"(b), "r"(accumulate))
#define SHIFTCONV_WGMMA_SHARED_CASE(N, A, B, ACCUMULATE, ...) \
  if constexpr (kN == N) {                                    \
    if constexpr (std::is_same_v<Element, __half>)            \
      SHIFTCONV_WGMMA_SHARED("f16", N, A, B, ACCUMULATE);     \
    else                                                      \
      SHIFTCONV_WGMMA_SHARED("bf16", N, A, B, ACCUMULATE);    \
  }

/// D = A * B^T (+ D when `accumulate` is not 0), both operands by descriptor (layout::wgmmaDescriptor).
template <class Element, int kN>
__device__ __forceinline__ void wgmma(float (&d)[kN / 2], uint64_t a, uint64_t b, uint32_t accumulate) {
  static_assert(kIsWgmmaElement<Element>, "f16 or bf16");
  static_assert(kN % 8 == 0 && kN >= 8 && kN <= 256, "N is a multiple of 8 up to 256 (PTX ISA 9.7.15.2)");
  SHIFTCONV_WGMMA_SHAPES(SHIFTCONV_WGMMA_SHARED_CASE)
}

#define SHIFTCONV_WGMMA_REGISTERS(TYPE, N, A0, A1, A2, A3, B, ACCUMULATE)                                                         \
  asm volatile(                                                                                                                   \
      "{\n\t"                                                                                                                     \
      ".reg .pred accumulate;\n\t"                                                                                                \
      "setp.ne.u32 accumulate, " ACCUMULATE                                                                                       \
      ", 0;\n\t"                                                                                                                  \
      "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPE "." TYPE " {" SHIFTCONV_WGMMA_NAMES_##N "}, {" A0 ", " A1 ", " A2    \
                                                                                                     ", " A3 "}, " B              \
                                                                                                     ", accumulate, 1, 1, 0;\n\t" \
                                                                                                     "}"                          \
      : SHIFTCONV_WGMMA_D_##N                                                                                                     \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate))
#define SHIFTCONV_WGMMA_REGISTERS_CASE(N, A0, A1, A2, A3, B, ACCUMULATE)   \
  if constexpr (kN == N) {                                                 \
    if constexpr (std::is_same_v<Element, __half>)                         \
      SHIFTCONV_WGMMA_REGISTERS("f16", N, A0, A1, A2, A3, B, ACCUMULATE);  \
    else                                                                   \
      SHIFTCONV_WGMMA_REGISTERS("bf16", N, A0, A1, A2, A3, B, ACCUMULATE); \
  }

/// The same with A in registers: element j of a[i] (low half first) is row 16w + l/4 + 8*(i&1), column 2*(l%4) + j + 8*(i>>1).
template <class Element, int kN>
__device__ __forceinline__ void wgmma(float (&d)[kN / 2], const uint32_t (&a)[4], uint64_t b, uint32_t accumulate) {
  static_assert(kIsWgmmaElement<Element>, "f16 or bf16");
  static_assert(kN % 8 == 0 && kN >= 8 && kN <= 256, "N is a multiple of 8 up to 256 (PTX ISA 9.7.15.2)");
  SHIFTCONV_WGMMA_SHAPES(SHIFTCONV_WGMMA_REGISTERS_CASE)
}

}  // namespace shiftconv::ptx
