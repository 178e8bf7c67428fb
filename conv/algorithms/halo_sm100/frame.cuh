// What all roles of a CTA of halo share: its warps, its shared memory, and where things lie.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/mainloop.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "conv/algorithms/halo_sm100/params.hpp"

namespace shiftconv::kernels::halo_sm100 {

using gemm::RingPosition;

// ---- Roles -------------------------------------------------------------------------------------------------------------------
enum Warp : uint32_t {
  kPatchLoadWarp = 0,
  kMmaWarp = 1,  // owns the Tensor Memory allocation
  kFilterLoadWarp = 2,
  kEpilogueWarps = 4,  // 4..7: warp w may touch Tensor Memory lanes 32*(w%4).. only (PTX ISA 9.7.16.8.1)
  kScaleWarps = 8,     // 8..11, only for block-scaled operands
};
constexpr uint32_t kEpilogueWarpCount = 4, kScaleWarpCount = 4;

// ---- Shared memory -----------------------------------------------------------------------------------------------------------
template <class Group>
struct Control {
  gemm::Pipeline<kMaximumPatchStages, Group::kArrivals> patches;
  gemm::Pipeline<kMaximumFilterStages, Group::kArrivals> filters;  // taps in shared memory, as they stream by
  gemm::Pipeline<1, Group::kArrivals> residentFilter;              // all taps of the pass; never released
  gemm::Pipeline<kMaximumScaleStages, Group::kArrivals> scales;
  gemm::Pipeline<kMaximumAccumulators, Group::kArrivals> accumulators;
  uint32_t tensorMemory;
};

// ---- One CTA -----------------------------------------------------------------------------------------------------------------
template <class Group>
class HaloFrame {
 public:
  __device__ HaloFrame(const CUtensorMap& inputMap, const CUtensorMap& filterMap, const HaloParams& params)
      : inputMap_(inputMap), filterMap_(filterMap), p_(params), g_(params.gemm) {
    extern __shared__ uint8_t dynamicShared[];
    static_assert(sizeof(Control<Group>) <= kControlBytes, "the planner reserves kControlBytes in front of the stages");
    control_ = &gemm::alignedShared<Control<Group>>(dynamicShared);
    patchStages_ = ptx::sharedAddress(control_) + kControlBytes;
    filterStages_ = patchStages_ + static_cast<uint32_t>(p_.patchStages) * p_.patchStageBytes;
    scaleStages_ = filterStages_ + static_cast<uint32_t>(p_.filterStages) * g_.b.stageBytes;
    tiles_ = {static_cast<int32_t>(blockIdx.x) / Group::kCtas, static_cast<int32_t>(gridDim.x) / Group::kCtas, p_.tiles};
    firstOutputChannel_ = static_cast<int32_t>(blockIdx.y) * g_.tileN;
  }

 protected:
  // ---- Setup -------------------------------------------------------------------------------------------------------------------
  __device__ void initialiseBarriers() {
    control_->patches.initialise(p_.patchStages, 1, 1);
    if (!p_.filterResident) control_->filters.initialise(p_.filterStages, 1, 1);
    control_->residentFilter.initialise(1, 1, 1);
    control_->scales.initialise(p_.scaleStages, Group::kCtaGroup * kScaleWarpCount, 1);
    control_->accumulators.initialise(g_.accumulators, 1, Group::kCtaGroup * kEpilogueWarpCount);
    ptx::fenceMbarrierInit();
  }

  // ---- Places ------------------------------------------------------------------------------------------------------------------
  __device__ uint32_t patchStage(const RingPosition& stage) const {
    return patchStages_ + static_cast<uint32_t>(stage.index) * p_.patchStageBytes;
  }
  __device__ uint32_t filterStage(int32_t index) const { return filterStages_ + static_cast<uint32_t>(index) * g_.b.stageBytes; }
  __device__ bool isScaled() const { return layout::isBlockScaled(g_.kind); }
  __device__ uint32_t scaleStage(const RingPosition& stage) const {
    return scaleStages_ + static_cast<uint32_t>(stage.index) * p_.scaleStageBytes;
  }
  __device__ uint32_t scaleAtoms() const { return gemm::sm100::scaleAtomsPerChunk(g_.kind); }

  /// First output pixel of an operand or a row stream; images from `images` on do not exist.
  struct Place {
    int32_t image, depth, row, column;
  };
  __device__ int32_t operandOf(int32_t tile) const { return tile * Group::kCtas + static_cast<int32_t>(Group::rank()); }
  __device__ Place placeOf(int32_t unit) const {
    const int32_t line = unit / p_.columnBlocks, plane = line / p_.rowBlocks, group = plane / p_.outputDepth;
    return {group * p_.tileImages, plane - group * p_.outputDepth, (line - plane * p_.rowBlocks) * p_.tileRows,
            (unit - line * p_.columnBlocks) * kGroupPixels};
  }
  /// The output pixel of a row of this CTA's operand, or of an accumulator `further` rows down its stream; negative: none.
  __device__ int32_t pixelOf(int32_t tile, int32_t operandRow, int32_t further) const {
    const int32_t group = operandRow / kGroupPixels;
    Place place;
    if (p_.streamsRows) {
      place = placeOf(operandOf(tile) * kGroups + group);
      place.row += further;
    } else {
      const int32_t rowOfTile = group / p_.tileImages;
      place = placeOf(operandOf(tile));
      place.image += group - rowOfTile * p_.tileImages;
      place.row += rowOfTile;
    }
    place.column += operandRow % kGroupPixels;
    const bool exists = place.image < p_.images && place.row < p_.outputHeight && place.column < p_.outputWidth;
    return exists ? ((place.image * p_.outputDepth + place.depth) * p_.outputHeight + place.row) * p_.outputWidth + place.column
                  : -1;
  }
  /// Calls body(depthTap, chunk) for everything that is loaded for a tile.
  template <class Body>
  __device__ void forEachRun(Body&& body) const {
#pragma unroll 1
    for (int32_t depthTap = 0; depthTap < p_.filterDepth; ++depthTap)
#pragma unroll 1
      for (int32_t chunk = 0; chunk < g_.lineChunks; ++chunk) body(depthTap, chunk);
  }

  const CUtensorMap& inputMap_;
  const CUtensorMap& filterMap_;
  const HaloParams& p_;
  const gemm::sm100::GemmParams& g_;
  Control<Group>* control_;
  gemm::StaticTiles tiles_;
  int32_t firstOutputChannel_;
  uint32_t patchStages_, filterStages_, scaleStages_;  // shared-window addresses
  uint32_t accumulators_ = 0;                          // Tensor Memory address
};

}  // namespace shiftconv::kernels::halo_sm100
