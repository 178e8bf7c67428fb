// C = A * B^T in f16 with f32 result for row-major A[M][K], B[N][K], C[M][N], by clusters of two CTAs with different rows and the
// same columns: each CTA loads its own tile of A and half of the tile of B, the latter into both CTAs. A stage is refilled when the
// tensor cores of both have released it. At the end the CTAs exchange the sums of their rows through distributed shared memory:
// pairSum[row] is the sum over row `row` and the row 128 above or below, which the other CTA has.
#include <cuda.h>

#include <cstdint>

#include "common/layout/instruction_descriptor.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/tensor_core.cuh"
#include "common/ptx/tensor_memory.cuh"
#include "tests/hazards/kernels/pipeline.cuh"

namespace shiftconv::tests {
namespace {

constexpr int32_t kTileM = 128, kTileN = 64, kTileK = 64, kMmaK = 16;
constexpr int32_t kStages = 2;
constexpr uint32_t kCtas = 2;
constexpr uint16_t kBothCtas = 0b11;
constexpr uint32_t kBytesA = kTileM * kTileK * 2, kBytesB = kTileN * kTileK * 2;
constexpr uint32_t kEpilogueWarpCount = 4;

enum Warp : uint32_t { kLoadWarp = 0, kMmaWarp = 1, kEpilogueWarps = 2 };  // 2..5

struct Shared {
  uint8_t a[kStages][kBytesA];
  uint8_t b[kStages][kBytesB];
  uint64_t full[kStages], empty[kStages];
  uint64_t accumulatorFull, accumulatorEmpty;
  uint64_t peerSumsReady;
  float rowSum[kTileM];
  uint32_t tensorMemory;
};

/// Tiles of one CTA: all columns of its rows.
struct Tiles {
  int32_t row, across, chunks;
  template <class Body>
  __device__ void forEach(Body&& body) const {
#pragma unroll 1
    for (int32_t tile = 0; tile < across; ++tile) body(tile * kTileN);
  }
};

__device__ void load(Shared& shared, const CUtensorMap& mapA, const CUtensorMap& mapB, const Tiles& tiles) {
  const uint32_t rank = ptx::clusterRank();
  Ring<kStages> stage;
  tiles.forEach([&](int32_t column) {
#pragma unroll 1
    for (int32_t chunk = 0; chunk < tiles.chunks; ++chunk) {
      const uint32_t full = at(shared.full[stage.index]);
      ptx::mbarrierWaitInCluster(at(shared.empty[stage.index]), stage.parity ^ 1);
      ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB);
      ptx::loadTile2d(ptx::sharedAddress(shared.a[stage.index]), &mapA, chunk * kTileK, tiles.row, full);
      constexpr uint32_t kHalfRows = kTileN / kCtas, kHalfBytes = kBytesB / kCtas;
      ptx::loadTile2dMulticast(ptx::sharedAddress(shared.b[stage.index]) + rank * kHalfBytes, &mapB, chunk * kTileK,
                               column + static_cast<int32_t>(rank * kHalfRows), full, kBothCtas);
      stage.advance();
    }
  });
}

__device__ void multiply(Shared& shared, const Tiles& tiles, uint32_t accumulators) {
  constexpr uint32_t kInstruction =
      layout::instructionDescriptorF16(layout::MmaInput16::F16, layout::MmaAccumulator::F32, kTileM, kTileN);
  Ring<kStages> stage;
  Ring<1> accumulator;
  tiles.forEach([&](int32_t) {
    ptx::mbarrierWait(at(shared.accumulatorEmpty), accumulator.parity ^ 1);
    ptx::tensorFenceAfterThreadSync();
#pragma unroll 1
    for (int32_t chunk = 0; chunk < tiles.chunks; ++chunk) {
      ptx::mbarrierWaitInCluster(at(shared.full[stage.index]), stage.parity);
      const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));
      const uint64_t b = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.b[stage.index]));
#pragma unroll 1
      for (uint32_t slice = 0; slice < kTileK / kMmaK; ++slice) {
        ptx::mmaF16(accumulators, layout::advanceDescriptor(a, slice * layout::kMmaRowBytes),
                    layout::advanceDescriptor(b, slice * layout::kMmaRowBytes), kInstruction, chunk != 0 || slice != 0);
      }
      ptx::tensorCommitMulticast(at(shared.empty[stage.index]), kBothCtas);
      stage.advance();
    }
    ptx::tensorCommit(at(shared.accumulatorFull));
    accumulator.advance();
  });
  // No commit may arrive on a barrier of a CTA that has left.
#pragma unroll 1
  for (int32_t i = 0; i < kStages; ++i) {
    ptx::mbarrierWaitInCluster(at(shared.empty[stage.index]), stage.parity ^ 1);
    stage.advance();
  }
}

/// Stores this thread's row of every tile and returns its sum.
__device__ float drain(Shared& shared, float* output, int32_t m, int32_t n, const Tiles& tiles, uint32_t accumulators) {
  const uint32_t window = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  const int32_t row = tiles.row + static_cast<int32_t>(window * 32 + lane);
  float sum = 0;
  Ring<1> accumulator;
  tiles.forEach([&](int32_t firstColumn) {
    ptx::mbarrierWait(at(shared.accumulatorFull), accumulator.parity);
    ptx::tensorFenceAfterThreadSync();
    constexpr int32_t kLoadColumns = 16;
#pragma unroll 1
    for (int32_t column = 0; column < kTileN; column += kLoadColumns) {
      uint32_t bits[kLoadColumns];
      ptx::tensorLoad16(accumulators + ((window * 32) << 16) + static_cast<uint32_t>(column), bits);
      ptx::tensorLoadWait(bits);
#pragma unroll
      for (int32_t i = 0; i < kLoadColumns; ++i) {
        const float value = __uint_as_float(bits[i]);
        sum += value;  // columns behind N hold zeros
        const int32_t target = firstColumn + column + i;
        if (row < m && target < n) output[static_cast<int64_t>(row) * n + target] = value;
      }
    }
    ptx::tensorFenceBeforeThreadSync();
    __syncwarp();
    if (lane == 0) ptx::mbarrierArrive(at(shared.accumulatorEmpty));
    accumulator.advance();
  });
  return sum;
}

__device__ void exchangeRowSums(Shared& shared, float sum, float* pairSum, int32_t m, const Tiles& tiles) {
  const uint32_t lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 32 + lane;
  const uint32_t peer = ptx::clusterRank() ^ 1;
  shared.rowSum[row] = sum;
  __syncwarp();
  if (lane == 0) ptx::mbarrierArriveInCluster(ptx::mapToCta(at(shared.peerSumsReady), peer));
  ptx::mbarrierWaitInCluster(at(shared.peerSumsReady), 0);
  const float other = ptx::loadFromCluster(ptx::mapToCta(ptx::sharedAddress(&shared.rowSum[row]), peer));
  if (tiles.row + static_cast<int32_t>(row) < m) pairSum[tiles.row + static_cast<int32_t>(row)] = sum + other;
}

}  // namespace

/// `mapA`: [M][K] in boxes of 128 x 64, `mapB`: [N][K] in boxes of 32 x 64, both with 128-byte swizzle. One CTA for each 128 rows,
/// an even number of them.
extern "C" __global__ void __cluster_dims__(kCtas, 1, 1) __launch_bounds__(192, 1)
    cluster_pair(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB, float* output, float* pairSum,
                 int32_t m, int32_t n, int32_t k) {
  extern __shared__ uint8_t dynamicShared[];
  Shared& shared = alignedShared<Shared>(dynamicShared);
  const uint32_t warp = threadIdx.x / 32;
  const Tiles tiles{static_cast<int32_t>(blockIdx.x) * kTileM, (n + kTileN - 1) / kTileN, (k + kTileK - 1) / kTileK};

  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int32_t i = 0; i < kStages; ++i) {
      ptx::mbarrierInit(at(shared.full[i]), 1);
      ptx::mbarrierInit(at(shared.empty[i]), kCtas);
    }
    ptx::mbarrierInit(at(shared.accumulatorFull), 1);
    ptx::mbarrierInit(at(shared.accumulatorEmpty), kEpilogueWarpCount);
    ptx::mbarrierInit(at(shared.peerSumsReady), kEpilogueWarpCount);
    ptx::fenceMbarrierInit();
  }
  if (warp == kMmaWarp) {
    ptx::tensorMemoryAllocate(ptx::sharedAddress(&shared.tensorMemory), kTileN);
    ptx::tensorMemoryRelinquish();
  }
  ptx::clusterBarrierSync();  // the barriers of both CTAs exist
  const uint32_t accumulators = shared.tensorMemory;

  if (warp == kLoadWarp) {
    if (ptx::electOne()) load(shared, mapA, mapB, tiles);
  } else if (warp == kMmaWarp) {
    if (ptx::electOne()) multiply(shared, tiles, accumulators);
  } else {
    const float sum = drain(shared, output, m, n, tiles, accumulators);
    exchangeRowSums(shared, sum, pairSum, m, tiles);
  }

  __syncthreads();
  if (warp == kMmaWarp) ptx::tensorMemoryFree(accumulators, kTileN);
  ptx::clusterBarrierSync();  // the peer may still copy into this CTA, arrive here or read its sums
}

}  // namespace shiftconv::tests
