// Several translation units, each with device code of its own under the same names.
#include "tests/runtime/programs/check.hpp"

static __device__ int state = 100;

static __global__ void step(int* result) { *result = state += 1; }

std::vector<int> stepsOfOtherUnit(int count);  // two_units_other.cu

int main() {
  int* memory = program::onDevice(std::vector<int>(1, 0));
  std::vector<int> mine;
  for (int i = 0; i < 3; ++i) {
    step<<<1, 1>>>(memory);
    mine.push_back(program::fromDevice(memory, 1)[0]);
  }
  EXPECT_SAME(mine, (std::vector<int>{101, 102, 103}));
  EXPECT_SAME(stepsOfOtherUnit(3), (std::vector<int>{1010, 1020, 1030}));
  return program::finish();
}
