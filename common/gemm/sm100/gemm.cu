// gemm: D[M][N] = A[M][K] * B[N][K]^T on tcgen05, every dense and every block-scaled kind.
//
// A kernel for each group: a CTA, two that share B, a pair. Everything else is a field of the launch: kind and types, where A is
// multiplied from, major-ness, tile width, stages, schedule and the split of the reduction. A stage has the same bytes whatever its
// elements are.
//
// NOTES
//  - A stage has columns of Tensor Memory of its own, for A where it goes there and for scale factors. tcgen05.cp is not ordered
//    after an MMA that still reads what it overwrites (PTX ISA 9.7.16.6.2); the commit that releases the stage covers both.
//  - A reduction may be split among units of work (split_reduction.cuh).
//  - Stages are filled whole even where K ends inside: outside elements are zeros, slices that are all outside are not multiplied.
//  - A may be an implicit matrix, the positions of a window over pixels (gemm::Window): only the loads know of it.
//  - Pixels may have groups of channels, each with columns of its own: a tile is one group's. Channels after the group's are
//    loaded and not multiplied, because a group has whole slices; B may have rows of the next group, whose columns nobody stores.
//  - `site:` names a statement that tests break (tests/edited_copy).
#include <cuda.h>

#include <cstdint>

#include "common/gemm/epilogue/store.cuh"
#include "common/gemm/sm100/accumulator_row.cuh"
#include "common/gemm/sm100/gemm_cta.cuh"
#include "common/gemm/sm100/mainloop.cuh"
#include "common/gemm/sm100/operand_load.cuh"
#include "common/gemm/sm100/skeleton.cuh"
#include "common/gemm/sm100/split_reduction.cuh"
#include "common/gemm/sm100/staged_rows.cuh"
#include "common/gemm/sm100/stages.cuh"
#include "common/gemm/sm100/window_load.cuh"

namespace shiftconv::gemm::sm100 {

// ---- Setup ---------------------------------------------------------------------------------------------------------------------
template <class Group>
__device__ __forceinline__ void initialiseBarriers(const GemmCta<Group>& cta) {
  const GemmParams& p = cta.params;
  GemmControl<Group>& control = *cta.control;
  constexpr uint32_t kDraining = Group::kCtaGroup * kEpilogueWarpCount;  // site: draining_warps
  const uint32_t building = p.buildScales ? kScaleWarpCount : 0;         // site: builders
  const uint32_t queueReaders =
      Group::kCtas * (1 + kEpilogueWarpCount + building) + Group::kCtas / Group::kCtaGroup;  // site: queue_readers
  control.operands.initialise(p.stages, 1 + Group::kCtaGroup * building,
                              Group::kCtas / Group::kCtaGroup);  // site: operand_barriers
  control.accumulators.initialise(p.accumulators, 1, kDraining);
  control.weights.initialise(1, 1, 1);
  control.queue.pipeline.initialise(TileQueue<Group>::kAnswers, 1, queueReaders);
  ptx::fenceMbarrierInit();
}

// ---- Tiles, with cluster launch control
// ------------------------------------------------------------------------------------------
template <class Group>
__device__ __forceinline__ void announceTiles(const GemmCta<Group>& cta) {
  if (cta.params.launchControl && blockIdx.x % Group::kCtas == 0 && ptx::electOne()) cta.control->queue.request();
}

// ---- Global -> shared: one thread -----------------------------------------------------------------------------------------------
template <class Group>
__device__ __forceinline__ void loadRows(const GemmCta<Group>& cta, uint32_t destination, int32_t chunk, const GemmWork& work,
                                         uint32_t barrier) {
  if (cta.params.window.isUsed) {
    loadWindow<Group>(cta.params, cta.maps.a, cta.maps.second, destination, chunk, work.group, work.row, barrier);
  } else {
    loadA<Group>(cta.params.a, cta.maps.a, destination, chunk, work.row, barrier);
  }
}
template <class Group>
__device__ __forceinline__ void loadColumns(const GemmCta<Group>& cta, uint32_t destination, int32_t chunk, int32_t column,
                                            uint32_t barrier) {
  if (cta.params.window.isUsed) {
    loadTaps<Group>(cta.params, cta.maps.b, destination, chunk, column, barrier);
  } else {
    loadB<Group>(cta.params.b, cta.maps.b, destination, chunk, column, barrier);
  }
}

template <class Group>
__device__ __forceinline__ void loadOperands(const GemmCta<Group>& cta) {
  if (!ptx::electOne()) return;
  const GemmParams& p = cta.params;
  const auto& operands = cta.control->operands;
  ptx::prefetchTensorMap(&cta.maps.a);
  ptx::prefetchTensorMap(&cta.maps.b);
  const Units<Group> units = cta.units(false);
  if (p.weightsResident && units.first < units.count) {
    const uint32_t full = expectBytes<Group>(cta.control->weights, RingPosition{}, p.residentBytes);  // site: weight_bytes
    const int32_t column = cta.workOf(units.first).column;
#pragma unroll 1
    for (int32_t chunk = 0; chunk < p.chunks; ++chunk)
      loadColumns(cta, cta.residentB(chunk), chunk, column, full);  // site: weights_loaded
  }
  RingPosition stage;
  for (const int32_t unit : units) {
    const GemmWork work = cta.workOf(unit);
#pragma unroll 1
    for (int32_t chunk = work.firstChunk; chunk < work.endChunk; ++chunk) {
      operands.awaitEmpty(stage);
      const uint32_t full = expectBytes<Group>(operands, stage, p.loadedBytes);  // site: operand_bytes
      loadRows(cta, cta.stageA(stage), chunk, work, full);
      if (!p.weightsResident) loadColumns(cta, cta.stageB(stage, chunk), chunk, work.column, full);
      if (cta.isScaled()) {
        const uint32_t scales = cta.stageScales(stage);
        if (!p.scaleA.isBuilt()) loadScalesA<Group>(p, cta.maps.scaleA, scales, chunk, work.row, full);
        if (!p.scaleB.isBuilt()) loadScalesB<Group>(p, cta.maps.scaleB, scales + cta.scaleBytesA(), chunk, work.column, full);
      }
      stage.advance(p.stages);
    }
  }
  operands.awaitReleases(stage, p.stages);
}

// ---- Scale factors that bulk copies cannot bring: global -> shared by threads
// ----------------------------------------------------
template <class Group>
__device__ __forceinline__ void arrangeScales(const GemmCta<Group>& cta) {
  const GemmParams& p = cta.params;
  const uint32_t thread = threadIdx.x - kScaleWarps * 32;
  RingPosition stage;
  for (const int32_t unit : cta.units(true)) {
    const GemmWork work = cta.workOf(unit);
#pragma unroll 1
    for (int32_t chunk = work.firstChunk; chunk < work.endChunk; ++chunk) {
      cta.control->operands.awaitEmpty(stage);
      const uint32_t scales = cta.stageScales(stage);
      const WindowTap tap = windowTap(p, chunk);  // of a matrix: tap 0, and K's own chunk
      if (p.scaleA.isBuilt())
        buildScales(p, p.scaleA, scales, work.group * p.lineChunks + tap.chunk, work.row, thread,
                    [&](int32_t row) { return p.window.isUsed ? windowPixel(p.window, tap, row) : row; });
      if (p.scaleB.isBuilt()) {
        const int32_t taps = p.chunks / p.lineChunks;
        buildScales(p, p.scaleB, scales + cta.scaleBytesA(), tap.chunk, work.column - cta.columnInAtom(work), thread,
                    [&](int32_t row) { return row < p.n ? row * taps + tap.index : kNoScaleRow; });
      }
      publishStage<Group>(cta.control->operands, stage);
      stage.advance(p.stages);
    }
  }
}

// ---- The tensor core: one thread
// -------------------------------------------------------------------------------------------------
template <class Group>
__device__ __forceinline__ void multiply(const GemmCta<Group>& cta) {
  const GemmParams& p = cta.params;
  GemmControl<Group>& control = *cta.control;
  RingPosition stage, accumulator;
  if (p.weightsResident && cta.units(false).first < cta.units(false).count) control.weights.awaitFull({});
  for (const int32_t unit : cta.units(false)) {
    const GemmWork work = cta.workOf(unit);
    control.accumulators.awaitEmpty(accumulator);
#pragma unroll 1
    for (int32_t number = work.firstChunk; number < work.endChunk; ++number) {
      control.operands.awaitFull(stage);
      // After the accumulator's readers, and the MMAs that read this stage's columns.
      ptx::tensorFenceAfterThreadSync();  // site: multiply_fence
      Chunk chunk;
      chunk.accumulator = cta.accumulator(accumulator.index);
      chunk.a = layout::descriptorAt(p.a.descriptor, cta.stageA(stage));
      chunk.b = layout::descriptorAt(p.b.descriptor, cta.stageB(stage, number));
      chunk.slices = slicesOf(number % p.lineChunks, p.lineChunks, p.lastChunkSlices);
      chunk.accumulates = number != work.firstChunk;  // site: accumulates
      chunk.tensorA = cta.stageColumns(stage);
      if (p.tensorA) copyOperand<Group>(p.expandedBitsA, chunk.tensorA, chunk.a, chunk.slices);
      if (cta.isScaled()) {
        chunk.scaleA = chunk.tensorA + (p.tensorA ? kOperandColumns : 0);
        chunk.scaleB = chunk.scaleA + scaleAtomsPerChunk(p.kind) * kScaleAtomColumns;
        copyScales<Group>(p, chunk, cta.stageScales(stage));
        chunk.scaleB += static_cast<uint32_t>(cta.columnInAtom(work)) / 32;
      }
      multiplyChunk<Group>(p, chunk);
      Group::commitRelease(control.operands.empty(stage));  // site: operands_released
      stage.advance(p.stages);                              // site: operands_left
    }
    Group::commitResult(control.accumulators.full(accumulator));
    accumulator.advance(p.accumulators);
  }
}

// ---- Epilogue: one warp for each window of 32 lanes
// ------------------------------------------------------------------------------
/// Whole warp: from sums to outputs.
template <class Group>
__device__ __forceinline__ void finish(const GemmCta<Group>& cta, const GemmWork& work, const AccumulatorWindow& window,
                                       int32_t column, const AccumulatorRow& sums, StagingTiles& staging, uint32_t& largestBits) {
  const GemmParams& p = cta.params;
  const EpilogueParams& e = p.epilogue;
  const int32_t firstRow = work.row + window.firstRow, firstColumn = work.column + window.firstColumn + column;
  const int32_t row = window.threadRow(), tileColumn = window.threadColumn();
  const StagingTile tile = staging.take(window.rows, stagingBoxBytes(e.outputType, kRowColumns));
  const auto sumsFrom = [&](int32_t first, uint32_t(&bits)[RowSegments::kColumns]) {
#pragma unroll
    for (int32_t i = 0; i < RowSegments::kColumns; ++i) bits[i] = first == 0 ? sums.bits[i] : sums.bits[i + RowSegments::kColumns];
  };
  computeRow(e, firstRow + row, firstColumn + tileColumn, work.endColumn, largestBits, sumsFrom,
             [&](int32_t ready, float(&values)[RowSegments::kColumns]) {
               stageSegment(e, firstRow + row, ready, values, tile, row, ready - firstColumn);
             });
  if (p.bulkOutput) {
    staging.store([&] {
      if (p.groupTiles == p.tilesAcross) {
        storeStagedTile(e, &cta.maps.output, tile, window.step(), firstRow, firstColumn);
      } else {
        storeStagedTileOfGroup(e, &cta.maps.output, tile, window.step(), firstRow, work.group,
                               firstColumn - work.group * p.groupColumns);
      }
    });
  } else {
    storeStagedRow(e, tile, row, tileColumn, firstRow + row, firstColumn + tileColumn, min(e.columns, work.endColumn));
  }
  staging.leave();
}

template <class Group>
__device__ __forceinline__ void drain(const GemmCta<Group>& cta, uint32_t index) {
  const GemmParams& p = cta.params;
  const auto& accumulators = cta.control->accumulators;
  const AccumulatorWindow window = AccumulatorWindow::of<Group>(p, index);
  const uint32_t warp = threadIdx.x / 32 % kEpilogueWarpCount;
  StagingTiles staging(cta.stages + p.stagingOffset + warp * kStagingTiles * kStagingTileBytes, kStagingTileBytes);
  RingPosition accumulator;
  uint32_t largestBits = 0;
  for (const int32_t unit : cta.units(true)) {
    const GemmWork work = cta.workOf(unit);
    awaitAccumulator(accumulators, accumulator);
    const uint32_t source = cta.accumulator(accumulator.index) + windowLanes(index);
    const int32_t columns = min(window.columns, work.endColumn - work.column - window.firstColumn);
    bool finishes = true;  // site: drain_begins
    if (p.splits > 1) {
      leavePart<Group>(p, work, window, source);             // site: part_left
      releaseAccumulator<Group>(accumulators, accumulator);  // with a barrier of the warp, after which one lane counts for all
      finishes = isLastPart<Group>(p, work, index);          // site: part_counted
    }
#pragma unroll 1
    for (int32_t column = 0; finishes && column < columns; column += window.step()) {
      AccumulatorRow sums;
      if (p.splits > 1) {
        addParts<Group>(p, work, window, column, sums);
      } else {
        sums.load(p, window, source + static_cast<uint32_t>(column));
      }
      finish(cta, work, window, column, sums, staging, largestBits);
    }
    if (p.splits == 1) releaseAccumulator<Group>(accumulators, accumulator);  // site: accumulator_released
    accumulator.advance(p.accumulators);
  }
  mergeLargest(p.epilogue, largestBits);
  if (threadIdx.x % 32 == 0) ptx::bulkWaitGroup<0>();
}

// ---- Kernels: gemm_sm100_<group>
// -------------------------------------------------------------------------------------------------
#define SHIFTCONV_GEMM_KERNEL(NAME, GROUP)                                                     \
  extern "C" __global__ void __launch_bounds__(kMaximumThreads, 1)                             \
      NAME(const __grid_constant__ GemmMaps maps, const __grid_constant__ GemmParams params) { \
    GemmCta<GROUP> cta(maps, params);                                                          \
    runRoles(cta);                                                                             \
  }

SHIFTCONV_GEMM_KERNEL(gemm_sm100_single, SingleCta)     // site: kernel_single
SHIFTCONV_GEMM_KERNEL(gemm_sm100_sharing, SharingCtas)  // site: kernel_sharing
SHIFTCONV_GEMM_KERNEL(gemm_sm100_pair, CtaPair)         // site: kernel_pair

}  // namespace shiftconv::gemm::sm100
