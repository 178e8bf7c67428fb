// The epilogue where neighbouring lanes need not be neighbouring rows of the output: a row of an accumulator in each lane, straight
// from Tensor Memory to global memory.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/row_segments.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/gemm/sm100/stages.cuh"
#include "common/ptx/tensor_memory.cuh"

namespace shiftconv::gemm::sm100 {

/// Whole warp: `columns` columns of its window of an accumulator at `source`, a multiple of rowStoreStep. `row`: of
/// the output, for this lane; negative: none.
__device__ __forceinline__ void storeRow(const EpilogueParams& p, uint32_t source, int32_t row, int32_t firstColumn,
                                         int32_t columns, uint32_t& largestBits) {
  RowSegments segments;
#pragma unroll 1
  for (int32_t column = 0; column < columns; column += RowSegments::kColumns) {
    uint32_t bits[RowSegments::kColumns];
    ptx::tensorLoad16(source + static_cast<uint32_t>(column), bits);
    ptx::tensorLoadWait(bits);
    if (row >= 0) {  // sums that no output takes may mean nothing, and are not looked at
      segments.add(p, row, firstColumn + column, bits, largestBits,
                   [&](int32_t ready, float(&values)[RowSegments::kColumns]) { storeSegment(p, row, ready, values); });
    }
    __syncwarp();
  }
}

/// Whole warp: its window of an accumulator, whose lanes have the rows `row` of the output, all columns of the pass. The context
/// says where the accumulator is, and what happens to its sums.
template <class Cta>
__device__ __forceinline__ void storeAccumulator(const Cta& cta, const RingPosition& accumulator, uint32_t window, int32_t row,
                                                 uint32_t& largestBits) {
  awaitAccumulator(cta.control->accumulators, accumulator);
  storeRow(cta.epilogue(), cta.accumulator(accumulator.index) + windowLanes(window), row, cta.firstOutputChannel, cta.columns(),
           largestBits);  // site: row_stored
}

}  // namespace shiftconv::gemm::sm100
