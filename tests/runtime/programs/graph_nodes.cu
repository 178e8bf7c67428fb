// Nodes of graphs of every kind: memory of graphs, nodes by their type, disabled nodes and graphs in graphs.
#include "tests/runtime/programs/check.hpp"

constexpr int kCount = 64;

__global__ void add(int* values, int term) { values[threadIdx.x] += term; }
__global__ void copy(const int* from, int* to) { to[threadIdx.x] = from[threadIdx.x]; }

cudaGraphNodeParams kernelParameters(const void* function, void** arguments) {
  cudaGraphNodeParams parameters{};
  parameters.type = cudaGraphNodeTypeKernel;
  parameters.kernel.func = const_cast<void*>(function);
  parameters.kernel.gridDim = 1;
  parameters.kernel.blockDim = kCount;
  parameters.kernel.kernelParams = arguments;
  return parameters;
}

cudaGraphNode_t addKernel(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& before, int*& values, int term) {
  void* arguments[] = {&values, &term};
  cudaGraphNodeParams parameters = kernelParameters(reinterpret_cast<const void*>(add), arguments);
  cudaGraphNode_t node = nullptr;
  CHECK(cudaGraphAddNode(&node, graph, before.data(), nullptr, before.size(), &parameters));
  return node;
}

cudaGraphExec_t launched(cudaGraph_t graph, int times) {
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < times; ++i) CHECK(cudaGraphLaunch(executable, nullptr));
  return executable;
}

/// scratch = 2-byte elements of 0x0102, then + 5; result = scratch. The memory belongs to the graph, which is launched twice.
void memory() {
  int* result = program::onDevice(std::vector<int>(kCount, -1));
  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams allocation{};
  allocation.poolProps.allocType = cudaMemAllocationTypePinned;
  allocation.poolProps.location = {cudaMemLocationTypeDevice, 0};
  allocation.bytesize = kCount * sizeof(int);
  cudaGraphNode_t allocated = nullptr, cleared = nullptr, copied = nullptr, freed = nullptr;
  CHECK(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &allocation));
  auto* scratch = static_cast<int*>(allocation.dptr);
  cudaGraphNodeParams fill{};
  fill.type = cudaGraphNodeTypeMemset;
  fill.memset.dst = scratch;
  fill.memset.value = 0x0102;
  fill.memset.elementSize = 2;
  fill.memset.width = 2 * kCount;
  fill.memset.height = 1;
  CHECK(cudaGraphAddNode(&cleared, graph, &allocated, nullptr, 1, &fill));
  const cudaGraphNode_t added = addKernel(graph, {cleared}, scratch, 5);
  void* arguments[] = {&scratch, &result};
  cudaGraphNodeParams copying = kernelParameters(reinterpret_cast<const void*>(copy), arguments);
  CHECK(cudaGraphAddNode(&copied, graph, &added, nullptr, 1, &copying));
  CHECK(cudaGraphAddMemFreeNode(&freed, graph, &copied, 1, scratch));
  cudaGraphExec_t executable = launched(graph, 2);
  EXPECT_SAME(program::fromDevice(result, kCount), std::vector<int>(kCount, 0x01020102 + 5));

  unsigned long long bytes = 0;
  CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &bytes));
  EXPECT(bytes == kCount * sizeof(int));
  EXPECT_CODE(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &bytes), cudaErrorInvalidValue);
  CHECK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &bytes));
  cudaMemAllocNodeParams got{};
  void* address = nullptr;
  CHECK(cudaGraphMemAllocNodeGetParams(allocated, &got));
  CHECK(cudaGraphMemFreeNodeGetParams(freed, &address));
  EXPECT(got.bytesize == kCount * sizeof(int) && got.dptr == scratch && address == scratch);
  EXPECT_CODE(cudaGraphMemFreeNodeGetParams(allocated, &address), cudaErrorInvalidValue);
  cudaGraphNodeType type{};
  CHECK(cudaGraphNodeGetType(freed, &type));
  EXPECT(type == cudaGraphNodeTypeMemFree);

  fill.memset.value = 3;
  CHECK(cudaGraphExecNodeSetParams(executable, cleared, &fill));
  CHECK(cudaGraphLaunch(executable, nullptr));
  EXPECT_SAME(program::fromDevice(result, kCount), std::vector<int>(kCount, 0x00030003 + 5));
  EXPECT_CODE(cudaGraphExecNodeSetParams(executable, added, &fill), cudaErrorInvalidValue);
  fill.memset.elementSize = 3;
  EXPECT_CODE(cudaGraphExecNodeSetParams(executable, cleared, &fill), cudaErrorInvalidValue);
  CHECK(cudaDeviceGraphMemTrim(0));
}

void disabled() {
  int* values = program::onDevice(std::vector<int>(kCount, 0));
  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  const cudaGraphNode_t first = addKernel(graph, {}, values, 1), second = addKernel(graph, {first}, values, 10),
                        third = addKernel(graph, {second}, values, 100);
  (void)third;
  cudaGraphExec_t executable = launched(graph, 0);
  CHECK(cudaGraphNodeSetEnabled(executable, second, 0));
  CHECK(cudaGraphLaunch(executable, nullptr));
  EXPECT_SAME(program::fromDevice(values, kCount), std::vector<int>(kCount, 101));
  CHECK(cudaGraphNodeSetEnabled(executable, second, 1));
  CHECK(cudaGraphLaunch(executable, nullptr));
  EXPECT_SAME(program::fromDevice(values, kCount), std::vector<int>(kCount, 212));
}

/// A node after a graph in a graph comes after all of that graph, which comes after the node before it.
void child() {
  int* values = program::onDevice(std::vector<int>(kCount, 0));
  cudaGraph_t inner = nullptr, outer = nullptr;
  CHECK(cudaGraphCreate(&inner, 0));
  CHECK(cudaGraphCreate(&outer, 0));
  const cudaGraphNode_t start = addKernel(inner, {}, values, 2);
  addKernel(inner, {start}, values, 3);
  const cudaGraphNode_t before = addKernel(outer, {}, values, 10);
  cudaGraphNodeParams parameters{};
  parameters.type = cudaGraphNodeTypeGraph;
  parameters.graph.graph = inner;
  cudaGraphNode_t middle = nullptr, empty = nullptr;
  CHECK(cudaGraphAddNode(&middle, outer, &before, nullptr, 1, &parameters));
  // A graph of no nodes orders, too.
  cudaGraph_t nothing = nullptr;
  CHECK(cudaGraphCreate(&nothing, 0));
  CHECK(cudaGraphAddChildGraphNode(&empty, outer, &middle, 1, nothing));
  addKernel(outer, {empty}, values, 100);
  launched(outer, 2);
  EXPECT_SAME(program::fromDevice(values, kCount), std::vector<int>(kCount, 230));
  cudaGraphNode_t stranger = nullptr;
  EXPECT_CODE(cudaGraphAddEmptyNode(&stranger, outer, &start, 1), cudaErrorInvalidValue);  // a node of another graph
}

int main() {
  memory();
  disabled();
  child();
  (void)cudaGetLastError();
  return program::finish();
}
