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
    Group::loadForAll(destination + static_cast<uint32_t>(box) * b.boxBytes, &map, b.mnMajor ? boxRow : k, b.mnMajor ? k : boxRow,
                      barrier);
  }
}

/// One thread. The scale factors of a chunk, in 128x4 tiles: those of the row tiles from the one of `row` on, one behind the other.
/// `map`: the tiles as [row tiles][block tiles][256] 16-bit elements.
template <class Group>
__device__ __forceinline__ void loadScales(const GemmParams& p, const CUtensorMap& map, uint32_t destination, int32_t chunk,
                                           int32_t row, uint32_t barrier) {
  Group::load(destination, &map, 0, chunk * static_cast<int32_t>(scaleAtomsPerChunk(p.kind)), row / kScaleAtomRows, barrier);
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

/// 128 threads, of which this is `thread`. As loadScales, from row-major factors, whose rows are too short and too oddly aligned
/// for bulk copies. `row`: a multiple of 128; factorRow(r) is where the factors of row r of the operand are.
template <class FactorRow>
__device__ __forceinline__ void buildScales(const GemmParams& p, const ScaleParams& scales, uint32_t destination, int32_t chunk,
                                            int32_t row, uint32_t thread, const FactorRow& factorRow) {
  const uint32_t atoms = scaleAtomsPerChunk(p.kind);
  const uint32_t place = destination + thread % 32 * 16 + thread / 32 * 4;  // PTX ISA 9.7.16.10.7: row r at 16*(r%32) + 4*(r/32)
#pragma unroll 1
  for (uint32_t tile = 0; tile < static_cast<uint32_t>(scales.rowTiles); ++tile) {
    const int32_t factors = factorRow(row + static_cast<int32_t>(tile * kScaleAtomRows + thread));
#pragma unroll 1
    for (uint32_t atom = 0; atom < atoms; ++atom) {
      const int32_t block = (chunk * static_cast<int32_t>(atoms) + static_cast<int32_t>(atom)) * kScaleAtomBlocks;
      ptx::storeShared4Bytes(place + (tile * atoms + atom) * kScaleAtomBytes, fourScales(scales, factors, block));
    }
  }
}

}  // namespace shiftconv::gemm::sm100
