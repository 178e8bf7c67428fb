// C = A * B^T in f16 (f32 accumulators) for row-major A[M][K], B[N][K], C[M][N]: a persistent, warp-specialised pipeline. TMA fills
// a ring of stages, one thread multiplies into two accumulators in turn, four warps drain one while the next is computed: Tensor
// Memory -> registers -> swizzled shared memory -> TMA store. Edges are ragged: TMA zero-fills on load and drops on store.
#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/layout/instruction_descriptor.hpp"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/tensor_core.cuh"
#include "common/ptx/tensor_memory.cuh"
#include "tests/hazards/kernels/pipeline.cuh"

namespace shiftconv::tests {
namespace {

constexpr int32_t kTileM = 128, kTileN = 64, kTileK = 64, kMmaK = 16;
constexpr int32_t kStages = 3, kAccumulators = 2;
constexpr uint32_t kBytesA = kTileM * kTileK * 2, kBytesB = kTileN * kTileK * 2;
constexpr uint32_t kEpilogueThreads = 128, kEpilogueBarrier = 1;

enum Warp : uint32_t { kLoadWarp = 0, kMmaWarp = 1, kEpilogueWarps = 2 };  // 2..5: warp w reads Tensor Memory lanes 32*(w%4)..

struct Shared {
  uint8_t a[kStages][kBytesA];
  uint8_t b[kStages][kBytesB];
  uint8_t output[kTileM * kTileN * 2];  // 128-byte rows, swizzled
  uint64_t full[kStages], empty[kStages];
  uint64_t accumulatorFull[kAccumulators], accumulatorEmpty[kAccumulators];
  uint32_t tensorMemory;
};

struct Tiles {
  int32_t across, count, chunks;
  template <class Body>
  __device__ void forEach(Body&& body) const {
#pragma unroll 1
    for (int32_t tile = static_cast<int32_t>(blockIdx.x); tile < count; tile += static_cast<int32_t>(gridDim.x))
      body(tile / across * kTileM, tile % across * kTileN);
  }
};

__device__ void load(Shared& shared, const CUtensorMap& mapA, const CUtensorMap& mapB, const Tiles& tiles) {
  Ring<kStages> stage;
  tiles.forEach([&](int32_t row, int32_t column) {
#pragma unroll 1
    for (int32_t chunk = 0; chunk < tiles.chunks; ++chunk) {
      const uint32_t full = at(shared.full[stage.index]);
      ptx::mbarrierWait(at(shared.empty[stage.index]), stage.parity ^ 1);
      ptx::mbarrierArriveExpectBytes(full, kBytesA + kBytesB);
      ptx::loadTile2d(ptx::sharedAddress(shared.a[stage.index]), &mapA, chunk * kTileK, row, full);
      ptx::loadTile2d(ptx::sharedAddress(shared.b[stage.index]), &mapB, chunk * kTileK, column, full);
      stage.advance();
    }
  });
}

__device__ void multiply(Shared& shared, const Tiles& tiles, uint32_t accumulators) {
  constexpr uint32_t kInstruction =
      layout::instructionDescriptorF16(layout::MmaInput16::F16, layout::MmaAccumulator::F32, kTileM, kTileN);
  Ring<kStages> stage;
  Ring<kAccumulators> accumulator;
  tiles.forEach([&](int32_t, int32_t) {
    ptx::mbarrierWait(at(shared.accumulatorEmpty[accumulator.index]), accumulator.parity ^ 1);
    ptx::tensorFenceAfterThreadSync();
    const uint32_t target = accumulators + static_cast<uint32_t>(accumulator.index * kTileN);
#pragma unroll 1
    for (int32_t chunk = 0; chunk < tiles.chunks; ++chunk) {
      ptx::mbarrierWait(at(shared.full[stage.index]), stage.parity);
      const uint64_t a = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.a[stage.index]));
      const uint64_t b = layout::swizzle128KMajorDescriptor(ptx::sharedAddress(shared.b[stage.index]));
#pragma unroll 1
      for (uint32_t slice = 0; slice < kTileK / kMmaK; ++slice) {
        ptx::mmaF16(target, layout::advanceDescriptor(a, slice * layout::kMmaRowBytes),
                    layout::advanceDescriptor(b, slice * layout::kMmaRowBytes), kInstruction, chunk != 0 || slice != 0);
      }
      ptx::tensorCommit(at(shared.empty[stage.index]));
      stage.advance();
    }
    ptx::tensorCommit(at(shared.accumulatorFull[accumulator.index]));
    accumulator.advance();
  });
  // No commit may arrive on a barrier of a CTA that has left.
#pragma unroll 1
  for (int32_t i = 0; i < kStages; ++i) {
    ptx::mbarrierWait(at(shared.empty[stage.index]), stage.parity ^ 1);
    stage.advance();
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

__device__ void drain(Shared& shared, const CUtensorMap& mapC, const Tiles& tiles, uint32_t accumulators) {
  const uint32_t window = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  const bool isStorer = threadIdx.x == kEpilogueWarps * 32;
  Ring<kAccumulators> accumulator;
  tiles.forEach([&](int32_t row, int32_t column) {
    ptx::mbarrierWait(at(shared.accumulatorFull[accumulator.index]), accumulator.parity);
    ptx::tensorFenceAfterThreadSync();
    if (isStorer) ptx::bulkWaitGroupRead<0>();
    ptx::namedBarrierSync(kEpilogueBarrier, kEpilogueThreads);  // the output tile is free
    stageRow(shared, accumulators + static_cast<uint32_t>(accumulator.index * kTileN) + ((window * 32) << 16), window * 32 + lane);
    ptx::tensorFenceBeforeThreadSync();
    __syncwarp();
    if (lane == 0) ptx::mbarrierArrive(at(shared.accumulatorEmpty[accumulator.index]));
    ptx::fenceProxyAsyncShared();
    ptx::namedBarrierSync(kEpilogueBarrier, kEpilogueThreads);  // the output tile is complete
    if (isStorer) {
      ptx::storeTile2d(&mapC, column, row, ptx::sharedAddress(shared.output));
      ptx::bulkCommitGroup();
    }
    accumulator.advance();
  });
  if (isStorer) ptx::bulkWaitGroup<0>();
}

}  // namespace

/// `mapA`: [M][K] in boxes of 128 x 64, `mapB`: [N][K] in boxes of 64 x 64, `mapC`: [M][N] in boxes of 128 x 64; all with 128-byte
/// swizzle.
extern "C" __global__ void __launch_bounds__(192, 1)
    pipelined_gemm(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB,
                   const __grid_constant__ CUtensorMap mapC, int32_t m, int32_t n, int32_t k) {
  extern __shared__ uint8_t dynamicShared[];
  Shared& shared = alignedShared<Shared>(dynamicShared);
  constexpr uint32_t kColumns = kAccumulators * kTileN;
  const uint32_t warp = threadIdx.x / 32;
  const int32_t across = (n + kTileN - 1) / kTileN;
  const Tiles tiles{across, across * ((m + kTileM - 1) / kTileM), (k + kTileK - 1) / kTileK};

  if (threadIdx.x == 0) {
#pragma unroll 1
    for (int32_t i = 0; i < kStages; ++i) {
      ptx::mbarrierInit(at(shared.full[i]), 1);
      ptx::mbarrierInit(at(shared.empty[i]), 1);
    }
#pragma unroll 1
    for (int32_t i = 0; i < kAccumulators; ++i) {
      ptx::mbarrierInit(at(shared.accumulatorFull[i]), 1);
      ptx::mbarrierInit(at(shared.accumulatorEmpty[i]), kEpilogueThreads / 32);
    }
    ptx::fenceMbarrierInit();
  }
  if (warp == kMmaWarp) {
    ptx::tensorMemoryAllocate(ptx::sharedAddress(&shared.tensorMemory), kColumns);
    ptx::tensorMemoryRelinquish();
  }
  __syncthreads();
  const uint32_t accumulators = shared.tensorMemory;

  if (warp == kLoadWarp) {
    if (ptx::electOne()) load(shared, mapA, mapB, tiles);
  } else if (warp == kMmaWarp) {
    if (ptx::electOne()) multiply(shared, tiles, accumulators);
  } else {
    drain(shared, mapC, tiles, accumulators);
  }

  __syncthreads();
  if (warp == kMmaWarp) ptx::tensorMemoryFree(accumulators, kColumns);
}

}  // namespace shiftconv::tests
