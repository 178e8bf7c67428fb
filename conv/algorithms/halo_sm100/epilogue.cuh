// The epilogue of halo: one warp for each window of 32 lanes of an accumulator.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/row_segments.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/gemm/sm100/row_store.cuh"
#include "common/gemm/sm100/staged_rows.cuh"
#include "common/gemm/sm100/stages.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/tensor_memory.cuh"
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
  using gemm::RowSegments;
  const gemm::EpilogueParams& e = cta.gemm.epilogue;
  const int32_t lane = static_cast<int32_t>(threadIdx.x % 32), firstRow = static_cast<int32_t>(window) * 32;
  const int32_t firstColumn = cta.firstOutputChannel, endColumn = firstColumn + cta.columns();
  const uint32_t tileBytes = cta.params.stagingTileBytes;
  gemm::sm100::StagingTiles staging(cta.staging + window * gemm::sm100::kStagingTiles * tileBytes, tileBytes);
  uint32_t largest = 0;
  RingPosition accumulator;
  for (const int32_t tile : cta.tiles) {
    const int32_t pixel = cta.pixelOf(tile, firstRow + lane, 0);
    const Place corner = cta.placeOfGroup(tile, firstRow / kGroupPixels, 0);
    gemm::sm100::awaitAccumulator(cta.control->accumulators, accumulator);
    const uint32_t source = cta.accumulator(accumulator.index) + gemm::sm100::windowLanes(window);
#pragma unroll 1
    for (int32_t column = firstColumn; column < endColumn; column += gemm::sm100::kRowColumns) {
      gemm::StagingTile staged{};
      if (tileBytes != 0) staged = staging.take(32, gemm::stagingBoxBytes(e.outputType, gemm::sm100::kRowColumns));
      gemm::sm100::computeRow(
          e, pixel, column, endColumn, largest,
          [&](int32_t first, uint32_t(&bits)[RowSegments::kColumns]) {
            __syncwarp();  // site: lanes_meet
            ptx::tensorLoad16(source + static_cast<uint32_t>(column - firstColumn + first), bits);
            ptx::tensorLoadWait(bits);
          },
          [&](int32_t ready, float(&values)[RowSegments::kColumns]) {
            const gemm::StagedRow row{staged, lane, (ready - column) * gemm::stagingBits(e.outputType) / 8};
            gemm::convertSegment(e, pixel, ready, values,
                                 gemm::StagedOrGlobalRow{tileBytes != 0, row, gemm::GlobalRow::at(e, pixel, ready)});
          });
      if (tileBytes != 0) {
        staging.store([&] { storeBox(cta, staged, corner, column); });
        staging.leave();
      }
    }
    gemm::sm100::releaseAccumulator<Group>(cta.control->accumulators, accumulator);
    accumulator.advance(cta.gemm.accumulators);
  }
  gemm::mergeLargest(e, largest);
  if (lane == 0) ptx::bulkWaitGroup<0>();
}

}  // namespace shiftconv::kernels::halo_sm100
