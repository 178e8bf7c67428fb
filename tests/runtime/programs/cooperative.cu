// A cooperative launch: all CTAs wait for each other.
#include <cooperative_groups.h>

#include "tests/runtime/programs/check.hpp"

namespace cg = cooperative_groups;

__global__ void rounds(int* values, int count, int steps) {
  const cg::grid_group grid = cg::this_grid();
  const int i = static_cast<int>(grid.thread_rank());
  for (int step = 0; step < steps; ++step) {
    const int next = values[(i + 1) % count];
    grid.sync();
    values[i] += next;
    grid.sync();
  }
}

int main() {
  constexpr int kBlocks = 5, kThreads = 32, kCount = kBlocks * kThreads, kSteps = 3;
  std::vector<int> expected(kCount);
  for (int i = 0; i < kCount; ++i) expected[i] = i * i % 11;
  int* values = program::onDevice(expected);
  for (int step = 0; step < kSteps; ++step) {
    const std::vector<int> before = expected;
    for (int i = 0; i < kCount; ++i) expected[i] = before[i] + before[(i + 1) % kCount];
  }
  int count = kCount, steps = kSteps;
  void* arguments[] = {&values, &count, &steps};
  for (int launch = 0; launch < 2; ++launch) {  // the second finds the grid's barrier as the first left it
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(rounds), kBlocks, kThreads, arguments, 0, nullptr));
    EXPECT_SAME(program::fromDevice(values, kCount), expected);
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<int> before = expected;
      for (int i = 0; i < kCount; ++i) expected[i] = before[i] + before[(i + 1) % kCount];
    }
  }
  EXPECT_CODE(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(rounds), 100000, kThreads, arguments, 0, nullptr),
              cudaErrorCooperativeLaunchTooLarge);
  (void)cudaGetLastError();
  return program::finish();
}
