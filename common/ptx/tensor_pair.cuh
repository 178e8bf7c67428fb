// tcgen05 instructions of a CTA pair (cta_group::2): the CTAs of a cluster whose ranks differ in the lowest bit (PTX ISA 9.7.16.5).
// A kernel uses either these or those of one CTA (tensor_core.cuh, tensor_memory.cuh), except for ld, st, wait and fence.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// One whole warp in each CTA of the pair, together. Otherwise as tensorMemoryAllocate.
__device__ __forceinline__ void tensorMemoryAllocateInPair(uint32_t sharedResult, uint32_t columns) {
  asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(sharedResult), "r"(columns) : "memory");
}
__device__ __forceinline__ void tensorMemoryRelinquishInPair() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::: "memory");
}
/// One whole warp in each CTA of the pair, together.
__device__ __forceinline__ void tensorMemoryFreeInPair(uint32_t address, uint32_t columns) {
  asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
}

/// As loadTile2d, counting towards a barrier of either CTA of the pair; `barrier` comes from mapToCta().
__device__ __forceinline__ void loadTile2dForPair(uint32_t destination, const void* map, int32_t x0, int32_t x1, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%0], [%1, {%2, %3}], [%4];" ::
          "r"(destination),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(barrier)
      : "memory");
}

/// D[256 x N] = A * B^T (+ D when `accumulate`) in f16/bf16, both operands in shared memory. Each CTA has 128 rows of A and of D,
/// and half of the rows of B, at the offsets that the issuing CTA names.
__device__ __forceinline__ void mmaF16InPair(uint32_t accumulator, uint64_t descriptorA, uint64_t descriptorB, uint32_t instruction,
                                             bool accumulate) {
  asm volatile(
      "{\n\t"
      ".reg .pred accumulate;\n\t"
      "setp.ne.u32 accumulate, %4, 0;\n\t"
      "tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, accumulate;\n\t"
      "}" ::"r"(accumulator),
      "l"(descriptorA), "l"(descriptorB), "r"(instruction), "r"(static_cast<uint32_t>(accumulate))
      : "memory");
}

/// One arrive at the offset of `barrier` in every CTA of the cluster whose rank is a bit of `ctas`, once all earlier pair
/// operations of this thread are complete.
__device__ __forceinline__ void tensorCommitInPair(uint32_t barrier, uint16_t ctas) {
  asm volatile("tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(barrier),
               "h"(ctas)
               : "memory");
}

}  // namespace shiftconv::ptx
