// A graph of the runtime API with a kernel, a stream and two arrays to try its calls on.
#pragma once

#include <vector>

#include "tests/runtime/calls_fixture.hpp"

namespace shiftconv::tests {

using Nodes = std::vector<cudaGraphNode_t>;

class GraphCalls : public Calls {
 protected:
  static constexpr int kCount = 8;

  void SetUp() override {
    EXPECT_DONE(cudaLibraryLoadData(&library_, kCallsPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    cudaKernel_t kernel = nullptr;
    EXPECT_DONE(cudaLibraryGetKernel(&kernel, library_, "shift"));
    shift = kernel;
    EXPECT_DONE(cudaGraphCreate(&graph, 0));
    EXPECT_DONE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    first = allocated<int>(kCount * 4), second = allocated<int>(kCount * 4);
  }
  void TearDown() override {
    EXPECT_DONE(cudaFree(first));
    EXPECT_DONE(cudaFree(second));
    EXPECT_DONE(cudaStreamDestroy(stream));
    EXPECT_DONE(cudaGraphDestroy(graph));
    EXPECT_DONE(cudaLibraryUnload(library_));
  }

  cudaKernelNodeParams kernelParameters() {
    cudaKernelNodeParams parameters{};
    parameters.func = const_cast<void*>(shift);
    parameters.gridDim = 1, parameters.blockDim = kCount;
    parameters.kernelParams = arguments;
    return parameters;
  }
  cudaGraphNode_t addKernel(const Nodes& before = {}) {
    cudaGraphNode_t node = nullptr;
    const cudaKernelNodeParams parameters = kernelParameters();
    EXPECT_DONE(cudaGraphAddKernelNode(&node, graph, before.data(), before.size(), &parameters));
    return node;
  }
  cudaMemcpy3DParms copyParameters(int* from, int* to) {
    cudaMemcpy3DParms copy{};
    copy.srcPtr = {from, kCount * 4, kCount * 4, 1};
    copy.dstPtr = {to, kCount * 4, kCount * 4, 1};
    copy.extent = {kCount * 4, 1, 1};
    copy.kind = cudaMemcpyDeviceToDevice;
    return copy;
  }
  cudaGraphExec_t instantiated() {
    cudaGraphExec_t executable = nullptr;
    EXPECT_DONE(cudaGraphInstantiate(&executable, graph, 0));
    return executable;
  }
  void run(cudaGraphExec_t executable) {
    EXPECT_DONE(cudaGraphLaunch(executable, stream));
    EXPECT_DONE(cudaStreamSynchronize(stream));
  }
  /// Instantiates, launches and destroys.
  void runOnce() {
    const cudaGraphExec_t executable = instantiated();
    run(executable);
    EXPECT_DONE(cudaGraphExecDestroy(executable));
  }
  std::vector<int> numbers(const int* memory) { return fromDevice<int>(memory, kCount); }
  static Nodes nodesOf(cudaGraph_t graph) {
    size_t count = 0;
    EXPECT_DONE(cudaGraphGetNodes(graph, nullptr, &count));
    Nodes nodes(count);
    EXPECT_DONE(cudaGraphGetNodes(graph, nodes.data(), &count));
    EXPECT_EQ(count, nodes.size());
    return nodes;
  }
  static cudaGraphNodeType typeOf(cudaGraphNode_t node) {
    cudaGraphNodeType type{};
    EXPECT_DONE(cudaGraphNodeGetType(node, &type));
    return type;
  }

  const void* shift = nullptr;
  cudaGraph_t graph = nullptr;
  cudaStream_t stream = nullptr;
  int *first = nullptr, *second = nullptr;
  int by = 100;
  void* arguments[2] = {&first, &by};

 private:
  cudaLibrary_t library_ = nullptr;
};

}  // namespace shiftconv::tests
