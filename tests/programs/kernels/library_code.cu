// What CUDA programs take from CUDA's own headers and idioms: virtual functions and function pointers, cooperative groups,
// libcu++ barriers with asynchronous copies, clusters with distributed shared memory, and the last-block reduction.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cuda/barrier>

namespace groups = cooperative_groups;

struct Operation {
  __device__ virtual int32_t apply(int32_t x) const = 0;
  int32_t factor;
};
struct Scale : Operation {
  __device__ int32_t apply(int32_t x) const override { return x * factor + 1; }
};
struct Shift : Operation {
  __device__ int32_t apply(int32_t x) const override { return x - factor * 3; }
};
__noinline__ __device__ int32_t throughBase(const Operation& operation, int32_t x) { return operation.apply(x); }

using Function = int32_t (*)(int32_t, int32_t);
__noinline__ __device__ int32_t add(int32_t a, int32_t b) { return a + b; }
__noinline__ __device__ int32_t multiply(int32_t a, int32_t b) { return a * b; }
__noinline__ __device__ int32_t subtract(int32_t a, int32_t b) { return a - b; }
__device__ Function functions[3] = {add, multiply, subtract};

/// One warp or less; out[2i] = virtual call, out[2i+1] = call through the table.
extern "C" __global__ void indirect_calls(const int32_t* in, int32_t* out) {
  const int32_t i = threadIdx.x, x = in[i];
  Scale scale;
  scale.factor = 7;
  Shift shift;
  shift.factor = 5;
  const Operation& operation = x & 1 ? static_cast<const Operation&>(scale) : static_cast<const Operation&>(shift);
  out[2 * i] = throughBase(operation, x);
  out[2 * i + 1] = functions[static_cast<uint32_t>(x) % 3](x, i);
}

/// out[i] = sum over the tile of 16 + lanes of the warp that agree in x & 3; out[n + i] = rank among the multiples of 3.
extern "C" __global__ void thread_groups(const int32_t* in, int32_t* out) {
  const auto block = groups::this_thread_block();
  const auto tile = groups::tiled_partition<16>(block);
  const int32_t i = threadIdx.x, x = in[i];
  const int32_t sum = groups::reduce(tile, x, groups::plus<int32_t>());
  out[i] = sum + 1000 * __popc(__match_any_sync(0xffffffffu, x & 3));
  out[blockDim.x + i] = -1;
  if (x % 3 == 0) {
    const auto active = groups::coalesced_threads();
    out[blockDim.x + i] = static_cast<int32_t>(active.size() * 100 + active.thread_rank());
  }
}

/// out[i] = 2 * in[i + 1] through shared memory filled by asynchronous copies.
extern "C" __global__ void async_barrier(const int32_t* in, int32_t* out) {
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ alignas(16) int32_t buffer[128];
  if (threadIdx.x == 0) init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&buffer[threadIdx.x], &in[threadIdx.x], cuda::aligned_size_t<4>(4), barrier);
  barrier.arrive_and_wait();
  out[threadIdx.x] = buffer[(threadIdx.x + 1) % blockDim.x] * 2;
}

/// Pairs of CTAs: each reads the other's shared memory backwards, then increments it.
extern "C" __global__ void __cluster_dims__(2, 1, 1) distributed_shared(const int32_t* in, int32_t* out) {
  const auto cluster = groups::this_cluster();
  __shared__ int32_t mine[64];
  mine[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  cluster.sync();
  int32_t* other = cluster.map_shared_rank(mine, cluster.block_rank() ^ 1);
  const int32_t read = other[63 - threadIdx.x];
  cluster.sync();
  atomicAdd(&other[threadIdx.x], 1);
  cluster.sync();
  out[blockIdx.x * 64 + threadIdx.x] = read + mine[threadIdx.x] * 1000;
}

/// out = {sum, high half of its square}; the last CTA to finish adds up what all of them left in `partial`.
extern "C" __global__ void last_block_sum(const uint32_t* in, uint32_t count, unsigned long long* partial, uint32_t* ticket,
                                          unsigned long long* out) {
  unsigned long long sum = 0;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    sum += __umulhi(in[i], 0x9e3779b9u) ^ (in[i] >> 3);
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_down_sync(0xffffffffu, sum, distance);
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = sum;
  __threadfence();
  if (atomicInc(ticket, gridDim.x - 1) != gridDim.x - 1) return;
  __threadfence();
  unsigned long long total = 0;
  for (uint32_t block = 0; block < gridDim.x; ++block) total += reinterpret_cast<volatile unsigned long long*>(partial)[block];
  out[0] = total;
  out[1] = static_cast<unsigned long long>((static_cast<unsigned __int128>(total) * total) >> 64);
}

/// f32 functions with slow paths; 8 results per element.
extern "C" __global__ void mathematics(const float* in, float* out) {
  const float x = in[threadIdx.x];
  float* results = out + 8 * threadIdx.x;
  results[0] = sinf(x * 1000.0f);
  results[1] = expf(x);
  results[2] = logf(fabsf(x));
  results[3] = powf(fabsf(x), 1.75f);
  results[4] = x / 3.7f;
  results[5] = sqrtf(fabsf(x));
  results[6] = tanhf(x);
  results[7] = __half2float(__float2half_rn(x));
}
