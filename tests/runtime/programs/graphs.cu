// Capture with a fork and a join, replays, updates, and a graph made by hand. With argument "race" the hand-made graph lacks an
// edge.
#include "tests/runtime/programs/check.hpp"

constexpr int kCount = 64;

__global__ void add(const int* a, const int* b, int* sum) { sum[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]; }
__global__ void scale(int* values, int factor) { values[threadIdx.x] *= factor; }

int hostCalls = 0;
void count(void* by) { hostCalls += *static_cast<int*>(by); }

void captured() {
  const std::vector<int> zeros(kCount, 0), ones(kCount, 1);
  int *a = program::onDevice(ones), *b = program::onDevice(ones), *sum = program::onDevice(zeros);
  cudaStream_t main = nullptr, side = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;
  CHECK(cudaStreamCreate(&main));
  CHECK(cudaStreamCreate(&side));
  CHECK(cudaEventCreate(&fork));
  CHECK(cudaEventCreate(&join));
  static int by = 3;
  CHECK(cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, main));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  scale<<<1, kCount, 0, main>>>(a, 2);
  scale<<<1, kCount, 0, side>>>(b, 3);
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(main, join, 0));
  add<<<1, kCount, 0, main>>>(a, b, sum);
  CHECK(cudaLaunchHostFunc(main, count, &by));
  cudaStreamCaptureStatus status{};
  CHECK(cudaStreamIsCapturing(side, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(main, &graph));
  EXPECT_SAME(program::fromDevice(sum, kCount), zeros);  // nothing has run yet
  size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 4);
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int launch = 0; launch < 3; ++launch) CHECK(cudaGraphLaunch(executable, main));
  CHECK(cudaStreamSynchronize(main));
  EXPECT_SAME(program::fromDevice(sum, kCount), std::vector<int>(kCount, 8 + 27));
  EXPECT(hostCalls == 9);
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));

  CHECK(cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal));
  EXPECT_CODE(cudaStreamSynchronize(main), cudaErrorStreamCaptureUnsupported);
  EXPECT_CODE(cudaStreamEndCapture(main, &graph), cudaErrorStreamCaptureInvalidated);
  CHECK(cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, main));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  scale<<<1, kCount, 0, side>>>(b, 3);
  EXPECT_CODE(cudaStreamEndCapture(main, &graph), cudaErrorStreamCaptureUnjoined);
  (void)cudaGetLastError();
}

void byHand(bool race) {
  std::vector<int> source(kCount);
  for (int i = 0; i < kCount; ++i) source[i] = i;
  int* values = program::onDevice(std::vector<int>(kCount, -1));
  int* result = program::onDevice(std::vector<int>(kCount, -1));
  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t upload = nullptr, clear = nullptr, kernel = nullptr;
  CHECK(cudaGraphAddMemcpyNode1D(&upload, graph, nullptr, 0, values, source.data(), kCount * sizeof(int), cudaMemcpyHostToDevice));
  cudaMemsetParams fill{};
  fill.dst = result;
  fill.elementSize = 4;
  fill.value = 0x01020304;
  fill.width = kCount;
  fill.height = 1;
  CHECK(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &fill));
  cudaKernelNodeParams parameters{};
  void* arguments[] = {&values, &result, &values};
  parameters.func = reinterpret_cast<void*>(add);
  parameters.gridDim = 1;
  parameters.blockDim = kCount;
  parameters.kernelParams = arguments;
  const cudaGraphNode_t before[] = {upload, clear};
  CHECK(cudaGraphAddKernelNode(&kernel, graph, before, race ? 1 : 2, &parameters));
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphLaunch(executable, nullptr));
  std::vector<int> expected = source;
  for (int& value : expected) value += 0x01020304;
  EXPECT_SAME(program::fromDevice(values, kCount), expected);
  if (race) return;

  fill.value = 5;
  CHECK(cudaGraphExecMemsetNodeSetParams(executable, clear, &fill));
  CHECK(cudaGraphLaunch(executable, nullptr));
  for (int i = 0; i < kCount; ++i) expected[i] = source[i] + 5;
  EXPECT_SAME(program::fromDevice(values, kCount), expected);
  cudaGraphNodeType type{};
  CHECK(cudaGraphNodeGetType(clear, &type));
  EXPECT(type == cudaGraphNodeTypeMemset);
}

int main(int argc, char** arguments) {
  const bool race = argc > 1 && std::string(arguments[1]) == "race";
  if (!race) captured();
  byHand(race);
  return program::finish();
}
