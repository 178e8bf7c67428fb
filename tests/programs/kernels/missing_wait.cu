// A deliberate mistake: the tile is read although nobody waited for the copy that brings it.
#include <cstdint>

extern "C" __global__ void missing_wait(const int32_t* in, int32_t* out) {
  __shared__ alignas(128) int32_t tile[64];
  __shared__ uint64_t barrier;
  const auto tileAddress = static_cast<uint32_t>(__cvta_generic_to_shared(tile)),
             barrierAddress = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier));
  tile[threadIdx.x] = -1;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrierAddress) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(barrierAddress) : "memory");
    asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(tileAddress), "l"(in),
                 "r"(barrierAddress)
                 : "memory");
  }
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}
