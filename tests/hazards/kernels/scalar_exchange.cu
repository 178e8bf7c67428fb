// Inclusive prefix sums of u32 without any tensor instruction. Warps 0 and 1 bring chunks into two buffers with cp.async, warps 2
// and 3 scan them; named barriers hand buffers back and forth. A CTA adds what comes before it, which the CTA in front of it
// publishes in global memory after a flag.
#include <cstdint>

#include "common/ptx/shared_memory.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/warp.cuh"

namespace shiftconv::tests {
namespace {

constexpr uint32_t kLoaders = 64, kScanners = 64, kThreads = kLoaders + kScanners;
constexpr uint32_t kBuffers = 2;

/// Named barriers; those of buffer i are the given one + i.
enum Barrier : uint32_t { kFull = 1, kEmpty = 3, kTotals = 5 };

struct Shared {
  uint4 chunk[kBuffers][kScanners];
  uint32_t warpTotal[2][kScanners / 32];  // of the even and of the odd chunks
};

__device__ void loadChunks(Shared& shared, const uint4* input, uint32_t chunks) {
#pragma unroll 1
  for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
    const uint32_t buffer = chunk % kBuffers;
    if (chunk >= kBuffers) ptx::namedBarrierSync(kEmpty + buffer, kThreads);
    ptx::copyAsync16Bytes(ptx::sharedAddress(&shared.chunk[buffer][threadIdx.x]), input + chunk * kScanners + threadIdx.x);
    ptx::copyAsyncCommitGroup();
    ptx::copyAsyncWaitGroup<0>();  // site: copies_awaited
    ptx::namedBarrierArrive(kFull + buffer, kThreads);
  }
}

__device__ uint32_t inclusiveScanOfWarp(uint32_t value) {
  const uint32_t lane = threadIdx.x % 32;
#pragma unroll
  for (uint32_t distance = 1; distance < 32; distance *= 2) {
    const uint32_t below = __shfl_up_sync(0xffffffffu, value, distance);  // site: lanes_exchange
    if (lane >= distance) value += below;
  }
  return value;
}

/// Returns `before` plus the sum of all chunks.
__device__ uint32_t scanChunks(Shared& shared, uint4* output, uint32_t chunks, uint32_t before) {
  const uint32_t thread = threadIdx.x - kLoaders, warp = thread / 32;
#pragma unroll 1
  for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
    const uint32_t buffer = chunk % kBuffers;
    ptx::namedBarrierSync(kFull + buffer, kThreads);
    uint4 v = shared.chunk[buffer][thread];                                             // site: chunk_read
    if (chunk + kBuffers < chunks) ptx::namedBarrierArrive(kEmpty + buffer, kThreads);  // site: buffer_released
    v.y += v.x;
    v.z += v.y;
    v.w += v.z;
    const uint32_t scanned = inclusiveScanOfWarp(v.w);
    if (thread % 32 == 31) shared.warpTotal[chunk % 2][warp] = scanned;  // site: total_of_warp
    ptx::namedBarrierSync(kTotals, kScanners);                           // site: totals_there
    const uint32_t firstTotal = shared.warpTotal[chunk % 2][0], secondTotal = shared.warpTotal[chunk % 2][1];  // site: totals_read
    const uint32_t offset = before + (scanned - v.w) + (warp == 0 ? 0 : firstTotal);
    output[chunk * kScanners + thread] = make_uint4(v.x + offset, v.y + offset, v.z + offset, v.w + offset);
    before += firstTotal + secondTotal;
  }
  return before;
}

}  // namespace

/// input and output: gridDim.x * chunks * 256 numbers. `totals` and `published`: one for each CTA; `published` starts as zeros.
extern "C" __global__ void __launch_bounds__(kThreads)
    scalar_exchange(const uint4* input, uint4* output, uint32_t* totals, uint32_t* published, uint32_t chunks) {
  __shared__ Shared shared;
  const uint32_t first = blockIdx.x * chunks * kScanners;
  if (threadIdx.x < kLoaders) {
    loadChunks(shared, input + first, chunks);
    return;
  }
  uint32_t before = 0;
  if (blockIdx.x != 0) {
    while (ptx::loadAcquire(published + blockIdx.x - 1) == 0) {  // site: total_awaited
    }
    before = totals[blockIdx.x - 1];  // site: total_read
  }
  const uint32_t total = scanChunks(shared, output + first, chunks, before);
  if (threadIdx.x == kLoaders) {                   // site: publisher
    totals[blockIdx.x] = total;                    // site: total_stored
    ptx::storeRelease(published + blockIdx.x, 1);  // site: total_published
  }
}

}  // namespace shiftconv::tests
