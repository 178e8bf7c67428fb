// The epilogue where neighbouring lanes need not be neighbouring rows of the output: a row of an accumulator in each lane, straight
// from Tensor Memory to global memory.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/ptx/tensor_memory.cuh"

namespace shiftconv::gemm::sm100 {

template <int32_t kSegment>
__device__ __forceinline__ void storeRowSegments(const EpilogueParams& p, uint32_t source, int32_t row, int32_t firstColumn,
                                                 int32_t columns, uint32_t& largestBits) {
#pragma unroll 1
  for (int32_t column = 0; column < columns; column += kSegment) {
    uint32_t bits[kSegment];
    if constexpr (kSegment == 32) {
      ptx::tensorLoad32(source + static_cast<uint32_t>(column), bits);
    } else {
      ptx::tensorLoad16(source + static_cast<uint32_t>(column), bits);
    }
    ptx::tensorLoadWait(bits);
    if (row >= 0) {  // sums that no output takes may mean nothing, and are not looked at
      float values[kSegment];
      computeSegment(p, row, firstColumn + column, bits, values, largestBits);
      storeSegment(p, row, firstColumn + column, values);
    }
    __syncwarp();
  }
}

/// Whole warp: `columns` columns of its window of an accumulator at `source`, a multiple of rowStoreStep. `row`: of
/// the output, for this lane; negative: none.
__device__ __forceinline__ void storeRow(const EpilogueParams& p, uint32_t source, int32_t row, int32_t firstColumn,
                                         int32_t columns, uint32_t& largestBits) {
  if (p.outputBlock == 32) {
    storeRowSegments<32>(p, source, row, firstColumn, columns, largestBits);
  } else {
    storeRowSegments<16>(p, source, row, firstColumn, columns, largestBits);
  }
}

}  // namespace shiftconv::gemm::sm100
