// Small kernels that exercise what the device seam promises: scalar and pointer parameters, a by-value tensor map, opt-in shared
// memory, a cluster. Compiled for sm_100a (emulator, Blackwell) and sm_90a (Hopper).
#include <cuda.h>

#include <cstdint>

#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/mbarrier.cuh"

/// out[i] = scale * in[i] + i
extern "C" __global__ void affine(const float* in, float* out, float scale, uint32_t count) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = scale * in[i] + static_cast<float>(i);
}

/// Loads the box at (x0, x1) of a 2-D map into shared memory and copies its bytes, as they lie there, to `out`.
extern "C" __global__ void load_box(const __grid_constant__ CUtensorMap map, uint8_t* out, int32_t x0, int32_t x1, uint32_t bytes) {
  using namespace shiftconv::ptx;
  extern __shared__ uint8_t dynamic[];
  __shared__ alignas(8) uint64_t barrier;
  const auto base = static_cast<uint32_t>(__cvta_generic_to_shared(dynamic));
  const uint32_t box = (base + 1023u) & ~1023u;  // 128-byte swizzle patterns repeat every 1024 bytes
  const auto full = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) {
    prefetchTensorMap(&map);
    mbarrierInit(full, 1);
    fenceMbarrierInit();
    mbarrierArriveExpectBytes(full, bytes);
    loadTile2d(box, &map, x0, x1, full);
  }
  __syncthreads();
  mbarrierWait(full, 0);
  for (uint32_t i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = dynamic[box - base + i];
}

/// Every block writes its rank in the cluster.
extern "C" __global__ void cluster_ranks(uint32_t* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = __clusterRelativeBlockRank();
}

/// Nine numbers: the extents of grid, block and cluster.
extern "C" __global__ void extents(uint32_t* out) {
  if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y + threadIdx.z != 0) return;
  const dim3 cluster = __clusterDim();
  out[0] = gridDim.x, out[1] = gridDim.y, out[2] = gridDim.z;
  out[3] = blockDim.x, out[4] = blockDim.y, out[5] = blockDim.z;
  out[6] = cluster.x, out[7] = cluster.y, out[8] = cluster.z;
}

/// Sends values through the far end of dynamic shared memory.
extern "C" __global__ void through_shared(const uint32_t* in, uint32_t* out, uint32_t sharedBytes) {
  extern __shared__ uint32_t words[];
  uint32_t* last = words + sharedBytes / 4 - blockDim.x;
  last[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = last[blockDim.x - 1 - threadIdx.x];
}
