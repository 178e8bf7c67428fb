// Cluster launch control: a running cluster takes over the work of one that has not started (PTX ISA 9.7.13.17).
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// What a request brought: whether a cluster was taken over, and then blockIdx.x of its first CTA.
struct LaunchAnswer {
  bool taken;
  uint32_t firstCta;
};

/// Asks for a cluster. The answer, 16 bytes at `response` (16-byte aligned), counts towards `barrier`. Undefined once a CTA has
/// seen an answer that took nothing.
__device__ __forceinline__ void requestCluster(uint32_t response, uint32_t barrier) {
  asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(response),
               "r"(barrier)
               : "memory");
}
/// As requestCluster, with the answer at the same offset in every CTA of the cluster, where it counts towards the barrier at the
/// offset of `barrier`.
__device__ __forceinline__ void requestClusterForAll(uint32_t response, uint32_t barrier) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%0], [%1];" ::
          "r"(response),
      "r"(barrier)
      : "memory");
}

/// Reads an answer that has arrived.
__device__ __forceinline__ LaunchAnswer launchAnswer(uint32_t response) {
  uint32_t taken, firstCta;
  asm volatile(
      "{\n\t"
      ".reg .pred taken;\n\t"
      ".reg .b128 answer;\n\t"
      "mov.u32 %1, 0;\n\t"
      "ld.shared.b128 answer, [%2];\n\t"
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 taken, answer;\n\t"
      "selp.u32 %0, 1, 0, taken;\n\t"
      "@taken clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, answer;\n\t"
      "}"
      : "=r"(taken), "=&r"(firstCta)
      : "r"(response)
      : "memory");
  return {taken != 0, firstCta};
}

}  // namespace shiftconv::ptx
