// Filters on their way to shared memory: a ring of stages that taps pass through, or all taps of a pass at once.
//
// A context that loads them has `params.filter` (FilterParams), `control->filter` (FilterRing), `filterMap`, `filterStages`,
// `firstOutputChannel` and `tiles`. Beside it stand
//   forEachTap(cta, body)             calls body(FilterTap) for all taps of the pass, in the order of resident stages
//   forEachTapOfTile(cta, tile, body) the same for those that a tile multiplies, in that order
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/filter_params.hpp"
#include "common/gemm/sm100/stages.cuh"
#include "common/ptx/bulk_copy.cuh"

namespace shiftconv::gemm::sm100 {

template <class Group, int32_t kMaximumStages>
struct FilterRing {
  Pipeline<kMaximumStages, Group::kArrivals> taps;  // as they stream by
  Pipeline<1, Group::kArrivals> all;                // of the pass; never released

  __device__ void initialise(const FilterParams& filter) {
    if (!filter.resident) taps.initialise(filter.stages, 1, 1);
    all.initialise(1, 1, 1);
  }
};

struct FilterTap {
  int32_t depthTap, chunk, index;  // index: r * S + s
};

template <class Cta>
__device__ __forceinline__ uint32_t filterStage(const Cta& cta, int32_t index) {
  return cta.filterStages + static_cast<uint32_t>(index) * cta.params.filter.stageBytes;
}

template <class Cta>
__device__ __forceinline__ void loadTap(const Cta& cta, int32_t stage, const FilterTap& tap, uint32_t full) {
  using Group = typename Cta::Group;
  const FilterParams& filter = cta.params.filter;
  Group::load(filterStage(cta, stage), &cta.filterMap, tap.chunk * filter.chunkElements, tap.depthTap * filter.taps + tap.index,
              cta.firstOutputChannel + static_cast<int32_t>(Group::rank()) * filter.shareRows, full);
}

/// The role of the thread that loads filters.
template <class Cta>
__device__ __forceinline__ void loadFilterRing(const Cta& cta) {
  using Group = typename Cta::Group;
  const FilterParams& filter = cta.params.filter;
  const auto& ring = cta.control->filter;
  ptx::prefetchTensorMap(&cta.filterMap);
  if (filter.resident) {
    if (cta.tiles.own() == 0) return;
    const uint32_t full =
        expectBytes<Group>(ring.all, RingPosition{}, Group::kCtaGroup * static_cast<uint32_t>(filter.stages) * filter.countedBytes);
    int32_t index = 0;
    forEachTap(cta, [&](const FilterTap& tap) { loadTap(cta, index++, tap, full); });
    return;
  }
  RingPosition stage;
  for (const int32_t tile : cta.tiles)
    forEachTapOfTile(cta, tile, [&](const FilterTap& tap) {
      ring.taps.awaitEmpty(stage);
      const uint32_t full = expectBytes<Group>(ring.taps, stage, Group::kCtaGroup * filter.countedBytes);  // site: filter_bytes
      loadTap(cta, stage.index, tap, full);
      stage.advance(filter.stages);
    });
  ring.taps.awaitReleases(stage, filter.stages);
}

/// The multiplying thread, in front of its first tile.
template <class Cta>
__device__ __forceinline__ void awaitResidentFilter(const Cta& cta) {
  if (cta.params.filter.resident && cta.tiles.own() != 0) cta.control->filter.all.awaitFull(RingPosition{});
}

}  // namespace shiftconv::gemm::sm100
