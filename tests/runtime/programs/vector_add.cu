// The first program of every course.
#include "tests/runtime/programs/check.hpp"

__global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  const int n = 1003;
  const std::vector<float> a = program::randomIntegers(n, 1), b = program::randomIntegers(n, 2);
  std::vector<float> expected(n + 5, -1.0f);  // the kernel must leave what lies behind alone
  float* c = program::onDevice(expected);
  for (int i = 0; i < n; ++i) expected[i] = a[i] + b[i];
  add<<<(n + 127) / 128, 128>>>(program::onDevice(a), program::onDevice(b), c, n);
  CHECK(cudaGetLastError());
  EXPECT_SAME(program::fromDevice(c, expected.size()), expected);
  return program::finish();
}
