// Block scale factors for shift_stream: from pixel-major and tap-major bytes to the 128x4 tiles that tensor cores take.
//
// The factor of row m of A lies in Tensor Memory lane m % 32 of every window, in column m / 32 of its tile (PTX ISA 9.7.16.10.7).
// So a shift of a tile's columns moves every factor to its neighbour, as the shift of A moves the pixels; or the tile is made S
// times, the factors a pixel further each time, and nothing needs to be shifted. Both are exact; the copies leave no stale factors.
#pragma once

#include <cstdint>

#include "common/gemm/sm100/operand_load.cuh"
#include "conv/kernels/sm100/shift_stream_rows.hpp"

namespace shiftconv::kernels {

using gemm::sm100::kNoScaleRow;  // of pixels that are zeros

/// 128 threads, of which this is `thread`: the factors of one run (depth tap and chunk) of a step, for the pixels of the CTA's four
/// windows. `place` is that of window thread / 32, `row` its image row.
__device__ __forceinline__ void arrangeInputScales(const ShiftStreamParams& p, const Strip& place, int32_t row, int32_t depthTap,
                                                   int32_t chunk, uint32_t destination, uint32_t thread) {
  const uint32_t lane = thread % 32, window = thread / 32;
  const int32_t x = place.column - p.padLeft + static_cast<int32_t>(lane);
  const int32_t z = place.depth * p.strideDepth + depthTap * p.dilationDepth - p.padFront;
  const bool inside = static_cast<uint32_t>(x) < static_cast<uint32_t>(p.width) &&
                      static_cast<uint32_t>(row) < static_cast<uint32_t>(p.height) &&
                      static_cast<uint32_t>(z) < static_cast<uint32_t>(p.depth) && place.image < p.images;
  const int32_t pixel = inside ? ((place.image * p.depth + z) * p.height + row) * p.width + x : kNoScaleRow;
  const uint32_t atoms = gemm::sm100::scaleAtomsPerChunk(p.kind);
#pragma unroll 1
  for (uint32_t atom = 0; atom < atoms; ++atom) {
    const uint32_t factors = gemm::sm100::fourScalesOf(
        p.inputScales, pixel, static_cast<int32_t>(static_cast<uint32_t>(chunk) * atoms + atom) * gemm::sm100::kScaleAtomBlocks);
#pragma unroll 1
    for (uint32_t copy = 0; copy < static_cast<uint32_t>(p.scaleCopies); ++copy) {
      // Lanes whose pixel lies behind the window get 0; their sums are not stored.
      const uint32_t row16 = (lane - copy) % 32 * 16 + window * 4;
      ptx::storeShared4Bytes(destination + (copy * atoms + atom) * gemm::sm100::kScaleAtomBytes + row16,
                             lane >= copy ? factors : 0);
    }
  }
}

/// 128 threads: the factors of one tap (t, r, s) and chunk for the output channels from firstChannel on, 128 a tile.
__device__ __forceinline__ void arrangeFilterScales(const ShiftStreamParams& p, int32_t tap, int32_t chunk, int32_t firstChannel,
                                                    uint32_t destination, uint32_t thread) {
  const int32_t taps = p.filterDepth * p.filterHeight * p.filterWidth;
  const uint32_t atoms = gemm::sm100::scaleAtomsPerChunk(p.kind);
#pragma unroll 1
  for (uint32_t tile = 0; tile < static_cast<uint32_t>(p.filterScales.rowTiles); ++tile) {
    const int32_t channel = firstChannel + static_cast<int32_t>(tile * gemm::sm100::kScaleAtomRows + thread);
    const int32_t row = channel < p.epilogue.columns ? channel * taps + tap : kNoScaleRow;
#pragma unroll 1
    for (uint32_t atom = 0; atom < atoms; ++atom) {
      const int32_t block = static_cast<int32_t>(static_cast<uint32_t>(chunk) * atoms + atom) * gemm::sm100::kScaleAtomBlocks;
      ptx::storeShared4Bytes(
          destination + (tile * atoms + atom) * gemm::sm100::kScaleAtomBytes + thread % 32 * 16 + thread / 32 * 4,
          gemm::sm100::fourScalesOf(p.filterScales, row, block));
    }
  }
}

/// One thread: `rowTiles` tiles that lie one behind the other to Tensor Memory, atoms of the same blocks side by side.
template <class Group>
__device__ __forceinline__ void copyScaleTiles(layout::MmaKind kind, uint32_t rowTiles, uint32_t destination, uint32_t source) {
  const uint32_t atoms = gemm::sm100::scaleAtomsPerChunk(kind);
#pragma unroll 1
  for (uint32_t atom = 0; atom < atoms; ++atom)
#pragma unroll 1
    for (uint32_t tile = 0; tile < rowTiles; ++tile)
      ptx::tensorCopy32x128ToAllWindows<Group::kCtaGroup>(
          destination + (atom * rowTiles + tile) * gemm::sm100::kScaleAtomColumns,
          layout::densePackedRowsDescriptor(source + (tile * atoms + atom) * gemm::sm100::kScaleAtomBytes));
}

}  // namespace shiftconv::kernels
