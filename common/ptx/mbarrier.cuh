// mbarrier objects in shared memory (PTX ISA 9.7.13.15). All addresses are 32-bit shared-window addresses of 8-byte
// aligned objects of the executing CTA.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

__device__ __forceinline__ void mbarrierInit(uint32_t barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Makes earlier mbarrierInit of this thread visible to the asynchronous engines and, after a CTA barrier, to all threads.
__device__ __forceinline__ void fenceMbarrierInit() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ __forceinline__ void mbarrierArrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/// Arrives once and adds `bytes` to what the present phase still has to receive from bulk copies.
__device__ __forceinline__ void mbarrierArriveExpectBytes(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

/// Waits until the phase with parity `parity` has completed. On a fresh barrier parity 1 counts as completed.
__device__ __forceinline__ void mbarrierWait(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n\t"
      ".reg .pred done;\n\t"
      "wait:\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
      "@!done bra wait;\n\t"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// Arrives on a barrier of any CTA of the cluster; `barrier` comes from mapToCta().
__device__ __forceinline__ void mbarrierArriveInCluster(uint32_t barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// The same, ordering this thread's earlier accesses within its own CTA only: enough where these are reads of operands by matrix
/// instructions that have been waited for. With release.cluster, which waits for all that the thread has under way, layers of halo
/// took a quarter longer (H200).
__device__ __forceinline__ void mbarrierArriveAtPeer(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// As mbarrierArriveExpectBytes on a barrier of any CTA of the cluster; `barrier` comes from mapToCta(). Publishes nothing of this
/// thread: what the barrier announces are the bytes.
__device__ __forceinline__ void mbarrierArriveExpectBytesInCluster(uint32_t barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/// As mbarrierWait, for a barrier that threads of other CTAs arrive on.
__device__ __forceinline__ void mbarrierWaitInCluster(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n\t"
      ".reg .pred done;\n\t"
      "wait:\n\t"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n\t"
      "@!done bra wait;\n\t"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

}  // namespace shiftconv::ptx
