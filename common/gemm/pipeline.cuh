// What producers and consumers of a ring of stages tell each other, through mbarriers in shared memory.
#pragma once

#include <cstdint>

#include "common/gemm/ring.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/warp.cuh"

namespace shiftconv::gemm {

/// Whose arrivals complete the barriers of a pipeline.
enum class Arrivals : bool { OfThisCta, OfTheCluster };

/// Lives in shared memory. A stage is filled, full[stage] completes, it is read, empty[stage] completes, it is filled again.
template <int32_t kMaximumStages, Arrivals kArrivals = Arrivals::OfThisCta>
struct Pipeline {
  uint64_t fullBarriers[kMaximumStages], emptyBarriers[kMaximumStages];

  /// One thread, before the barrier that lets the others begin, with ptx::fenceMbarrierInit() after. `filling`, `emptying`:
  /// arrivals that complete a phase.
  __device__ void initialise(int32_t stages, uint32_t filling, uint32_t emptying) {
#pragma unroll 1
    for (int32_t i = 0; i < stages; ++i) {
      ptx::mbarrierInit(ptx::sharedAddress(&fullBarriers[i]), filling);
      ptx::mbarrierInit(ptx::sharedAddress(&emptyBarriers[i]), emptying);
    }
  }

  /// Shared-window addresses of the barriers of a stage, to arrive on.
  __device__ uint32_t full(const RingPosition& stage) const { return ptx::sharedAddress(&fullBarriers[stage.index]); }
  __device__ uint32_t empty(const RingPosition& stage) const { return ptx::sharedAddress(&emptyBarriers[stage.index]); }

  /// A consumer, before it reads a stage.
  __device__ void awaitFull(const RingPosition& stage) const { wait(full(stage), stage.parity); }
  /// A producer, before it fills a stage.
  __device__ void awaitEmpty(const RingPosition& stage) const { wait(empty(stage), stage.parity ^ 1); }
  /// A producer at its end, at the position after its last stage: until every stage has been read, so that nothing arrives on a
  /// barrier of a CTA that has left.
  __device__ void awaitReleases(RingPosition stage, int32_t stages) const {
#pragma unroll 1
    for (int32_t i = 0; i < stages; ++i) {
      awaitEmpty(stage);
      stage.advance(stages);
    }
  }

 private:
  static __device__ void wait(uint32_t barrier, uint32_t parity) {
    if constexpr (kArrivals == Arrivals::OfTheCluster) {
      ptx::mbarrierWaitInCluster(barrier, parity);
    } else {
      ptx::mbarrierWait(barrier, parity);
    }
  }
};

}  // namespace shiftconv::gemm
