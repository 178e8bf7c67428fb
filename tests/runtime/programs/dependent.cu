// Programmatic dependent launch: a kernel reads what the kernel before it in the stream wrote. The first argument says how it was
// launched, the second one whether it waits for that kernel before it reads ("waits") or after ("early").
#include <cuda.h>

#include "tests/runtime/programs/check.hpp"

constexpr int kCount = 96;

__global__ void fill(int* values, int value) {
  cudaTriggerProgrammaticLaunchCompletion();
  values[threadIdx.x] = value + static_cast<int>(threadIdx.x);
}

__global__ void copy(const int* from, int* to, bool waits) {
  if (waits) cudaGridDependencySynchronize();
  to[threadIdx.x] = from[threadIdx.x] + 1;
  cudaGridDependencySynchronize();
}

/// Touches nothing, and lets the next kernel start at once.
__global__ void pass() { cudaTriggerProgrammaticLaunchCompletion(); }

cudaLaunchAttribute serialization(int allowed) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = allowed;
  return attribute;
}

template <class... Arguments>
void launch(cudaStream_t stream, int allowed, void (*kernel)(Arguments...), Arguments... arguments) {
  cudaLaunchAttribute attribute = serialization(allowed);
  cudaLaunchConfig_t config{};
  config.gridDim = 1;
  config.blockDim = kCount;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  void* pointers[] = {&arguments..., nullptr};
  CHECK(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(kernel), pointers));
}

void launchByDriver(cudaStream_t stream, const int* from, int* to, bool waits) {
  cudaFunction_t function = nullptr;
  CHECK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(copy)));
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = kCount;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  void* pointers[] = {&from, &to, &waits};
  if (cuLaunchKernelEx(&config, function, pointers, nullptr) != CUDA_SUCCESS) std::exit(1);
}

void replay(cudaGraph_t graph, cudaStream_t stream) {
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int round = 0; round < 2; ++round) CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
}

cudaGraphNode_t addKernel(cudaGraph_t graph, cudaGraphNode_t* before, const cudaGraphEdgeData* edge, void* kernel,
                          void** arguments) {
  cudaGraphNodeParams parameters{};
  parameters.type = cudaGraphNodeTypeKernel;
  parameters.kernel.func = kernel;
  parameters.kernel.gridDim = 1;
  parameters.kernel.blockDim = kCount;
  parameters.kernel.kernelParams = arguments;
  cudaGraphNode_t node = nullptr;
  CHECK(cudaGraphAddNode(&node, graph, before, edge, before == nullptr ? 0 : 1, &parameters));
  return node;
}

/// The edge is given with the node, or afterwards.
cudaGraph_t ofNodes(int* from, int* to, bool waits, bool afterwards, cudaGraphDependencyType type) {
  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  int value = 6;
  void *ofFill[] = {&from, &value}, *ofCopy[] = {&from, &to, &waits};
  cudaGraphEdgeData edge{};
  edge.from_port =
      type == cudaGraphDependencyTypeProgrammatic ? cudaGraphKernelNodePortProgrammatic : cudaGraphKernelNodePortDefault;
  edge.type = static_cast<unsigned char>(type);
  cudaGraphNode_t first = addKernel(graph, nullptr, nullptr, reinterpret_cast<void*>(fill), ofFill);
  cudaGraphNode_t second = addKernel(graph, afterwards ? nullptr : &first, &edge, reinterpret_cast<void*>(copy), ofCopy);
  if (afterwards) CHECK(cudaGraphAddDependencies(graph, &first, &second, &edge, 1));
  return graph;
}

int main(int, char** arguments) {
  const std::string how = arguments[1];
  const bool waits = arguments[2] == std::string("waits");
  int *a = program::onDevice(std::vector<int>(kCount, 0)), *b = program::onDevice(std::vector<int>(kCount, 0));
  const int* const from = a;
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaEvent_t event = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&event));
  const bool isCaptured = how.starts_with("captured");
  if (how == "nodes" || how == "edges") {
    replay(ofNodes(a, b, waits, how == "edges", cudaGraphDependencyTypeProgrammatic), stream);
  } else if (how == "full_edges") {
    replay(ofNodes(a, b, waits, false, cudaGraphDependencyTypeDefault), stream);
  } else {
    if (isCaptured) CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    fill<<<1, kCount, 0, stream>>>(a, 6);
    if (how == "passed" || how == "captured_passed") launch(stream, 1, pass);
    if (how == "stream_waits") CHECK(cudaStreamSynchronize(stream));
    if (how == "event_waits") {
      CHECK(cudaEventRecord(event, stream));
      CHECK(cudaEventSynchronize(event));
    }
    if (how == "memset" || how == "captured_memset") CHECK(cudaMemsetAsync(b, 0, sizeof(int), stream));
    if (how == "driver" || how == "captured_driver")
      launchByDriver(stream, a, b, waits);
    else
      launch(stream, how != "forbidden", copy, from, b, waits);
    if (isCaptured) {
      CHECK(cudaStreamEndCapture(stream, &graph));
      replay(graph, stream);
    }
  }
  CHECK(cudaStreamSynchronize(stream));
  std::vector<int> expected(kCount);
  for (int i = 0; i < kCount; ++i) expected[static_cast<size_t>(i)] = 7 + i;
  EXPECT_SAME(program::fromDevice(b, kCount), expected);
  return program::finish();
}
