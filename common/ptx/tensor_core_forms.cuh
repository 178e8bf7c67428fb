// Forms of tcgen05 beyond those of tensor_core.cuh and tensor_memory.cuh; no kernel of the library uses them, tests ask what they
// do. `kCtaGroup` is 1 or 2, the same in all instructions of a kernel. Operand A is always in Tensor Memory.
#pragma once

#include <cstdint>

namespace shiftconv::ptx::forms {

// --- Tensor Memory allocation by one warp of each CTA of the group (9.7.16.7) ------------------------------------------

template <int kCtaGroup>
__device__ __forceinline__ void allocate(uint32_t sharedResult, uint32_t columns) {
  asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(sharedResult), "r"(columns),
               "n"(kCtaGroup)
               : "memory");
}
template <int kCtaGroup>
__device__ __forceinline__ void relinquish() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;" ::"n"(kCtaGroup) : "memory");
}
template <int kCtaGroup>
__device__ __forceinline__ void release(uint32_t address, uint32_t columns) {
  asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns), "n"(kCtaGroup) : "memory");
}

/// One arrive on the barrier at this offset in both CTAs of a pair once all earlier operations of this thread are complete.
__device__ __forceinline__ void commitToPair(uint32_t barrier) {
  constexpr uint16_t kBothCtas = 3;
  asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(barrier),
               "h"(kBothCtas)
               : "memory");
}

// --- Movement (9.7.16.9) --------------------------------------------------------------------------------------------------

/// 4-bit elements, 16 in the first half of every 16 source bytes, become bytes.
__device__ __forceinline__ void copy4x256From4Bits(uint32_t destination, uint64_t source) {
  asm volatile("tcgen05.cp.cta_group::1.4x256b.b8x16.b4x16_p64 [%0], %1;" ::"r"(destination), "l"(source) : "memory");
}
__device__ __forceinline__ void copy128x128(uint32_t destination, uint64_t source) {
  asm volatile("tcgen05.cp.cta_group::1.128x128b [%0], %1;" ::"r"(destination), "l"(source) : "memory");
}
/// 6-bit elements, 16 in the first 12 of every 16 source bytes, become bytes.
__device__ __forceinline__ void copy128x128From6Bits(uint32_t destination, uint64_t source) {
  asm volatile("tcgen05.cp.cta_group::1.128x128b.b8x16.b6x16_p32 [%0], %1;" ::"r"(destination), "l"(source) : "memory");
}

// --- Multiplication (9.7.16.10): D = A * B unless stated otherwise --------------------------------------------------------

enum class Collector { Fill, Use };

/// In f16, A in Tensor Memory kept for later instructions, or possibly taken from what was kept.
template <Collector kCollector>
__device__ __forceinline__ void mmaF16KeptA(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction) {
  if constexpr (kCollector == Collector::Fill) {
    asm volatile(
        "{\n\t.reg .pred enabled;\n\tsetp.ne.u32 enabled, 0, 0;\n\t"
        "tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%0], [%1], %2, %3, enabled;\n\t}" ::"r"(d),
        "r"(a), "l"(b), "r"(instruction)
        : "memory");
  } else {
    asm volatile(
        "{\n\t.reg .pred enabled;\n\tsetp.ne.u32 enabled, 0, 0;\n\t"
        "tcgen05.mma.cta_group::1.kind::f16.collector::a::use [%0], [%1], %2, %3, enabled;\n\t}" ::"r"(d),
        "r"(a), "l"(b), "r"(instruction)
        : "memory");
  }
}

/// tcgen05.mma.ws in f16 (9.7.16.10.9.3). `columnMask`: a zero-column mask descriptor (9.7.16.4.3).
__device__ __forceinline__ void mmaF16Stationary(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction, uint64_t columnMask) {
  asm volatile(
      "{\n\t.reg .pred enabled;\n\tsetp.ne.u32 enabled, 0, 0;\n\t"
      "tcgen05.mma.ws.cta_group::1.kind::f16 [%0], [%1], %2, %3, enabled, %4;\n\t}" ::"r"(d),
      "r"(a), "l"(b), "r"(instruction), "l"(columnMask)
      : "memory");
}
/// The same with operand B kept in collector buffer b0, or possibly taken from it.
template <Collector kCollector>
__device__ __forceinline__ void mmaF16KeptB(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction, uint64_t columnMask) {
  if constexpr (kCollector == Collector::Fill) {
    asm volatile(
        "{\n\t.reg .pred enabled;\n\tsetp.ne.u32 enabled, 0, 0;\n\t"
        "tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::fill [%0], [%1], %2, %3, enabled, %4;\n\t}" ::"r"(d),
        "r"(a), "l"(b), "r"(instruction), "l"(columnMask)
        : "memory");
  } else {
    asm volatile(
        "{\n\t.reg .pred enabled;\n\tsetp.ne.u32 enabled, 0, 0;\n\t"
        "tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::lastuse [%0], [%1], %2, %3, enabled, %4;\n\t}" ::"r"(d),
        "r"(a), "l"(b), "r"(instruction), "l"(columnMask)
        : "memory");
  }
}

/// D = A * B in lanes whose bit of the mask is 0; `mask[v]` stands for lanes 32 v to 32 v + 31.
__device__ __forceinline__ void mmaF16Masked(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction, const uint32_t (&mask)[4]) {
  asm volatile(
      "{\n\t.reg .pred enabled;\n\tsetp.ne.u32 enabled, 0, 0;\n\t"
      "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, {%4, %5, %6, %7}, enabled;\n\t}" ::"r"(d),
      "r"(a), "l"(b), "r"(instruction), "r"(mask[0]), "r"(mask[1]), "r"(mask[2]), "r"(mask[3])
      : "memory");
}

/// The same in both CTAs of a pair, with the eight mask words of cta_group::2.
__device__ __forceinline__ void mmaF16MaskedInPair(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction,
                                                   const uint32_t (&mask)[8]) {
  asm volatile(
      "{\n\t.reg .pred enabled;\n\tsetp.ne.u32 enabled, 0, 0;\n\t"
      "tcgen05.mma.cta_group::2.kind::f16 [%0], [%1], %2, %3, {%4, %5, %6, %7, %8, %9, %10, %11}, enabled;\n\t}" ::"r"(d),
      "r"(a), "l"(b), "r"(instruction), "r"(mask[0]), "r"(mask[1]), "r"(mask[2]), "r"(mask[3]), "r"(mask[4]), "r"(mask[5]),
      "r"(mask[6]), "r"(mask[7])
      : "memory");
}

/// In both CTAs of a pair; afterwards every 32-lane window of A has moved by one lane (lane i takes lane i+1).
__device__ __forceinline__ void mmaF16InPairThenShift(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction) {
  asm volatile(
      "{\n\t.reg .pred enabled;\n\tsetp.ne.u32 enabled, 0, 0;\n\t"
      "tcgen05.mma.cta_group::2.kind::f16.ashift [%0], [%1], %2, %3, enabled;\n\t}" ::"r"(d),
      "r"(a), "l"(b), "r"(instruction)
      : "memory");
}

/// D = A * B + D / 2. Not on sm_110a.
__device__ __forceinline__ void mmaF16HalvedInput(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction) {
  asm volatile(
      "{\n\t.reg .pred enabled;\n\tsetp.eq.u32 enabled, 0, 0;\n\t"
      "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, enabled, 1;\n\t}" ::"r"(d),
      "r"(a), "l"(b), "r"(instruction)
      : "memory");
}

/// D = A * B + D in 8-bit integers. Not on sm_103a.
__device__ __forceinline__ void mmaI8(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction) {
  asm volatile(
      "{\n\t.reg .pred enabled;\n\tsetp.eq.u32 enabled, 0, 0;\n\t"
      "tcgen05.mma.cta_group::1.kind::i8 [%0], [%1], %2, %3, enabled;\n\t}" ::"r"(d),
      "r"(a), "l"(b), "r"(instruction)
      : "memory");
}
/// As mmaI8 with a scale-input-d of 1. On sm_100a only.
__device__ __forceinline__ void mmaI8ScaledInput(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction) {
  asm volatile(
      "{\n\t.reg .pred enabled;\n\tsetp.eq.u32 enabled, 0, 0;\n\t"
      "tcgen05.mma.cta_group::1.kind::i8 [%0], [%1], %2, %3, enabled, 1;\n\t}" ::"r"(d),
      "r"(a), "l"(b), "r"(instruction)
      : "memory");
}

/// D = (A * scaleA) * (B * scaleB), one scale for 32 elements along K.
__device__ __forceinline__ void mmaScaledF8(uint32_t d, uint32_t a, uint64_t b, uint32_t instruction, uint32_t scaleA,
                                            uint32_t scaleB) {
  asm volatile(
      "{\n\t.reg .pred enabled;\n\tsetp.ne.u32 enabled, 0, 0;\n\t"
      "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%0], [%1], %2, %3, [%4], [%5], enabled;\n\t}" ::"r"(d),
      "r"(a), "l"(b), "r"(instruction), "r"(scaleA), "r"(scaleB)
      : "memory");
}

}  // namespace shiftconv::ptx::forms
