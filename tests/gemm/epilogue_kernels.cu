// Kernels that do nothing but the epilogue: those of epilogue_direct.cuh, and results through shared memory and a tensor map.
#include <cuda.h>

#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/warp.cuh"
#include "tests/gemm/epilogue_direct.cuh"

namespace ptx = shiftconv::ptx;

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
