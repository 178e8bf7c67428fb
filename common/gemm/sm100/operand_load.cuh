// Producers: what fills a stage.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/gemm/sm100/gemm_params.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/shared_memory.cuh"

namespace shiftconv::gemm::sm100 {

/// One thread. A chunk of A: the rows from `row` on, all for this CTA.
template <class Group>
__device__ __forceinline__ void loadA(const OperandParams& a, const CUtensorMap& map, uint32_t destination, int32_t chunk,
                                      int32_t row, uint32_t barrier) {
  const int32_t k = chunk * a.chunkElements;
#pragma unroll 1
  for (int32_t box = 0; box < a.boxes; ++box) {
    const int32_t boxRow = row + box * a.boxRows;
    Group::load(destination + static_cast<uint32_t>(box) * a.boxBytes, &map, a.mnMajor ? boxRow : k, a.mnMajor ? k : boxRow,
                barrier);
  }
}

/// One thread. A chunk of B: this CTA's share of the rows from `column` on.
template <class Group>
__device__ __forceinline__ void loadB(const OperandParams& b, const CUtensorMap& map, uint32_t destination, int32_t chunk,
                                      int32_t column, uint32_t barrier) {
  const int32_t k = chunk * b.chunkElements;
  const int32_t firstRow = column + static_cast<int32_t>(Group::rank()) * b.shareRows;
  if constexpr (Group::kSharesB) destination += Group::rank() * static_cast<uint32_t>(b.boxes) * b.boxBytes;
#pragma unroll 1
  for (int32_t box = 0; box < b.boxes; ++box) {
    const int32_t boxRow = firstRow + box * b.boxRows;
    const uint32_t place = destination + static_cast<uint32_t>(box) * b.boxBytes;
    const int32_t x0 = b.mnMajor ? boxRow : k, x1 = b.mnMajor ? k : boxRow;
    if constexpr (Group::kSharesB) {
      Group::loadForAll(place, &map, x0, x1, barrier);
    } else {
      Group::load(place, &map, x0, x1, barrier);
    }
  }
}

/// One thread. The scale factors of A of a chunk, in 128x4 tiles: those of the row tile of `row`. `map`: the tiles as [row tiles]
/// [block tiles][256] 16-bit elements.
template <class Group>
__device__ __forceinline__ void loadScalesA(const GemmParams& p, const CUtensorMap& map, uint32_t destination, int32_t chunk,
                                            int32_t row, uint32_t barrier) {
  Group::load(destination, &map, 0, chunk * static_cast<int32_t>(scaleAtomsPerChunk(p.kind)), row / kScaleAtomRows, barrier);
}

/// One thread. Those of B: this CTA's part of them, into every CTA of the cluster; row tiles from the one of `column` on, one
/// behind the other.
template <class Group>
__device__ __forceinline__ void loadScalesB(const GemmParams& p, const CUtensorMap& map, uint32_t destination, int32_t chunk,
                                            int32_t column, uint32_t barrier) {
  const ScaleParams& scales = p.scaleB;
  const int32_t rank = static_cast<int32_t>(Group::rank());
  if (Group::rank() >= scales.loaders) return;
  Group::loadForAll(destination + Group::rank() * scales.shareBytes, &map, 0,
                    chunk * static_cast<int32_t>(scaleAtomsPerChunk(p.kind)) + rank * scales.shareAtoms,
                    column / kScaleAtomRows + rank * scales.shareRowTiles, barrier);
}

/// Four factors of a row from `block` on; outside the matrix 0, which is finite in every scale type.
__device__ __forceinline__ uint32_t fourScales(const ScaleParams& scales, int32_t row, int32_t block) {
  uint32_t word = 0;
  if (row >= scales.rows) return word;
  const uint8_t* const factors = scales.rowMajor + static_cast<int64_t>(row) * scales.blocks;
#pragma unroll
  for (int32_t i = 0; i < kScaleAtomBlocks; ++i)
    if (block + i < scales.blocks) word |= static_cast<uint32_t>(factors[block + i]) << (8 * i);
  return word;
}

/// The same from 128x4 tiles; `block`: a multiple of 4. What a tile holds beyond the matrix need not be finite.
__device__ __forceinline__ uint32_t fourScalesOfTile(const ScaleParams& scales, int32_t row, int32_t block) {
  if (row >= scales.rows || block >= scales.blocks) return 0;
  constexpr auto kLayout = layout::ScaleFactorLayout::Interleaved128x4;
  const uint8_t* const four = scales.tiles + layout::scaleFactorOffset(kLayout, row, block, scales.blocks);
  const int32_t existing = scales.blocks - block;
  const uint32_t mask = existing >= kScaleAtomBlocks ? ~0u : (1u << (8 * existing)) - 1;
  return *reinterpret_cast<const uint32_t*>(four) & mask;
}

/// From whichever of the two the operand has.
__device__ __forceinline__ uint32_t fourScalesOf(const ScaleParams& scales, int32_t row, int32_t block) {
  return scales.rowMajor != nullptr ? fourScales(scales, row, block) : fourScalesOfTile(scales, row, block);
}

/// 128 threads, of which this is `thread`. The atoms of a chunk from `row` on, of factors that bulk copies cannot bring: row-major
/// ones, whose rows are too short and too oddly aligned, and atoms that do not begin where the tiles in memory do. factorRow(r) is
/// where the factors of row r of the operand are.
template <class FactorRow>
__device__ __forceinline__ void buildScales(const GemmParams& p, const ScaleParams& scales, uint32_t destination, int32_t chunk,
                                            int32_t row, uint32_t thread, const FactorRow& factorRow) {
  const uint32_t atoms = scaleAtomsPerChunk(p.kind);
  const uint32_t place = destination + thread % 32 * 16 + thread / 32 * 4;  // PTX ISA 9.7.16.10.7: row r at 16*(r%32) + 4*(r/32)
  const bool hasRow = static_cast<int32_t>(thread) < scales.atomRows;
#pragma unroll 1
  for (uint32_t tile = 0; tile < static_cast<uint32_t>(scales.rowTiles); ++tile) {
    const int32_t ownRow = factorRow(row + static_cast<int32_t>(tile) * scales.atomRows + static_cast<int32_t>(thread));
#pragma unroll 1
    for (uint32_t atom = 0; atom < atoms; ++atom) {
      const int32_t block = (chunk * static_cast<int32_t>(atoms) + static_cast<int32_t>(atom)) * kScaleAtomBlocks;
      uint32_t factors = 0;
      if (hasRow) factors = fourScalesOf(scales, ownRow, block);
      ptx::storeShared4Bytes(place + (tile * scales.rowTileStep + atom * scales.blockStep) * kScaleAtomBytes, factors);
    }
  }
}

}  // namespace shiftconv::gemm::sm100
