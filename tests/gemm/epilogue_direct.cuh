// The epilogue alone: accumulators from global memory, segments of 32, 16 or 2 columns (four of these at once), results by vector
// stores.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/store.cuh"

namespace gemm = shiftconv::gemm;

constexpr int32_t kTileRows = 128, kTileColumns = 64;

/// accumulators: [tile rows][pitch], whole tiles.
template <int32_t kColumns>
__device__ void loadSegment(const uint32_t* accumulators, int32_t pitch, int32_t row, int32_t column, uint32_t (&bits)[kColumns]) {
#pragma unroll
  for (int32_t i = 0; i < kColumns; ++i) bits[i] = accumulators[static_cast<int64_t>(row) * pitch + column + i];
}

/// kSegments segments at once.
template <int32_t kColumns, int32_t kSegments>
__device__ void direct(const gemm::EpilogueParams& p, const uint32_t* accumulators, int32_t pitch) {
  const int32_t row = static_cast<int32_t>(blockIdx.y) * kTileRows + static_cast<int32_t>(threadIdx.x);
  uint32_t largestBits = 0;
#pragma unroll 1
  for (int32_t first = 0; first < kTileColumns; first += kColumns * kSegments) {
    const int32_t column = static_cast<int32_t>(blockIdx.x) * kTileColumns + first;
    uint32_t bits[kColumns * kSegments];
    loadSegment(accumulators, pitch, row, column, bits);
    if constexpr (kSegments == 1) {
      float v[kColumns];
      gemm::computeSegment(p, row, column, bits, v, largestBits);
      gemm::storeSegment(p, row, column, v);
    } else {
      gemm::SegmentPlace at[kSegments];
#pragma unroll
      for (int32_t i = 0; i < kSegments; ++i) at[i] = {row, column + i * kColumns};
      gemm::finishSegments<kColumns>(p, at, bits, largestBits);
    }
  }
  gemm::mergeLargest(p, largestBits);
}

extern "C" __global__ void __launch_bounds__(kTileRows)
    epilogue_direct_32(gemm::EpilogueParams p, const uint32_t* accumulators, int32_t pitch) {
  direct<32, 1>(p, accumulators, pitch);
}
