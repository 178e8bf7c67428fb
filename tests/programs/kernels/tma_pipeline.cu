// y = relu(x * scale[column] + bias[column]) over a row-major f16 matrix, as a warp-specialised pipeline: warp 0 loads
// 128B-swizzled tiles into a ring of stages, warps 1 to 4 compute, one thread of theirs stores tiles with the copy engine.
// Edges are ragged: the copy engine fills on load and drops on store.
#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace {

constexpr int kColumns = 64, kRows = 32;  // a tile: 32 rows of 128 bytes
constexpr int kStages = 3, kConsumers = 128;
constexpr uint32_t kTileBytes = kColumns * kRows * 2;

struct alignas(1024) Shared {
  uint8_t stage[kStages][kTileBytes];
  uint8_t output[2][kTileBytes];
  uint64_t full[kStages], empty[kStages];
};

__device__ uint32_t address(const void* pointer) { return static_cast<uint32_t>(__cvta_generic_to_shared(pointer)); }

__device__ void initialise(uint64_t* barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(barrier)), "r"(count) : "memory");
}

__device__ void arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(barrier)) : "memory");
}

__device__ void arriveExpecting(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(barrier)), "r"(bytes) : "memory");
}

__device__ void wait(uint64_t* barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1, 0x989680;\n"
      "@done bra leave;\n"
      "bra again;\n"
      "leave:\n"
      "}" ::"r"(address(barrier)),
      "r"(parity)
      : "memory");
}

__device__ void load(const CUtensorMap* map, void* tile, uint64_t* barrier, int column, int row) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                   address(tile)),
               "l"(map), "r"(column), "r"(row), "r"(address(barrier))
               : "memory");
}

__device__ void store(const CUtensorMap* map, const void* tile, int column, int row) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(column), "r"(row),
               "r"(address(tile))
               : "memory");
}

struct Ring {
  int stage = 0;
  uint32_t parity = 0;
  __device__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(160)
    tma_pipeline(const __grid_constant__ CUtensorMap input, const __grid_constant__ CUtensorMap output,
                 const float* __restrict__ scale, const float* __restrict__ bias, int rows, int columns) {
  extern __shared__ uint8_t memory[];
  Shared& shared = *reinterpret_cast<Shared*>((reinterpret_cast<uintptr_t>(memory) + 1023) / 1024 * 1024);
  const int tilesAcross = (columns + kColumns - 1) / kColumns;
  const int tiles = tilesAcross * ((rows + kRows - 1) / kRows);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      initialise(&shared.full[i], 1);
      initialise(&shared.empty[i], kConsumers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("prefetch.tensormap [%0];" ::"l"(&input) : "memory");
  }
  __syncthreads();

  Ring ring;
  if (threadIdx.x < 32) {  // producer
    ring.parity = 1;       // the stages start empty
    if (threadIdx.x == 0)
      for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, ring.advance()) {
        wait(&shared.empty[ring.stage], ring.parity);
        arriveExpecting(&shared.full[ring.stage], kTileBytes);
        load(&input, shared.stage[ring.stage], &shared.full[ring.stage], tile % tilesAcross * kColumns, tile / tilesAcross * kRows);
      }
    return;
  }

  const int thread = threadIdx.x - 32;
  int buffer = 0;
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x, ring.advance(), buffer ^= 1) {
    const int column = tile % tilesAcross * kColumns, row = tile / tilesAcross * kRows;
    if (thread == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");  // the buffer of two tiles ago is free
    asm volatile("bar.sync 1, 128;" ::: "memory");
    wait(&shared.full[ring.stage], ring.parity);
    for (int element = thread; element < kRows * kColumns; element += kConsumers) {
      const int r = element / kColumns, c = element % kColumns;
      const int place = r * 128 + ((c / 8 ^ r % 8) * 16) + c % 8 * 2;  // tiles are 1024-byte aligned, so the row is the line
      float value = __half2float(*reinterpret_cast<const __half*>(&shared.stage[ring.stage][place]));
      if (column + c < columns) value = fmaxf(value * scale[column + c] + bias[column + c], 0.0f);
      *reinterpret_cast<__half*>(&shared.output[buffer][place]) = __float2half_rn(value);
    }
    arrive(&shared.empty[ring.stage]);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync 1, 128;" ::: "memory");
    if (thread == 0) {
      store(&output, shared.output[buffer], column, row);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
  }
  if (thread == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
