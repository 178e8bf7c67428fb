// The epilogue of common/gemm on its way through shared memory: bias, activation and quantisation to mxfp8 of accumulators from
// global memory, two staging tiles in turns, tensor-map stores after them, scale factors and the largest magnitude by threads.
#include <cuda.h>

#include <cstdint>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/warp.cuh"

namespace shiftconv::tests {
namespace {

constexpr int32_t kTileRows = 128, kTileColumns = 32, kTiles = 2;

struct Shared {
  alignas(1024) uint8_t tile[kTiles][kTileRows * kTileColumns];
};

__device__ void storeRows(const gemm::EpilogueParams& p, const CUtensorMap& map, const float* accumulators, Shared& shared) {
  const int32_t firstRow = static_cast<int32_t>(blockIdx.x) * kTileRows, tileRow = static_cast<int32_t>(threadIdx.x);
  const int32_t row = firstRow + tileRow;
  uint32_t largestBits = 0;
  int32_t turn = 0;
#pragma unroll 1
  for (int32_t column = 0; column < p.columns; column += kTileColumns, turn ^= 1) {
    const gemm::StagingTile tile{ptx::sharedAddress(shared.tile[turn]), kTileRows, kTileColumns};  // site: staging_tile
    uint32_t bits[kTileColumns];
    float v[kTileColumns];
#pragma unroll
    for (int32_t i = 0; i < kTileColumns; ++i) {
      const bool exists = row < p.rows && column + i < p.columns;
      bits[i] = exists ? __float_as_uint(accumulators[row * p.columns + column + i]) : 0;
    }
    gemm::computeSegment(p, row, column, bits, v, largestBits);
    if (threadIdx.x == 0) ptx::bulkWaitGroupRead<kTiles - 1>();  // site: tile_free
    __syncthreads();                                             // the store that read this tile two turns ago is done with it
    gemm::stageSegment(p, row, column, v, tile, tileRow, 0);
    ptx::fenceProxyAsyncShared();  // site: tile_fenced
    __syncthreads();               // everybody has written the tile; site: tile_written
    if (threadIdx.x == 0) {
      gemm::storeStagedTile(p, &map, tile, kTileColumns, firstRow, column);
      ptx::bulkCommitGroup();
    }
  }
  gemm::mergeLargest(p, largestBits);             // site: largest_merged
  if (threadIdx.x == 0) ptx::bulkWaitGroup<0>();  // site: stores_done
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kTileRows)
    epilogue_tile(const __grid_constant__ CUtensorMap map, const float* accumulators, const float* bias, uint8_t* scales,
                  float* largest, int32_t rows, int32_t columns) {
  __shared__ Shared shared;
  gemm::EpilogueParams p;
  p.rows = rows, p.columns = columns;
  p.bias = bias;
  p.activation = gemm::Activation::Relu;
  p.largest = largest;
  p.outputType = gemm::NumberType::E4M3;
  p.outputBlock = 32;
  p.outputScales = scales;
  p.outputScaleLayout = layout::ScaleFactorLayout::Interleaved128x4;
  storeRows(p, map, accumulators, shared);
}

}  // namespace shiftconv::tests
