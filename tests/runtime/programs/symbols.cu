// __device__, __constant__ and __managed__ variables, and copies to and from them.
#include "tests/runtime/programs/check.hpp"

__device__ int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__constant__ int factors[4];
__managed__ int total = 5;
__device__ int* pointer = table + 2;

__global__ void sum() {
  for (int i = 0; i < 8; ++i) total += table[i];
  total += *pointer;
}

__global__ void multiply() { table[threadIdx.x] *= factors[threadIdx.x % 4]; }

int main() {
  const int factorsHost[4] = {10, 20, 30, 40};
  CHECK(cudaMemcpyToSymbol(factors, factorsHost, sizeof factorsHost));
  const int ninety = 90;
  CHECK(cudaMemcpyToSymbol(table, &ninety, sizeof ninety, 7 * sizeof(int)));
  multiply<<<1, 8>>>();
  std::vector<int> got(8), expected = {10, 40, 90, 160, 50, 120, 210, 3600};
  CHECK(cudaMemcpyFromSymbol(got.data(), table, 8 * sizeof(int)));
  EXPECT_SAME(got, expected);
  total = 7;  // managed: the host's own variable
  sum<<<1, 1>>>();
  CHECK(cudaDeviceSynchronize());
  EXPECT(total == 7 + 10 + 40 + 90 + 160 + 50 + 120 + 210 + 3600 + 90);
  void* address = nullptr;
  size_t bytes = 0;
  CHECK(cudaGetSymbolAddress(&address, table));
  CHECK(cudaGetSymbolSize(&bytes, table));
  EXPECT(bytes == 8 * sizeof(int));
  EXPECT_SAME(program::fromDevice(static_cast<int*>(address), 8), expected);
  int third = 0;
  CHECK(cudaMemcpyFromSymbolAsync(&third, table, sizeof third, 2 * sizeof(int), cudaMemcpyDeviceToHost, nullptr));
  EXPECT(third == 90);
  CHECK(cudaMemcpyToSymbolAsync(table, &third, sizeof third, 5 * sizeof(int), cudaMemcpyHostToDevice, nullptr));
  expected[5] = 90;
  EXPECT_SAME(program::fromDevice(static_cast<int*>(address), 8), expected);
  EXPECT_CODE(cudaMemcpyToSymbolAsync(table, &third, sizeof third, 8 * sizeof(int), cudaMemcpyHostToDevice, nullptr),
              cudaErrorInvalidValue);
  EXPECT_CODE(cudaMemcpyToSymbol(table, &ninety, sizeof ninety, 8 * sizeof(int)), cudaErrorInvalidValue);
  int ordinary = 0;
  EXPECT_CODE(cudaGetSymbolAddress(&address, ordinary), cudaErrorInvalidSymbol);
  return program::finish();
}
