// Split reductions: every part of a tile's reduction leaves its sums in global memory. Whoever counts as the last of a tile adds
// all of them, its own included, in the order of the parts, so the result does not depend on who was last. Nobody waits.
#pragma once

#include <cstdint>

#include "common/gemm/sm100/accumulator_row.cuh"
#include "common/gemm/sm100/gemm_cta.cuh"
#include "common/ptx/synchronisation.cuh"

namespace shiftconv::gemm::sm100 {

/// Where a part of a tile keeps this thread's sums of what its warp handles at once from `column` of its window on.
template <class Group>
__device__ __forceinline__ uint32_t* partial(const GemmParams& p, const GemmWork& work, int32_t part,
                                             const AccumulatorWindow& window, int32_t column) {
  const int64_t place = (static_cast<int64_t>(work.tile) * p.splits + part) * Group::kCtas + Group::rank();
  return p.partials + place * p.tileN * p.tileRows + column / window.step() * kRowColumns * kEpilogueThreads +
         threadIdx.x % kEpilogueThreads;
}

/// Whole warp: this part's sums, from Tensor to global memory.
template <class Group>
__device__ __forceinline__ void leavePart(const GemmParams& p, const GemmWork& work, const AccumulatorWindow& window,
                                          uint32_t source) {
#pragma unroll 1
  for (int32_t column = 0; column < window.columns; column += window.step()) {
    AccumulatorRow sums;
    sums.load(p, window, source + static_cast<uint32_t>(column));
    sums.store(partial<Group>(p, work, work.part, window, column));
  }
}

/// Whole warp: whether the parts of all others are there.
template <class Group>
__device__ __forceinline__ bool isLastPart(const GemmParams& p, const GemmWork& work, uint32_t window) {
  const int64_t place = static_cast<int64_t>(work.tile) * Group::kCtas + Group::rank();
  uint32_t* const counter = p.counters + place * kEpilogueWarpCount + window;  // site: part_counter
  const uint32_t lane = threadIdx.x % 32, last = static_cast<uint32_t>(p.splits) - 1;
  uint32_t before = 0;
  if (lane == 0) before = ptx::countAcquireRelease(counter, 1);
  before = __shfl_sync(0xffffffffu, before, 0);
  if (before == last && lane == 0) *counter = 0;  // for the next launch
  __syncwarp();
  return before == last;
}

template <class Group>
__device__ __forceinline__ void addParts(const GemmParams& p, const GemmWork& work, const AccumulatorWindow& window, int32_t column,
                                         AccumulatorRow& sums) {
  sums.fetch(partial<Group>(p, work, 0, window, column));
#pragma unroll 1
  for (int32_t part = 1; part < p.splits; ++part) {
    AccumulatorRow other;
    other.fetch(partial<Group>(p, work, part, window, column));
    sums.add(p, other);
  }
}

}  // namespace shiftconv::gemm::sm100
