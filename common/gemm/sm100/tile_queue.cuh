// The units of work of a CTA: in turns, or whatever cluster launch control hands out.
#pragma once

#include <cstdint>

#include "common/gemm/pipeline.cuh"
#include "common/ptx/launch_control.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/synchronisation.cuh"

namespace shiftconv::gemm::sm100 {

/// Answers of cluster launch control, in shared memory. Every role of the cluster reads each.
template <class Group>
struct TileQueue {
  static constexpr int32_t kAnswers = 2;
  static constexpr uint32_t kAnswerBytes = 16;
  alignas(16) uint32_t answers[kAnswers][kAnswerBytes / 4];
  Pipeline<kAnswers, Group::kArrivals> pipeline;  // empty: of the first CTA, for all

  __device__ uint32_t answer(const RingPosition& stage) const { return ptx::sharedAddress(answers[stage.index]); }
  /// One arrive on the first CTA's barrier.
  __device__ void release(const RingPosition& stage) const {
    if constexpr (Group::kCtas == 1) {
      ptx::mbarrierArrive(pipeline.empty(stage));
    } else {
      ptx::mbarrierArriveInCluster(ptx::mapToCta(pipeline.empty(stage), 0));
    }
  }

  /// One thread of the first CTA: requests until one brings nothing.
  __device__ void request() const {
    RingPosition stage;
    while (true) {
      pipeline.awaitEmpty(stage);
      if constexpr (Group::kCtas == 1) {
        ptx::mbarrierArriveExpectBytes(pipeline.full(stage), kAnswerBytes);
        ptx::requestCluster(answer(stage), pipeline.full(stage));
      } else {
#pragma unroll 1
        for (uint32_t cta = 0; cta < Group::kCtas; ++cta)
          ptx::mbarrierArriveExpectBytesInCluster(ptx::mapToCta(pipeline.full(stage), cta), kAnswerBytes);
        ptx::requestClusterForAll(answer(stage), pipeline.full(stage));
      }
      pipeline.awaitFull(stage);
      if (!ptx::launchAnswer(answer(stage)).taken) break;
      stage.advance(kAnswers);
    }
  }
};

/// The units of one role, for a range-for loop. A role is a thread, or a whole warp.
template <class Group>
struct Units {
  int32_t first, step, count;
  const TileQueue<Group>* queue;  ///< null: every `step`-th unit
  bool isWarp;

  struct Iterator {
    const Units& units;
    int32_t unit;
    RingPosition stage;

    __device__ int32_t operator*() const { return unit; }
    __device__ bool operator!=(int32_t count) const { return unit < count; }
    __device__ void operator++() {
      if (units.queue == nullptr) {
        unit += units.step;
        return;
      }
      units.queue->pipeline.awaitFull(stage);
      const ptx::LaunchAnswer answer = ptx::launchAnswer(units.queue->answer(stage));
      if (units.isWarp) __syncwarp();
      if (!units.isWarp || threadIdx.x % 32 == 0) units.queue->release(stage);
      stage.advance(TileQueue<Group>::kAnswers);
      unit = answer.taken ? static_cast<int32_t>(answer.firstCta) / Group::kCtas : units.count;
    }
  };
  __device__ Iterator begin() const { return {*this, first, {}}; }
  __device__ int32_t end() const { return count; }
};

}  // namespace shiftconv::gemm::sm100
