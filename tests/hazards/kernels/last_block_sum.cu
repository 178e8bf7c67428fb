// The sum of u32 numbers, by as many CTAs as one likes: each leaves the sum of its part in a workspace in global memory, and the
// CTA that finds itself to be the last one adds these up. The counter is back at zero afterwards.
#include <cstdint>

namespace shiftconv::tests {
namespace {

constexpr uint32_t kThreads = 128, kWarps = kThreads / 32;

__device__ uint32_t sumOfWarp(uint32_t value) { return __reduce_add_sync(0xffffffffu, value); }

/// The sum over the CTA, in every thread. `warpSums` is free again when the next CTA barrier has passed.
__device__ uint32_t sumOfCta(uint32_t value, uint32_t (&warpSums)[kWarps]) {
  const uint32_t warpSum = sumOfWarp(value);
  if (threadIdx.x % 32 == 0) warpSums[threadIdx.x / 32] = warpSum;
  __syncthreads();
  uint32_t sum = 0;
  for (uint32_t warp = 0; warp < kWarps; ++warp) sum += warpSums[warp];
  return sum;
}

}  // namespace

/// `partials`: one number for each CTA. `finished`: zero.
extern "C" __global__ void __launch_bounds__(kThreads)
    last_block_sum(const uint32_t* numbers, uint32_t count, uint32_t* partials, uint32_t* finished, uint32_t* sum) {
  __shared__ uint32_t warpSums[2][kWarps];
  __shared__ bool isLast;
  uint32_t own = 0;
#pragma unroll 1
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < count; i += gridDim.x * kThreads) own += numbers[i];
  const uint32_t partial = sumOfCta(own, warpSums[0]);
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = partial;                    // site: partial_stored
    __threadfence();                                   // site: partial_fenced
    isLast = atomicAdd(finished, 1) == gridDim.x - 1;  // site: counted
    __threadfence();                                   // site: count_fenced
  }
  __syncthreads();
  if (!isLast) return;  // site: last_goes_on
  uint32_t others = 0;
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < gridDim.x; i += kThreads) others += partials[i];
  const uint32_t all = sumOfCta(others, warpSums[1]);  // site: others_added
  if (threadIdx.x == 0) {
    *sum = all;
    *finished = 0;
  }
}

}  // namespace shiftconv::tests
