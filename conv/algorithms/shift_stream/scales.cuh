// Block scale factors for shift_stream: from pixel-major and tap-major bytes to the 128x4 tiles that tensor cores take.
//
// The factor of row m of A lies in Tensor Memory lane m % 32 of every window, in column m / 32 of its tile (PTX ISA 9.7.16.10.7).
// So a shift of a tile's columns moves every factor to its neighbour, as the shift of A moves the pixels; or the tile is made S
// times, the factors a pixel further each time, and nothing needs to be shifted. Both are exact; the copies leave no stale factors.
#pragma once

#include <cstdint>

#include "common/gemm/sm100/operand_load.cuh"
#include "conv/algorithms/shift_stream/rows.hpp"

namespace shiftconv::kernels::shift_stream {

using gemm::sm100::kNoScaleRow;  // of pixels that are zeros

/// 128 threads, of which this is `thread`, one for each lane: the factors of one run (depth tap and chunk) of a step. `place` is
/// that of the lane's piece, `offset` how far into it the lane lies, `row` its image row.
__device__ __forceinline__ void arrangeInputScales(const ShiftStreamParams& p, const Place& place, int32_t offset, int32_t row,
                                                   int32_t depthTap, int32_t chunk, uint32_t destination, uint32_t thread) {
  const int32_t z = place.depth * p.strideDepth + depthTap * p.dilationDepth - p.padFront;
  const bool rowInside = static_cast<uint32_t>(row) < static_cast<uint32_t>(p.height) &&
                         static_cast<uint32_t>(z) < static_cast<uint32_t>(p.depth) && place.image < p.images;
  const auto pixelAt = [&](int32_t lane) {
    const int32_t x = place.column - p.padLeft + lane;
    const bool inside = rowInside && static_cast<uint32_t>(x) < static_cast<uint32_t>(p.width);
    return inside ? ((place.image * p.depth + z) * p.height + row) * p.width + x : kNoScaleRow;
  };
  const uint32_t frameLanes = static_cast<uint32_t>(p.lanes.frameLanes), inFrame = thread % frameLanes;
  const bool lastWindow = inFrame + kStreamWindowLanes >= frameLanes;
  // Lanes after a frame: what refills a window of its own; else 0, for sums that are not stored.
  const bool hasBehind = p.lanes.isRefilled && frameLanes == kStreamWindowLanes;
  const int32_t pixel = pixelAt(offset), behind = hasBehind ? pixelAt(offset + kStreamWindowLanes) : kNoScaleRow;
  const uint32_t atoms = gemm::sm100::scaleAtomsPerChunk(p.kind), copies = static_cast<uint32_t>(p.scaleCopies);
#pragma unroll 1
  for (uint32_t atom = 0; atom < atoms; ++atom) {
    const int32_t block = static_cast<int32_t>(static_cast<uint32_t>(chunk) * atoms + atom) * gemm::sm100::kScaleAtomBlocks;
    const uint32_t factors = gemm::sm100::fourScalesOf(p.inputScales, pixel, block);
    const uint32_t factorsBehind =
        lastWindow && thread % 32 + 1 < copies ? gemm::sm100::fourScalesOf(p.inputScales, behind, block) : 0;
#pragma unroll 1
    for (uint32_t copy = 0; copy < copies; ++copy) {
      const auto store = [&](uint32_t lane, uint32_t word) {
        ptx::storeShared4Bytes(destination + (copy * atoms + atom) * gemm::sm100::kScaleAtomBytes + lane % 32 * 16 + lane / 32 * 4,
                               word);
      };
      if (inFrame >= copy) store(thread - copy, factors);
      if (lastWindow && thread % 32 < copy) store(thread - copy + kStreamWindowLanes, factorsBehind);
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

}  // namespace shiftconv::kernels::shift_stream
