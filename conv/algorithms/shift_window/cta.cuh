// The context of a CTA of shift_window: its shared memory, and where things lie.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "common/gemm/sm100/filter_ring.cuh"
#include "common/gemm/sm100/roles.hpp"
#include "common/gemm/tile_schedule.cuh"
#include "common/ptx/masked_pair.cuh"
#include "conv/algorithms/shift_window/params.hpp"

namespace shiftconv::kernels::shift_window {

using gemm::RingPosition;

/// Of one CTA. A filter of one depth tap reaches no other plane, and has no mask for it.
struct TileMasks {
  ptx::LaneMask column[kMaximumFilterExtent];  // [s]: column outside the image, or no anchor in this lane; a word a window
  ptx::LaneMask row[kMaximumFilterExtent];     // [r]: row outside the image
  ptx::LaneMask plane[kMaximumFilterExtent];   // [t]: plane outside the image
};

template <class Group>
struct Control {
  gemm::Pipeline<kMaximumOperandStages, Group::kArrivals> operands;  // activations in shared memory
  gemm::Pipeline<kOperandSlots> slots;                               // activations in Tensor Memory; full is not used
  gemm::sm100::FilterRing<Group, kMaximumFilterStages> filter;       // filter taps in shared memory
  gemm::Pipeline<kMaskStages> masksOfTiles;
  gemm::Pipeline<kAccumulators, Group::kArrivals> accumulators;
  alignas(16) TileMasks masks[kMaskStages][Group::kCtas];
  uint32_t tensorMemory;
};

struct PixelPosition {
  int32_t image, plane, row, column;
};

template <class CtaGroup>
struct Cta {
  using Group = CtaGroup;

  const CUtensorMap& inputMap;
  const CUtensorMap& filterMap;
  const CUtensorMap& outputMap;  // where stagingTileBytes is not 0
  const ShiftWindowParams& params;
  Control<Group>* control;
  gemm::StaticTiles tiles;  // the order of work, the same for every role
  int32_t firstOutputChannel, anchorsPerWindow;
  uint32_t operandStages, staging, filterStages;  // shared-window addresses
  uint32_t tensorMemory = 0;                      // the accumulators, then the slots

  __device__ Cta(const CUtensorMap& input, const CUtensorMap& filter, const CUtensorMap& output, const ShiftWindowParams& p)
      : inputMap(input), filterMap(filter), outputMap(output), params(p) {
    extern __shared__ uint8_t dynamicShared[];
    static_assert(sizeof(Control<Group>) <= controlBytes(Group::kCtas), "the planner reserves controlBytes in front of the stages");
    control = &gemm::alignedShared<Control<Group>>(dynamicShared);
    operandStages = ptx::sharedAddress(control) + controlBytes(Group::kCtas);
    staging = operandStages + static_cast<uint32_t>(p.operandStages) * kOperandStageBytes;
    filterStages = staging + gemm::sm100::kStagingTilesOfCta * p.stagingTileBytes;
    anchorsPerWindow = usefulLanes(p.filterWidth);
    tiles = gemm::StaticTiles::ofClusters<Group>(p.tiles);
    firstOutputChannel = static_cast<int32_t>(blockIdx.y) * p.tileN;
  }

  __device__ uint32_t allocatedColumns() const {
    const uint32_t needed = static_cast<uint32_t>(kAccumulators * accumulatorColumns(params.tileN) + kOperandSlots * kSlotColumns);
    return needed <= 256 ? 256 : 512;  // a power of two; at least 2*32 + 128; site: allocated_columns
  }
  __device__ int32_t columns() const { return params.tileN; }
  __device__ const gemm::EpilogueParams& epilogue() const { return params.epilogue; }

  __device__ uint32_t accumulator(int32_t index) const {
    return tensorMemory + static_cast<uint32_t>(index * accumulatorColumns(params.tileN));
  }
  __device__ uint32_t slot(int32_t index) const { return accumulator(kAccumulators) + static_cast<uint32_t>(index * kSlotColumns); }
  __device__ uint32_t operandStage(int32_t index) const {
    return operandStages + static_cast<uint32_t>(index) * kOperandStageBytes;
  }
  __device__ int32_t slicesOf(int32_t chunk) const {
    return gemm::sm100::slicesOf(chunk, params.channelChunks, params.lastChunkSlices);
  }

  __device__ int32_t firstAnchor(int32_t tile, uint32_t rank) const {
    return (tile * Group::kCtas + static_cast<int32_t>(rank)) * kWindows * anchorsPerWindow;
  }
  /// Position of a flat pixel index in N x D x H x W.
  __device__ PixelPosition pixelOf(int32_t anchor) const {
    const uint32_t flat = static_cast<uint32_t>(anchor);
    const uint32_t planes = params.byPlane.quotient(flat), inPlane = flat - planes * params.byPlane.divisor;
    const uint32_t image = params.byDepth.quotient(planes), row = params.byWidth.quotient(inPlane);
    return {static_cast<int32_t>(image), static_cast<int32_t>(planes - image * params.byDepth.divisor), static_cast<int32_t>(row),
            static_cast<int32_t>(inPlane - row * params.byWidth.divisor)};
  }
  /// Calls body(t, r) for every filter row.
  template <class Body>
  __device__ void forEachFilterRow(Body&& body) const {
#pragma unroll 1
    for (int32_t t = 0; t < params.filterDepth; ++t)
#pragma unroll 1
      for (int32_t r = 0; r < params.filterHeight; ++r) body(t, r);
  }
};

template <class Group>
__device__ __forceinline__ void initialiseBarriers(const Cta<Group>& cta) {
  Control<Group>& control = *cta.control;
  control.operands.initialise(kMaximumOperandStages, 1, 1);
  control.slots.initialise(kOperandSlots, 1, 1);
  control.filter.initialise(cta.params.filter);
  control.masksOfTiles.initialise(kMaskStages, 1, 1);
  control.accumulators.initialise(kAccumulators, 1, Group::kCtaGroup * kWindows);
  ptx::fenceMbarrierInit();
}

}  // namespace shiftconv::kernels::shift_window
