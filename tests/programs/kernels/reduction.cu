// Statistics of a signed integer array: divergent paths of different lengths, warp shuffles, votes, shared and global
// atomics. One result record per launch.
struct Statistics {
  unsigned long long sumOfSquares;  // of the values that are not multiples of 3
  int minimum, maximum;
  unsigned oddCount;       // by ballot
  unsigned collatzSteps;   // total steps of |value| % 97 + 1 down to 1: every lane loops for a different time
  unsigned histogram[16];  // of value & 15, through shared memory
};

__device__ int collatz(unsigned value) {
  int steps = 0;
  while (value != 1) {
    value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    ++steps;
  }
  return steps;
}

extern "C" __global__ void reduction(const int* values, int count, Statistics* result) {
  __shared__ unsigned histogram[16];
  __shared__ int warpMinimum[32];
  if (threadIdx.x < 16) histogram[threadIdx.x] = 0;
  __syncthreads();

  unsigned long long squares = 0;
  int minimum = 0x7fffffff, maximum = -0x7fffffff - 1, steps = 0;
  unsigned odd = 0;
  const int threads = gridDim.x * blockDim.x, rounds = (count + threads - 1) / threads;
  for (int round = 0; round < rounds; ++round) {
    const int index = round * threads + blockIdx.x * blockDim.x + threadIdx.x;
    const bool valid = index < count;
    const int value = valid ? values[index] : 0;
    odd += __popc(__ballot_sync(0xffffffffu, valid && (value & 1)));
    if (!valid) continue;
    if (value % 3 != 0) {
      squares += static_cast<long long>(value) * value;
    } else if (value % 9 == 0) {
      squares += 0;
    }
    minimum = min(minimum, value);
    maximum = max(maximum, value);
    steps += collatz(static_cast<unsigned>(abs(value)) % 97 + 1);
    atomicAdd(&histogram[value & 15], 1u);
  }

  for (int distance = 16; distance > 0; distance /= 2) {
    squares += __shfl_xor_sync(0xffffffffu, squares, distance);
    minimum = min(minimum, __shfl_down_sync(0xffffffffu, minimum, distance));
    steps += __shfl_xor_sync(0xffffffffu, steps, distance);
  }
  maximum = __reduce_max_sync(0xffffffffu, maximum);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) {
    warpMinimum[warp] = minimum;
    atomicAdd(&result->sumOfSquares, squares);
    atomicMax(&result->maximum, maximum);
    atomicAdd(&result->oddCount, odd);
    atomicAdd(&result->collatzSteps, static_cast<unsigned>(steps));
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&result->histogram[threadIdx.x], histogram[threadIdx.x]);
  if (threadIdx.x == 0)
    for (int i = 0; i < static_cast<int>(blockDim.x) / 32; ++i) atomicMin(&result->minimum, warpMinimum[i]);
}
