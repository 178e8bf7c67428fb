// What a program sees of its device, and the architecture that its kernels were compiled for.
#include <cuda.h>

#include "tests/runtime/programs/check.hpp"

__global__ void architecture(int* result) {
#ifdef __CUDA_ARCH__
  *result = __CUDA_ARCH__ / 10;
#endif
}

int main() {
  cudaDeviceProp facts{};
  CHECK(cudaGetDeviceProperties(&facts, 0));
  int attributes[3] = {};
  CHECK(cudaDeviceGetAttribute(&attributes[0], cudaDevAttrComputeCapabilityMajor, 0));
  CHECK(cudaDeviceGetAttribute(&attributes[1], cudaDevAttrMaxThreadsPerMultiProcessor, 0));
  CHECK(cudaDeviceGetAttribute(&attributes[2], cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  EXPECT(attributes[0] == facts.major && attributes[1] == facts.maxThreadsPerMultiProcessor &&
         attributes[2] == static_cast<int>(facts.sharedMemPerBlockOptin));
  int blocks = 0;
  cudaFuncAttributes function{};
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, architecture, 32, 0));
  CHECK(cudaFuncGetAttributes(&function, architecture));
  EXPECT(blocks == facts.maxBlocksPerMultiProcessor && function.binaryVersion == 10 * facts.major + facts.minor);
  int* result = program::onDevice(std::vector<int>{-1});
  architecture<<<1, 1>>>(result);
  CHECK(cudaGetLastError());
  std::printf("%s %d.%d, %d multiprocessors of %d threads and %zu bytes, L2 %d, bus %d, code for %d\n", facts.name, facts.major,
              facts.minor, facts.multiProcessorCount, facts.maxThreadsPerMultiProcessor, facts.sharedMemPerBlockOptin,
              facts.l2CacheSize, facts.memoryBusWidth, program::fromDevice(result, 1)[0]);
  return program::finish();
}
