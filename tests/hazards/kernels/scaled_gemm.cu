// C = (A * scaleA) * (B * scaleB)^T in e4m3 with one ue8m0 scale for 32 elements along K; f32 result. A[M][K], B[64][K], C[M][64]
// row-major. Operands come by TMA, scale factors by plain bulk copies; tcgen05.cp takes the latter from shared memory to Tensor
// Memory. Each stage has Tensor Memory columns of its own for its scale factors, because tcgen05.cp is not ordered after an MMA
// that still reads them.
#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "common/layout/instruction_descriptor.hpp"

namespace shiftconv::tests {
namespace {

using Group = gemm::sm100::SingleCta;
constexpr int32_t kTileM = 128, kTileN = 64, kTileK = 128, kMmaK = 32;
constexpr int32_t kStages = 2;
constexpr uint32_t kBytesA = kTileM * kTileK, kBytesB = kTileN * kTileK;
constexpr uint32_t kScaleBytes = 512;  // 128 rows x 4 blocks of 32 elements
constexpr uint32_t kScaleColumns = 4;  // Tensor Memory columns that hold them
constexpr uint32_t kColumns = 128;     // allocated: the accumulator, then the scales of A and of B for each stage

enum Warp : uint32_t { kLoadWarp = 0, kMmaWarp = 1, kEpilogueWarps = 2 };  // 2..5

struct Shared {
  uint8_t a[kStages][kBytesA];
  uint8_t b[kStages][kBytesB];
  uint8_t scaleA[kStages][kScaleBytes], scaleB[kStages][kScaleBytes];
  gemm::Pipeline<kStages> operands;
  gemm::Pipeline<1> accumulator;
  uint32_t tensorMemory;
};

struct Problem {
  gemm::StaticTiles tiles;
  int32_t chunks;
};

__device__ void load(Shared& shared, const CUtensorMap& mapA, const CUtensorMap& mapB, const uint8_t* scaleA, const uint8_t* scaleB,
                     const Problem& problem) {
  gemm::RingPosition stage;
#pragma unroll 1
  for (const int32_t tile : problem.tiles) {
#pragma unroll 1
    for (int32_t chunk = 0; chunk < problem.chunks; ++chunk) {
      const uint32_t full = shared.operands.full(stage);
      shared.operands.awaitEmpty(stage);                                          // site: stage_empty
      ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB + 2 * kScaleBytes);  // site: stage_bytes
      ptx::loadTile2d(ptx::sharedAddress(shared.a[stage.index]), &mapA, chunk * kTileK, tile * kTileM, full);
      ptx::loadTile2d(ptx::sharedAddress(shared.b[stage.index]), &mapB, chunk * kTileK, 0, full);
      const uint8_t* tileScales = scaleA + (static_cast<int64_t>(tile) * problem.chunks + chunk) * kScaleBytes;
      ptx::loadBytes(ptx::sharedAddress(shared.scaleA[stage.index]), tileScales, kScaleBytes, full);  // site: load_scale_a
      ptx::loadBytes(ptx::sharedAddress(shared.scaleB[stage.index]), scaleB + chunk * kScaleBytes, kScaleBytes,
                     full);  // site: load_scale_b
      stage.advance(kStages);
    }
  }
  shared.operands.awaitReleases(stage, kStages);
}

__device__ void multiply(Shared& shared, const Problem& problem, uint32_t tensorMemory) {
  constexpr uint32_t kInstruction = layout::instructionDescriptor(
      {layout::MmaKind::MxF8F6F4, numerics::NumberType::E4M3, numerics::NumberType::E4M3}, kTileM, kTileN);
  gemm::RingPosition stage, accumulator;
#pragma unroll 1
  for ([[maybe_unused]] const int32_t tile : problem.tiles) {
    shared.accumulator.awaitEmpty(accumulator);
#pragma unroll 1
    for (int32_t chunk = 0; chunk < problem.chunks; ++chunk) {
      shared.operands.awaitFull(stage);
      ptx::tensorFenceAfterThreadSync();  // after the accumulator's readers, and the MMAs that read this stage's scale factors
      const uint32_t scaleA =
          tensorMemory + kTileN + static_cast<uint32_t>(stage.index) * 2 * kScaleColumns;  // site: scale_columns
      const uint32_t scaleB = scaleA + kScaleColumns;
      ptx::tensorCopy32x128ToAllWindows(scaleA, layout::densePackedRowsDescriptor(ptx::sharedAddress(shared.scaleA[stage.index])));
      ptx::tensorCopy32x128ToAllWindows(scaleB, layout::densePackedRowsDescriptor(ptx::sharedAddress(shared.scaleB[stage.index])));
      const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));  // site: operand_a
      const uint64_t b = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.b[stage.index]));
#pragma unroll 1
      for (uint32_t slice = 0; slice < kTileK / kMmaK; ++slice) {
        ptx::mmaScaled<layout::MmaKind::MxF8F6F4>(tensorMemory, layout::advanceDescriptor(a, slice * layout::kMmaRowBytes),
                                                  layout::advanceDescriptor(b, slice * layout::kMmaRowBytes),
                                                  layout::selectScaleByte(kInstruction, slice), scaleA, scaleB,
                                                  chunk != 0 || slice != 0);  // site: mma
      }
      ptx::tensorCommit(shared.operands.empty(stage));  // site: stage_released
      stage.advance(kStages);
    }
    ptx::tensorCommit(shared.accumulator.full(accumulator));
    accumulator.advance(1);
  }
}

__device__ void drain(Shared& shared, float* output, int32_t m, const Problem& problem, uint32_t tensorMemory) {
  const uint32_t window = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  gemm::RingPosition accumulator;
#pragma unroll 1
  for (const int32_t tile : problem.tiles) {
    shared.accumulator.awaitFull(accumulator);  // site: accumulator_full
    ptx::tensorFenceAfterThreadSync();
    const int32_t row = tile * kTileM + static_cast<int32_t>(window * 32 + lane);
    constexpr int32_t kLoadColumns = 16;
#pragma unroll 1
    for (int32_t column = 0; column < kTileN; column += kLoadColumns) {  // site: columns
      uint32_t bits[kLoadColumns];
      ptx::tensorLoad16(tensorMemory + ((window * 32) << 16) + static_cast<uint32_t>(column), bits);
      ptx::tensorLoadWait(bits);  // site: columns_loaded
      if (row >= m) continue;
      uint4* target = reinterpret_cast<uint4*>(output + static_cast<int64_t>(row) * kTileN + column);
#pragma unroll
      for (int32_t i = 0; i < kLoadColumns / 4; ++i)
        target[i] = make_uint4(bits[4 * i], bits[4 * i + 1], bits[4 * i + 2], bits[4 * i + 3]);
    }
    ptx::tensorFenceBeforeThreadSync();                                         // site: drained_fence
    __syncwarp();                                                               // site: drained_warp
    if (lane == 0) ptx::mbarrierArrive(shared.accumulator.empty(accumulator));  // site: accumulator_released
    accumulator.advance(1);
  }
}

}  // namespace

/// `mapA`: [M][K] in boxes of 128 x 128, `mapB`: [64][K] in boxes of 64 x 128, both with 128-byte swizzle. `scaleA`: for each tile
/// of 128 rows and each 128 elements of K 512 bytes: the scale of row r, block j is byte 16 * (r % 32) + 4 * (r / 32) + j; `scaleB`
/// the same for the only tile of columns.
extern "C" __global__ void __launch_bounds__(192, 1)
    scaled_gemm(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB, const uint8_t* scaleA,
                const uint8_t* scaleB, float* output, int32_t m, int32_t k) {
  extern __shared__ uint8_t dynamicShared[];
  Shared& shared = gemm::alignedShared<Shared>(dynamicShared);
  const uint32_t warp = threadIdx.x / 32;
  const Problem problem{gemm::StaticTiles::ofGrid((m + kTileM - 1) / kTileM), (k + kTileK - 1) / kTileK};

  if (threadIdx.x == 0) {
    shared.operands.initialise(kStages, 1, 1);
    shared.accumulator.initialise(1, 1, 4);
    ptx::fenceMbarrierInit();
  }
  const uint32_t tensorMemory = gemm::sm100::enter<Group>(shared.tensorMemory, kColumns, warp == kMmaWarp);

  if (warp == kLoadWarp) {
    if (ptx::electOne()) load(shared, mapA, mapB, scaleA, scaleB, problem);
  } else if (warp == kMmaWarp) {
    if (ptx::electOne()) multiply(shared, problem, tensorMemory);
  } else {
    drain(shared, output, m, problem, tensorMemory);
  }

  gemm::sm100::leave<Group>(tensorMemory, kColumns, warp == kMmaWarp);
}

}  // namespace shiftconv::tests
