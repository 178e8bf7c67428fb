// The epilogue where neighbouring lanes are neighbouring rows of a box of the output: a row of an accumulator in each lane, 32
// columns at a time, to a tile in shared memory, from where a tensor store takes it. A warp has two such tiles, so that it fills
// one while the other is stored.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/row_segments.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/gemm/ring.cuh"
#include "common/gemm/sm100/gemm_params.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/synchronisation.cuh"

namespace shiftconv::gemm::sm100 {

/// A warp's staging tiles, in turns.
class StagingTiles {
 public:
  /// `address`: kStagingTiles tiles of `tileBytes` for this warp.
  __device__ StagingTiles(uint32_t address, uint32_t tileBytes) : address_(address), tileBytes_(tileBytes) {}

  /// Whole warp: the next tile, once the store before the last one has read it.
  __device__ __forceinline__ StagingTile take(int32_t rows, int32_t boxBytes) const {
    if (threadIdx.x % 32 == 0) ptx::bulkWaitGroupRead<kStagingTiles - 1>();  // site: staging_free
    __syncwarp();                                                            // site: tile_taken
    return {address_ + static_cast<uint32_t>(next_.index) * tileBytes_, rows, boxBytes};
  }
  /// Whole warp, when every lane has staged its row: one lane calls store(), which issues tensor stores from the tile.
  template <class Store>
  __device__ __forceinline__ void store(Store&& store) const {
    ptx::fenceProxyAsyncShared();
    __syncwarp();  // site: tile_staged
    if (threadIdx.x % 32 == 0) {
      store();
      ptx::bulkCommitGroup();
    }
  }
  __device__ __forceinline__ void leave() { next_.advance(kStagingTiles); }

 private:
  uint32_t address_, tileBytes_;
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

}  // namespace shiftconv::gemm::sm100
