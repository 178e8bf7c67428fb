// The context of a CTA of a GEMM kernel: its shared memory, where things lie, and its units of work.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "common/gemm/sm100/gemm_params.hpp"
#include "common/gemm/sm100/tile_queue.cuh"

namespace shiftconv::gemm::sm100 {

struct GemmMaps {
  CUtensorMap a, b, scaleA, scaleB, output, second;
};

template <class Group>
struct GemmControl {
  TileQueue<Group> queue;
  Pipeline<kMaximumStages, Group::kArrivals> operands;
  Pipeline<kMaximumAccumulators, Group::kArrivals> accumulators;
  Pipeline<1, Group::kArrivals> weights;  // all of B when it is resident; never released
  uint32_t tensorMemory;
};

/// A part of a tile's reduction, for one CTA.
struct GemmWork {
  int32_t row, column;           ///< first of this CTA's part of the tile
  int32_t firstChunk, endChunk;  ///< this part of the reduction
  int32_t tile, part;
  int32_t group, endColumn;  ///< the first column after the group's
};

template <class CtaGroup>
struct GemmCta {
  using Group = CtaGroup;

  const GemmMaps& maps;
  const GemmParams& params;
  GemmControl<Group>* control;
  uint32_t stages;            // shared-window address
  uint32_t tensorMemory = 0;  // the accumulators, then columns of each stage

  __device__ GemmCta(const GemmMaps& m, const GemmParams& p) : maps(m), params(p) {
    extern __shared__ uint8_t dynamicShared[];
    static_assert(sizeof(GemmControl<Group>) <= kControlBytes, "the planner reserves kControlBytes in front of the stages");
    control = &alignedShared<GemmControl<Group>>(dynamicShared);
    stages = ptx::sharedAddress(control) + kControlBytes;
  }

  // ---- The order of work, the same for every role ------------------------------------------------------------------------------
  __device__ Units<Group> units(bool isWarp) const {
    const int32_t clusters = static_cast<int32_t>(gridDim.x) / Group::kCtas;
    const int32_t tiles = params.weightsResident ? params.tilesDown : params.tilesDown * params.tilesAcross;
    return {static_cast<int32_t>(blockIdx.x) / Group::kCtas, clusters, tiles * params.splits,
            params.launchControl ? &control->queue : nullptr, isWarp};
  }
  __device__ GemmWork workOf(int32_t unit) const {
    GemmWork work;
    work.tile = unit / params.splits;
    work.part = unit % params.splits;
    const int32_t down = params.weightsResident ? work.tile : work.tile / params.tilesAcross;
    const int32_t across = params.weightsResident ? static_cast<int32_t>(blockIdx.y) : work.tile % params.tilesAcross;
    work.row = (down * Group::kCtas + static_cast<int32_t>(Group::rank())) * params.tileRows;
    work.group = across / params.groupTiles;
    const int32_t firstColumn = work.group * params.groupColumns;
    work.column = firstColumn + (across - work.group * params.groupTiles) * params.tileN;
    work.endColumn = firstColumn + params.groupColumns;
    work.firstChunk = work.part * params.chunks / params.splits;
    work.endChunk = (work.part + 1) * params.chunks / params.splits;
    return work;
  }

  // ---- Shared memory -----------------------------------------------------------------------------------------------------------
  // A stage: A, B unless it is resident, scale factors of A, scale factors of B. After the stages: resident B, chunk by chunk.
  __device__ uint32_t stageA(const RingPosition& stage) const {
    return stages + static_cast<uint32_t>(stage.index) * params.stageBytes;
  }
  __device__ uint32_t stageB(const RingPosition& stage, int32_t chunk) const {
    return params.weightsResident ? residentB(chunk) : stageA(stage) + params.a.stageBytes;
  }
  __device__ uint32_t residentB(int32_t chunk) const {
    return stages + static_cast<uint32_t>(params.stages) * params.stageBytes + static_cast<uint32_t>(chunk) * params.b.stageBytes;
  }
  __device__ uint32_t stageScales(const RingPosition& stage) const {
    return stageA(stage) + params.a.stageBytes + (params.weightsResident ? 0 : params.b.stageBytes);
  }
  __device__ bool isScaled() const { return layout::isBlockScaled(params.kind); }
  __device__ uint32_t scaleBytesA() const { return scaleAtomsPerChunk(params.kind) * kScaleAtomBytes; }
  /// Where the tile begins in its first atom of B: narrow tiles share one, but for atoms that are built for the tile.
  __device__ int32_t columnInAtom(const GemmWork& work) const {
    return params.scaleB.atomRows == kScaleAtomRows ? (work.column - work.group * params.groupColumns) % kScaleAtomRows : 0;
  }

  // ---- Tensor Memory -----------------------------------------------------------------------------------------------------------
  __device__ uint32_t allocatedColumns() const { return params.allocatedColumns; }
  __device__ uint32_t accumulator(int32_t index) const {
    return tensorMemory + static_cast<uint32_t>(index) * params.accumulatorColumns;
  }
  __device__ uint32_t stageColumns(const RingPosition& stage) const {
    return accumulator(params.accumulators) + static_cast<uint32_t>(stage.index) * params.stageColumns;
  }
};

}  // namespace shiftconv::gemm::sm100
