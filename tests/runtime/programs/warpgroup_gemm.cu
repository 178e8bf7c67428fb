// C = A * B^T in f16 with f32 sums for sm_90a: a warp-specialised wgmma kernel in clusters of two, each CTA a tile of 64 x 64. One
// warp loads by TMA through a ring of stages, a warpgroup multiplies and stores. The tiles of B are the same in both CTAs of a
// cluster: each loads half and multicasts it. With argument "race" a CTA waits for its own products only before it writes a stage
// of both.
#include "common/layout/shared_matrix_descriptor.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/warp.cuh"
#include "common/ptx/warpgroup.cuh"
#include "common/ptx/wgmma.cuh"
#include "tests/runtime/programs/gemm_data.hpp"

namespace ptx = shiftconv::ptx;
namespace layout = shiftconv::layout;

namespace {

constexpr int kTileM = 64, kTileN = 64, kTileK = 64, kMmaK = 16, kStages = 2, kMultiplyingThreads = 128;
constexpr uint32_t kBytesA = kTileM * kTileK * 2, kBytesB = kTileN * kTileK * 2;

struct Shared {
  uint8_t a[kStages][kBytesA];
  uint8_t b[kStages][kBytesB];
  uint64_t full[kStages], empty[kStages];
};

__device__ uint32_t at(const uint64_t& barrier) { return ptx::sharedAddress(&barrier); }

__device__ void load(Shared& shared, const CUtensorMap& mapA, const CUtensorMap& mapB, int row, int column, int chunks) {
  const uint32_t rank = ptx::clusterRank(), half = kBytesB / 2;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int stage = chunk % kStages;
    const uint32_t full = at(shared.full[stage]);
    ptx::mbarrierWaitInCluster(at(shared.empty[stage]), (chunk / kStages & 1) ^ 1);
    ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB);
    ptx::loadTile2d(ptx::sharedAddress(shared.a[stage]), &mapA, chunk * kTileK, row, full);
    ptx::loadTile2dMulticast(ptx::sharedAddress(shared.b[stage]) + rank * half, &mapB, chunk * kTileK,
                             column + static_cast<int>(rank) * kTileN / 2, full, 0b11);
  }
}

__device__ void multiply(Shared& shared, float (&sums)[kTileN / 2], int chunks, bool tellPeer) {
  for (int chunk = 0; chunk < chunks; ++chunk) {
    const int stage = chunk % kStages;
    ptx::mbarrierWait(at(shared.full[stage]), chunk / kStages & 1);
    const uint64_t a = layout::wgmmaSwizzle128Descriptor(ptx::sharedAddress(shared.a[stage]));
    const uint64_t b = layout::wgmmaSwizzle128Descriptor(ptx::sharedAddress(shared.b[stage]));
    ptx::wgmmaFence();
    for (uint32_t slice = 0; slice < kTileK / kMmaK; ++slice)
      ptx::wgmma<__half, kTileN>(sums, layout::advanceDescriptor(a, slice * layout::kMmaRowBytes),
                                 layout::advanceDescriptor(b, slice * layout::kMmaRowBytes), chunk != 0 || slice != 0);
    ptx::wgmmaCommit();
    ptx::wgmmaWait<0>();
    // Both CTAs may write this stage again.
    if (threadIdx.x < 2 && (tellPeer || threadIdx.x == ptx::clusterRank()))
      ptx::mbarrierArriveInCluster(ptx::mapToCta(at(shared.empty[stage]), threadIdx.x));
  }
}

__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(kMultiplyingThreads + 32)
    gemm(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB, float* c, int n, int chunks,
         bool tellPeer) {
  extern __shared__ uint8_t dynamicShared[];
  const uint32_t base = ptx::sharedAddress(dynamicShared);
  Shared& shared = *reinterpret_cast<Shared*>(dynamicShared + (1024 - base % 1024) % 1024);
  const int row = static_cast<int>(blockIdx.x) * kTileM, column = static_cast<int>(blockIdx.y) * kTileN;
  const uint32_t warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      ptx::mbarrierInit(at(shared.full[i]), 1);
      ptx::mbarrierInit(at(shared.empty[i]), tellPeer ? 2 : 1);  // both CTAs have multiplied
    }
    ptx::fenceMbarrierInit();
  }
  ptx::clusterBarrierSync();
  if (warp == kMultiplyingThreads / 32) {
    if (ptx::electOne()) load(shared, mapA, mapB, row, column, chunks);
  } else {
    float sums[kTileN / 2];
    multiply(shared, sums, chunks, tellPeer);
    float* const mine = c + static_cast<size_t>(row + static_cast<int>(warp * 16 + threadIdx.x % 32 / 4)) * n + column;
    for (int i = 0; i < kTileN / 2; ++i)
      mine[8 * (i / 2 % 2) * n + 8 * (i / 4) + 2 * static_cast<int>(threadIdx.x % 4) + i % 2] = sums[i];
  }
  ptx::clusterBarrierSync();  // no CTA leaves while the other may still arrive on its barriers
}

}  // namespace

int main(int argc, char** arguments) {
  const bool race = argc > 1 && std::string(arguments[1]) == "race";
  constexpr int kM = 128, kN = 192, kK = 5 * kTileK;
  const program::GemmData data(kM, kN, kK);
  const CUtensorMap mapA = program::mapOf(data.a, kM, kK, kTileM, kTileK),
                    mapB = program::mapOf(data.b, kN, kK, kTileN / 2, kTileK);
  CHECK(cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  gemm<<<dim3(kM / kTileM, kN / kTileN), kMultiplyingThreads + 32, 64 * 1024>>>(mapA, mapB, data.c, kN, kK / kTileK, !race);
  CHECK(cudaGetLastError());
  EXPECT_SAME(program::fromDevice(data.c, kM * kN), data.expected);
  return program::finish();
}
