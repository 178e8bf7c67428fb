// How stages and accumulators change hands between the roles of a kernel on tcgen05. One thread of each CTA loads; in a pair, all
// count on the barriers of the CTA that leads.
#pragma once

#include <cstdint>

#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/gemm_params.hpp"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/tensor_core.cuh"

namespace shiftconv::gemm::sm100 {

/// The barrier of a stage, for loads that count towards it: all of the group together bring `bytes`.
template <class Group, class Ring>
__device__ __forceinline__ uint32_t expectBytes(const Ring& ring, const RingPosition& stage, uint32_t bytes) {
  if (Group::isLeader()) ptx::mbarrierArriveExpectBytes(ring.full(stage), bytes);
  return Group::atLeader(ring.full(stage));
}

/// Whole warp, once it has written what it brings to a stage: one arrival.
template <class Group, class Ring>
__device__ __forceinline__ void publishStage(const Ring& ring, const RingPosition& stage) {
  ptx::fenceProxyAsyncShared();
  __syncwarp();
  if (threadIdx.x % 32 == 0) Group::arriveAtLeader(ring.full(stage));  // site: stage_published
}

/// Slices of a chunk, of which the last of a pixel's channels may have fewer.
__device__ __forceinline__ int32_t slicesOf(int32_t chunk, int32_t chunks, int32_t lastChunkSlices) {
  return chunk + 1 == chunks ? lastChunkSlices : kChunkSlices;
}

/// From the first of an accumulator's columns to a warp's window of 32 lanes.
__device__ __forceinline__ uint32_t windowLanes(uint32_t window) { return (window * 32) << 16; }

/// Whole warp, before it reads an accumulator.
template <class Ring>
__device__ __forceinline__ void awaitAccumulator(const Ring& accumulators, const RingPosition& accumulator) {
  accumulators.awaitFull(accumulator);  // site: accumulator_full
  ptx::tensorFenceAfterThreadSync();
}
/// Whole warp, once it has read its window: one arrival.
template <class Group, class Ring>
__device__ __forceinline__ void releaseAccumulator(const Ring& accumulators, const RingPosition& accumulator) {
  ptx::tensorFenceBeforeThreadSync();  // site: release_fence
  __syncwarp();
  if (threadIdx.x % 32 == 0) Group::arriveAtLeader(accumulators.empty(accumulator));
}

}  // namespace shiftconv::gemm::sm100
