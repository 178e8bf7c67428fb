// Copies matrices of 32 x 64 f16, one after the other, through a tensor map that each CTA makes for itself: it takes the given
// map, puts the address of its next matrix in, and publishes the result in its slot of a workspace in global memory.
#include <cuda.h>

#include <cstdint>

#include "common/gemm/ring.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/tensor_map_edit.cuh"
#include "common/ptx/warp.cuh"

namespace shiftconv::tests {
namespace {

constexpr uint32_t kThreads = 128, kMatrixWords = 32 * 64 / 2, kMapWords = sizeof(CUtensorMap) / 4;

struct alignas(128) Shared {
  uint32_t map[kMapWords];
  uint32_t matrix[kMatrixWords];
  uint64_t full;
};

}  // namespace

/// `map`: any matrix of 32 x 64 in one box, no swizzle. `workspace`: one map for each CTA. `matrices` and `output`: `count` each.
extern "C" __global__ void __launch_bounds__(kThreads)
    tensormap_edit(const __grid_constant__ CUtensorMap map, const void* const* matrices, CUtensorMap* workspace, uint32_t* output,
                   uint32_t count) {
  __shared__ Shared shared;
  CUtensorMap* const edited = workspace + blockIdx.x;  // site: map_slot
  if (threadIdx.x == 0) {
    ptx::mbarrierInit(ptx::sharedAddress(&shared.full), 1);
    ptx::fenceMbarrierInit();
  }
  if (threadIdx.x < kMapWords) shared.map[threadIdx.x] = reinterpret_cast<const uint32_t*>(&map)[threadIdx.x];
  __syncthreads();
  gemm::RingPosition round;
#pragma unroll 1
  for (uint32_t i = blockIdx.x; i < count; i += gridDim.x) {  // site: rounds
    if (threadIdx.x < 32) {
      if (threadIdx.x == 0) ptx::replaceTensorAddress(ptx::sharedAddress(shared.map), matrices[i]);
      __syncwarp();
      ptx::publishTensorMap(edited, ptx::sharedAddress(shared.map));  // site: map_published
      if (threadIdx.x == 0) {                                         // site: copying_thread
        ptx::acquireTensorMap(edited);                                // site: map_acquired
        ptx::mbarrierArriveExpectBytes(ptx::sharedAddress(&shared.full), sizeof shared.matrix);
        ptx::loadTile2d(ptx::sharedAddress(shared.matrix), edited, 0, 0, ptx::sharedAddress(&shared.full));
      }
    }
    ptx::mbarrierWait(ptx::sharedAddress(&shared.full), round.parity);
#pragma unroll 1
    for (uint32_t word = threadIdx.x; word < kMatrixWords; word += kThreads) output[i * kMatrixWords + word] = shared.matrix[word];
    __syncthreads();  // everybody has read the matrix; site: matrix_read
    round.advance(1);
  }
}

}  // namespace shiftconv::tests
