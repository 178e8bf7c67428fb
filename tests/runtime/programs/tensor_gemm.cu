// C = A * B^T in f16 with f32 sums: a warp-specialised tcgen05 kernel in clusters of two, each CTA a tile of 128 x 64. One warp
// loads by TMA through a ring of stages, one multiplies, four drain Tensor Memory. The tiles of B are the same in both CTAs of a
// cluster: each loads half and multicasts it. With argument "race" the second CTA does not wait for the cluster before it
// multicasts.
#include <cuda.h>
#include <cuda_fp16.h>

#include "common/layout/instruction_descriptor.hpp"
#include "common/layout/shared_matrix_descriptor.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/tensor_core.cuh"
#include "common/ptx/tensor_memory.cuh"
#include "common/ptx/warp.cuh"
#include "tests/runtime/programs/check.hpp"

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

CUtensorMap mapOf(const __half* memory, int rows, int columns, cuuint32_t boxRows) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status));
  CUtensorMap map;
  const cuuint64_t dims[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(columns) * 2};
  const cuuint32_t box[2] = {kTileK, boxRows}, steps[2] = {1, 1};
  const CUresult code = reinterpret_cast<decltype(cuTensorMapEncodeTiled)*>(found)(
      &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<__half*>(memory), dims, strides, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  EXPECT(code == CUDA_SUCCESS);
  return map;
}

std::vector<__half> asHalf(const std::vector<float>& values) {
  std::vector<__half> halves;
  for (const float value : values) halves.push_back(__float2half(value));
  return halves;
}

}  // namespace

int main(int argc, char** arguments) {
  const bool race = argc > 1 && std::string(arguments[1]) == "race";
  constexpr int kM = 256, kN = 128, kK = 5 * kTileK;
  const std::vector<float> a = program::randomIntegers(kM * kK, 1), b = program::randomIntegers(kN * kK, 2);
  std::vector<float> expected(kM * kN);
  for (int i = 0; i < kM; ++i)
    for (int j = 0; j < kN; ++j)
      for (int k = 0; k < kK; ++k) expected[i * kN + j] += a[i * kK + k] * b[j * kK + k];
  float* c = program::onDevice(std::vector<float>(kM * kN, -1.0f));
  const CUtensorMap mapA = mapOf(program::onDevice(asHalf(a)), kM, kK, kTileM);
  const CUtensorMap mapB = mapOf(program::onDevice(asHalf(b)), kN, kK, kTileN / 2);
  CHECK(cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  gemm<<<dim3(kM / kTileM, kN / kTileN), 192, 64 * 1024>>>(mapA, mapB, c, kN, kK / kTileK, !race);
  CHECK(cudaGetLastError());
  EXPECT_SAME(program::fromDevice(c, kM * kN), expected);
  return program::finish();
}
