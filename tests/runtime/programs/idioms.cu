// Orders that programs rely on and that are easy to misjudge: a ticket that one thread takes for its CTA, copies that each thread
// makes for itself, and several threads that store the same value. The argument chooses. "peek" relies on nothing: it prints, for
// three launches, how often each thread looked before its copy was there, as a letter.
#include <cuda_pipeline.h>

#include "tests/runtime/programs/check.hpp"

namespace {

constexpr int kThreads = 96, kCtas = 7, kLooks = 40;

/// The last CTA to take a ticket adds up what all of them left in `partials`.
__global__ void reduce(const unsigned* numbers, int count, unsigned* partials, unsigned* tickets, unsigned* sum) {
  __shared__ bool isLast;
  const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
  unsigned own = 0;
  for (int i = thread; i < count; i += threads) own += numbers[i];
  partials[thread] = own;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) isLast = atomicAdd(tickets, 1) == gridDim.x - 1;
  __syncthreads();
  if (!isLast) return;
  __threadfence();
  unsigned all = 0;
  for (int i = threadIdx.x; i < threads; i += blockDim.x) all += partials[i];
  atomicAdd(sum, all);
}

/// Every thread copies words of its own through two stages, and reads what it has copied.
__global__ void pipeline(const int4* from, int4* to, int rounds) {
  __shared__ int4 stages[2][kThreads];
  const int step = gridDim.x * blockDim.x, thread = blockIdx.x * blockDim.x + threadIdx.x;
  __pipeline_memcpy_async(&stages[0][threadIdx.x], &from[thread], sizeof(int4));
  __pipeline_commit();
  for (int round = 0; round < rounds; ++round) {
    if (round + 1 < rounds)
      __pipeline_memcpy_async(&stages[(round + 1) % 2][threadIdx.x], &from[thread + (round + 1) * step], sizeof(int4));
    __pipeline_commit();
    __pipeline_wait_prior(1);
    int4 value = stages[round % 2][threadIdx.x];
    value.x += 1;
    to[thread + round * step] = value;
  }
}

/// Which CTAs hold a number above the limit, and whether any does: every thread that sees one says so.
__global__ void search(const unsigned* numbers, unsigned limit, unsigned* found, unsigned* any) {
  __shared__ unsigned here;
  if (threadIdx.x == 0) here = 0;
  __syncthreads();
  if (numbers[blockIdx.x * blockDim.x + threadIdx.x] > limit) {
    here = 1;
    *any = 1;
  }
  __syncthreads();
  if (threadIdx.x == 0) found[blockIdx.x] = here;
}

__global__ void look(const int* one, int* seen) {
  __shared__ int words[kThreads];
  words[threadIdx.x] = 0;
  __pipeline_memcpy_async(&words[threadIdx.x], one, sizeof(int));
  __pipeline_commit();
  int early = 0;
  for (int look = 0; look < kLooks; ++look) early += 1 - *static_cast<volatile int*>(&words[threadIdx.x]);
  seen[threadIdx.x] = early;
  __pipeline_wait_prior(0);
}

std::vector<unsigned> randomNumbers(size_t count) {
  program::Random random;
  std::vector<unsigned> numbers(count);
  for (unsigned& number : numbers) number = random() % 1000;
  return numbers;
}

void tickets() {
  const std::vector<unsigned> numbers = randomNumbers(5001);
  unsigned expected = 0;
  for (const unsigned number : numbers) expected += number;
  unsigned* partials = nullptr;
  CHECK(cudaMalloc(&partials, kThreads * kCtas * sizeof(unsigned)));
  unsigned* state = program::onDevice(std::vector<unsigned>{0, 0});
  reduce<<<kCtas, kThreads>>>(program::onDevice(numbers), 5001, partials, state, state + 1);
  CHECK(cudaGetLastError());
  EXPECT_SAME(program::fromDevice(state, 2), (std::vector<unsigned>{kCtas, expected}));
}

void copies() {
  constexpr int kRounds = 5;
  std::vector<int> numbers(4 * kThreads * kCtas * kRounds), expected;
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i * i);
  for (size_t i = 0; i < numbers.size(); ++i) expected.push_back(numbers[i] + (i % 4 == 0 ? 1 : 0));
  int* to = program::onDevice(std::vector<int>(numbers.size(), -1));
  pipeline<<<kCtas, kThreads>>>(reinterpret_cast<const int4*>(program::onDevice(numbers)), reinterpret_cast<int4*>(to), kRounds);
  CHECK(cudaGetLastError());
  EXPECT_SAME(program::fromDevice(to, numbers.size()), expected);
}

void equalWrites() {
  std::vector<unsigned> numbers = randomNumbers(kThreads * kCtas), expected(kCtas, 1);
  for (int i = 0; i < kThreads; ++i) numbers[3 * kThreads + i] = 5;
  expected[3] = 0;
  unsigned* found = program::onDevice(std::vector<unsigned>(kCtas, 9));
  unsigned* any = program::onDevice(std::vector<unsigned>{0});
  search<<<kCtas, kThreads>>>(program::onDevice(numbers), 600, found, any);
  CHECK(cudaGetLastError());
  EXPECT_SAME(program::fromDevice(found, kCtas), expected);
  EXPECT_SAME(program::fromDevice(any, 1), (std::vector<unsigned>{1}));
}

void peek() {
  int* seen = program::onDevice(std::vector<int>(kThreads, 9));
  const int* one = program::onDevice(std::vector<int>{1});
  for (int launch = 0; launch < 3; ++launch) {
    look<<<1, kThreads>>>(one, seen);
    for (const int word : program::fromDevice(seen, kThreads)) std::putchar('A' + word);
    std::putchar('\n');
  }
}

}  // namespace

int main(int, char** arguments) {
  const std::string which = arguments[1];
  if (which == "ticket") tickets();
  if (which == "copies") copies();
  if (which == "equal") equalWrites();
  if (which == "peek") peek();
  return program::finish();
}
