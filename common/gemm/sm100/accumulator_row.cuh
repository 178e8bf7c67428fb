// The epilogue's side of an accumulator: 32 columns of one row at a time.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "common/gemm/epilogue/store.cuh"
#include "common/gemm/sm100/gemm_params.hpp"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/tensor_memory.cuh"

namespace shiftconv::gemm::sm100 {

/// What one warp of the epilogue reads of an accumulator (PTX ISA 9.7.16.10.5): where the rows and columns of its window of 32
/// lanes belong in the CTA's part of the tile.
struct AccumulatorWindow {
  int32_t firstRow, rows;        ///< 32, or 16 with columns of their own for either half of the warp
  int32_t firstColumn, columns;  ///< and Tensor Memory columns

  /// A lane has a row of 128 rows (layouts D and A). Of 64 rows every window has 16 in its first lanes (layout F), in a pair 32:
  /// windows 0 and 1 for the first half of the columns, 2 and 3 for the second (layout B).
  template <class Group>
  static __device__ AccumulatorWindow of(const GemmParams& p, uint32_t window) {
    const int32_t w = static_cast<int32_t>(window);
    if (p.tileRows == kTileRows) return {w * 32, 32, 0, p.tileN};
    if constexpr (Group::kCtaGroup == 1) return {w * 16, 16, 0, p.tileN};
    return {w % 2 * 32, 32, w / 2 * (p.tileN / 2), p.tileN / 2};
  }
  /// Columns that a warp handles at once.
  __device__ int32_t step() const { return rows == 32 ? kRowColumns : 2 * kRowColumns; }
  /// Of this thread: its row, from the window's first, and its columns, from those that the warp handles.
  __device__ int32_t threadRow() const { return static_cast<int32_t>(threadIdx.x % 32) & (rows - 1); }
  __device__ int32_t threadColumn() const { return static_cast<int32_t>(threadIdx.x % 32) < rows ? 0 : kRowColumns; }
};

/// Sums of 32 bits: f32 or s32; f16 accumulators become f32.
struct AccumulatorRow {
  uint32_t bits[kRowColumns];

  /// Whole warp: this thread's row and columns of what the warp handles at once, from `address`, the first of those columns.
  __device__ void load(const GemmParams& p, const AccumulatorWindow& window, uint32_t address) {
    if (window.rows == 32) {
      ptx::tensorLoad32(address, bits);
    } else {
      ptx::tensorLoad32OfHalves(address, bits);
    }
    ptx::tensorLoadWait(bits);
    if (p.accumulator != layout::MmaAccumulator::F16) return;
#pragma unroll
    for (uint32_t& word : bits) word = __float_as_uint(__half2float(__ushort_as_half(static_cast<unsigned short>(word & 0xffffu))));
  }
  __device__ void add(const GemmParams& p, const AccumulatorRow& other) {
#pragma unroll
    for (int32_t i = 0; i < kRowColumns; ++i)
      bits[i] = p.accumulator == layout::MmaAccumulator::S32
                    ? bits[i] + other.bits[i]
                    : __float_as_uint(__uint_as_float(bits[i]) + __uint_as_float(other.bits[i]));
  }
  /// One word for each column, those of a warp's threads side by side, those of the four warps in turn.
  __device__ void store(uint32_t* partial) const {
#pragma unroll
    for (int32_t i = 0; i < kRowColumns; ++i) partial[i * kEpilogueThreads] = bits[i];
  }
  __device__ void fetch(const uint32_t* partial) {
#pragma unroll
    for (int32_t i = 0; i < kRowColumns; ++i) bits[i] = partial[i * kEpilogueThreads];
  }
};

/// This thread's part of a staging tile, kRowColumns columns from `tileColumn` on, to global memory byte by byte: for outputs whose
/// rows do not consist of whole 16 bytes. What lies after the last 4-bit or 6-bit column in its byte stays as it was. `tileRow`:
/// the row that this thread has staged itself; `row`, `column`: its place in the output; columns from `endColumn` on are not
/// stored.
__device__ __forceinline__ void storeStagedRow(const EpilogueParams& e, const StagingTile& tile, int32_t tileRow,
                                               int32_t tileColumn, int32_t row, int32_t column, int32_t endColumn) {
  if (row >= e.rows || column >= endColumn) return;
  const int32_t bits = numerics::storageBits(e.outputType), stagedBits = stagingBits(e.outputType);
  const int32_t columns = endColumn - column < kRowColumns ? endColumn - column : kRowColumns;
  uint8_t* const target = static_cast<uint8_t*>(e.output) + row * e.outputPitch + static_cast<int64_t>(column) * bits / 8;
  const int32_t chunkBytes = 16 * bits / stagedBits;
#pragma unroll 1
  for (int32_t chunk = 0; chunk * chunkBytes * 8 < columns * bits; ++chunk) {
    uint32_t word[4];
    ptx::loadShared16Bytes(tile.at(tileRow, tileColumn * stagedBits / 8 + chunk * 16), word[0], word[1], word[2], word[3]);
#pragma unroll
    for (int32_t i = 0; i < 16; ++i)
      if (i < chunkBytes) storeByteOfBits(target, chunk * chunkBytes + i, columns * bits, word[i / 4] >> (i % 4 * 8));
  }
}

}  // namespace shiftconv::gemm::sm100
