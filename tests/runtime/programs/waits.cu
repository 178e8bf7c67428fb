// What orders work of two streams that nobody ordered otherwise: one writes memory, the other one reads it afterwards. The argument
// says what stands between them; with "nothing" or "third_stream" it is a race. Copies to the device, too, are nothing that the
// host waits for: with "copied_in" and "copied_across" one of the first stream writes what the kernel of the second one reads.
#include <cuda.h>

#include "tests/runtime/programs/check.hpp"

constexpr int kCount = 96;

__global__ void fill(int* values, int value) { values[threadIdx.x] = value; }
__global__ void copy(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x] + 1; }

int main(int, char** arguments) {
  const std::string which = arguments[1];
  int *a = program::onDevice(std::vector<int>(kCount, 0)), *b = program::onDevice(std::vector<int>(kCount, 0));
  int* other = program::onDevice(std::vector<int>(kCount, 0));
  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t event = nullptr;
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&event));
  fill<<<1, kCount, 0, first>>>(a, 6);
  std::vector<int> pageable(1);
  if (which == "stream") CHECK(cudaStreamSynchronize(first));
  if (which == "device") CHECK(cudaDeviceSynchronize());
  if (which == "event") {
    CHECK(cudaEventRecord(event, first));
    CHECK(cudaEventSynchronize(event));
  }
  const auto record = [&] { CHECK(cudaEventRecord(event, first)); };
  const auto driver = [](CUresult result) { CHECK(static_cast<cudaError_t>(result)); };  // the same numbers for the same reasons
  if (which == "query") CHECK(cudaStreamQuery(first));
  if (which == "event_query") record(), CHECK(cudaEventQuery(event));
  if (which == "driver_stream") driver(cuStreamSynchronize(first));
  if (which == "driver_query") driver(cuStreamQuery(first));
  if (which == "driver_event") record(), driver(cuEventSynchronize(event));
  if (which == "driver_event_query") record(), driver(cuEventQuery(event));
  if (which == "driver_context") driver(cuCtxSynchronize());
  if (which == "driver_free") driver(cuMemFree(reinterpret_cast<CUdeviceptr>(other)));
  if (which == "driver_copy") driver(cuMemcpyDtoHAsync(pageable.data(), reinterpret_cast<CUdeviceptr>(a), sizeof(int), first));
  if (which == "third_stream") {  // which waits, and nobody for it
    cudaStream_t third = nullptr;
    CHECK(cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking));
    CHECK(cudaEventRecord(event, first));
    CHECK(cudaStreamWaitEvent(third, event, 0));
    copy<<<1, kCount, 0, third>>>(a, other);
  }
  if (which == "copied_in" || which == "copied_across") {
    CHECK(cudaDeviceSynchronize());
    int* pinned = nullptr;
    CHECK(cudaMallocHost(&pinned, kCount * sizeof(int)));
    for (int i = 0; i < kCount; ++i) pinned[i] = 6;
    const int* const from = which == "copied_in" ? pinned : program::onDevice(std::vector<int>(kCount, 6));
    CHECK(cudaMemcpyAsync(a, from, kCount * sizeof(int), cudaMemcpyDefault, first));
  }
  if (which == "free") CHECK(cudaFree(other));
  if (which == "copy") CHECK(cudaMemcpyAsync(pageable.data(), a, sizeof(int), cudaMemcpyDeviceToHost, first));
  if (which == "destroyed") {
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaDeviceSynchronize());
  }
  if (which == "graph_waits" || which == "graph_waits_elsewhere") {  // in a node that the kernel is behind, or is not
    record();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    cudaGraphNode_t wait = nullptr, between = nullptr, node = nullptr;
    void *arguments[] = {&a, &b}, *others[] = {&other, &other};
    cudaKernelNodeParams kernel{};
    kernel.func = reinterpret_cast<void*>(copy), kernel.gridDim = 1, kernel.blockDim = kCount, kernel.kernelParams = others;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddEventWaitNode(&wait, graph, nullptr, 0, event));
    CHECK(cudaGraphAddKernelNode(&between, graph, &wait, which == "graph_waits" ? 1 : 0, &kernel));
    kernel.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&node, graph, &between, 1, &kernel));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, second));
  } else {
    copy<<<1, kCount, 0, second>>>(a, b);
  }
  CHECK(cudaStreamSynchronize(second));
  EXPECT_SAME(program::fromDevice(b, kCount), std::vector<int>(kCount, 7));
  return program::finish();
}
