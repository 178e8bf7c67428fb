// Barriers among the threads of a CTA and of a cluster, and flags in global memory (PTX ISA 9.7.13 and 9.7.9).
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// Waits until `threads` threads (a multiple of 32) have arrived on barrier `id` of the CTA, 1..15 (0 is __syncthreads).
__device__ __forceinline__ void namedBarrierSync(uint32_t id, uint32_t threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
/// Arrives without waiting.
__device__ __forceinline__ void namedBarrierArrive(uint32_t id, uint32_t threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ __forceinline__ uint32_t clusterRank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// Every thread of the cluster: accesses of all before they arrive are visible to all that have waited.
__device__ __forceinline__ void clusterBarrierArrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
/// The same without earlier accesses: enough after fenceMbarrierInit() of the threads that have prepared barriers.
__device__ __forceinline__ void clusterBarrierArriveRelaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ __forceinline__ void clusterBarrierWait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ __forceinline__ void clusterBarrierSync() {
  clusterBarrierArrive();
  clusterBarrierWait();
}

/// The address in CTA `rank` of the cluster of what lies at `address` in the executing CTA.
__device__ __forceinline__ uint32_t mapToCta(uint32_t address, uint32_t rank) {
  uint32_t mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}
/// Loads a number from the shared memory of any CTA of the cluster; `address` comes from mapToCta().
__device__ __forceinline__ float loadFromCluster(uint32_t address) {
  float value;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}

/// Makes earlier accesses of this thread visible to threads of the device that read `value` with loadAcquire.
__device__ __forceinline__ void storeRelease(uint32_t* flag, uint32_t value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(flag)), "r"(value) : "memory");
}
__device__ __forceinline__ uint32_t loadAcquire(const uint32_t* flag) {
  uint32_t value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(flag)) : "memory");
  return value;
}

/// What is there now, or was not long ago: orders nothing.
__device__ __forceinline__ uint32_t loadRelaxed(const uint32_t* from) {
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(from)) : "memory");
  return value;
}

/// Adds to a counter; releases this thread's earlier accesses and acquires those of who counted before.
__device__ __forceinline__ uint32_t countAcquireRelease(uint32_t* counter, uint32_t value) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(__cvta_generic_to_global(counter)), "r"(value)
               : "memory");
  return before;
}

}  // namespace shiftconv::ptx
