// C = A * B^T in f16 with f32 result for row-major A[M][K], B[N][K], C[M][N], by CTA pairs that multiply 256 x 128 tiles together
// (cta_group::2): each CTA loads 128 rows of A and 64 of B, both count towards a barrier of the even CTA, one thread of which
// multiplies for both. Persistent over the columns, with two accumulators.
#include <cuda.h>

#include <cstdint>

#include "common/layout/instruction_descriptor.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/tensor_core.cuh"
#include "common/ptx/tensor_memory.cuh"
#include "common/ptx/tensor_pair.cuh"
#include "tests/hazards/kernels/pipeline.cuh"

namespace shiftconv::tests {
namespace {

constexpr int32_t kRowsPerCta = 128, kTileN = 128, kTileK = 64, kMmaK = 16;
constexpr int32_t kStages = 2, kAccumulators = 2;
constexpr uint32_t kCtas = 2, kLeader = 0;
constexpr uint16_t kBothCtas = 0b11;
constexpr uint32_t kBytesA = kRowsPerCta * kTileK * 2, kBytesHalfB = kTileN / kCtas * kTileK * 2;
constexpr uint32_t kEpilogueWarpCount = 4, kColumns = kAccumulators * kTileN;

enum Warp : uint32_t { kLoadWarp = 0, kMmaWarp = 1, kEpilogueWarps = 2 };  // 2..5

struct Shared {
  uint8_t a[kStages][kBytesA];
  uint8_t b[kStages][kBytesHalfB];
  uint64_t full[kStages];  // of the even CTA, for both
  uint64_t empty[kStages];
  uint64_t accumulatorFull[kAccumulators];
  uint64_t accumulatorEmpty[kAccumulators];  // of the even CTA, for both
  uint32_t tensorMemory;
};

/// Tiles of one pair: all columns of its rows.
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
      ptx::mbarrierWaitInCluster(at(shared.empty[stage.index]), stage.parity ^ 1);
      if (rank == kLeader) ptx::mbarrierArriveExpectBytes(at(shared.full[stage.index]), kCtas * (kBytesA + kBytesHalfB));
      const uint32_t full = ptx::mapToCta(at(shared.full[stage.index]), kLeader);
      ptx::loadTile2dForPair(ptx::sharedAddress(shared.a[stage.index]), &mapA, chunk * kTileK, tiles.row, full);
      ptx::loadTile2dForPair(ptx::sharedAddress(shared.b[stage.index]), &mapB, chunk * kTileK,
                             column + static_cast<int32_t>(rank) * kTileN / 2, full);
      stage.advance();
    }
  });
  // No commit may arrive on a barrier of a CTA that has left.
#pragma unroll 1
  for (int32_t i = 0; i < kStages; ++i) {
    ptx::mbarrierWaitInCluster(at(shared.empty[stage.index]), stage.parity ^ 1);
    stage.advance();
  }
}

/// One thread of the even CTA.
__device__ void multiply(Shared& shared, const Tiles& tiles, uint32_t accumulators) {
  constexpr uint32_t kInstruction =
      layout::instructionDescriptorF16(layout::MmaInput16::F16, layout::MmaAccumulator::F32, kCtas * kRowsPerCta, kTileN);
  Ring<kStages> stage;
  Ring<kAccumulators> accumulator;
  tiles.forEach([&](int32_t) {
    ptx::mbarrierWaitInCluster(at(shared.accumulatorEmpty[accumulator.index]), accumulator.parity ^ 1);
    ptx::tensorFenceAfterThreadSync();
#pragma unroll 1
    for (int32_t chunk = 0; chunk < tiles.chunks; ++chunk) {
      ptx::mbarrierWaitInCluster(at(shared.full[stage.index]), stage.parity);
      const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));
      const uint64_t b = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.b[stage.index]));
#pragma unroll 1
      for (uint32_t slice = 0; slice < kTileK / kMmaK; ++slice) {
        ptx::mmaF16InPair(accumulators + static_cast<uint32_t>(accumulator.index * kTileN),
                          layout::advanceDescriptor(a, slice * layout::kMmaRowBytes),
                          layout::advanceDescriptor(b, slice * layout::kMmaRowBytes), kInstruction, chunk != 0 || slice != 0);
      }
      ptx::tensorCommitInPair(at(shared.empty[stage.index]), kBothCtas);
      stage.advance();
    }
    ptx::tensorCommitInPair(at(shared.accumulatorFull[accumulator.index]), kBothCtas);
    accumulator.advance();
  });
}

__device__ void drain(Shared& shared, float* output, int32_t m, int32_t n, const Tiles& tiles, uint32_t accumulators) {
  const uint32_t window = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  const int32_t row = tiles.row + static_cast<int32_t>(window * 32 + lane);
  Ring<kAccumulators> accumulator;
  tiles.forEach([&](int32_t firstColumn) {
    ptx::mbarrierWaitInCluster(at(shared.accumulatorFull[accumulator.index]), accumulator.parity);
    ptx::tensorFenceAfterThreadSync();
    const uint32_t source = accumulators + static_cast<uint32_t>(accumulator.index * kTileN) + ((window * 32) << 16);
    constexpr int32_t kLoadColumns = 16;
#pragma unroll 1
    for (int32_t column = 0; column < kTileN; column += kLoadColumns) {
      uint32_t bits[kLoadColumns];
      ptx::tensorLoad16(source + static_cast<uint32_t>(column), bits);
      ptx::tensorLoadWait(bits);
#pragma unroll
      for (int32_t i = 0; i < kLoadColumns; ++i) {
        const int32_t target = firstColumn + column + i;
        if (row < m && target < n) output[static_cast<int64_t>(row) * n + target] = __uint_as_float(bits[i]);
      }
    }
    ptx::tensorFenceBeforeThreadSync();
    __syncwarp();
    if (lane == 0) ptx::mbarrierArriveInCluster(ptx::mapToCta(at(shared.accumulatorEmpty[accumulator.index]), kLeader));
    accumulator.advance();
  });
}

}  // namespace

/// `mapA`: [M][K] in boxes of 128 x 64, `mapB`: [N][K] in boxes of 64 x 64, both with 128-byte swizzle. One CTA for each 128 rows,
/// an even number of them.
extern "C" __global__ void __cluster_dims__(kCtas, 1, 1) __launch_bounds__(192, 1)
    pair_gemm(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB, float* output, int32_t m,
              int32_t n, int32_t k) {
  extern __shared__ uint8_t dynamicShared[];
  Shared& shared = alignedShared<Shared>(dynamicShared);
  const uint32_t warp = threadIdx.x / 32;
  const Tiles tiles{static_cast<int32_t>(blockIdx.x) * kRowsPerCta, (n + kTileN - 1) / kTileN, (k + kTileK - 1) / kTileK};

  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int32_t i = 0; i < kStages; ++i) {
      ptx::mbarrierInit(at(shared.full[i]), 1);
      ptx::mbarrierInit(at(shared.empty[i]), 1);
    }
#pragma unroll 1
    for (int32_t i = 0; i < kAccumulators; ++i) {
      ptx::mbarrierInit(at(shared.accumulatorFull[i]), 1);
      ptx::mbarrierInit(at(shared.accumulatorEmpty[i]), kCtas * kEpilogueWarpCount);
    }
    ptx::fenceMbarrierInit();
  }
  if (warp == kMmaWarp) {
    ptx::tensorMemoryAllocateInPair(ptx::sharedAddress(&shared.tensorMemory), kColumns);
    ptx::tensorMemoryRelinquishInPair();
  }
  ptx::clusterBarrierSync();  // the barriers of both CTAs exist
  const uint32_t accumulators = shared.tensorMemory;

  if (warp == kLoadWarp) {
    if (ptx::electOne()) load(shared, mapA, mapB, tiles);
  } else if (warp == kMmaWarp) {
    if (ptx::clusterRank() == kLeader && ptx::electOne()) multiply(shared, tiles, accumulators);
  } else {
    drain(shared, output, m, n, tiles, accumulators);
  }

  ptx::clusterBarrierSync();  // the peer may still multiply out of this CTA's memory, or arrive here
  if (warp == kMmaWarp) ptx::tensorMemoryFreeInPair(accumulators, kColumns);
}

}  // namespace shiftconv::tests
