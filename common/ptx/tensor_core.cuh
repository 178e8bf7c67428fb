// tcgen05 matrix instructions of one CTA (cta_group::1), single-thread issue (PTX ISA 9.7.16.9 to 9.7.16.12).
// All are asynchronous; only the pairs of 9.7.16.6.2 are ordered, everything else needs tensorCommit and a wait.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// Copies a 128-row, 32-bytes-a-row matrix from shared memory to 128 lanes x 8 columns at `destination`.
__device__ __forceinline__ void tensorCopy128x256(uint32_t destination, uint64_t sourceDescriptor) {
  asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(destination), "l"(sourceDescriptor) : "memory");
}

/// Copies four rows of 32 bytes to lanes L, L + 32, L + 64 and L + 96 (L: the lane of `destination`), 8 columns each.
__device__ __forceinline__ void tensorCopy4x256(uint32_t destination, uint64_t sourceDescriptor) {
  asm volatile("tcgen05.cp.cta_group::1.4x256b [%0], %1;" ::"r"(destination), "l"(sourceDescriptor) : "memory");
}
/// Copies 32 rows of 16 bytes to 4 columns, once into each 32-lane window: the form in which MMAs want scale factors.
__device__ __forceinline__ void tensorCopy32x128ToAllWindows(uint32_t destination, uint64_t sourceDescriptor) {
  asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(destination), "l"(sourceDescriptor) : "memory");
}

/// Every 32-lane window of 8 columns moves down by one lane (lane i takes lane i+1); the last lane of a window is stale.
__device__ __forceinline__ void tensorShiftDown(uint32_t address) {
  asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(address) : "memory");
}

/// Output lanes that an MMA leaves alone: bit b of word v stands for Tensor Memory lane 32 * v + b.
struct alignas(16) LaneMask {
  uint32_t word[4];
};
__device__ __forceinline__ LaneMask operator|(const LaneMask& a, const LaneMask& b) {
  return {{a.word[0] | b.word[0], a.word[1] | b.word[1], a.word[2] | b.word[2], a.word[3] | b.word[3]}};
}

enum class OperandShift : bool { Keep, DownAfterRead };

/// D[128 x N] += A[128 x 16] * B[N x 16]^T in f16/bf16 with A in Tensor Memory. With DownAfterRead every 32-lane window of A moves
/// by one lane (lane i takes lane i+1) once this instruction has read it (PTX ISA 9.7.16.10 `.ashift`).
template <OperandShift kShift>
__device__ __forceinline__ void mmaF16TensorA(uint32_t accumulator, uint32_t operandA, uint64_t descriptorB, uint32_t instruction,
                                              const LaneMask& disabledLanes) {
  if constexpr (kShift == OperandShift::DownAfterRead) {
    asm volatile(
        "{\n\t"
        ".reg .pred accumulate;\n\t"
        "setp.eq.u32 accumulate, 0, 0;\n\t"
        "tcgen05.mma.cta_group::1.kind::f16.ashift [%0], [%1], %2, %3, {%4, %5, %6, %7}, accumulate;\n\t"
        "}" ::"r"(accumulator),
        "r"(operandA), "l"(descriptorB), "r"(instruction), "r"(disabledLanes.word[0]), "r"(disabledLanes.word[1]),
        "r"(disabledLanes.word[2]), "r"(disabledLanes.word[3])
        : "memory");
  } else {
    asm volatile(
        "{\n\t"
        ".reg .pred accumulate;\n\t"
        "setp.eq.u32 accumulate, 0, 0;\n\t"
        "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, {%4, %5, %6, %7}, accumulate;\n\t"
        "}" ::"r"(accumulator),
        "r"(operandA), "l"(descriptorB), "r"(instruction), "r"(disabledLanes.word[0]), "r"(disabledLanes.word[1]),
        "r"(disabledLanes.word[2]), "r"(disabledLanes.word[3])
        : "memory");
  }
}

/// D[128 x N] = A * B^T (+ D when `accumulate`) in f16/bf16, both operands in shared memory.
__device__ __forceinline__ void mmaF16(uint32_t accumulator, uint64_t descriptorA, uint64_t descriptorB, uint32_t instruction,
                                       bool accumulate) {
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.u32 accumulate, %4, 0;\n\t"
      "tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, accumulate;\n\t"
      "}" ::"r"(accumulator),
      "l"(descriptorA), "l"(descriptorB), "r"(instruction), "r"(static_cast<uint32_t>(accumulate))
      : "memory");
}

/// As mmaF16 with A in Tensor Memory.
__device__ __forceinline__ void mmaF16TensorA(uint32_t accumulator, uint32_t operandA, uint64_t descriptorB, uint32_t instruction,
                                              bool accumulate) {
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.u32 accumulate, %4, 0;\n\t"
      "tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, accumulate;\n\t"
      "}" ::"r"(accumulator),
      "r"(operandA), "l"(descriptorB), "r"(instruction), "r"(static_cast<uint32_t>(accumulate))
      : "memory");
}

/// D[128 x N] = (A * scaleA) * (B * scaleB)^T (+ D) in 8-, 6- or 4-bit elements with one scale for 32 elements along K.
__device__ __forceinline__ void mmaScaledF8(uint32_t accumulator, uint64_t descriptorA, uint64_t descriptorB, uint32_t instruction,
                                            uint32_t scaleA, uint32_t scaleB, bool accumulate) {
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.u32 accumulate, %6, 0;\n\t"
      "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%0], %1, %2, %3, [%4], [%5], accumulate;\n\t"
      "}" ::"r"(accumulator),
      "l"(descriptorA), "l"(descriptorB), "r"(instruction), "r"(scaleA), "r"(scaleB), "r"(static_cast<uint32_t>(accumulate))
      : "memory");
}

/// One arrive on `barrier` (shared-window address) once all earlier mma and cp of this thread are complete. Implies
/// fenceBeforeThreadSync.
__device__ __forceinline__ void tensorCommit(uint32_t barrier) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier) : "memory");
}

/// As tensorCommit, with one arrive at the offset of `barrier` in every CTA of the cluster whose rank is a bit of `ctas`.
__device__ __forceinline__ void tensorCommitMulticast(uint32_t barrier, uint16_t ctas) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(barrier),
               "h"(ctas)
               : "memory");
}

__device__ __forceinline__ void tensorFenceBeforeThreadSync() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
__device__ __forceinline__ void tensorFenceAfterThreadSync() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

}  // namespace shiftconv::ptx
