// A row of an accumulator on its way out, 16 columns at a time. The arithmetic of compute.cuh and the conversions of store.cuh are
// long when they are unrolled: for 16 and for 32 columns they were 70 to 88 % of a kernel's PTX. So a kernel has them once, for 16,
// and blocks of 32 columns with a scale factor wait for their second half.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/params.hpp"
#include "common/gemm/epilogue/quantize.cuh"

namespace shiftconv::gemm {

class RowSegments {
 public:
  static constexpr int32_t kColumns = 16;

  /// The sums of columns column.. of `row`; the segments of a row in order, from a multiple of the output's block on. Calls
  /// store(column, values) with every 16 columns that are ready for storeSegment or stageSegment: none for the first half of a
  /// block, both halves for the second. `largestBits` as for computeSegment.
  template <class Store>
  __device__ __forceinline__ void add(const EpilogueParams& p, int32_t row, int32_t column, const uint32_t (&bits)[kColumns],
                                      uint32_t& largestBits, Store&& store) {
    float values[kColumns];
    computeSegment(p, row, column, bits, values, largestBits);
    const bool isHalf = p.outputBlock == 2 * kColumns;
    if (isHalf && column % (2 * kColumns) == 0) {
#pragma unroll
      for (int32_t i = 0; i < kColumns; ++i) firstHalf_[i] = values[i];
      return;
    }
    if (isHalf) quantizeHalves(p, row, column - kColumns, values);
#pragma unroll 1
    for (int32_t first = isHalf ? column - kColumns : column; first <= column; first += kColumns) {
      float ready[kColumns];
#pragma unroll
      for (int32_t i = 0; i < kColumns; ++i) ready[i] = first < column ? firstHalf_[i] : values[i];
      store(first, ready);
    }
  }

 private:
  __device__ __forceinline__ void quantizeHalves(const EpilogueParams& p, int32_t row, int32_t column,
                                                 float (&secondHalf)[kColumns]) {
    float block[2 * kColumns];
#pragma unroll
    for (int32_t i = 0; i < 2 * kColumns; ++i) block[i] = i < kColumns ? firstHalf_[i] : secondHalf[i - kColumns];
    quantizeSegment<2 * kColumns>(p, row, column, block);
#pragma unroll
    for (int32_t i = 0; i < 2 * kColumns; ++i) (i < kColumns ? firstHalf_[i] : secondHalf[i - kColumns]) = block[i];
  }

  float firstHalf_[kColumns];
};

}  // namespace shiftconv::gemm
