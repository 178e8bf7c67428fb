// Calls that fail and leave the device as it was, names and texts of errors, facts of the device, and a function that the emulated
// device does not have.
#include "tests/runtime/programs/check.hpp"

__global__ void __launch_bounds__(64) nothing() {}

int main() {
  void* memory = nullptr;
  EXPECT_CODE(cudaMalloc(&memory, size_t{1} << 60), cudaErrorMemoryAllocation);
  EXPECT_CODE(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
  EXPECT_CODE(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_CODE(cudaGetLastError(), cudaSuccess);
  nothing<<<1, 1025>>>();
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidConfiguration);
  nothing<<<0, 32>>>();
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidConfiguration);
  nothing<<<1, 65>>>();
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidValue);
  nothing<<<1, 32, 300000>>>();
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_CODE(cudaSetDevice(1), cudaErrorInvalidDevice);
  EXPECT_CODE(cudaLaunchKernel(&memory, 1, 1, nullptr, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_CODE(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20), cudaErrorInvalidValue);
  EXPECT_CODE(cudaStreamSynchronize(reinterpret_cast<cudaStream_t>(&memory)), cudaErrorInvalidResourceHandle);
  EXPECT_CODE(cudaMemset(&memory, 0, 8), cudaErrorInvalidValue);  // memory of the host
  EXPECT(std::string(cudaGetErrorName(cudaErrorInvalidValue)) == "cudaErrorInvalidValue");
  EXPECT(std::string(cudaGetErrorString(cudaErrorInvalidValue)) == "invalid argument");
  EXPECT(std::string(cudaGetErrorString(static_cast<cudaError_t>(4242))) == "unrecognized error code");
  nothing<<<1, 64>>>();
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaGetLastError() == cudaErrorInvalidValue ? cudaSuccess : cudaErrorUnknown);  // of cudaMemset above

  cudaDeviceProp facts{};
  CHECK(cudaGetDeviceProperties(&facts, 0));
  EXPECT(facts.major == 10 && facts.minor == 0 && facts.warpSize == 32 && facts.clusterLaunch == 1);
  EXPECT(facts.sharedMemPerBlockOptin == 227 * 1024 && facts.maxThreadsPerMultiProcessor == 2048);
  std::printf("%d multiprocessors\n", facts.multiProcessorCount);
  int version = 0;
  CHECK(cudaRuntimeGetVersion(&version));
  EXPECT(version / 1000 == 13);
  cudaTextureObject_t texture = 0;
  const cudaResourceDesc resource{};
  const cudaTextureDesc description{};
  EXPECT_CODE(cudaCreateTextureObject(&texture, &resource, &description, nullptr), cudaErrorNotSupported);
  (void)cudaGetLastError();
  return program::finish();
}
