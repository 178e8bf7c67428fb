// What all roles of a CTA of shift_stream share: its warps, its shared memory, and where things lie.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/mainloop.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "conv/algorithms/shift_stream/rows.hpp"
#include "conv/algorithms/shift_stream/scales.cuh"

namespace shiftconv::kernels {

using gemm::RingPosition;

// ---- Roles -------------------------------------------------------------------------------------------------------------------
enum Warp : uint32_t {
  kOperandLoadWarp = 0,  // TMA of activations
  kMmaWarp = 1,          // tcgen05.cp, tcgen05.mma, tcgen05.shift; owns the Tensor Memory allocation
  kFilterLoadWarp = 2,   // TMA of filters
  kEpilogueWarps = 4,    // 4..7: warp w may touch Tensor Memory lanes 32*(w%4).. only (PTX ISA 9.7.16.8.1)
  kScaleWarps = 8,       // 8..11, of block-scaled kernels
};
constexpr uint32_t kScaleWarpCount = 4;

/// Where a box lies in the first row and depth tap of a tile.
struct alignas(16) BoxPlace {
  int32_t x, y, z, image;
};

// ---- Shared memory -----------------------------------------------------------------------------------------------------------
template <class Group>
struct Control {
  gemm::Pipeline<kStreamMaximumOperandStages, Group::kArrivals> operands;     // input rows in shared memory
  gemm::Pipeline<kStreamMaximumSlots> slots;                                  // input rows in Tensor Memory; full is not used
  gemm::Pipeline<kStreamMaximumFilterStages, Group::kArrivals> filters;       // taps in shared memory, as they stream by
  gemm::Pipeline<1, Group::kArrivals> residentFilter;                         // all taps of the pass; never released
  gemm::Pipeline<kStreamMaximumAccumulators, Group::kArrivals> accumulators;  // output rows
  gemm::Pipeline<1, Group::kArrivals> filterScales;                           // all of the pass in shared memory; never released
  gemm::Pipeline<kStreamMaximumScaleEntries> scaleEntries;                    // a ring in Tensor Memory; full is not used
  uint32_t tensorMemory;
  BoxPlace pieces[kStreamMaximumPieces];  // of the loading warp's tile
  BoxPlace refills[kStreamWindows * (kStreamMaximumFilterExtent - 1)];
  BoxPlace edges[kStreamMaximumFilterExtent - 1];
};

// ---- One CTA -----------------------------------------------------------------------------------------------------------------
template <class Group, bool kScaled>
class ShiftStreamFrame {
 public:
  __device__ ShiftStreamFrame(const CUtensorMap& inputMap, const CUtensorMap& refillMap, const CUtensorMap& filterMap,
                              const ShiftStreamParams& params)
      : inputMap_(inputMap), refillMap_(refillMap), filterMap_(filterMap), p_(params) {
    extern __shared__ uint8_t dynamicShared[];
    static_assert(sizeof(Control<Group>) <= kStreamControlBytes, "the planner reserves kStreamControlBytes in front of the stages");
    control_ = &gemm::alignedShared<Control<Group>>(dynamicShared);
    operandStages_ = ptx::sharedAddress(control_) + kStreamControlBytes;
    filterStages_ = operandStages_ + static_cast<uint32_t>(p_.operandStages) * p_.operandStageBytes;
    filterScales_ = filterStages_ + static_cast<uint32_t>(p_.filterStages) * p_.filterStageBytes;
    tiles_ = {static_cast<int32_t>(blockIdx.x) / Group::kCtas, static_cast<int32_t>(gridDim.x) / Group::kCtas, p_.tiles};
    firstOutputChannel_ = static_cast<int32_t>(blockIdx.y) * p_.tileN;
  }

 protected:
  // ---- Setup -------------------------------------------------------------------------------------------------------------------
  __device__ void initialiseBarriers() {
    constexpr uint32_t kArranging = kScaled ? Group::kCtaGroup * kScaleWarpCount : 0;
    control_->operands.initialise(p_.operandStages, 1 + kArranging, 1);
    if constexpr (kScaled) {
      control_->filterScales.initialise(1, kArranging, 1);
      if (!p_.scalesResident) control_->scaleEntries.initialise(p_.scaleEntries, 1, 1);
    }
    control_->slots.initialise(p_.slots, 1, 1);
    if (!p_.filterResident) control_->filters.initialise(p_.filterStages, 1, 1);
    control_->residentFilter.initialise(1, 1, 1);
    control_->accumulators.initialise(p_.accumulators, 1, Group::kCtaGroup * kStreamWindows);
    ptx::fenceMbarrierInit();
  }

  /// What no box fills stays zero in all stages.
  __device__ void clearUnloadedLanes() const {
    const int32_t lane = static_cast<int32_t>(threadIdx.x) % kStreamLanes;
    if (ctaPieceLane(p_.lanes, lane).offset < p_.lanes.loadedLanes) return;
    const uint32_t row = operandStages_ + frontBytes(p_.lanes) + static_cast<uint32_t>(lane) * layout::kSwizzle128RowBytes;
#pragma unroll 1
    for (int32_t stage = 0; stage < p_.operandStages; ++stage)
#pragma unroll 1
      for (uint32_t byte = 0; byte < layout::kSwizzle128RowBytes; byte += 16)
        ptx::storeShared16Bytes(row + static_cast<uint32_t>(stage) * p_.operandStageBytes + byte, 0, 0, 0, 0);
    ptx::fenceProxyAsyncShared();  // site: lanes_cleared
  }

  // ---- Places ------------------------------------------------------------------------------------------------------------------
  /// Of lane 0.
  __device__ uint32_t operandStage(const RingPosition& stage) const {
    return operandStages_ + static_cast<uint32_t>(stage.index) * p_.operandStageBytes + frontBytes(p_.lanes);
  }
  /// What the windows take behind the shift from tap column `s` to the next one.
  __device__ uint32_t stageRefill(const RingPosition& stage, int32_t s) const {
    return operandStage(stage) + kStreamRowBytes + static_cast<uint32_t>(s) * kStreamRefillBytes;
  }
  __device__ uint32_t stageScales(const RingPosition& stage) const {
    return operandStage(stage) + kStreamRowBytes + refillBytes(p_.lanes, p_.filterWidth);
  }
  __device__ uint32_t filterStage(int32_t index) const {
    return filterStages_ + static_cast<uint32_t>(index) * p_.filterStageBytes;
  }
  __device__ uint32_t slot(const RingPosition& position) const {
    return slots_ + static_cast<uint32_t>(position.index) * p_.slotColumns;
  }
  /// The scale factors of tap (r, s) of a run: shared memory, where tap columns follow one another.
  __device__ uint32_t filterScaleTile(int32_t run, int32_t r, int32_t s) const {
    const int32_t tile = (run * p_.filterWidth + s) * p_.filterHeight + r;
    return filterScales_ + static_cast<uint32_t>(tile * p_.filterScales.rowTiles) * scaleTileBytes(p_.kind);
  }
  /// The same in Tensor Memory, in an entry.
  __device__ uint32_t scaleColumns(int32_t entry, int32_t r) const {
    const int32_t tile = entry * p_.filterHeight + r;
    return scaleEntries_ + static_cast<uint32_t>(tile * p_.filterScales.rowTiles) * scaleTileColumns(p_.kind);
  }
  __device__ int32_t slicesOf(int32_t chunk) const {
    return chunk + 1 == p_.channelChunks ? p_.lastChunkSlices : gemm::sm100::kChunkSlices;
  }

  __device__ Place placeIn(int32_t tile, int32_t piece) const {
    return placeOf(p_, (tile * Group::kCtas + static_cast<int32_t>(Group::rank())) * p_.lanes.pieces() + piece);
  }
  __device__ TileRows rowsOf(int32_t tile) const {
    const int32_t pieces = p_.lanes.pieces() * Group::kCtas;
    return tileRows(p_, tile * pieces, pieces);
  }
  /// Calls body(t, contribution) for every step of a tile that contributes to something.
  template <class Body>
  __device__ void forEachStep(const TileRows& tile, Body&& body) const {
#pragma unroll 1
    for (int32_t t = tile.begin; t < tile.end; ++t) {
      const Contribution rows = contribution(p_, tile, t);
      if (rows.count > 0) body(t, rows);
    }
  }
  /// Calls body(depthTap, chunk) for everything that is loaded of an input row.
  template <class Body>
  __device__ void forEachRun(Body&& body) const {
#pragma unroll 1
    for (int32_t depthTap = 0; depthTap < p_.filterDepth; ++depthTap)
#pragma unroll 1
      for (int32_t chunk = 0; chunk < p_.channelChunks; ++chunk) body(depthTap, chunk);
  }

  const CUtensorMap& inputMap_;
  const CUtensorMap& refillMap_;
  const CUtensorMap& filterMap_;
  const ShiftStreamParams& p_;
  Control<Group>* control_;
  gemm::StaticTiles tiles_;
  int32_t firstOutputChannel_;
  uint32_t operandStages_, filterStages_, filterScales_;      // shared-window addresses
  uint32_t accumulators_ = 0, slots_ = 0, scaleEntries_ = 0;  // Tensor Memory addresses
};

}  // namespace shiftconv::kernels
