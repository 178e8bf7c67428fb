// Ignores every error: with argument "fail" its second launch fails, after a race in the same kernel, with "fine" none does.
#include <cstdio>
#include <cstring>

namespace careless {

__device__ __forceinline__ int neighbour(const int* words) { return words[threadIdx.x - 32]; }
__device__ __forceinline__ int twiceNeighbour(const int* words) {
  const int value = neighbour(words);
  return 2 * value;
}

template <int kWords, class... Unused>
__global__ void scatter(int* memory, int stride) {
  __shared__ int words[kWords];
  words[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (stride == 0) __syncthreads();
  if (threadIdx.x < 32) return;
  const int value = twiceNeighbour(words);
  memory[static_cast<long>(stride) * 1000000 + threadIdx.x] = value;
}

struct AStructureWithALongName {};

}  // namespace careless

int main(int, char** arguments) {
  using careless::AStructureWithALongName;
  int* memory = nullptr;
  cudaMalloc(&memory, 64 * sizeof(int));
  careless::scatter<64, AStructureWithALongName, AStructureWithALongName, AStructureWithALongName><<<1, 64>>>(memory, 0);
  if (std::strcmp(arguments[1], "fail") == 0)
    careless::scatter<64, AStructureWithALongName, AStructureWithALongName, AStructureWithALongName><<<1, 64>>>(memory, 1);
  cudaDeviceSynchronize();
  std::printf("ok\n");
  return 0;
}
