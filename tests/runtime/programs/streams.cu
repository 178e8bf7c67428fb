// Two streams. "ordered": the second waits for the first by an event. "race": it does not, which the results do not show here, but
// the hazard checker must. "legacy": the default stream orders blocking streams. "nonblocking": it does not order these.
#include "tests/runtime/programs/check.hpp"

__global__ void fill(int* values, int value) { values[threadIdx.x] = value; }
__global__ void copy(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x] + 1; }

int main(int, char** arguments) {
  const std::string which = arguments[1];
  constexpr int kCount = 96;
  const std::vector<int> zeros(kCount, 0);
  int *a = program::onDevice(zeros), *b = program::onDevice(zeros);
  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t filled = nullptr;
  const unsigned flags = which == "legacy" ? cudaStreamDefault : cudaStreamNonBlocking;
  CHECK(cudaStreamCreateWithFlags(&first, flags));
  CHECK(cudaStreamCreateWithPriority(&second, flags, -1));
  CHECK(cudaEventCreate(&filled));
  if (which == "legacy" || which == "nonblocking") {
    fill<<<1, kCount, 0, first>>>(a, 6);
    copy<<<1, kCount>>>(a, b);
    copy<<<1, kCount, 0, second>>>(b, a);
    CHECK(cudaDeviceSynchronize());
    EXPECT_SAME(program::fromDevice(a, kCount), std::vector<int>(kCount, 8));
    return program::finish();
  }
  fill<<<1, kCount, 0, first>>>(a, 6);
  CHECK(cudaEventRecord(filled, first));
  if (which == "ordered") CHECK(cudaStreamWaitEvent(second, filled, 0));
  copy<<<1, kCount, 0, second>>>(a, b);
  if (which == "race") copy<<<1, kCount, 0, second>>>(a, b);  // the same once more
  std::vector<int> got(kCount);
  CHECK(cudaMemcpyAsync(got.data(), b, kCount * sizeof(int), cudaMemcpyDeviceToHost, second));
  CHECK(cudaStreamSynchronize(second));
  EXPECT_SAME(got, std::vector<int>(kCount, 7));
  CHECK(cudaEventSynchronize(filled));
  CHECK(cudaEventQuery(filled));
  cudaEvent_t end = nullptr;
  float milliseconds = -1;
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(end, first));
  CHECK(cudaEventElapsedTime(&milliseconds, filled, end));
  EXPECT(milliseconds >= 0);
  CHECK(cudaEventDestroy(filled));
  CHECK(cudaStreamDestroy(first));
  EXPECT_CODE(cudaStreamSynchronize(first), cudaErrorInvalidResourceHandle);
  (void)cudaGetLastError();
  return program::finish();
}
