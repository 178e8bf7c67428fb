// The context of a CTA of shift_stream: its shared memory, and where things lie.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "common/gemm/sm100/filter_ring.cuh"
#include "common/gemm/sm100/roles.hpp"
#include "common/gemm/tile_schedule.cuh"
#include "conv/algorithms/shift_stream/rows.hpp"
#include "conv/algorithms/shift_stream/scales.cuh"

namespace shiftconv::kernels::shift_stream {

using gemm::RingPosition;

/// Where a box lies in the first row and depth tap of a tile.
struct alignas(16) BoxPlace {
  int32_t x, y, z, image;
};

template <class Group>
struct Control {
  gemm::Pipeline<kStreamMaximumOperandStages, Group::kArrivals> operands;     // input rows in shared memory
  gemm::Pipeline<kStreamMaximumSlots> slots;                                  // input rows in Tensor Memory; full is not used
  gemm::sm100::FilterRing<Group, kStreamMaximumFilterStages> filter;          // taps in shared memory
  gemm::Pipeline<kStreamMaximumAccumulators, Group::kArrivals> accumulators;  // output rows
  gemm::Pipeline<1, Group::kArrivals> filterScales;                           // all of the pass in shared memory; never released
  gemm::Pipeline<kStreamMaximumScaleEntries> scaleEntries;                    // a ring in Tensor Memory; full is not used
  uint32_t tensorMemory;
  BoxPlace pieces[kStreamMaximumPieces];  // of the loading warp's tile
  BoxPlace refills[kStreamWindows * (kStreamMaximumFilterExtent - 1)];
  BoxPlace edges[kStreamMaximumFilterExtent - 1];
};

/// kScaled: of block-scaled kinds.
template <class CtaGroup, bool kScaledKinds>
struct Cta {
  using Group = CtaGroup;
  static constexpr bool kScaled = kScaledKinds;

  const CUtensorMap& inputMap;
  const CUtensorMap& refillMap;
  const CUtensorMap& filterMap;
  const CUtensorMap& outputMap;  // where stagingTileBytes is not 0
  const ShiftStreamParams& params;
  Control<Group>* control;
  gemm::StaticTiles tiles;
  int32_t firstOutputChannel;
  uint32_t operandStages, staging, filterStages, filterScales;  // shared-window addresses
  uint32_t tensorMemory = 0;                                    // accumulators, slots, then entries of the filter's scale factors

  __device__ Cta(const CUtensorMap& input, const CUtensorMap& refill, const CUtensorMap& filter, const CUtensorMap& output,
                 const ShiftStreamParams& p)
      : inputMap(input), refillMap(refill), filterMap(filter), outputMap(output), params(p) {
    extern __shared__ uint8_t dynamicShared[];
    static_assert(sizeof(Control<Group>) <= kStreamControlBytes, "the planner reserves kStreamControlBytes in front of the stages");
    control = &gemm::alignedShared<Control<Group>>(dynamicShared);
    operandStages = ptx::sharedAddress(control) + kStreamControlBytes;
    staging = operandStages + static_cast<uint32_t>(p.operandStages) * p.operandStageBytes;
    filterStages = staging + gemm::sm100::kStagingTilesOfCta * p.stagingTileBytes;
    filterScales = filterStages + static_cast<uint32_t>(p.filter.stages) * p.filter.stageBytes;
    tiles = gemm::StaticTiles::ofClusters<Group>(p.tiles);
    firstOutputChannel = static_cast<int32_t>(blockIdx.y) * p.tileN;
  }

  __device__ uint32_t allocatedColumns() const { return params.allocatedColumns; }
  __device__ int32_t columns() const { return params.tileN; }
  __device__ const gemm::EpilogueParams& epilogue() const { return params.epilogue; }

  // ---- Tensor Memory -----------------------------------------------------------------------------------------------------------
  __device__ uint32_t accumulator(int32_t index) const {
    return tensorMemory + static_cast<uint32_t>(index) * params.accumulatorColumns;
  }
  __device__ uint32_t slot(const RingPosition& position) const {
    return accumulator(params.accumulators) + static_cast<uint32_t>(position.index) * params.slotColumns;
  }
  /// The filter's scale factors of filter row r, in an entry.
  __device__ uint32_t scaleColumns(int32_t entry, int32_t r) const {
    const int32_t tile = entry * params.filterHeight + r;
    return slot({params.slots, 0}) + static_cast<uint32_t>(tile * params.filterScales.rowTiles) * scaleTileColumns(params.kind);
  }

  // ---- Shared memory -----------------------------------------------------------------------------------------------------------
  /// Of lane 0.
  __device__ uint32_t operandStage(const RingPosition& stage) const {
    return operandStages + static_cast<uint32_t>(stage.index) * params.operandStageBytes + frontBytes(params.lanes);
  }
  /// What the windows take after the shift from tap column `s` to the next one.
  __device__ uint32_t stageRefill(const RingPosition& stage, int32_t s) const {
    return operandStage(stage) + kStreamRowBytes + static_cast<uint32_t>(s) * kStreamRefillBytes;
  }
  __device__ uint32_t stageScales(const RingPosition& stage) const {
    return operandStage(stage) + kStreamRowBytes + refillBytes(params.lanes, params.filterWidth);
  }
  /// The scale factors of tap (r, s) of a run; tap columns follow one another.
  __device__ uint32_t filterScaleTile(int32_t run, int32_t r, int32_t s) const {
    const int32_t tile = (run * params.filterWidth + s) * params.filterHeight + r;
    return filterScales + static_cast<uint32_t>(tile * params.filterScales.rowTiles) * scaleTileBytes(params.kind);
  }

  // ---- Work --------------------------------------------------------------------------------------------------------------------
  __device__ int32_t slicesOf(int32_t chunk) const {
    return gemm::sm100::slicesOf(chunk, params.channelChunks, params.lastChunkSlices);
  }
  __device__ Place placeIn(int32_t tile, int32_t piece) const {
    return placeOf(params, (tile * Group::kCtas + static_cast<int32_t>(Group::rank())) * params.lanes.pieces() + piece);
  }
  __device__ TileRows rowsOf(int32_t tile) const {
    const int32_t pieces = params.lanes.pieces() * Group::kCtas;
    return tileRows(params, tile * pieces, pieces);
  }
  /// Calls body(t, contribution) for every step of a tile that contributes to something.
  template <class Body>
  __device__ void forEachStep(const TileRows& tile, Body&& body) const {
#pragma unroll 1
    for (int32_t t = tile.begin; t < tile.end; ++t) {
      const Contribution rows = contribution(params, tile, t);
      if (rows.count > 0) body(t, rows);
    }
  }
  /// Calls body(depthTap, chunk) for everything that is loaded of an input row.
  template <class Body>
  __device__ void forEachRun(Body&& body) const {
#pragma unroll 1
    for (int32_t depthTap = 0; depthTap < params.filterDepth; ++depthTap)
#pragma unroll 1
      for (int32_t chunk = 0; chunk < params.channelChunks; ++chunk) body(depthTap, chunk);
  }
};

template <class Group, bool kScaled>
__device__ __forceinline__ void initialiseBarriers(const Cta<Group, kScaled>& cta) {
  const ShiftStreamParams& p = cta.params;
  Control<Group>& control = *cta.control;
  constexpr uint32_t kArranging = kScaled ? Group::kCtaGroup * gemm::sm100::kScaleWarpCount : 0;
  control.operands.initialise(p.operandStages, 1 + kArranging, 1);
  if constexpr (kScaled) {
    control.filterScales.initialise(1, kArranging, 1);
    if (!p.scalesResident) control.scaleEntries.initialise(p.scaleEntries, 1, 1);
  }
  control.slots.initialise(p.slots, 1, 1);
  control.filter.initialise(p.filter);
  control.accumulators.initialise(p.accumulators, 1, Group::kCtaGroup * kStreamWindows);
  ptx::fenceMbarrierInit();
}

}  // namespace shiftconv::kernels::shift_stream
