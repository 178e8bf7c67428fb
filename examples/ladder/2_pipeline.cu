// Step 2: D[M][16] = A[M][K] * B[16][K]^T, any K: TMA fetches what step 1's threads carried, and runs ahead of the tensor core.
//
// Six warps: four that store the sums, one thread that loads, one that multiplies. A ring of two stages in shared memory lies
// between the last two: full[i] completes when the bytes of stage i have arrived, empty[i] when the MMAs that read them are done.
#include <cuda.h>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "examples/ladder/rows.cuh"

namespace ladder {

constexpr uint32_t kOutputs = 16, kColumns = 32, kChunk = 64;  // of K, one row of 128 bytes
constexpr uint32_t kBytesB = kOutputs * kRowBytes;
constexpr int32_t kStages = 2;
constexpr uint32_t kLoadWarp = 4, kMmaWarp = 5;

struct Shared {
  uint8_t a[kStages][kTileBytes], b[kStages][kBytesB];
  gemm::Pipeline<kStages> stages;
  uint64_t done;
  uint32_t tensorMemory;
};

__device__ void load(Shared& shared, const CUtensorMap& mapA, const CUtensorMap& mapB, int32_t chunks) {
  gemm::RingPosition stage;
  for (int32_t chunk = 0; chunk < chunks; ++chunk) {
    shared.stages.awaitEmpty(stage);
    const uint32_t full = shared.stages.full(stage);
    ptx::mbarrierArriveExpectBytes(full, kTileBytes + kBytesB);
    const int32_t k = chunk * static_cast<int32_t>(kChunk), row = static_cast<int32_t>(blockIdx.x * kLanes);
    ptx::loadTile2d(ptx::sharedAddress(shared.a[stage.index]), &mapA, k, row, full);
    ptx::loadTile2d(ptx::sharedAddress(shared.b[stage.index]), &mapB, k, 0, full);
    stage.advance(kStages);
  }
  shared.stages.awaitReleases(stage, kStages);
}

__device__ void multiply(Shared& shared, int32_t chunks, uint32_t sums) {
  constexpr uint32_t kInstruction =
      layout::instructionDescriptorF16(numerics::NumberType::F16, layout::MmaAccumulator::F32, kLanes, kOutputs);
  gemm::RingPosition stage;
  for (int32_t chunk = 0; chunk < chunks; ++chunk) {
    shared.stages.awaitFull(stage);
    ptx::tensorFenceAfterThreadSync();
    const uint64_t a = slicesOf(shared.a[stage.index]), b = slicesOf(shared.b[stage.index]);
    for (uint32_t slice = 0; slice < kSlices; ++slice)
      ptx::mma<layout::MmaKind::F16>(sums, sliceAt(a, slice), sliceAt(b, slice), kInstruction, chunk != 0 || slice != 0);
    ptx::tensorCommit(shared.stages.empty(stage));
    stage.advance(kStages);
  }
  ptx::tensorCommit(ptx::sharedAddress(&shared.done));
}

/// `mapA`: A in boxes of 128 rows x 64, `mapB`: B in boxes of 16 rows x 64, both with 128-byte swizzle. `chunks`: K / 64.
extern "C" __global__ void __launch_bounds__(192, 1)
    pipeline(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB, float* d, int32_t chunks) {
  extern __shared__ uint8_t dynamicShared[];
  Shared& shared = gemm::alignedShared<Shared>(dynamicShared);
  const uint32_t warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    shared.stages.initialise(kStages, 1, 1);
    ptx::mbarrierInit(ptx::sharedAddress(&shared.done), 1);
    ptx::fenceMbarrierInit();
  }
  // enter and leave allocate and free Tensor Memory, as step 1 wrote out.
  const uint32_t sums = gemm::sm100::enter<gemm::sm100::SingleCta>(shared.tensorMemory, kColumns, warp == kMmaWarp);
  if (warp == kLoadWarp) {
    if (ptx::electOne()) load(shared, mapA, mapB, chunks);
  } else if (warp == kMmaWarp) {
    if (ptx::electOne()) multiply(shared, chunks, sums);
  } else {
    ptx::mbarrierWait(ptx::sharedAddress(&shared.done), 0);
    ptx::tensorFenceAfterThreadSync();
    store16(sums, d + (blockIdx.x * kLanes + threadIdx.x) * kOutputs);
    ptx::tensorFenceBeforeThreadSync();
  }
  gemm::sm100::leave<gemm::sm100::SingleCta>(sums, kColumns, warp == kMmaWarp);
}

}  // namespace ladder
