// C = A * B^T in f16 with f32 result for row-major A[M][K], B[N][K], C[M][N], by clusters of two CTAs with different rows and the
// same columns: each CTA loads its own tile of A and half of the tile of B, the latter into both CTAs. A stage is refilled when the
// tensor cores of both have released it. At the end the CTAs exchange the sums of their rows through distributed shared memory:
// pairSum[row] is the sum over row `row` and the row 128 above or below, which the other CTA has.
#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "common/layout/instruction_descriptor.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/tensor_core.cuh"
#include "common/ptx/tensor_memory.cuh"

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
  gemm::Pipeline<kStages, gemm::Arrivals::OfTheCluster> operands;
  gemm::Pipeline<1> accumulator;
  uint64_t peerSumsReady;
  float rowSum[kTileM];
  uint32_t tensorMemory;
};

/// The tiles of one CTA are all columns of its rows.
struct Problem {
  int32_t row;
  gemm::StaticTiles tiles;
  int32_t chunks;
};

__device__ __forceinline__ uint32_t at(const uint64_t& barrier) { return ptx::sharedAddress(&barrier); }

__device__ void load(Shared& shared, const CUtensorMap& mapA, const CUtensorMap& mapB, const Problem& problem) {
  const uint32_t rank = ptx::clusterRank();
  gemm::RingPosition stage;
#pragma unroll 1
  for (const int32_t tile : problem.tiles) {
#pragma unroll 1
    for (int32_t chunk = 0; chunk < problem.chunks; ++chunk) {
      const uint32_t full = shared.operands.full(stage);
      shared.operands.awaitEmpty(stage);
      ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB);  // site: stage_bytes
      ptx::loadTile2d(ptx::sharedAddress(shared.a[stage.index]), &mapA, chunk * kTileK, problem.row, full);
      constexpr uint32_t kHalfRows = kTileN / kCtas, kHalfBytes = kBytesB / kCtas;
      ptx::loadTile2dMulticast(ptx::sharedAddress(shared.b[stage.index]) + rank * kHalfBytes, &mapB, chunk * kTileK,
                               tile * kTileN + static_cast<int32_t>(rank * kHalfRows), full, kBothCtas);  // site: load_b
      stage.advance(kStages);
    }
  }
  shared.operands.awaitReleases(stage, kStages);
}

__device__ void multiply(Shared& shared, const Problem& problem, uint32_t accumulators) {
  constexpr uint32_t kInstruction =
      layout::instructionDescriptorF16(numerics::NumberType::F16, layout::MmaAccumulator::F32, kTileM, kTileN);
  gemm::RingPosition stage, accumulator;
#pragma unroll 1
  for ([[maybe_unused]] const int32_t tile : problem.tiles) {
    shared.accumulator.awaitEmpty(accumulator);
    ptx::tensorFenceAfterThreadSync();
#pragma unroll 1
    for (int32_t chunk = 0; chunk < problem.chunks; ++chunk) {
      shared.operands.awaitFull(stage);
      const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));
      const uint64_t b = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.b[stage.index]));
#pragma unroll 1
      for (uint32_t slice = 0; slice < kTileK / kMmaK; ++slice) {
        ptx::mma<layout::MmaKind::F16>(accumulators, layout::advanceDescriptor(a, slice * layout::kMmaRowBytes),
                                       layout::advanceDescriptor(b, slice * layout::kMmaRowBytes), kInstruction,
                                       chunk != 0 || slice != 0);
      }
      ptx::tensorCommitMulticast(shared.operands.empty(stage), kBothCtas);  // site: stage_released
      stage.advance(kStages);
    }
    ptx::tensorCommit(shared.accumulator.full(accumulator));
    accumulator.advance(1);
  }
}

/// Stores this thread's row of every tile and returns its sum.
__device__ float drain(Shared& shared, float* output, int32_t m, int32_t n, const Problem& problem, uint32_t accumulators) {
  const uint32_t window = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  const int32_t row = problem.row + static_cast<int32_t>(window * 32 + lane);
  float sum = 0;
  gemm::RingPosition accumulator;
#pragma unroll 1
  for (const int32_t tile : problem.tiles) {
    shared.accumulator.awaitFull(accumulator);
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
        sum += value;  // columns after N hold zeros
        const int32_t target = tile * kTileN + column + i;
        if (row < m && target < n) output[static_cast<int64_t>(row) * n + target] = value;
      }
    }
    ptx::tensorFenceBeforeThreadSync();
    __syncwarp();
    if (lane == 0) ptx::mbarrierArrive(shared.accumulator.empty(accumulator));
    accumulator.advance(1);
  }
  return sum;
}

__device__ void exchangeRowSums(Shared& shared, float sum, float* pairSum, int32_t m, const Problem& problem) {
  const uint32_t lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 32 + lane;
  const uint32_t peer = ptx::clusterRank() ^ 1;
  shared.rowSum[row] = sum;                                                                    // site: sum_stored
  __syncwarp();                                                                                // site: sums_stored
  if (lane == 0) ptx::mbarrierArriveInCluster(ptx::mapToCta(at(shared.peerSumsReady), peer));  // site: peer_told
  ptx::mbarrierWaitInCluster(at(shared.peerSumsReady), 0);                                     // site: peer_awaited
  const float other = ptx::loadFromCluster(ptx::mapToCta(ptx::sharedAddress(&shared.rowSum[row]), peer));
  if (problem.row + static_cast<int32_t>(row) < m) pairSum[problem.row + static_cast<int32_t>(row)] = sum + other;
}

}  // namespace

/// `mapA`: [M][K] in boxes of 128 x 64, `mapB`: [N][K] in boxes of 32 x 64, both with 128-byte swizzle. One CTA for each 128 rows,
/// an even number of them.
extern "C" __global__ void __cluster_dims__(kCtas, 1, 1) __launch_bounds__(192, 1)
    cluster_pair(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB, float* output, float* pairSum,
                 int32_t m, int32_t n, int32_t k) {
  extern __shared__ uint8_t dynamicShared[];
  Shared& shared = gemm::alignedShared<Shared>(dynamicShared);
  const uint32_t warp = threadIdx.x / 32;
  const Problem problem{static_cast<int32_t>(blockIdx.x) * kTileM, {0, 1, (n + kTileN - 1) / kTileN}, (k + kTileK - 1) / kTileK};

  if (threadIdx.x == 0) {
    shared.operands.initialise(kStages, 1, kCtas);  // site: operand_barriers
    shared.accumulator.initialise(1, 1, kEpilogueWarpCount);
    ptx::mbarrierInit(at(shared.peerSumsReady), kEpilogueWarpCount);  // site: peer_barrier
    ptx::fenceMbarrierInit();
  }
  if (warp == kMmaWarp) {
    ptx::tensorMemoryAllocate(ptx::sharedAddress(&shared.tensorMemory), kTileN);
    ptx::tensorMemoryRelinquish();
  }
  ptx::clusterBarrierSync();  // the barriers of both CTAs exist; site: barriers_exist
  const uint32_t accumulators = shared.tensorMemory;

  if (warp == kLoadWarp) {
    if (ptx::electOne()) load(shared, mapA, mapB, problem);
  } else if (warp == kMmaWarp) {
    if (ptx::electOne()) multiply(shared, problem, accumulators);
  } else {
    const float sum = drain(shared, output, m, n, problem, accumulators);
    exchangeRowSums(shared, sum, pairSum, m, problem);
  }

  __syncthreads();
  if (warp == kMmaWarp) ptx::tensorMemoryFree(accumulators, kTileN);
  ptx::clusterBarrierSync();  // the peer may still copy into this CTA, arrive here or read its sums; site: ctas_leave
}

}  // namespace shiftconv::tests
