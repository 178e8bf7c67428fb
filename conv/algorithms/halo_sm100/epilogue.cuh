// The epilogue of halo: one warp for each window of 32 lanes of an accumulator.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/store.cuh"
#include "common/gemm/sm100/row_store.cuh"
#include "common/gemm/sm100/staged_rows.cuh"
#include "common/gemm/sm100/stages.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "conv/algorithms/halo_sm100/cta.cuh"

namespace shiftconv::kernels::halo_sm100 {

/// Streams: the rows of a window lie anywhere, and each lane stores its own.
template <class Group>
__device__ __forceinline__ void drain(const Cta<Group, true>& cta, uint32_t window) {
  const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
  uint32_t largest = 0;
  RingPosition accumulator;
  for (const int32_t tile : cta.tiles)
#pragma unroll 1
    for (int32_t drained = 0; drained < cta.params.accumulatorsOfTile; ++drained) {
      const int32_t pixel = cta.pixelOf(tile, static_cast<int32_t>(window) * 32 + lane, drained);
      gemm::sm100::storeAccumulator(cta, accumulator, window, pixel, largest);
      gemm::sm100::releaseAccumulator<Group>(cta.control->accumulators, accumulator);
      accumulator.advance(cta.gemm.accumulators);
    }
  gemm::mergeLargest(cta.gemm.epilogue, largest);
}

/// One thread: four groups of pixels from `corner` on, channels column.. of the output.
template <class Group>
__device__ __forceinline__ void storeBox(const Cta<Group, false>& cta, const gemm::StagingTile& tile, const Place& corner,
                                         int32_t column) {
  gemm::forStagedBoxes(cta.gemm.epilogue, tile, gemm::sm100::kRowColumns, column, [&](int32_t element, uint32_t source) {
    ptx::storeTile5d(&cta.outputMap, element, corner.column, corner.image, corner.row, corner.depth, source);
  });
}

/// Patches: the rows of a window are a box of the output.
template <class Group>
__device__ __forceinline__ void drain(const Cta<Group, false>& cta, uint32_t window) {
  const int32_t lane = static_cast<int32_t>(threadIdx.x % 32), firstRow = static_cast<int32_t>(window) * 32;
  const uint32_t tileBytes = cta.params.stagingTileBytes;
  gemm::sm100::StagingTiles staging(cta.staging + window * gemm::sm100::kStagingTiles * tileBytes, tileBytes);
  uint32_t largest = 0;
  RingPosition accumulator;
  for (const int32_t tile : cta.tiles) {
    const int32_t pixel = cta.pixelOf(tile, firstRow + lane, 0);
    const Place corner = cta.placeOfGroup(tile, firstRow / kGroupPixels, 0);
    gemm::sm100::storeAccumulatorInBoxes(
        cta, accumulator, window, {pixel, lane}, staging, largest,
        [&](const gemm::StagingTile& staged, int32_t column) { storeBox(cta, staged, corner, column); });
    gemm::sm100::releaseAccumulator<Group>(cta.control->accumulators, accumulator);
    accumulator.advance(cta.gemm.accumulators);
  }
  gemm::mergeLargest(cta.gemm.epilogue, largest);
  staging.awaitStores();
}

}  // namespace shiftconv::kernels::halo_sm100
