// Graphs of the runtime API, call by call: nodes of every kind, and what is changed in graphs and in executable ones.
#include <algorithm>
#include <functional>

#include "tests/runtime/graph_fixture.hpp"

namespace shiftconv::tests {
namespace {

TEST_F(GraphCalls, NodesOfEveryKindRunInTheirOrder) {
  static std::vector<int> seen;
  seen.clear();
  const cudaGraphNode_t kernel = addKernel();
  cudaGraphNode_t copy = nullptr, fill = nullptr, host = nullptr, empty = nullptr, recorded = nullptr, waited = nullptr;
  const cudaMemcpy3DParms copying = copyParameters(first, second);
  EXPECT_DONE(cudaGraphAddMemcpyNode(&copy, graph, &kernel, 1, &copying));
  cudaMemsetParams filling{};
  filling.dst = first, filling.elementSize = 2, filling.width = 5, filling.height = 1, filling.value = 0x1234;
  EXPECT_DONE(cudaGraphAddMemsetNode(&fill, graph, &copy, 1, &filling));
  int number = 3;
  const cudaHostNodeParams calling{[](void* data) { seen.push_back(*static_cast<int*>(data)); }, &number};
  EXPECT_DONE(cudaGraphAddHostNode(&host, graph, &fill, 1, &calling));
  EXPECT_DONE(cudaGraphAddEmptyNode(&empty, graph, &host, 1));
  cudaEvent_t begin = nullptr, end = nullptr;
  EXPECT_DONE(cudaEventCreate(&begin));
  EXPECT_DONE(cudaEventCreate(&end));
  EXPECT_DONE(cudaEventRecord(begin, stream));
  EXPECT_DONE(cudaGraphAddEventRecordNode(&recorded, graph, &empty, 1, end));
  EXPECT_DONE(cudaGraphAddEventWaitNode(&waited, graph, &recorded, 1, begin));
  const Nodes all{kernel, copy, fill, host, empty, recorded, waited};
  const cudaGraphNodeType types[] = {cudaGraphNodeTypeKernel,   cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemset,
                                     cudaGraphNodeTypeHost,     cudaGraphNodeTypeEmpty,  cudaGraphNodeTypeEventRecord,
                                     cudaGraphNodeTypeWaitEvent};
  EXPECT_EQ(nodesOf(graph), all);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(typeOf(all[i]), types[i]) << i;
  for (int times = 1; times <= 2; ++times) {
    runOnce();
    EXPECT_EQ(numbers(second), shifted(kCount, 100));
    std::vector<int> expected = shifted(kCount, 100);
    expected[0] = expected[1] = 0x12341234, expected[2] = 0x1234;
    EXPECT_EQ(numbers(first), expected) << "five elements of two bytes";
    EXPECT_EQ(seen, std::vector<int>(static_cast<size_t>(times), 3));
  }
  float milliseconds = -1;
  EXPECT_DONE(cudaEventElapsedTime(&milliseconds, begin, end));
  EXPECT_GE(milliseconds, 0);
  EXPECT_DONE(cudaEventDestroy(begin));
  EXPECT_DONE(cudaEventDestroy(end));
}

TEST_F(GraphCalls, ListsHaveAsManyNodesAsThereIsRoomFor) {
  const cudaGraphNode_t a = addKernel(), b = addKernel(), c = addKernel({a, b}), d = addKernel({c, a});
  const auto listed = [](auto&& call, size_t room) {
    Nodes list(4);
    size_t count = room;
    EXPECT_DONE(call(list.data(), &count));
    EXPECT_LE(count, room);
    EXPECT_TRUE(std::all_of(list.begin() + static_cast<long>(count), list.end(), [](auto node) { return node == nullptr; }));
    list.resize(count);
    return list;
  };
  const auto roots = [&](cudaGraphNode_t* list, size_t* count) { return cudaGraphGetRootNodes(graph, list, count); };
  const auto nodes = [&](cudaGraphNode_t* list, size_t* count) { return cudaGraphGetNodes(graph, list, count); };
  const auto before = [&](cudaGraphNode_t* list, size_t* count) { return cudaGraphNodeGetDependencies(d, list, nullptr, count); };
  EXPECT_EQ(listed(roots, 4), (Nodes{a, b}));
  EXPECT_EQ(listed(roots, 1), Nodes{a});
  EXPECT_EQ(listed(nodes, 3), (Nodes{a, b, c}));
  EXPECT_EQ(listed(before, 4), (Nodes{c, a}));
  EXPECT_EQ(listed(before, 1), Nodes{c});
  size_t count = 7;
  EXPECT_DONE(roots(nullptr, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_DONE(before(nullptr, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_CODE(roots(nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_CODE(before(nullptr, nullptr), cudaErrorInvalidValue);
}

/// In the graph, which the next executable one is made from, and in one that is made already.
TEST_F(GraphCalls, NodesAreGivenOtherWork) {
  const cudaGraphNode_t kernel = addKernel();
  cudaGraphNode_t fill = nullptr, copy = nullptr;
  cudaMemsetParams filling{};
  filling.dst = second, filling.elementSize = 4, filling.width = kCount, filling.height = 1, filling.value = 1;
  EXPECT_DONE(cudaGraphAddMemsetNode(&fill, graph, &kernel, 1, &filling));
  cudaMemcpy3DParms copying = copyParameters(second, first);
  EXPECT_DONE(cudaGraphAddMemcpyNode(&copy, graph, &fill, 1, &copying));
  const cudaGraphExec_t old = instantiated();
  run(old);
  EXPECT_EQ(numbers(first), std::vector<int>(kCount, 1));

  by = 5;
  const cudaKernelNodeParams parameters = kernelParameters();
  filling.value = 2;
  copying = copyParameters(first, second);
  EXPECT_DONE(cudaGraphKernelNodeSetParams(kernel, &parameters));
  EXPECT_DONE(cudaGraphMemsetNodeSetParams(fill, &filling));
  EXPECT_DONE(cudaGraphMemcpyNodeSetParams(copy, &copying));
  cudaKernelNodeParams kept{};
  EXPECT_DONE(cudaGraphKernelNodeGetParams(kernel, &kept));
  EXPECT_EQ(*static_cast<int*>(kept.kernelParams[1]), 5);
  runOnce();
  EXPECT_EQ(numbers(second), shifted(kCount, 5));
  run(old);
  EXPECT_EQ(numbers(first), std::vector<int>(kCount, 1)) << "it has what it was made of";

  by = 9;
  EXPECT_DONE(cudaGraphExecKernelNodeSetParams(old, kernel, &parameters));
  EXPECT_DONE(cudaGraphExecMemcpyNodeSetParams1D(old, copy, second, first, 3 * 4, cudaMemcpyDeviceToDevice));
  filling.value = 4;
  EXPECT_DONE(cudaGraphExecMemsetNodeSetParams(old, fill, &filling));
  run(old);
  std::vector<int> expected = shifted(kCount, 9);
  std::fill(expected.begin() + 3, expected.end(), 4);
  EXPECT_EQ(numbers(second), expected);

  // Nodes of another kind, and those of other graphs.
  EXPECT_CODE(cudaGraphKernelNodeSetParams(fill, &parameters), cudaErrorInvalidValue);
  EXPECT_CODE(cudaGraphMemsetNodeSetParams(copy, &filling), cudaErrorInvalidValue);
  EXPECT_CODE(cudaGraphMemcpyNodeSetParams(kernel, &copying), cudaErrorInvalidValue);
  EXPECT_CODE(cudaGraphKernelNodeGetParams(fill, &kept), cudaErrorInvalidValue);
  EXPECT_CODE(cudaGraphExecKernelNodeSetParams(old, fill, &parameters), cudaErrorInvalidValue);
  EXPECT_CODE(cudaGraphExecMemcpyNodeSetParams1D(old, kernel, second, first, 4, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
  EXPECT_CODE(cudaGraphExecKernelNodeSetParams(old, addKernel(), &parameters), cudaErrorInvalidValue) << "added later";
  cudaKernelNodeParams crowded = parameters;
  crowded.blockDim = 97;
  EXPECT_CODE(cudaGraphKernelNodeSetParams(kernel, &crowded), cudaErrorInvalidValue);
  EXPECT_DONE(cudaGraphExecDestroy(old));
}

TEST_F(GraphCalls, NodesOfAnyKindAreChangedByTheirType) {
  const cudaGraphNode_t kernel = addKernel();
  cudaGraphNodeParams parameters{};
  parameters.type = cudaGraphNodeTypeKernel;
  parameters.kernel.func = const_cast<void*>(shift);
  parameters.kernel.gridDim = 1, parameters.kernel.blockDim = kCount;
  parameters.kernel.kernelParams = arguments;
  by = 17;
  EXPECT_DONE(cudaGraphNodeSetParams(kernel, &parameters));
  const cudaGraphExec_t executable = instantiated();
  run(executable);
  EXPECT_EQ(numbers(first), shifted(kCount, 17));
  by = 19;
  EXPECT_DONE(cudaGraphExecNodeSetParams(executable, kernel, &parameters));
  run(executable);
  EXPECT_EQ(numbers(first), shifted(kCount, 19));
  cudaGraphNodeParams other{};
  other.type = cudaGraphNodeTypeEmpty;
  EXPECT_CODE(cudaGraphNodeSetParams(kernel, &other), cudaErrorInvalidValue);
  EXPECT_CODE(cudaGraphExecNodeSetParams(executable, kernel, &other), cudaErrorInvalidValue);
  other.type = cudaGraphNodeTypeMemAlloc;
  EXPECT_CODE(cudaGraphNodeSetParams(kernel, &other), cudaErrorNotSupported);
  EXPECT_CODE(cudaGraphExecNodeSetParams(executable, kernel, &other), cudaErrorNotSupported);
  other.type = static_cast<cudaGraphNodeType>(77);
  EXPECT_CODE(cudaGraphNodeSetParams(kernel, &other), cudaErrorNotSupported);
  EXPECT_CODE(cudaGraphNodeSetParams(kernel, nullptr), cudaErrorInvalidValue);
  EXPECT_DONE(cudaGraphExecDestroy(executable));
}

TEST_F(GraphCalls, AttributesOfKernelNodesHoldForTheirLaunch) {
  const cudaGraphNode_t kernel = addKernel();
  cudaLaunchAttributeValue value{};
  value.clusterDim = {2, 1, 1};
  EXPECT_DONE(cudaGraphKernelNodeSetAttribute(kernel, cudaLaunchAttributeClusterDimension, &value));
  const cudaGraphExec_t executable = instantiated();
  EXPECT_CODE(cudaGraphLaunch(executable, stream), cudaErrorInvalidConfiguration) << "two do not divide one";
  value.clusterDim = {1, 1, 1};
  EXPECT_DONE(cudaGraphKernelNodeSetAttribute(kernel, cudaLaunchAttributeClusterDimension, &value));
  runOnce();
  EXPECT_EQ(numbers(first), shifted(kCount, 100));
  EXPECT_CODE(cudaGraphKernelNodeSetAttribute(kernel, static_cast<cudaLaunchAttributeID>(77), &value), cudaErrorNotSupported);
  EXPECT_DONE(cudaGraphExecDestroy(executable));
}

TEST_F(GraphCalls, InstantiationKeepsItsFlags) {
  addKernel();
  cudaGraphExec_t plain = nullptr, flagged = nullptr, parametrised = nullptr;
  EXPECT_DONE(cudaGraphInstantiate(&plain, graph, 0));
  EXPECT_DONE(cudaGraphInstantiateWithFlags(&flagged, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  cudaGraphInstantiateParams parameters{};
  parameters.flags = cudaGraphInstantiateFlagUseNodePriority;
  parameters.result_out = cudaGraphInstantiateError;
  EXPECT_DONE(cudaGraphInstantiateWithParams(&parametrised, graph, &parameters));
  EXPECT_EQ(parameters.result_out, cudaGraphInstantiateSuccess);
  unsigned long long flags = 7;
  for (const auto& [executable, expected] : {std::pair{plain, 0ull},
                                             {flagged, 0ull + cudaGraphInstantiateFlagAutoFreeOnLaunch},
                                             {parametrised, 0ull + cudaGraphInstantiateFlagUseNodePriority}}) {
    EXPECT_DONE(cudaGraphExecGetFlags(executable, &flags));
    EXPECT_EQ(flags, expected);
    EXPECT_DONE(cudaGraphUpload(executable, stream));
    EXPECT_DONE(cudaMemset(first, 0, kCount * 4));
    run(executable);
    EXPECT_EQ(numbers(first), shifted(kCount, 100));
    EXPECT_CODE(cudaGraphExecGetFlags(executable, nullptr), cudaErrorInvalidValue);
    EXPECT_DONE(cudaGraphExecDestroy(executable));
    EXPECT_CODE(cudaGraphUpload(executable, stream), cudaErrorInvalidValue);
    EXPECT_CODE(cudaGraphExecGetFlags(executable, &flags), cudaErrorInvalidValue);
  }
}

/// As many nodes of other kinds, or in another order, are another graph.
TEST_F(GraphCalls, AnUpdateNeedsNodesOfTheSameKinds) {
  const cudaMemcpy3DParms copy = copyParameters(first, second);
  const cudaMemsetParams fill = {.dst = second, .pitch = 0, .value = 5, .elementSize = 4, .width = kCount, .height = 1};
  cudaGraphNode_t node = nullptr;
  const Nodes kernel{addKernel()};
  EXPECT_DONE(cudaGraphAddMemcpyNode(&node, graph, kernel.data(), 1, &copy));
  const cudaGraphExec_t executable = instantiated();
  for (const bool same : {false, true}) {
    cudaGraph_t other = nullptr;
    EXPECT_DONE(cudaGraphCreate(&other, 0));
    cudaKernelNodeParams parameters = kernelParameters();
    int more = 200;
    void* moreArguments[2] = {&first, &more};
    parameters.kernelParams = moreArguments;
    EXPECT_DONE(cudaGraphAddKernelNode(&node, other, nullptr, 0, &parameters));
    const cudaGraphNode_t before = node;
    EXPECT_DONE(same ? cudaGraphAddMemcpyNode(&node, other, &before, 1, &copy)
                     : cudaGraphAddMemsetNode(&node, other, &before, 1, &fill));
    cudaGraphExecUpdateResultInfo info{};
    EXPECT_CODE(cudaGraphExecUpdate(executable, other, &info), same ? cudaSuccess : cudaErrorGraphExecUpdateFailure);
    EXPECT_EQ(info.result, same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged);
    run(executable);
    EXPECT_EQ(numbers(second), shifted(kCount, same ? 200 : 100));
    EXPECT_DONE(cudaGraphDestroy(other));
  }
  EXPECT_DONE(cudaGraphExecDestroy(executable));
}

/// Callbacks hear of their stream, in its order, and are no part of a graph.
TEST_F(GraphCalls, CallbacksAreCalledWithTheirStream) {
  struct Heard {
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaErrorUnknown;
    int calls = 0;
  } heard;
  const auto callback = [](cudaStream_t of, cudaError_t status, void* data) {
    auto& into = *static_cast<Heard*>(data);
    into = {of, status, into.calls + 1};
  };
  EXPECT_DONE(cudaStreamAddCallback(stream, callback, &heard, 0));
  EXPECT_DONE(cudaStreamSynchronize(stream));
  EXPECT_EQ(heard.stream, stream);
  EXPECT_EQ(heard.status, cudaSuccess);
  EXPECT_EQ(heard.calls, 1);
  cudaGraph_t captured = nullptr;
  EXPECT_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  EXPECT_CODE(cudaStreamAddCallback(stream, callback, &heard, 0), cudaErrorStreamCaptureUnsupported);
  EXPECT_DONE(cudaStreamEndCapture(stream, &captured));
  EXPECT_DONE(cudaGraphDestroy(captured));
  EXPECT_EQ(heard.calls, 1);
}

/// A graph that a capturing stream launches is a node; so is one that is added.
TEST_F(GraphCalls, GraphsInGraphsAreNodes) {
  addKernel();
  const cudaGraphExec_t inner = instantiated();
  cudaGraph_t captured = nullptr, outer = nullptr;
  EXPECT_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT_DONE(cudaGraphLaunch(inner, stream));
  EXPECT_DONE(cudaMemcpyAsync(second, first, kCount * 4, cudaMemcpyDeviceToDevice, stream));
  EXPECT_DONE(cudaStreamEndCapture(stream, &captured));
  ASSERT_EQ(nodesOf(captured).size(), 2u);
  EXPECT_EQ(typeOf(nodesOf(captured)[0]), cudaGraphNodeTypeGraph);
  EXPECT_EQ(numbers(first), std::vector<int>(kCount, 0)) << "nothing runs while it is captured";
  EXPECT_DONE(cudaGraphCreate(&outer, 0));
  cudaGraphNode_t node = nullptr;
  EXPECT_DONE(cudaGraphAddChildGraphNode(&node, outer, nullptr, 0, captured));
  for (const cudaGraph_t one : {captured, outer}) {
    EXPECT_DONE(cudaMemset(second, 0, kCount * 4));
    cudaGraphExec_t executable = nullptr;
    EXPECT_DONE(cudaGraphInstantiate(&executable, one, 0));
    run(executable);
    EXPECT_EQ(numbers(second), shifted(kCount, 100));
    EXPECT_DONE(cudaGraphExecDestroy(executable));
  }
  for (const cudaGraph_t one : {captured, outer}) EXPECT_DONE(cudaGraphDestroy(one));
  EXPECT_DONE(cudaGraphExecDestroy(inner));
}

/// Work that no stream would take is none of a node, nor what a node is given later: it keeps what it had.
TEST_F(GraphCalls, WorkThatCannotRunIsRefusedWithTheNode) {
  const cudaGraphNode_t kernel = addKernel();
  cudaGraphNode_t copy = nullptr, fill = nullptr, host = nullptr;
  const cudaMemcpy3DParms right = copyParameters(first, second);
  const cudaMemsetParams fills = {.dst = second, .pitch = 0, .value = 5, .elementSize = 4, .width = kCount, .height = 1};
  const cudaHostNodeParams functions = {.fn = [](void*) {}, .userData = nullptr};
  const Nodes afterKernel{kernel};
  EXPECT_DONE(cudaGraphAddMemcpyNode(&copy, graph, afterKernel.data(), 1, &right));
  EXPECT_DONE(cudaGraphAddHostNode(&host, graph, nullptr, 0, &functions));
  const cudaGraphExec_t executable = instantiated();
  EXPECT_DONE(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &fills));
  const cudaGraphExec_t filling = instantiated();
  const Nodes before = nodesOf(graph);
  cudaGraphNode_t node = nullptr;
  const auto kernels = [&](auto change, cudaError_t code) {
    cudaKernelNodeParams parameters = kernelParameters();
    change(parameters);
    EXPECT_CODE(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters), code);
    EXPECT_CODE(cudaGraphKernelNodeSetParams(kernel, &parameters), code);
    EXPECT_CODE(cudaGraphExecKernelNodeSetParams(executable, kernel, &parameters), code);
  };
  kernels([](auto& p) { p.gridDim.y = 0; }, cudaErrorInvalidConfiguration);
  kernels([](auto& p) { p.gridDim.z = 65536; }, cudaErrorInvalidConfiguration);
  kernels([](auto& p) { p.gridDim.y = 65536; }, cudaErrorInvalidConfiguration);
  kernels([](auto& p) { p.blockDim.z = 65; }, cudaErrorInvalidConfiguration);
  cudaKernelNodeParams largest = kernelParameters();  // which nobody runs
  largest.gridDim = dim3(0x7fffffff, 65535, 65535);
  cudaGraph_t unused = nullptr;
  EXPECT_DONE(cudaGraphCreate(&unused, 0));
  EXPECT_DONE(cudaGraphAddKernelNode(&node, unused, nullptr, 0, &largest));
  EXPECT_DONE(cudaGraphDestroy(unused));
  kernels([](auto& p) { p.blockDim.x = 97; }, cudaErrorInvalidValue);
  kernels([](auto& p) { p.sharedMemBytes = 49153; }, cudaErrorInvalidValue);
  const auto copies = [&](auto change, cudaError_t code) {
    cudaMemcpy3DParms parameters = copyParameters(first, second);
    change(parameters);
    EXPECT_CODE(cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, &parameters), code);
    EXPECT_CODE(cudaGraphMemcpyNodeSetParams(copy, &parameters), code);
  };
  copies([](auto& p) { p.kind = static_cast<cudaMemcpyKind>(9); }, cudaErrorInvalidMemcpyDirection);
  copies([](auto& p) { p.extent.width += 1; }, cudaErrorInvalidValue);
  copies([](auto& p) { p.srcPtr.ptr = nullptr; }, cudaErrorInvalidValue);
  copies([](auto& p) { p.dstPtr.ptr = &nobody; }, cudaErrorInvalidValue);
  copies([](auto& p) { p.extent.height = 2, p.extent.width = 8, p.srcPtr.pitch = 4; }, cudaErrorInvalidPitchValue);
  const auto sets = [&](auto change, cudaError_t code) {
    cudaMemsetParams parameters = fills;
    change(parameters);
    EXPECT_CODE(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &parameters), code);
    EXPECT_CODE(cudaGraphMemsetNodeSetParams(fill, &parameters), code);
    EXPECT_CODE(cudaGraphExecMemsetNodeSetParams(filling, fill, &parameters), code);
  };
  sets([](auto& p) { p.elementSize = 3; }, cudaErrorInvalidValue);
  sets([](auto& p) { p.width += 1; }, cudaErrorInvalidValue);
  sets([](auto& p) { p.dst = &nobody; }, cudaErrorInvalidValue);
  sets([](auto& p) { p.height = 2, p.width = 4, p.pitch = 12; }, cudaErrorInvalidPitchValue);
  const cudaHostNodeParams none{};
  EXPECT_CODE(cudaGraphAddHostNode(&node, graph, nullptr, 0, &none), cudaErrorInvalidValue);
  EXPECT_CODE(cudaGraphAddMemFreeNode(&node, graph, nullptr, 0, first + 1), cudaErrorInvalidValue);
  EXPECT_EQ(nodesOf(graph), before) << "none was added";
  run(executable);
  EXPECT_EQ(numbers(second), shifted(kCount, 100)) << "as it was made";
  for (const cudaGraphExec_t one : {executable, filling}) EXPECT_DONE(cudaGraphExecDestroy(one));
}

/// Every call without its parameters.
TEST_F(GraphCalls, ParametersThatAreNullAreRefused) {
  const cudaGraphNode_t kernel = addKernel();
  const cudaGraphExec_t executable = instantiated();
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t made = nullptr;
  const struct {
    const char* name;
    std::function<cudaError_t()> call;
  } calls[] = {
      {"AddKernelNode", [&] { return cudaGraphAddKernelNode(&node, graph, nullptr, 0, nullptr); }},
      {"AddMemcpyNode", [&] { return cudaGraphAddMemcpyNode(&node, graph, nullptr, 0, nullptr); }},
      {"AddMemsetNode", [&] { return cudaGraphAddMemsetNode(&node, graph, nullptr, 0, nullptr); }},
      {"AddHostNode", [&] { return cudaGraphAddHostNode(&node, graph, nullptr, 0, nullptr); }},
      {"AddMemAllocNode", [&] { return cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, nullptr); }},
      {"AddNode", [&] { return cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, nullptr); }},
      {"KernelNodeSetParams", [&] { return cudaGraphKernelNodeSetParams(kernel, nullptr); }},
      {"KernelNodeGetParams", [&] { return cudaGraphKernelNodeGetParams(kernel, nullptr); }},
      {"KernelNodeSetAttribute",
       [&] { return cudaGraphKernelNodeSetAttribute(kernel, cudaLaunchAttributeClusterDimension, nullptr); }},
      {"MemsetNodeSetParams", [&] { return cudaGraphMemsetNodeSetParams(kernel, nullptr); }},
      {"MemcpyNodeSetParams", [&] { return cudaGraphMemcpyNodeSetParams(kernel, nullptr); }},
      {"ExecKernelNodeSetParams", [&] { return cudaGraphExecKernelNodeSetParams(executable, kernel, nullptr); }},
      {"ExecMemsetNodeSetParams", [&] { return cudaGraphExecMemsetNodeSetParams(executable, kernel, nullptr); }},
      {"ExecNodeSetParams", [&] { return cudaGraphExecNodeSetParams(executable, kernel, nullptr); }},
      {"InstantiateWithParams", [&] { return cudaGraphInstantiateWithParams(&made, graph, nullptr); }},
      {"AddEmptyNode", [&] { return cudaGraphAddEmptyNode(nullptr, graph, nullptr, 0); }},
      {"AddEmptyNode of nothing", [&] { return cudaGraphAddEmptyNode(&node, graph, nullptr, 1); }},
      {"AddDependencies of nothing", [&] { return cudaGraphAddDependencies(graph, nullptr, nullptr, nullptr, 1); }},
      {"BeginCaptureToGraph of nothing",
       [&] { return cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 1, cudaStreamCaptureModeGlobal); }},
      {"MemAttribute", [&] { return cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, nullptr); }},
      {"setting a MemAttribute", [&] { return cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, nullptr); }},
  };
  for (const auto& [name, call] : calls) EXPECT_CODE(call(), cudaErrorInvalidValue) << name;
  EXPECT_EQ(nodesOf(graph), Nodes{kernel}) << "none was added";
  EXPECT_DONE(cudaGraphExecDestroy(executable));
}

}  // namespace
}  // namespace shiftconv::tests
