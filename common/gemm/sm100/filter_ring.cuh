// Filters on their way to shared memory, in a ring or all of them at once, in kernels whose control block has the barriers for
// both: `filters`, a ring, and `residentFilter`. One thread of each CTA calls these; the leader expects the bytes of the whole
// group. Counts come by reference: they are read where the leader needs them.
#pragma once

#include <cstdint>

#include "common/gemm/pipeline.cuh"
#include "common/ptx/mbarrier.cuh"

namespace shiftconv::gemm::sm100 {

/// Waits until a stage of the ring is empty, and has its barrier expect the copies into it.
template <class Group, class Control>
__device__ __forceinline__ void expectFilterStage(Control& control, const RingPosition& stage, const uint32_t& bytes) {
  control.filters.awaitEmpty(stage);
  if (Group::isLeader()) ptx::mbarrierArriveExpectBytes(control.filters.full(stage), Group::kCtaGroup * bytes);
}

/// The barrier on which the copies of all stages complete.
template <class Group, class Control>
__device__ __forceinline__ uint32_t expectResidentFilter(Control& control, const int32_t& stages, const uint32_t& bytesOfOne) {
  const RingPosition once;
  if (Group::isLeader())
    ptx::mbarrierArriveExpectBytes(control.residentFilter.full(once),
                                   Group::kCtaGroup * static_cast<uint32_t>(stages) * bytesOfOne);
  return Group::atLeader(control.residentFilter.full(once));
}

}  // namespace shiftconv::gemm::sm100
