// Kernels that do nothing but the epilogue: accumulators from global memory, segments of 32, 16 or 2 columns (four of these at
// once), results by vector stores or through shared memory and a tensor map.
#include <cuda.h>

#include <cstdint>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/warp.cuh"

namespace gemm = shiftconv::gemm;
namespace ptx = shiftconv::ptx;

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
extern "C" __global__ void __launch_bounds__(kTileRows)
    epilogue_direct_16(gemm::EpilogueParams p, const uint32_t* accumulators, int32_t pitch) {
  direct<16, 1>(p, accumulators, pitch);
}
extern "C" __global__ void __launch_bounds__(kTileRows)
    epilogue_direct_2(gemm::EpilogueParams p, const uint32_t* accumulators, int32_t pitch) {
  direct<2, 4>(p, accumulators, pitch);
}

/// One CTA does all tiles of its rows, so that the staging tile is used again and again.
template <int32_t kColumns>
__device__ void staged(const gemm::EpilogueParams& p, const CUtensorMap* map, const uint32_t* accumulators, int32_t pitch) {
  extern __shared__ __align__(1024) uint8_t shared[];
  const gemm::StagingTile tile{ptx::sharedAddress(shared), kTileRows, gemm::stagingBoxBytes(p.outputType, kTileColumns)};
  const int32_t firstRow = static_cast<int32_t>(blockIdx.y) * kTileRows, tileRow = static_cast<int32_t>(threadIdx.x);
  uint32_t largestBits = 0;
#pragma unroll 1
  for (int32_t firstColumn = 0; firstColumn < p.columns; firstColumn += kTileColumns) {
#pragma unroll 1
    for (int32_t first = 0; first < kTileColumns; first += kColumns) {
      uint32_t bits[kColumns];
      float v[kColumns];
      loadSegment(accumulators, pitch, firstRow + tileRow, firstColumn + first, bits);
      gemm::computeSegment(p, firstRow + tileRow, firstColumn + first, bits, v, largestBits);
      gemm::stageSegment(p, firstRow + tileRow, firstColumn + first, v, tile, tileRow, first);
    }
    ptx::fenceProxyAsyncShared();
    __syncthreads();
    if (threadIdx.x == 0) {
      gemm::storeStagedTile(p, map, tile, kTileColumns, firstRow, firstColumn);
      ptx::bulkCommitGroup();
      ptx::bulkWaitGroupRead<0>();
    }
    __syncthreads();
  }
  gemm::mergeLargest(p, largestBits);
  if (threadIdx.x == 0) ptx::bulkWaitGroup<0>();
}

extern "C" __global__ void __launch_bounds__(kTileRows)
    epilogue_staged_32(gemm::EpilogueParams p, const __grid_constant__ CUtensorMap map, const uint32_t* accumulators,
                       int32_t pitch) {
  staged<32>(p, &map, accumulators, pitch);
}
extern "C" __global__ void __launch_bounds__(kTileRows)
    epilogue_staged_16(gemm::EpilogueParams p, const __grid_constant__ CUtensorMap map, const uint32_t* accumulators,
                       int32_t pitch) {
  staged<16>(p, &map, accumulators, pitch);
}
