// malloc and free of kernels: lists that one kernel makes and another one frees, and a heap that is full.
#include "tests/runtime/programs/check.hpp"

struct Cell {
  Cell* next;
  int value;
};

__global__ void make(Cell** heads, int length) {
  Cell* head = nullptr;
  for (int i = 0; i < length; ++i) {
    auto* cell = static_cast<Cell*>(malloc(sizeof(Cell)));
    *cell = {head, static_cast<int>(threadIdx.x) * 100 + i};
    head = cell;
  }
  heads[threadIdx.x] = head;
}

__global__ void sum(Cell** heads, int* sums) {
  int total = 0;
  for (Cell* cell = heads[threadIdx.x]; cell != nullptr;) {
    Cell* const next = cell->next;
    total += cell->value;
    free(cell);
    cell = next;
  }
  sums[threadIdx.x] = total;
}

/// Blocks of 1 MiB that the heap gives before it is full; then all are freed.
__global__ void fill(int* count) {
  void* blocks[64];
  int n = 0;
  while (n < 64 && (blocks[n] = malloc(1 << 20)) != nullptr) ++n;
  *count = n;
  for (int i = 0; i < n; ++i) free(blocks[i]);
  free(nullptr);
  if (malloc(0) != nullptr) *count = -1;
}

__global__ void freeTwice() {
  void* const block = malloc(8);
  free(block);
  free(block);
}

__global__ void writeBehind() {
  auto* const block = static_cast<volatile int*>(malloc(8));
  block[2] = 1;
}

int main(int argc, char** arguments) {
  const std::string which = argc > 1 ? arguments[1] : "";
  if (which == "twice" || which == "behind") {
    which == "twice" ? freeTwice<<<1, 1>>>() : writeBehind<<<1, 1>>>();
    EXPECT_CODE(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    std::puts("ok");
    return 0;
  }
  constexpr int kThreads = 70, kLength = 3;
  Cell** heads = nullptr;
  CHECK(cudaMalloc(&heads, kThreads * sizeof(Cell*)));
  int* sums = program::onDevice(std::vector<int>(kThreads, -1));
  make<<<1, kThreads>>>(heads, kLength);
  sum<<<1, kThreads>>>(heads, sums);
  std::vector<int> expected;
  for (int i = 0; i < kThreads; ++i) expected.push_back(300 * i + 3);
  EXPECT_SAME(program::fromDevice(sums, kThreads), expected);
  size_t limit = 0;
  CHECK(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
  EXPECT(limit == 8 << 20);
  for (const int mebibytes : {8, 20}) {
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, static_cast<size_t>(mebibytes) << 20));
    fill<<<1, 1>>>(sums);
    EXPECT(program::fromDevice(sums, 1)[0] == mebibytes);
  }
  return program::finish();
}
