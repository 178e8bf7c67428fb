// The epilogue where neighbouring lanes are neighbouring rows of a box of the output: a row of an accumulator in each lane, 32
// columns at a time, to a tile in shared memory, from where a tensor store takes it. A warp has two such tiles, so that it fills
// one while the other is stored.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/row_segments.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/gemm/ring.cuh"
#include "common/gemm/sm100/gemm_params.hpp"
#include "common/gemm/sm100/stages.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/tensor_memory.cuh"

namespace shiftconv::gemm::sm100 {

/// A warp's staging tiles, in turns.
class StagingTiles {
 public:
  /// `address`: kStagingTiles tiles of `tileBytes` for this warp. `issues`: whether this lane stores from them; the same lanes
  /// always.
  __device__ StagingTiles(uint32_t address, uint32_t tileBytes, bool issues = threadIdx.x % 32 == 0)
      : address_(address), tileBytes_(tileBytes), issues_(issues) {}

  /// Whether there are any.
  __device__ __forceinline__ bool exist() const { return tileBytes_ != 0; }
  /// Whole warp: the next tile, once the store before the last one has read it.
  __device__ __forceinline__ StagingTile take(int32_t rows, int32_t boxBytes) const {
    if (issues_) ptx::bulkWaitGroupRead<kStagingTiles - 1>();  // site: staging_free
    __syncwarp();                                              // site: tile_taken
    return {address_ + static_cast<uint32_t>(next_.index) * tileBytes_, rows, boxBytes};
  }
  /// Whole warp, when every lane has staged its row: those that store call store(), which issues tensor stores from the tile.
  template <class Store>
  __device__ __forceinline__ void store(Store&& store) const {
    ptx::fenceProxyAsyncShared();
    __syncwarp();  // site: tile_staged
    if (issues_) {
      store();
      ptx::bulkCommitGroup();
    }
  }
  __device__ __forceinline__ void leave() { next_.advance(kStagingTiles); }
  /// Before the CTA leaves: the stores read its shared memory.
  __device__ __forceinline__ void awaitStores() const {
    if (issues_) ptx::bulkWaitGroup<0>();
  }

 private:
  uint32_t address_, tileBytes_;
  bool issues_;
  RingPosition next_;
};

/// Whole warp: columns column.. of this lane's `row`, kRowColumns of them unless `endColumn` comes first, from sums to values.
/// sums(first, bits) gives 16 sums from `column` + `first` on, in every lane; store(column, values) takes what is ready for
/// stageSegment or storeSegment. Negative rows are no output: their sums may mean nothing, and are not looked at.
template <class Sums, class Store>
__device__ __forceinline__ void computeRow(const EpilogueParams& e, int32_t row, int32_t column, int32_t endColumn,
                                           uint32_t& largestBits, Sums&& sums, Store&& store) {
  RowSegments segments;
#pragma unroll 1
  for (int32_t first = 0; first < kRowColumns && column + first < endColumn; first += RowSegments::kColumns) {
    uint32_t bits[RowSegments::kColumns];
    sums(first, bits);
    if (row >= 0) segments.add(e, row, column + first, bits, largestBits, store);
  }
}

/// What this lane has of its warp's window of an accumulator.
struct RowOfBox {
  int32_t row;          ///< of the output; negative: none
  int32_t tileRow;      ///< of the staging tiles
  bool isInBox = true;  ///< the same for the whole warp: whether its rows may leave by storeBoxes
};

/// Whole warp: its window of an accumulator, all columns of the pass. Where there are staging tiles and the rows are in a box each
/// lane stages its own, and storeBoxes(tile, column) stores the kRowColumns columns from `column` on; else each lane stores its
/// own.
template <class Cta, class StoreBoxes>
__device__ __forceinline__ void storeAccumulatorInBoxes(const Cta& cta, const RingPosition& accumulator, uint32_t window,
                                                        const RowOfBox& own, StagingTiles& staging, uint32_t& largestBits,
                                                        StoreBoxes&& storeBoxes) {
  const EpilogueParams& e = cta.epilogue();
  const bool stages = staging.exist() && own.isInBox;
  const int32_t firstColumn = cta.firstOutputChannel, endColumn = firstColumn + cta.columns();
  awaitAccumulator(cta.control->accumulators, accumulator);
  const uint32_t source = cta.accumulator(accumulator.index) + windowLanes(window);
#pragma unroll 1
  for (int32_t column = firstColumn; column < endColumn; column += kRowColumns) {
    StagingTile staged{};
    if (stages) staged = staging.take(32, stagingBoxBytes(e.outputType, kRowColumns));
    computeRow(
        e, own.row, column, endColumn, largestBits,
        [&](int32_t first, uint32_t(&bits)[RowSegments::kColumns]) {
          __syncwarp();  // site: lanes_meet
          ptx::tensorLoad16(source + static_cast<uint32_t>(column - firstColumn + first), bits);
          ptx::tensorLoadWait(bits);
        },
        [&](int32_t ready, float(&values)[RowSegments::kColumns]) {
          const StagedRow stagedRow{staged, own.tileRow, (ready - column) * stagingBits(e.outputType) / 8};
          convertSegment(e, own.row, ready, values, StagedOrGlobalRow{stages, stagedRow, GlobalRow::at(e, own.row, ready)});
        });
    if (stages) {
      staging.store([&] { storeBoxes(staged, column); });
      staging.leave();
    }
  }
}

}  // namespace shiftconv::gemm::sm100
