// What brings input rows, filters and scale factors of shift_stream to shared memory.
#pragma once

#include <cstdint>

#include "common/gemm/sm100/filter_ring.cuh"
#include "common/gemm/sm100/stages.cuh"
#include "conv/algorithms/shift_stream/cta.cuh"

namespace shiftconv::kernels::shift_stream {

// ---- Input rows: one warp finds places, one thread of it loads ------------------------------------------------------------------
/// What no box fills stays zero in all stages.
template <class Group, bool kScaled>
__device__ __forceinline__ void clearOperands(const Cta<Group, kScaled>& cta) {
  const ShiftStreamParams& p = cta.params;
  const int32_t lane = static_cast<int32_t>(threadIdx.x) % kStreamLanes;
  if (ctaPieceLane(p.lanes, lane).offset < p.lanes.loadedLanes) return;
  const uint32_t row = cta.operandStage({}) + static_cast<uint32_t>(lane) * layout::kSwizzle128RowBytes;
#pragma unroll 1
  for (int32_t stage = 0; stage < p.operandStages; ++stage)
#pragma unroll 1
    for (uint32_t byte = 0; byte < layout::kSwizzle128RowBytes; byte += 16)
      ptx::storeShared16Bytes(row + static_cast<uint32_t>(stage) * p.operandStageBytes + byte, 0, 0, 0, 0);
  ptx::fenceProxyAsyncShared();  // site: lanes_cleared
}

template <class Group, bool kScaled>
__device__ __forceinline__ BoxPlace boxPlace(const Cta<Group, kScaled>& cta, int32_t tile, const PieceLane& first) {
  const ShiftStreamParams& p = cta.params;
  const Place place = cta.placeIn(tile, first.piece);
  return {place.column - p.padLeft + p.lanes.firstTap + first.offset, place.firstInputRow, place.depth * p.strideDepth - p.padFront,
          place.image};
}
/// Pieces after the last belong to an image that does not exist: zeros.
template <class Group, bool kScaled>
__device__ __forceinline__ void findBoxes(const Cta<Group, kScaled>& cta, int32_t tile) {
  const LaneMap& lanes = cta.params.lanes;
  Control<Group>& control = *cta.control;
  const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
  if (lane < lanes.pieces()) control.pieces[lane] = boxPlace(cta, tile, {lane, 0});
  if (lane < lanes.refills(cta.params.filterWidth))
    control.refills[lane] = boxPlace(cta, tile, refillOf(lanes, lane % kStreamWindows, lane / kStreamWindows + 1));
  if constexpr (!kScaled)
    if (lane < lanes.edges()) control.edges[lane] = boxPlace(cta, tile, edgePixel(lanes, lane).from);
}

/// Pixels at the ends of rows that lie end to end, which need lane masks.
template <class Group, class Load>
__device__ __forceinline__ void loadEdges(const Cta<Group, false>& cta, const Load& load, const RingPosition& stage) {
#pragma unroll 1
  for (int32_t edge = 0; edge < cta.params.lanes.edges(); ++edge) {
    const auto lane = static_cast<uint32_t>(edgePixel(cta.params.lanes, edge).lane);
    load(cta.refillMap, cta.operandStage(stage) + lane * layout::kSwizzle128RowBytes, cta.control->edges[edge]);
  }
}

template <class Group, bool kScaled>
__device__ __forceinline__ void loadRow(const Cta<Group, kScaled>& cta, const RingPosition& stage, int32_t t, int32_t depthTap,
                                        int32_t chunk) {
  const ShiftStreamParams& p = cta.params;
  const uint32_t full = Group::atLeader(cta.control->operands.full(stage));
  const auto load = [&](const CUtensorMap& map, uint32_t destination, const BoxPlace& place) {
    Group::load(destination, &map, chunk * p.chunkElements, place.x, place.y + t * p.dilationH,
                place.z + depthTap * p.dilationDepth, place.image, full);
  };
  const BoxPlace* place = cta.control->pieces;
#pragma unroll 1
  for (int32_t frame = 0; frame < kStreamLanes; frame += p.lanes.frameLanes)
#pragma unroll 1
    for (int32_t piece = 0; piece < p.lanes.framePieces; ++piece) {
      const int32_t lane = frame + piece * p.lanes.pieceLanes;
      load(cta.inputMap, cta.operandStage(stage) + static_cast<uint32_t>(lane) * layout::kSwizzle128RowBytes, *place++);
    }
  if (!p.lanes.isRefilled) return;
  place = cta.control->refills;
#pragma unroll 1
  for (int32_t s = 0; s + 1 < p.filterWidth; ++s)
#pragma unroll 1
    for (uint32_t window = 0; window < kStreamWindows; ++window)
      load(cta.refillMap, cta.stageRefill(stage, s) + window * layout::kSwizzle128RowBytes, *place++);
  if constexpr (!kScaled) loadEdges(cta, load, stage);
}

template <class Group, bool kScaled>
__device__ __forceinline__ void loadOperands(const Cta<Group, kScaled>& cta) {
  const ShiftStreamParams& p = cta.params;
  ptx::prefetchTensorMap(&cta.inputMap);
  RingPosition stage;  // of the elected thread, which is always the same
  for (const int32_t tile : cta.tiles) {
    findBoxes(cta, tile);
    __syncwarp();
    if (ptx::electOne())
      cta.forEachStep(cta.rowsOf(tile), [&](int32_t t, const Contribution&) {
        cta.forEachRun([&](int32_t depthTap, int32_t chunk) {
          cta.control->operands.awaitEmpty(stage);
          gemm::sm100::expectBytes<Group>(cta.control->operands, stage, Group::kCtaGroup * p.operandCountedBytes);
          loadRow(cta, stage, t, depthTap, chunk);
          stage.advance(p.operandStages);
        });
      });
    __syncwarp();
  }
  if (ptx::electOne()) cta.control->operands.awaitReleases(stage, p.operandStages);
}

// ---- Filters: one thread --------------------------------------------------------------------------------------------------------
/// In the order (t, chunk, r, s).
template <class Group, bool kScaled, class Body>
__device__ __forceinline__ void forEachTap(const Cta<Group, kScaled>& cta, Body&& body) {
  cta.forEachRun([&](int32_t depthTap, int32_t chunk) {
#pragma unroll 1
    for (int32_t index = 0; index < cta.params.filter.taps; ++index) body(gemm::sm100::FilterTap{depthTap, chunk, index});
  });
}
/// Tap columns of every input row, each with the filter rows that the row contributes to.
template <class Group, bool kScaled, class Body>
__device__ __forceinline__ void forEachTapOfTile(const Cta<Group, kScaled>& cta, int32_t tile, Body&& body) {
  const ShiftStreamParams& p = cta.params;
  cta.forEachStep(cta.rowsOf(tile), [&](int32_t t, const Contribution& rows) {
    cta.forEachRun([&](int32_t depthTap, int32_t chunk) {
      const bool opens = depthTap == 0 && chunk == 0;
#pragma unroll 1
      for (int32_t range = 0; range < tapRanges(p.lanes, opens); ++range) {
        const TapRange taps = tapRange(p.lanes, p.filterWidth, opens, range);
#pragma unroll 1
        for (int32_t s = taps.begin; s < taps.end; ++s)
#pragma unroll 1
          for (int32_t i = 0; i < rows.count; ++i) {
            const int32_t r = t - (rows.first + i) * p.strideH;
            body(gemm::sm100::FilterTap{depthTap, chunk, r * p.filterWidth + s});
          }
      }
    });
  });
}
template <class Group, bool kScaled>
__device__ __forceinline__ void loadFilter(const Cta<Group, kScaled>& cta) {
  gemm::sm100::loadFilterRing(cta);
}

// ---- Scale factors: four warps --------------------------------------------------------------------------------------------------
template <class Group>
__device__ __forceinline__ void arrangeScales(const Cta<Group, true>& cta) {
  const ShiftStreamParams& p = cta.params;
  const uint32_t thread = threadIdx.x - gemm::sm100::kScaleWarps * 32;
  if (cta.tiles.own() == 0) return;
  int32_t run = 0;
  cta.forEachRun([&](int32_t depthTap, int32_t chunk) {
#pragma unroll 1
    for (int32_t r = 0; r < p.filterHeight; ++r)
#pragma unroll 1
      for (int32_t s = 0; s < p.filterWidth; ++s)
        arrangeFilterScales(p, (depthTap * p.filterHeight + r) * p.filterWidth + s, chunk, cta.firstOutputChannel,
                            cta.filterScaleTile(run, r, s), thread);
    ++run;
  });
  gemm::sm100::publishStage<Group>(cta.control->filterScales, RingPosition{});

  const PieceLane own = ctaPieceLane(p.lanes, static_cast<int32_t>(thread));
  RingPosition stage;
  for (const int32_t tile : cta.tiles) {
    const Place place = cta.placeIn(tile, own.piece);
    cta.forEachStep(cta.rowsOf(tile), [&](int32_t t, const Contribution&) {
      cta.forEachRun([&](int32_t depthTap, int32_t chunk) {
        cta.control->operands.awaitEmpty(stage);
        arrangeInputScales(p, place, own.offset, place.firstInputRow + t * p.dilationH, depthTap, chunk, cta.stageScales(stage),
                           thread);
        gemm::sm100::publishStage<Group>(cta.control->operands, stage);
        stage.advance(p.operandStages);
      });
    });
  }
}

}  // namespace shiftconv::kernels::shift_stream
