// Kernels that fail, one per run: what fails and that the error sticks.
#include <cassert>

#include "tests/runtime/programs/check.hpp"

__global__ void asserts(int value) { assert(value == 4711); }
__global__ void traps() { __trap(); }
__global__ void strays(int* memory) { memory[1000000] = 1; }
__global__ void misaligns(char* memory) { *reinterpret_cast<int*>(memory + 1) = 1; }

int main(int, char** arguments) {
  char* memory = nullptr;
  CHECK(cudaMalloc(&memory, 64));
  const std::string which = arguments[1];
  cudaError_t expected = cudaSuccess;
  if (which == "assert") {
    expected = cudaErrorAssert;
    asserts<<<1, 32>>>(static_cast<int>(which.size()));
  } else if (which == "trap") {
    expected = cudaErrorLaunchFailure;
    traps<<<1, 1>>>();
  } else if (which == "stray") {
    expected = cudaErrorIllegalAddress;
    strays<<<1, 1>>>(reinterpret_cast<int*>(memory));
  } else if (which == "misaligned") {
    expected = cudaErrorMisalignedAddress;
    misaligns<<<1, 1>>>(memory);
  }
  EXPECT_CODE(cudaDeviceSynchronize(), expected);
  EXPECT_CODE(cudaGetLastError(), expected);
  EXPECT_CODE(cudaGetLastError(), expected);  // it sticks
  void* more = nullptr;
  EXPECT_CODE(cudaMalloc(&more, 16), expected);
  EXPECT_CODE(cudaMemset(memory, 0, 16), expected);
  EXPECT_CODE(cudaFree(memory), expected);
  int device = -1;
  EXPECT_CODE(cudaGetDevice(&device), cudaSuccess);
  std::printf("%s\nok\n", cudaGetErrorString(expected));
  return 0;
}
