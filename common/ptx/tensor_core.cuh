// tcgen05 matrix instructions, single-thread issue (PTX ISA 9.7.16.9 to 9.7.16.12).
// All are asynchronous; only the pairs of 9.7.16.6.2 are ordered, everything else needs tensorCommit and a wait.
//
// `kCtas` is the cta_group: 1, or 2 for a CTA pair, that is the CTAs of a cluster whose ranks differ in the lowest bit. In a pair
// one thread of one CTA issues for both; addresses and descriptors apply to each CTA's own memories. A kernel uses one of the two.
#pragma once

#include <cstdint>

#include "common/layout/instruction_descriptor.hpp"

namespace shiftconv::ptx {

// ---- Shared memory -> Tensor Memory ------------------------------------------------------------------------------------------

/// What a copy makes of its source: elements of 4 or 6 bits, 16 of them at the start of every 16 bytes, become bytes.
enum class CopyFormat : uint8_t { AsIs, From6Bits, From4Bits };

namespace detail {
template <CopyFormat>
struct CopyFormatName {
  static constexpr char kText[] = "";
};
template <>
struct CopyFormatName<CopyFormat::From6Bits> {
  static constexpr char kText[] = ".b8x16.b6x16_p32";
};
template <>
struct CopyFormatName<CopyFormat::From4Bits> {
  static constexpr char kText[] = ".b8x16.b4x16_p64";
};
}  // namespace detail

/// Copies a 128-row, 32-bytes-a-row matrix from shared memory to 128 lanes x 8 columns at `destination`.
template <int kCtas = 1, CopyFormat kFormat = CopyFormat::AsIs>
__device__ __forceinline__ void tensorCopy128x256(uint32_t destination, uint64_t sourceDescriptor) {
  asm volatile("tcgen05.cp.cta_group::%2.128x256b%3 [%0], %1;" ::"r"(destination), "l"(sourceDescriptor), "n"(kCtas),
               "C"(detail::CopyFormatName<kFormat>::kText)
               : "memory");
}
/// Copies four rows of 32 bytes to lanes L, L + 32, L + 64 and L + 96 (L: the lane of `destination`), 8 columns each.
template <int kCtas = 1>
__device__ __forceinline__ void tensorCopy4x256(uint32_t destination, uint64_t sourceDescriptor) {
  asm volatile("tcgen05.cp.cta_group::%2.4x256b [%0], %1;" ::"r"(destination), "l"(sourceDescriptor), "n"(kCtas) : "memory");
}
/// Copies 32 rows of 16 bytes to 4 columns, once into each 32-lane window: the form in which MMAs want scale factors.
template <int kCtas = 1>
__device__ __forceinline__ void tensorCopy32x128ToAllWindows(uint32_t destination, uint64_t sourceDescriptor) {
  asm volatile("tcgen05.cp.cta_group::%2.32x128b.warpx4 [%0], %1;" ::"r"(destination), "l"(sourceDescriptor), "n"(kCtas)
               : "memory");
}

/// Copies 64 rows of 16 bytes to 4 columns: the first 32 into windows 0 and 1, the others into windows 2 and 3.
template <int kCtas>
__device__ __forceinline__ void tensorCopy64x128ToWindowPairs(uint32_t destination, uint64_t sourceDescriptor) {
  asm volatile("tcgen05.cp.cta_group::%2.64x128b.warpx2::01_23 [%0], %1;" ::"r"(destination), "l"(sourceDescriptor), "n"(kCtas)
               : "memory");
}

/// Every 32-lane window of 8 columns moves down by one lane (lane i takes lane i+1); the last lane of a window is stale.
template <int kCtas = 1>
__device__ __forceinline__ void tensorShiftDown(uint32_t address) {
  asm volatile("tcgen05.shift.cta_group::%1.down [%0];" ::"r"(address), "n"(kCtas) : "memory");
}

// ---- Multiplication ----------------------------------------------------------------------------------------------------------

/// Operand A in Tensor Memory: the address of its first 8 columns.
struct TensorOperand {
  uint32_t address;
};

/// Output lanes that an MMA leaves alone: bit b of word v stands for Tensor Memory lane 32 * v + b.
struct alignas(16) LaneMask {
  uint32_t word[4];
};
/// The same lanes of every window.
__device__ __forceinline__ LaneMask inEveryWindow(uint32_t lanes) { return {{lanes, lanes, lanes, lanes}}; }
__device__ __forceinline__ LaneMask operator|(const LaneMask& a, const LaneMask& b) {
  return {{a.word[0] | b.word[0], a.word[1] | b.word[1], a.word[2] | b.word[2], a.word[3] | b.word[3]}};
}

enum class OperandShift : bool { Keep, DownAfterRead };

namespace detail {
template <layout::MmaKind>
struct KindName;
#define SHIFTCONV_MMA_KIND(KIND, TEXT)     \
  template <>                              \
  struct KindName<layout::MmaKind::KIND> { \
    static constexpr char kText[] = TEXT;  \
  };
SHIFTCONV_MMA_KIND(F16, "kind::f16")
SHIFTCONV_MMA_KIND(TF32, "kind::tf32")
SHIFTCONV_MMA_KIND(F8F6F4, "kind::f8f6f4")
SHIFTCONV_MMA_KIND(I8, "kind::i8")
SHIFTCONV_MMA_KIND(MxF8F6F4, "kind::mxf8f6f4.block_scale.block32")
SHIFTCONV_MMA_KIND(MxF4, "kind::mxf4.block_scale.block32")
SHIFTCONV_MMA_KIND(NvF4, "kind::mxf4nvf4.block_scale.block16")
#undef SHIFTCONV_MMA_KIND

template <OperandShift>
struct ShiftName {
  static constexpr char kText[] = "";
};
template <>
struct ShiftName<OperandShift::DownAfterRead> {
  static constexpr char kText[] = ".ashift";
};
}  // namespace detail

/// D[M x N] = A * B^T (+ D when `accumulate`), dense kinds, operand A in shared memory. M is 64 or 128 for each CTA, as
/// `instruction` says; in a pair each CTA has its rows of A and D, and half of the rows of B. I8 is not on sm_103a.
template <layout::MmaKind kKind, int kCtas = 1>
__device__ __forceinline__ void mma(uint32_t accumulator, uint64_t descriptorA, uint64_t descriptorB, uint32_t instruction,
                                    bool accumulate) {
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.u32 accumulate, %4, 0;\n\t"
      "tcgen05.mma.cta_group::%5.%6 [%0], %1, %2, %3, accumulate;\n\t"
      "}" ::"r"(accumulator),
      "l"(descriptorA), "l"(descriptorB), "r"(instruction), "r"(static_cast<uint32_t>(accumulate)), "n"(kCtas),
      "C"(detail::KindName<kKind>::kText)
      : "memory");
}
/// The same with operand A in Tensor Memory.
template <layout::MmaKind kKind, int kCtas = 1>
__device__ __forceinline__ void mma(uint32_t accumulator, TensorOperand a, uint64_t descriptorB, uint32_t instruction,
                                    bool accumulate) {
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.u32 accumulate, %4, 0;\n\t"
      "tcgen05.mma.cta_group::%5.%6 [%0], [%1], %2, %3, accumulate;\n\t"
      "}" ::"r"(accumulator),
      "r"(a.address), "l"(descriptorB), "r"(instruction), "r"(static_cast<uint32_t>(accumulate)), "n"(kCtas),
      "C"(detail::KindName<kKind>::kText)
      : "memory");
}

/// D[128 x N] += A * B^T in the lanes that the mask leaves enabled. With DownAfterRead every 32-lane window of A moves by one lane
/// (lane i takes lane i+1) once this instruction has read it (PTX ISA 9.7.16.10 `.ashift`).
template <layout::MmaKind kKind, OperandShift kShift>
__device__ __forceinline__ void mmaMasked(uint32_t accumulator, TensorOperand a, uint64_t descriptorB, uint32_t instruction,
                                          const LaneMask& disabledLanes) {
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.eq.u32 accumulate, 0, 0;\n\t"
      "tcgen05.mma.cta_group::1.%8%9 [%0], [%1], %2, %3, {%4, %5, %6, %7}, accumulate;\n\t"
      "}" ::"r"(accumulator),
      "r"(a.address), "l"(descriptorB), "r"(instruction), "r"(disabledLanes.word[0]), "r"(disabledLanes.word[1]),
      "r"(disabledLanes.word[2]), "r"(disabledLanes.word[3]), "C"(detail::KindName<kKind>::kText),
      "C"(detail::ShiftName<kShift>::kText)
      : "memory");
}

/// D[M x N] = A * B^T (+ D when `accumulate`) in the lanes that the masks leave enabled, one for each CTA that multiplies.
template <layout::MmaKind kKind, int kCtas>
__device__ __forceinline__ void mmaInLanes(uint32_t accumulator, TensorOperand a, uint64_t descriptorB, uint32_t instruction,
                                           const LaneMask (&disabled)[kCtas], bool accumulate) {
  if constexpr (kCtas == 1) {
    asm volatile(
        "{\n\t"
        ".reg .pred accumulate;\n\t"
        "setp.ne.u32 accumulate, %8, 0;\n\t"
        "tcgen05.mma.cta_group::1.%9 [%0], [%1], %2, %3, {%4, %5, %6, %7}, accumulate;\n\t"
        "}" ::"r"(accumulator),
        "r"(a.address), "l"(descriptorB), "r"(instruction), "r"(disabled[0].word[0]), "r"(disabled[0].word[1]),
        "r"(disabled[0].word[2]), "r"(disabled[0].word[3]), "r"(static_cast<uint32_t>(accumulate)),
        "C"(detail::KindName<kKind>::kText)
        : "memory");
  } else {
    asm volatile(
        "{\n\t"
        ".reg .pred accumulate;\n\t"
        "setp.ne.u32 accumulate, %12, 0;\n\t"
        "tcgen05.mma.cta_group::2.%13 [%0], [%1], %2, %3, {%4, %5, %6, %7, %8, %9, %10, %11}, accumulate;\n\t"
        "}" ::"r"(accumulator),
        "r"(a.address), "l"(descriptorB), "r"(instruction), "r"(disabled[0].word[0]), "r"(disabled[0].word[1]),
        "r"(disabled[0].word[2]), "r"(disabled[0].word[3]), "r"(disabled[1].word[0]), "r"(disabled[1].word[1]),
        "r"(disabled[1].word[2]), "r"(disabled[1].word[3]), "r"(static_cast<uint32_t>(accumulate)),
        "C"(detail::KindName<kKind>::kText)
        : "memory");
  }
}

/// D[M x N] = (A * scaleA) * (B * scaleB)^T (+ D), block-scaled kinds, operand A in shared memory. `scaleA`, `scaleB`: Tensor
/// Memory addresses of the scale factors (PTX ISA 9.7.16.10.7).
template <layout::MmaKind kKind, int kCtas = 1>
__device__ __forceinline__ void mmaScaled(uint32_t accumulator, uint64_t descriptorA, uint64_t descriptorB, uint32_t instruction,
                                          uint32_t scaleA, uint32_t scaleB, bool accumulate) {
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.u32 accumulate, %6, 0;\n\t"
      "tcgen05.mma.cta_group::%7.%8 [%0], %1, %2, %3, [%4], [%5], accumulate;\n\t"
      "}" ::"r"(accumulator),
      "l"(descriptorA), "l"(descriptorB), "r"(instruction), "r"(scaleA), "r"(scaleB), "r"(static_cast<uint32_t>(accumulate)),
      "n"(kCtas), "C"(detail::KindName<kKind>::kText)
      : "memory");
}
/// The same with operand A in Tensor Memory.
template <layout::MmaKind kKind, int kCtas = 1>
__device__ __forceinline__ void mmaScaled(uint32_t accumulator, TensorOperand a, uint64_t descriptorB, uint32_t instruction,
                                          uint32_t scaleA, uint32_t scaleB, bool accumulate) {
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.u32 accumulate, %6, 0;\n\t"
      "tcgen05.mma.cta_group::%7.%8 [%0], [%1], %2, %3, [%4], [%5], accumulate;\n\t"
      "}" ::"r"(accumulator),
      "r"(a.address), "l"(descriptorB), "r"(instruction), "r"(scaleA), "r"(scaleB), "r"(static_cast<uint32_t>(accumulate)),
      "n"(kCtas), "C"(detail::KindName<kKind>::kText)
      : "memory");
}

// ---- Completion ----------------------------------------------------------------------------------------------------------------

/// One arrive on `barrier` (shared-window address) once all earlier mma, cp and shift of this thread are complete. Implies
/// tensorFenceBeforeThreadSync.
template <int kCtas = 1>
__device__ __forceinline__ void tensorCommit(uint32_t barrier) {
  asm volatile("tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier), "n"(kCtas)
               : "memory");
}
/// The same with one arrive at the offset of `barrier` in every CTA of the cluster whose rank is a bit of `ctas`.
template <int kCtas = 1>
__device__ __forceinline__ void tensorCommitMulticast(uint32_t barrier, uint16_t ctas) {
  asm volatile("tcgen05.commit.cta_group::%2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(barrier),
               "h"(ctas), "n"(kCtas)
               : "memory");
}

__device__ __forceinline__ void tensorFenceBeforeThreadSync() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
__device__ __forceinline__ void tensorFenceAfterThreadSync() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

}  // namespace shiftconv::ptx
