// y[row][o] = sum over s < 3 and c < 64 of x[row + s][c] * filter[s][o][c] in f16 with f32 result, with one copy of x in Tensor
// Memory that moves down by a row from tap to tap: tcgen05.shift, and tcgen05.cp.4x256b for the last lane of each 32-lane window,
// which a shift leaves stale. mma -> shift -> cp.4x256b -> mma needs no wait (PTX ISA 9.7.16.6.2); tcgen05.cp of the next tile
// after the last MMAs of this one does.
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
constexpr int32_t kTileM = 128, kTileN = 32, kTaps = 3, kChannels = 64, kMmaK = 16;
constexpr int32_t kWindows = 4, kWindowLanes = 32;
constexpr uint32_t kSlices = kChannels / kMmaK, kSliceColumns = 8;
constexpr int32_t kStages = 2, kAccumulators = 2;
constexpr uint32_t kTileBytes = kTileM * kChannels * 2, kRefillBytes = kWindows * kChannels * 2,
                   kFilterBytes = kTileN * kChannels * 2;
constexpr uint32_t kColumns = 128;  // allocated: the accumulators, then x

enum Warp : uint32_t { kLoadWarp = 0, kMmaWarp = 1, kEpilogueWarps = 2 };  // 2..5

struct Shared {
  uint8_t x[kStages][kTileBytes];
  uint8_t refill[kStages][kTaps - 1][layout::kSwizzle128AtomBytes];  // kRefillBytes of each are used
  uint8_t filter[kTaps][kFilterBytes];
  gemm::Pipeline<kStages> stages;
  gemm::Pipeline<1> filterLoad;  // loaded once, never released
  gemm::Pipeline<1> operand;     // x in Tensor Memory: filled and read by one thread, which only waits for its release
  gemm::Pipeline<kAccumulators> accumulators;
  uint32_t tensorMemory;
};

__device__ void load(Shared& shared, const CUtensorMap& mapX, const CUtensorMap& mapWindows, const CUtensorMap& mapFilter,
                     const gemm::StaticTiles& tiles) {
  const uint32_t filterFull = shared.filterLoad.full({});
  ptx::mbarrierArriveExpectBytes(filterFull, kTaps * kFilterBytes);  // site: filter_bytes
#pragma unroll 1
  for (int32_t s = 0; s < kTaps; ++s) ptx::loadTile2d(ptx::sharedAddress(shared.filter[s]), &mapFilter, 0, s * kTileN, filterFull);
  gemm::RingPosition stage;
#pragma unroll 1
  for (const int32_t tile : tiles) {
    const uint32_t full = shared.stages.full(stage);
    shared.stages.awaitEmpty(stage);
    ptx::mbarrierArriveExpectBytes(full, kTileBytes + (kTaps - 1) * kRefillBytes);
    ptx::loadTile2d(ptx::sharedAddress(shared.x[stage.index]), &mapX, 0, tile * kTileM, full);
#pragma unroll 1
    for (int32_t s = 0; s + 1 < kTaps; ++s)  // the rows that follow the four windows: row s of the four next windows
      ptx::loadTile3d(ptx::sharedAddress(shared.refill[stage.index][s]), &mapWindows, 0, s, tile * kWindows + 1,
                      full);  // site: load_refill
    stage.advance(kStages);
  }
  shared.stages.awaitReleases(stage, kStages);
}

__device__ void multiply(Shared& shared, const gemm::StaticTiles& tiles, uint32_t tensorMemory) {
  constexpr uint32_t kInstruction =
      layout::instructionDescriptorF16(numerics::NumberType::F16, layout::MmaAccumulator::F32, kTileM, kTileN);
  const uint32_t operand = tensorMemory + kAccumulators * kTileN;
  constexpr uint32_t kLastLane = static_cast<uint32_t>(kWindowLanes - 1) << 16;  // site: last_lane
  gemm::RingPosition stage, accumulator, operandUse;
  shared.filterLoad.awaitFull({});
#pragma unroll 1
  for ([[maybe_unused]] const int32_t tile : tiles) {
    shared.accumulators.awaitEmpty(accumulator);
    shared.operand.awaitEmpty(operandUse);
    shared.stages.awaitFull(stage);
    ptx::tensorFenceAfterThreadSync();
    const uint32_t target = tensorMemory + static_cast<uint32_t>(accumulator.index * kTileN);  // site: target
    const uint64_t x = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.x[stage.index]));
#pragma unroll 1
    for (uint32_t slice = 0; slice < kSlices; ++slice)
      ptx::tensorCopy128x256(operand + slice * kSliceColumns,
                             layout::advanceDescriptor(x, slice * layout::kMmaRowBytes));  // site: operand_copied
#pragma unroll 1
    for (int32_t s = 0; s < kTaps; ++s) {
      const uint64_t filter = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.filter[s]));
#pragma unroll 1
      for (uint32_t slice = 0; slice < kSlices; ++slice) {
        const uint32_t columns = operand + slice * kSliceColumns, offset = slice * layout::kMmaRowBytes;
        ptx::mma<layout::MmaKind::F16>(target, ptx::TensorOperand{columns}, layout::advanceDescriptor(filter, offset), kInstruction,
                                       s != 0 || slice != 0);
        if (s + 1 == kTaps) continue;
        const uint64_t rows =
            layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.refill[stage.index][s]));  // site: refill_rows
        ptx::tensorShiftDown(columns);                                                              // site: shifted
        ptx::tensorCopy4x256(columns + kLastLane, layout::advanceDescriptor(rows, offset));         // site: refilled
      }
    }
    ptx::tensorCommit(shared.stages.empty(stage));        // site: stage_released
    ptx::tensorCommit(shared.operand.empty(operandUse));  // site: operand_released
    ptx::tensorCommit(shared.accumulators.full(accumulator));
    stage.advance(kStages);
    accumulator.advance(kAccumulators);
    operandUse.advance(1);
  }
  shared.operand.awaitReleases(operandUse, 1);
}

__device__ void drain(Shared& shared, float* output, int32_t rows, const gemm::StaticTiles& tiles, uint32_t tensorMemory) {
  const uint32_t window = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  gemm::RingPosition accumulator;
#pragma unroll 1
  for (const int32_t tile : tiles) {
    shared.accumulators.awaitFull(accumulator);
    ptx::tensorFenceAfterThreadSync();
    const uint32_t source =
        tensorMemory + static_cast<uint32_t>(accumulator.index * kTileN) + ((window * kWindowLanes) << 16);  // site: source
    const int32_t row = tile * kTileM + static_cast<int32_t>(window * kWindowLanes + lane);
    constexpr int32_t kLoadColumns = 16;
#pragma unroll 1
    for (int32_t column = 0; column < kTileN; column += kLoadColumns) {
      uint32_t bits[kLoadColumns];
      ptx::tensorLoad16(source + static_cast<uint32_t>(column), bits);
      ptx::tensorLoadWait(bits);
      if (row >= rows) continue;
      uint4* target = reinterpret_cast<uint4*>(output + static_cast<int64_t>(row) * kTileN + column);
#pragma unroll
      for (int32_t i = 0; i < kLoadColumns / 4; ++i)
        target[i] = make_uint4(bits[4 * i], bits[4 * i + 1], bits[4 * i + 2], bits[4 * i + 3]);
    }
    ptx::tensorFenceBeforeThreadSync();
    __syncwarp();
    if (lane == 0) ptx::mbarrierArrive(shared.accumulators.empty(accumulator));
    accumulator.advance(kAccumulators);
  }
}

}  // namespace

/// x[rows + 2][64] f16, filter[3][32][64] f16, output[rows][32] f32. `mapX`: x in boxes of 128 x 64; `mapWindows`: x as
/// [windows][32][64] in boxes of 4 x 1 x 64; `mapFilter`: [3 * 32][64] in boxes of 32 x 64; all with 128-byte swizzle.
extern "C" __global__ void __launch_bounds__(192, 1)
    shift_refill(const __grid_constant__ CUtensorMap mapX, const __grid_constant__ CUtensorMap mapWindows,
                 const __grid_constant__ CUtensorMap mapFilter, float* output, int32_t rows) {
  extern __shared__ uint8_t dynamicShared[];
  Shared& shared = gemm::alignedShared<Shared>(dynamicShared);
  const uint32_t warp = threadIdx.x / 32;
  const auto tiles = gemm::StaticTiles::ofGrid((rows + kTileM - 1) / kTileM);

  if (threadIdx.x == 0) {
    shared.stages.initialise(kStages, 1, 1);
    shared.filterLoad.initialise(1, 1, 1);
    shared.operand.initialise(1, 1, 1);
    shared.accumulators.initialise(kAccumulators, 1, kWindows);
    ptx::fenceMbarrierInit();
  }
  const uint32_t tensorMemory = gemm::sm100::enter<Group>(shared.tensorMemory, kColumns, warp == kMmaWarp);

  if (warp == kLoadWarp) {
    if (ptx::electOne()) load(shared, mapX, mapWindows, mapFilter, tiles);
  } else if (warp == kMmaWarp) {
    if (ptx::electOne()) multiply(shared, tiles, tensorMemory);
  } else {
    drain(shared, output, rows, tiles, tensorMemory);
  }

  gemm::sm100::leave<Group>(tensorMemory, kColumns, warp == kMmaWarp);
}

}  // namespace shiftconv::tests
