// The context of a CTA of halo: its shared memory, and where things lie.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "common/gemm/sm100/filter_ring.cuh"
#include "common/gemm/sm100/roles.hpp"
#include "common/gemm/tile_schedule.cuh"
#include "conv/algorithms/halo_sm100/params.hpp"

namespace shiftconv::kernels::halo_sm100 {

using gemm::RingPosition;

template <class Group>
struct Control {
  gemm::Pipeline<kMaximumPatchStages, Group::kArrivals> patches;
  gemm::sm100::FilterRing<Group, kMaximumFilterStages> filter;
  gemm::Pipeline<kMaximumScaleStages, Group::kArrivals> scales;
  gemm::Pipeline<kMaximumAccumulators, Group::kArrivals> accumulators;
  uint32_t tensorMemory;
};

/// First output pixel of an operand or a row stream; images from `images` on do not exist.
struct Place {
  int32_t image, depth, row, column;
};

/// kStreams: of row streams (row_streams/row_streams.cuh), else of patches.
template <class CtaGroup, bool kStreams>
struct Cta {
  using Group = CtaGroup;

  const CUtensorMap& inputMap;
  const CUtensorMap& filterMap;
  const CUtensorMap& outputMap;  // where stagingTileBytes is not 0
  const HaloParams& params;
  const gemm::sm100::GemmParams& gemm;
  Control<Group>* control;
  gemm::StaticTiles tiles;
  int32_t firstOutputChannel;
  uint32_t patchStages, filterStages, staging, scaleStages;  // shared-window addresses
  uint32_t tensorMemory = 0;                                 // the accumulators, then stages of scale factors

  __device__ Cta(const CUtensorMap& input, const CUtensorMap& filter, const CUtensorMap& output, const HaloParams& p)
      : inputMap(input), filterMap(filter), outputMap(output), params(p), gemm(p.gemm) {
    extern __shared__ uint8_t dynamicShared[];
    static_assert(sizeof(Control<Group>) <= kControlBytes, "the planner reserves kControlBytes in front of the stages");
    control = &gemm::alignedShared<Control<Group>>(dynamicShared);
    patchStages = ptx::sharedAddress(control) + kControlBytes;
    filterStages = patchStages + static_cast<uint32_t>(p.patchStages) * p.patchStageBytes;
    staging = filterStages + static_cast<uint32_t>(p.filter.stages) * p.filter.stageBytes;
    scaleStages = staging + gemm::sm100::kStagingTilesOfCta * p.stagingTileBytes;
    tiles = gemm::StaticTiles::ofClusters<Group>(p.tiles);
    firstOutputChannel = static_cast<int32_t>(blockIdx.y) * p.gemm.tileN;
  }

  __device__ uint32_t allocatedColumns() const { return gemm.allocatedColumns; }
  __device__ int32_t columns() const { return gemm.tileN; }
  __device__ const gemm::EpilogueParams& epilogue() const { return gemm.epilogue; }
  __device__ uint32_t accumulator(int32_t index) const {
    return tensorMemory + static_cast<uint32_t>(index) * gemm.accumulatorColumns;
  }
  __device__ uint32_t scaleColumns(int32_t index) const {
    return accumulator(gemm.accumulators) + static_cast<uint32_t>(index) * gemm.stageColumns;
  }
  __device__ uint32_t patchStage(const RingPosition& stage) const {
    return patchStages + static_cast<uint32_t>(stage.index) * params.patchStageBytes;
  }
  __device__ uint32_t scaleStage(const RingPosition& stage) const {
    return scaleStages + static_cast<uint32_t>(stage.index) * params.scaleStageBytes;
  }
  __device__ bool isScaled() const { return layout::isBlockScaled(gemm.kind); }
  __device__ uint32_t scaleAtoms() const { return gemm::sm100::scaleAtomsPerChunk(gemm.kind); }

  __device__ int32_t operandOf(int32_t tile) const { return tile * Group::kCtas + static_cast<int32_t>(Group::rank()); }
  __device__ Place placeOf(int32_t unit) const {
    const int32_t line = unit / params.columnBlocks, plane = line / params.rowBlocks, group = plane / params.outputDepth;
    return {group * params.tileImages, plane - group * params.outputDepth, (line - plane * params.rowBlocks) * params.tileRows,
            (unit - line * params.columnBlocks) * kGroupPixels};
  }
  /// The first output pixel of a group of this CTA's operand, `further` rows down its stream.
  __device__ Place placeOfGroup(int32_t tile, int32_t group, int32_t further) const {
    Place place;
    if constexpr (kStreams) {
      place = placeOf(operandOf(tile) * kGroups + group);
      place.row += further;
    } else {
      const int32_t rowOfTile = group / params.tileImages;
      place = placeOf(operandOf(tile));
      place.image += group - rowOfTile * params.tileImages;
      place.row += rowOfTile;
    }
    return place;
  }
  /// The output pixel of a row of this CTA's operand, or of an accumulator `further` rows down its stream; negative: none.
  __device__ int32_t pixelOf(int32_t tile, int32_t operandRow, int32_t further) const {
    Place place = placeOfGroup(tile, operandRow / kGroupPixels, further);
    place.column += operandRow % kGroupPixels;
    const bool exists = place.image < params.images && place.row < params.outputHeight && place.column < params.outputWidth;
    const int32_t plane = place.image * params.outputDepth + place.depth;
    return exists ? (plane * params.outputHeight + place.row) * params.outputWidth + place.column : -1;
  }
  /// Calls body(depthTap, chunk) for everything that is loaded for a tile.
  template <class Body>
  __device__ void forEachRun(Body&& body) const {
#pragma unroll 1
    for (int32_t depthTap = 0; depthTap < params.filterDepth; ++depthTap)
#pragma unroll 1
      for (int32_t chunk = 0; chunk < gemm.lineChunks; ++chunk) body(depthTap, chunk);
  }
};

template <class Group, bool kStreams>
__device__ __forceinline__ void initialiseBarriers(const Cta<Group, kStreams>& cta) {
  using namespace gemm::sm100;
  const HaloParams& p = cta.params;
  cta.control->patches.initialise(p.patchStages, 1, 1);
  cta.control->filter.initialise(p.filter);
  cta.control->scales.initialise(p.scaleStages, Group::kCtaGroup * kScaleWarpCount, 1);
  cta.control->accumulators.initialise(cta.gemm.accumulators, 1, Group::kCtaGroup * kEpilogueWarpCount);
  ptx::fenceMbarrierInit();
}

}  // namespace shiftconv::kernels::halo_sm100
