// C = A * B^T in f16 with f32 sums: a warp-specialised tcgen05 kernel in clusters of two, each CTA a tile of 128 x 64. One warp
// loads by TMA through a ring of stages, one multiplies, four drain Tensor Memory. The tiles of B are the same in both CTAs of a
// cluster: each loads half and multicasts it. With argument "race" the second CTA does not wait for the cluster before it
// multicasts.
#include "common/layout/instruction_descriptor.hpp"
#include "common/layout/shared_matrix_descriptor.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/tensor_core.cuh"
#include "common/ptx/tensor_memory.cuh"
#include "common/ptx/warp.cuh"
#include "tests/runtime/programs/gemm_data.hpp"

namespace ptx = shiftconv::ptx;
namespace layout = shiftconv::layout;

namespace {

constexpr int kTileM = 128, kTileN = 64, kTileK = 64, kMmaK = 16, kStages = 2;
constexpr uint32_t kBytesA = kTileM * kTileK * 2, kBytesB = kTileN * kTileK * 2;

struct Shared {
  uint8_t a[kStages][kBytesA];
  uint8_t b[kStages][kBytesB];
  uint64_t full[kStages], empty[kStages], done;
  uint32_t tensorMemory;
};

__device__ uint32_t at(const uint64_t& barrier) { return ptx::sharedAddress(&barrier); }

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(192)
    gemm(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB, float* c, int n, int chunks,
         bool waitForCluster) {
  extern __shared__ uint8_t dynamicShared[];
  const uint32_t base = ptx::sharedAddress(dynamicShared);
  Shared& shared = *reinterpret_cast<Shared*>(dynamicShared + (1024 - base % 1024) % 1024);
  const uint32_t warp = threadIdx.x / 32, rank = ptx::clusterRank();
  const int row = static_cast<int>(blockIdx.x) * kTileM, column = static_cast<int>(blockIdx.y) * kTileN;

  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      ptx::mbarrierInit(at(shared.full[i]), 1);
      ptx::mbarrierInit(at(shared.empty[i]), 2);  // both CTAs have multiplied
    }
    ptx::mbarrierInit(at(shared.done), 1);
    ptx::fenceMbarrierInit();
  }
  if (warp == 1) {
    ptx::tensorMemoryAllocate(ptx::sharedAddress(&shared.tensorMemory), kTileN);
    ptx::tensorMemoryRelinquish();
  }
  __syncthreads();
  if (waitForCluster) ptx::clusterBarrierSync();  // the peer's barriers are ready for multicasts
  const uint32_t accumulator = shared.tensorMemory;

  if (warp == 0 && ptx::electOne()) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int stage = chunk % kStages;
      const uint32_t full = at(shared.full[stage]), half = kBytesB / 2;
      ptx::mbarrierWait(at(shared.empty[stage]), (chunk / kStages & 1) ^ 1);
      ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB);
      ptx::loadTile2d(ptx::sharedAddress(shared.a[stage]), &mapA, chunk * kTileK, row, full);
      ptx::loadTile2dMulticast(ptx::sharedAddress(shared.b[stage]) + rank * half, &mapB, chunk * kTileK,
                               column + static_cast<int>(rank) * kTileN / 2, full, 0b11);
    }
  } else if (warp == 1 && ptx::electOne()) {
    constexpr uint32_t kInstruction =
        layout::instructionDescriptorF16(layout::NumberType::F16, layout::MmaAccumulator::F32, kTileM, kTileN);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int stage = chunk % kStages;
      ptx::mbarrierWait(at(shared.full[stage]), chunk / kStages & 1);
      ptx::tensorFenceAfterThreadSync();
      const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage]));
      const uint64_t b = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.b[stage]));
      for (uint32_t slice = 0; slice < kTileK / kMmaK; ++slice)
        ptx::mma<layout::MmaKind::F16>(accumulator, layout::advanceDescriptor(a, slice * layout::kMmaRowBytes),
                                       layout::advanceDescriptor(b, slice * layout::kMmaRowBytes), kInstruction,
                                       chunk != 0 || slice != 0);
      ptx::tensorCommitMulticast(at(shared.empty[stage]), 0b11);
    }
    ptx::tensorCommit(at(shared.done));
    // The last commits of both CTAs have arrived before either CTA leaves.
    for (int chunk = chunks; chunk < chunks + kStages; ++chunk)
      ptx::mbarrierWait(at(shared.empty[chunk % kStages]), (chunk / kStages & 1) ^ 1);
  } else if (warp >= 2) {
    ptx::mbarrierWait(at(shared.done), 0);
    ptx::tensorFenceAfterThreadSync();
    const uint32_t window = warp % 4;
    float* const mine = c + static_cast<size_t>(row + static_cast<int>(window * 32 + threadIdx.x % 32)) * n + column;
    for (int i = 0; i < kTileN; i += 16) {
      uint32_t bits[16];
      ptx::tensorLoad16(accumulator + (window * 32 << 16) + static_cast<uint32_t>(i), bits);
      ptx::tensorLoadWait(bits);
      for (int k = 0; k < 16; ++k) mine[i + k] = __uint_as_float(bits[k]);
    }
    ptx::tensorFenceBeforeThreadSync();
  }
  __syncthreads();
  if (warp == 1) {
    ptx::tensorFenceAfterThreadSync();
    ptx::tensorMemoryFree(accumulator, kTileN);
  }
  ptx::clusterBarrierSync();
}

}  // namespace

int main(int argc, char** arguments) {
  const bool race = argc > 1 && std::string(arguments[1]) == "race";
  constexpr int kM = 256, kN = 128, kK = 5 * kTileK;
  const program::GemmData data(kM, kN, kK);
  const CUtensorMap mapA = program::mapOf(data.a, kM, kK, kTileM, kTileK),
                    mapB = program::mapOf(data.b, kN, kK, kTileN / 2, kTileK);
  CHECK(cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  gemm<<<dim3(kM / kTileM, kN / kTileN), 192, 64 * 1024>>>(mapA, mapB, data.c, kN, kK / kTileK, !race);
  CHECK(cudaGetLastError());
  EXPECT_SAME(program::fromDevice(data.c, kM * kN), data.expected);
  return program::finish();
}
