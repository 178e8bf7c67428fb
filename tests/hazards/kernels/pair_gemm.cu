// C = A * B^T in f16 with f32 result for row-major A[M][K], B[N][K], C[M][N], by CTA pairs that multiply 256 x 128 tiles together
// (cta_group::2): each CTA loads 128 rows of A and 64 of B, both count towards a barrier of the even CTA, one thread of which
// multiplies for both. Persistent over the columns, with two accumulators.
#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "common/layout/instruction_descriptor.hpp"

namespace shiftconv::tests {
namespace {

using Group = gemm::sm100::CtaPair;
constexpr int32_t kRowsPerCta = 128, kTileN = 128, kTileK = 64, kMmaK = 16;
constexpr int32_t kStages = 2, kAccumulators = 2;
constexpr uint32_t kCtas = Group::kCtas;
constexpr uint32_t kBytesA = kRowsPerCta * kTileK * 2, kBytesHalfB = kTileN / kCtas * kTileK * 2;
constexpr uint32_t kEpilogueWarpCount = 4, kColumns = kAccumulators * kTileN;

enum Warp : uint32_t { kLoadWarp = 0, kMmaWarp = 1, kEpilogueWarps = 2 };  // 2..5

struct Shared {
  uint8_t a[kStages][kBytesA];
  uint8_t b[kStages][kBytesHalfB];
  gemm::Pipeline<kStages, Group::kArrivals> operands;            // full: of the even CTA, for both
  gemm::Pipeline<kAccumulators, Group::kArrivals> accumulators;  // empty: of the even CTA, for both
  uint32_t tensorMemory;
};

/// The tiles of one pair are all columns of its rows.
struct Problem {
  int32_t row;
  gemm::StaticTiles tiles;
  int32_t chunks;
};

__device__ void load(Shared& shared, const CUtensorMap& mapA, const CUtensorMap& mapB, const Problem& problem) {
  const uint32_t rank = Group::rank();
  gemm::RingPosition stage;
#pragma unroll 1
  for (const int32_t tile : problem.tiles) {
#pragma unroll 1
    for (int32_t chunk = 0; chunk < problem.chunks; ++chunk) {
      shared.operands.awaitEmpty(stage);  // site: stage_empty
      if (Group::isLeader())
        ptx::mbarrierArriveExpectBytes(shared.operands.full(stage), kCtas * (kBytesA + kBytesHalfB));  // site: stage_bytes
      const uint32_t full = Group::atLeader(shared.operands.full(stage));                              // site: full_barrier
      Group::load(ptx::sharedAddress(shared.a[stage.index]), &mapA, chunk * kTileK, problem.row, full);
      Group::load(ptx::sharedAddress(shared.b[stage.index]), &mapB, chunk * kTileK,
                  tile * kTileN + static_cast<int32_t>(rank) * kTileN / 2, full);
      stage.advance(kStages);
    }
  }
  shared.operands.awaitReleases(stage, kStages);
}

/// One thread of the even CTA.
__device__ void multiply(Shared& shared, const Problem& problem, uint32_t tensorMemory) {
  constexpr uint32_t kInstruction =
      layout::instructionDescriptorF16(numerics::NumberType::F16, layout::MmaAccumulator::F32, kCtas * kRowsPerCta, kTileN);
  gemm::RingPosition stage, accumulator;
#pragma unroll 1
  for ([[maybe_unused]] const int32_t tile : problem.tiles) {
    shared.accumulators.awaitEmpty(accumulator);
    ptx::tensorFenceAfterThreadSync();
#pragma unroll 1
    for (int32_t chunk = 0; chunk < problem.chunks; ++chunk) {
      shared.operands.awaitFull(stage);
      const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));
      const uint64_t b = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.b[stage.index]));
#pragma unroll 1
      for (uint32_t slice = 0; slice < kTileK / kMmaK; ++slice) {
        ptx::mma<layout::MmaKind::F16, Group::kCtaGroup>(tensorMemory + static_cast<uint32_t>(accumulator.index * kTileN),
                                                         layout::advanceDescriptor(a, slice * layout::kMmaRowBytes),
                                                         layout::advanceDescriptor(b, slice * layout::kMmaRowBytes), kInstruction,
                                                         chunk != 0 || slice != 0);
      }
      Group::commitRelease(shared.operands.empty(stage));
      stage.advance(kStages);
    }
    Group::commitResult(shared.accumulators.full(accumulator));  // site: accumulator_full
    accumulator.advance(kAccumulators);
  }
}

__device__ void drain(Shared& shared, float* output, int32_t m, int32_t n, const Problem& problem, uint32_t tensorMemory) {
  const uint32_t window = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  const int32_t row = problem.row + static_cast<int32_t>(window * 32 + lane);
  gemm::RingPosition accumulator;
#pragma unroll 1
  for (const int32_t tile : problem.tiles) {
    shared.accumulators.awaitFull(accumulator);
    ptx::tensorFenceAfterThreadSync();
    const uint32_t source = tensorMemory + static_cast<uint32_t>(accumulator.index * kTileN) + ((window * 32) << 16);
    constexpr int32_t kLoadColumns = 16;
#pragma unroll 1
    for (int32_t column = 0; column < kTileN; column += kLoadColumns) {
      uint32_t bits[kLoadColumns];
      ptx::tensorLoad16(source + static_cast<uint32_t>(column), bits);
      ptx::tensorLoadWait(bits);
#pragma unroll
      for (int32_t i = 0; i < kLoadColumns; ++i) {
        const int32_t target = tile * kTileN + column + i;
        if (row < m && target < n) output[static_cast<int64_t>(row) * n + target] = __uint_as_float(bits[i]);
      }
    }
    ptx::tensorFenceBeforeThreadSync();
    __syncwarp();
    if (lane == 0) Group::arriveAtLeader(shared.accumulators.empty(accumulator));  // site: accumulator_released
    accumulator.advance(kAccumulators);
  }
}

}  // namespace

/// `mapA`: [M][K] in boxes of 128 x 64, `mapB`: [N][K] in boxes of 64 x 64, both with 128-byte swizzle. One CTA for each 128 rows,
/// an even number of them.
extern "C" __global__ void __cluster_dims__(kCtas, 1, 1) __launch_bounds__(192, 1)
    pair_gemm(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB, float* output, int32_t m,
              int32_t n, int32_t k) {
  extern __shared__ uint8_t dynamicShared[];
  Shared& shared = gemm::alignedShared<Shared>(dynamicShared);
  const uint32_t warp = threadIdx.x / 32;
  const Problem problem{
      static_cast<int32_t>(blockIdx.x) * kRowsPerCta, {0, 1, (n + kTileN - 1) / kTileN}, (k + kTileK - 1) / kTileK};

  if (threadIdx.x == 0) {
    shared.operands.initialise(kStages, 1, 1);
    shared.accumulators.initialise(kAccumulators, 1, kCtas * kEpilogueWarpCount);  // site: accumulator_barriers
    ptx::fenceMbarrierInit();
  }
  const uint32_t tensorMemory = gemm::sm100::enter<Group>(shared.tensorMemory, kColumns, warp == kMmaWarp);

  if (warp == kLoadWarp) {
    if (ptx::electOne()) load(shared, mapA, mapB, problem);
  } else if (warp == kMmaWarp) {
    if (Group::isLeader() && ptx::electOne()) multiply(shared, problem, tensorMemory);  // site: multiply_role
  } else {
    drain(shared, output, m, n, problem, tensorMemory);
  }

  gemm::sm100::leave<Group>(tensorMemory, kColumns, warp == kMmaWarp);  // site: leave
}

}  // namespace shiftconv::tests
