#include "tests/runtime/programs/check.hpp"

static __device__ int state = 1000;

static __global__ void step(int* result) { *result = state += 10; }

std::vector<int> stepsOfOtherUnit(int count) {
  int* memory = program::onDevice(std::vector<int>(1, 0));
  std::vector<int> results;
  for (int i = 0; i < count; ++i) {
    step<<<1, 1>>>(memory);
    results.push_back(program::fromDevice(memory, 1)[0]);
  }
  return results;
}
