// The epilogue's side of an accumulator: 32 columns of one row at a time.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "common/gemm/epilogue/store.cuh"
#include "common/gemm/sm100/gemm_params.hpp"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/tensor_memory.cuh"

namespace shiftconv::gemm::sm100 {

/// Sums of 32 bits: f32 or s32; f16 accumulators become f32.
struct AccumulatorRow {
  uint32_t bits[kRowColumns];

  /// Whole warp: the lanes of this warp's window, at `address`.
  __device__ void load(const GemmParams& p, uint32_t address) {
    ptx::tensorLoad32(address, bits);
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
  /// One word for each column, 128 rows apart: the lanes of a warp write and read side by side.
  __device__ void store(uint32_t* partial) const {
#pragma unroll
    for (int32_t i = 0; i < kRowColumns; ++i) partial[i * kTileRows] = bits[i];
  }
  __device__ void fetch(const uint32_t* partial) {
#pragma unroll
    for (int32_t i = 0; i < kRowColumns; ++i) bits[i] = partial[i * kTileRows];
  }
};

/// This thread's row of a staging tile of kRowColumns columns, to global memory byte by byte: for outputs whose rows do not consist
/// of whole 16 bytes. `tileRow`: the row that this thread has staged itself.
__device__ __forceinline__ void storeStagedRow(const EpilogueParams& e, const StagingTile& tile, int32_t tileRow, int32_t row,
                                               int32_t column) {
  if (row >= e.rows || column >= e.columns) return;
  const int32_t bits = numerics::storageBits(e.outputType);
  const int32_t columns = e.columns - column < kRowColumns ? e.columns - column : kRowColumns;
  uint8_t* const target = static_cast<uint8_t*>(e.output) + row * e.outputPitch + static_cast<int64_t>(column) * bits / 8;
  const int32_t bytes = (columns * bits + 7) / 8;
#pragma unroll 1
  for (int32_t byte = 0; byte < bytes; byte += 16) {
    uint32_t word[4];
    ptx::loadShared16Bytes(tile.at(tileRow, byte), word[0], word[1], word[2], word[3]);
#pragma unroll
    for (int32_t i = 0; i < 16; ++i)
      if (byte + i < bytes) target[byte + i] = static_cast<uint8_t>(word[i / 4] >> (i % 4 * 8));
  }
}

}  // namespace shiftconv::gemm::sm100
