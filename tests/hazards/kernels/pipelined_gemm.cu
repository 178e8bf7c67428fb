// C = A * B^T in f16 (f32 accumulators) for row-major A[M][K], B[N][K], C[M][N]: a persistent, warp-specialised pipeline. TMA fills
// a ring of stages, one thread multiplies into two accumulators in turn, four warps drain one while the next is computed: Tensor
// Memory -> registers -> swizzled shared memory -> TMA store. Edges are ragged: TMA zero-fills on load and drops on store.
#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "common/layout/instruction_descriptor.hpp"
#include "common/ptx/shared_memory.cuh"

namespace shiftconv::tests {
namespace {

using Group = gemm::sm100::SingleCta;
constexpr int32_t kTileM = 128, kTileN = 64, kTileK = 64, kMmaK = 16;
constexpr int32_t kStages = 3, kAccumulators = 2;
constexpr uint32_t kBytesA = kTileM * kTileK * 2, kBytesB = kTileN * kTileK * 2;
constexpr uint32_t kEpilogueThreads = 128, kEpilogueBarrier = 1;

enum Warp : uint32_t { kLoadWarp = 0, kMmaWarp = 1, kEpilogueWarps = 2 };  // 2..5: warp w reads Tensor Memory lanes 32*(w%4)..

struct Shared {
  uint8_t a[kStages][kBytesA];
  uint8_t b[kStages][kBytesB];
  uint8_t output[kTileM * kTileN * 2];  // 128-byte rows, swizzled
  gemm::Pipeline<kStages> operands;
  gemm::Pipeline<kAccumulators> accumulators;
  uint32_t tensorMemory;
};

struct Problem {
  gemm::StaticTiles tiles;
  int32_t across, chunks;  ///< tiles side by side; steps of kTileK
  __device__ int32_t rowOf(int32_t tile) const { return tile / across * kTileM; }
  __device__ int32_t columnOf(int32_t tile) const { return tile % across * kTileN; }
};

__device__ void load(Shared& shared, const CUtensorMap& mapA, const CUtensorMap& mapB, const Problem& problem) {
  gemm::RingPosition stage;  // site: load_begins
#pragma unroll 1
  for (const int32_t tile : problem.tiles) {
#pragma unroll 1
    for (int32_t chunk = 0; chunk < problem.chunks; ++chunk) {
      const uint32_t full = shared.operands.full(stage);
      shared.operands.awaitEmpty(stage);                        // site: stage_empty
      ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB);  // site: stage_bytes
      ptx::loadTile2d(ptx::sharedAddress(shared.a[stage.index]), &mapA, chunk * kTileK, problem.rowOf(tile), full);
      ptx::loadTile2d(ptx::sharedAddress(shared.b[stage.index]), &mapB, chunk * kTileK, problem.columnOf(tile),
                      full);   // site: load_b
      stage.advance(kStages);  // site: next_stage
    }
  }
  shared.operands.awaitReleases(stage, kStages);
}

__device__ void multiply(Shared& shared, const Problem& problem, uint32_t tensorMemory) {
  constexpr uint32_t kInstruction =
      layout::instructionDescriptorF16(numerics::NumberType::F16, layout::MmaAccumulator::F32, kTileM, kTileN);
  gemm::RingPosition stage, accumulator;
#pragma unroll 1
  for ([[maybe_unused]] const int32_t tile : problem.tiles) {
    shared.accumulators.awaitEmpty(accumulator);
    ptx::tensorFenceAfterThreadSync();
    const uint32_t target = tensorMemory + static_cast<uint32_t>(accumulator.index * kTileN);
#pragma unroll 1
    for (int32_t chunk = 0; chunk < problem.chunks; ++chunk) {  // site: chunks
      shared.operands.awaitFull(stage);
      const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));  // site: operand_a
      const uint64_t b = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.b[stage.index]));
#pragma unroll 1
      for (uint32_t slice = 0; slice < kTileK / kMmaK; ++slice) {
        ptx::mma<layout::MmaKind::F16>(target, layout::advanceDescriptor(a, slice * layout::kMmaRowBytes),
                                       layout::advanceDescriptor(b, slice * layout::kMmaRowBytes), kInstruction,
                                       chunk != 0 || slice != 0);  // site: mma
      }
      ptx::tensorCommit(shared.operands.empty(stage));  // site: stage_released
      stage.advance(kStages);
    }
    ptx::tensorCommit(shared.accumulators.full(accumulator));  // site: accumulator_full
    accumulator.advance(kAccumulators);
  }
}

/// This thread's row of one accumulator, as f16, into the swizzled output tile.
__device__ void stageRow(Shared& shared, uint32_t accumulator, uint32_t row) {
  constexpr int32_t kColumns = 16;
#pragma unroll 1
  for (int32_t column = 0; column < kTileN; column += kColumns) {
    uint32_t bits[kColumns], packed[kColumns / 2];
    ptx::tensorLoad16(accumulator + static_cast<uint32_t>(column), bits);
    ptx::tensorLoadWait(bits);
#pragma unroll
    for (int32_t i = 0; i < kColumns / 2; ++i) {
      const __half2 pair = __floats2half2_rn(__uint_as_float(bits[2 * i]), __uint_as_float(bits[2 * i + 1]));
      packed[i] = *reinterpret_cast<const uint32_t*>(&pair);
    }
    const uint32_t target =
        ptx::sharedAddress(shared.output) + row * layout::kSwizzle128RowBytes + static_cast<uint32_t>(column) * 2;
    ptx::storeShared16Bytes(layout::swizzle128(target), packed[0], packed[1], packed[2], packed[3]);
    ptx::storeShared16Bytes(layout::swizzle128(target + 16), packed[4], packed[5], packed[6], packed[7]);
  }
}

__device__ void drain(Shared& shared, const CUtensorMap& mapC, const Problem& problem, uint32_t tensorMemory) {
  const uint32_t window = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  const bool isStorer = threadIdx.x == kEpilogueWarps * 32;  // site: storer
  gemm::RingPosition accumulator;
#pragma unroll 1
  for (const int32_t tile : problem.tiles) {
    shared.accumulators.awaitFull(accumulator);
    ptx::tensorFenceAfterThreadSync();
    if (isStorer) ptx::bulkWaitGroupRead<0>();                  // site: tile_free
    ptx::namedBarrierSync(kEpilogueBarrier, kEpilogueThreads);  // the output tile is free
    stageRow(shared, tensorMemory + static_cast<uint32_t>(accumulator.index * kTileN) + ((window * 32) << 16),
             window * 32 + lane);                                                // site: drained
    ptx::tensorFenceBeforeThreadSync();                                          // site: drained_fence
    __syncwarp();                                                                // site: drained_warp
    if (lane == 0) ptx::mbarrierArrive(shared.accumulators.empty(accumulator));  // site: accumulator_released
    ptx::fenceProxyAsyncShared();                                                // site: tile_fenced
    ptx::namedBarrierSync(kEpilogueBarrier, kEpilogueThreads);                   // the output tile is complete; site: tile_complete
    if (isStorer) {
      ptx::storeTile2d(&mapC, problem.columnOf(tile), problem.rowOf(tile), ptx::sharedAddress(shared.output));  // site: tile_stored
      ptx::bulkCommitGroup();
    }
    accumulator.advance(kAccumulators);
  }
  if (isStorer) ptx::bulkWaitGroup<0>();
}

}  // namespace

/// `mapA`: [M][K] in boxes of 128 x 64, `mapB`: [N][K] in boxes of 64 x 64, `mapC`: [M][N] in boxes of 128 x 64; all with 128-byte
/// swizzle.
extern "C" __global__ void __launch_bounds__(192, 1)
    pipelined_gemm(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
                   const __grid_constant__ CUtensorMap mapC, int32_t m, int32_t n, int32_t k) {
  extern __shared__ uint8_t dynamicShared[];
  Shared& shared = gemm::alignedShared<Shared>(dynamicShared);
  constexpr uint32_t kColumns = kAccumulators * kTileN;  // site: columns
  const uint32_t warp = threadIdx.x / 32;
  const int32_t across = (n + kTileN - 1) / kTileN;
  const Problem problem{gemm::StaticTiles::ofGrid(across * ((m + kTileM - 1) / kTileM)), across, (k + kTileK - 1) / kTileK};

  if (threadIdx.x == 0) {  // site: preparing_thread
    shared.operands.initialise(kStages, 1, 1);
    shared.accumulators.initialise(kAccumulators, 1, kEpilogueThreads / 32);  // site: accumulator_barriers
    ptx::fenceMbarrierInit();
  }
  const uint32_t tensorMemory = gemm::sm100::enter<Group>(shared.tensorMemory, kColumns, warp == kMmaWarp);  // site: enter

  if (warp == kLoadWarp) {  // site: load_role
    if (ptx::electOne()) load(shared, mapA, mapB, problem);
  } else if (warp == kMmaWarp) {
    if (ptx::electOne()) multiply(shared, problem, tensorMemory);  // site: multiply_role
  } else {
    drain(shared, mapC, problem, tensorMemory);
  }

  gemm::sm100::leave<Group>(tensorMemory, kColumns, warp == kMmaWarp);  // site: leave
}

}  // namespace shiftconv::tests
