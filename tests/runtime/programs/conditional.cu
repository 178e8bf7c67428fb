// Graphs with nodes whose bodies run as a kernel decides: if, else, while, switch, and one inside the other.
#include "tests/runtime/programs/check.hpp"

__global__ void set(cudaGraphConditionalHandle condition, const int* values, int index) {
  cudaGraphSetConditional(condition, static_cast<unsigned>(values[index]));
}
/// Counts one place of `values` down, and says whether anything is left.
__global__ void countDown(cudaGraphConditionalHandle condition, int* values, int index) {
  cudaGraphSetConditional(condition, --values[index] != 0);
}
__global__ void add(int* values, int index, int term) { values[index] += term; }

template <class... Arguments>
cudaGraphNode_t launch(cudaGraph_t graph, std::vector<cudaGraphNode_t> before, void (*kernel)(Arguments...),
                       Arguments... arguments) {
  void* pointers[] = {&arguments...};
  cudaKernelNodeParams parameters{};
  parameters.func = reinterpret_cast<void*>(kernel);
  parameters.gridDim = parameters.blockDim = 1;
  parameters.kernelParams = pointers;
  cudaGraphNode_t node = nullptr;
  CHECK(cudaGraphAddKernelNode(&node, graph, before.data(), before.size(), &parameters));
  return node;
}

struct Conditional {
  cudaGraphNode_t node = nullptr;
  cudaGraph_t* bodies = nullptr;
};
cudaError_t tryConditional(cudaGraph_t graph, std::vector<cudaGraphNode_t> before, cudaGraphConditionalHandle condition,
                           cudaGraphConditionalNodeType type, unsigned size, Conditional& made) {
  cudaGraphNodeParams parameters{};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = condition;
  parameters.conditional.type = type;
  parameters.conditional.size = size;
  const cudaError_t code = cudaGraphAddNode(&made.node, graph, before.data(), nullptr, before.size(), &parameters);
  made.bodies = parameters.conditional.phGraph_out;
  return code;
}
Conditional conditional(cudaGraph_t graph, std::vector<cudaGraphNode_t> before, cudaGraphConditionalHandle condition,
                        cudaGraphConditionalNodeType type, unsigned size) {
  Conditional made;
  CHECK(tryConditional(graph, std::move(before), condition, type, size, made));
  return made;
}

cudaGraphConditionalHandle handle(cudaGraph_t graph, unsigned value = 0, unsigned flags = 0) {
  cudaGraphConditionalHandle made = 0;
  CHECK(cudaGraphConditionalHandleCreate(&made, graph, value, flags));
  return made;
}

cudaGraphExec_t instantiated(cudaGraph_t graph) {
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  return executable;
}

cudaGraph_t newGraph() {
  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  return graph;
}

/// values[0] decides; +1 to values[1] if it is not 0, +1 to values[2] if it is, and in any case +1 to values[3] after either.
void branches() {
  int* const values = program::onDevice(std::vector<int>{7, 0, 0, 0});
  const cudaGraph_t graph = newGraph();
  const cudaGraphConditionalHandle condition = handle(graph);
  const cudaGraphNode_t first = launch(graph, {}, set, condition, static_cast<const int*>(values), 0);
  const Conditional choice = conditional(graph, {first}, condition, cudaGraphCondTypeIf, 2);
  const cudaGraphNode_t one = launch(choice.bodies[0], {}, add, values, 1, 1);
  launch(choice.bodies[0], {one}, add, values, 3, 10);
  launch(choice.bodies[1], {}, add, values, 2, 1);
  launch(graph, {choice.node}, add, values, 3, 1);
  const cudaGraphExec_t executable = instantiated(graph);
  CHECK(cudaGraphLaunch(executable, nullptr));
  EXPECT_SAME(program::fromDevice(values, 4), (std::vector<int>{7, 1, 0, 11}));
  CHECK(cudaMemset(values, 0, sizeof(int)));
  CHECK(cudaGraphLaunch(executable, nullptr));
  CHECK(cudaGraphLaunch(executable, nullptr));
  EXPECT_SAME(program::fromDevice(values, 4), (std::vector<int>{0, 1, 2, 13}));
  cudaGraphNodeType type{};
  CHECK(cudaGraphNodeGetType(choice.node, &type));
  EXPECT(type == cudaGraphNodeTypeConditional);
}

/// A loop within a loop: values[0] times values[1] rounds; the loops begin by their default.
void loops() {
  int* const values = program::onDevice(std::vector<int>{3, 0, 0});
  const cudaGraph_t graph = newGraph();
  const cudaGraphConditionalHandle outer = handle(graph, 1, cudaGraphCondAssignDefault);
  const Conditional rounds = conditional(graph, {}, outer, cudaGraphCondTypeWhile, 1);
  const cudaGraph_t body = rounds.bodies[0];
  const cudaGraphNode_t refill = launch(body, {}, add, values, 1, 5);
  const cudaGraphConditionalHandle inner = handle(body, 1, cudaGraphCondAssignDefault);
  const Conditional steps = conditional(body, {refill}, inner, cudaGraphCondTypeWhile, 1);
  const cudaGraphNode_t step = launch(steps.bodies[0], {}, add, values, 2, 1);
  launch(steps.bodies[0], {step}, countDown, inner, values, 1);
  launch(body, {steps.node}, countDown, outer, values, 0);
  const cudaGraphExec_t executable = instantiated(graph);
  CHECK(cudaGraphLaunch(executable, nullptr));
  EXPECT_SAME(program::fromDevice(values, 3), (std::vector<int>{0, 0, 15}));
  const std::vector<int> again{2, 0, 100};
  CHECK(cudaMemcpy(values, again.data(), sizeof(int) * again.size(), cudaMemcpyHostToDevice));
  CHECK(cudaGraphLaunch(executable, nullptr));
  EXPECT_SAME(program::fromDevice(values, 3), (std::vector<int>{0, 0, 110}));
}

/// Body n of three for a condition of n, none for 3.
void switches() {
  for (int chosen = 0; chosen < 4; ++chosen) {
    int* const values = program::onDevice(std::vector<int>{chosen, 0, 0, 0});
    const cudaGraph_t graph = newGraph();
    const cudaGraphConditionalHandle condition = handle(graph);
    const cudaGraphNode_t first = launch(graph, {}, set, condition, static_cast<const int*>(values), 0);
    const Conditional choice = conditional(graph, {first}, condition, cudaGraphCondTypeSwitch, 3);
    for (int n = 0; n < 3; ++n) launch(choice.bodies[n], {}, add, values, n + 1, 10 + n);
    CHECK(cudaGraphLaunch(instantiated(graph), nullptr));
    std::vector<int> expected{chosen, 0, 0, 0};
    if (chosen < 3) expected[chosen + 1] = 10 + chosen;
    EXPECT_SAME(program::fromDevice(values, 4), expected);
    CHECK(cudaGraphDestroy(graph));
  }
}

void wrongCalls() {
  const cudaGraph_t graph = newGraph();
  cudaGraphConditionalHandle made = 0;
  EXPECT_CODE(cudaGraphConditionalHandleCreate(nullptr, graph, 0, 0), cudaErrorInvalidValue);
  EXPECT_CODE(cudaGraphConditionalHandleCreate(&made, graph, 0, 2), cudaErrorInvalidValue);
  const cudaGraphConditionalHandle condition = handle(graph);
  Conditional node;
  EXPECT_CODE(tryConditional(graph, {}, condition + 4, cudaGraphCondTypeIf, 1, node), cudaErrorInvalidValue);
  EXPECT_CODE(tryConditional(graph, {}, condition, cudaGraphCondTypeIf, 0, node), cudaErrorInvalidValue);
  EXPECT_CODE(tryConditional(graph, {}, condition, cudaGraphCondTypeIf, 3, node), cudaErrorInvalidValue);
  EXPECT_CODE(tryConditional(graph, {}, condition, cudaGraphCondTypeWhile, 2, node), cudaErrorInvalidValue);
  EXPECT_CODE(tryConditional(graph, {}, condition, static_cast<cudaGraphConditionalNodeType>(3), 1, node), cudaErrorInvalidValue);
  CHECK(tryConditional(graph, {}, condition, cudaGraphCondTypeIf, 1, node));
  cudaGraph_t copy = nullptr;
  EXPECT_CODE(cudaGraphClone(&copy, graph), cudaErrorNotSupported);
  cudaGraphNode_t child = nullptr;
  EXPECT_CODE(cudaGraphAddChildGraphNode(&child, newGraph(), nullptr, 0, graph), cudaErrorNotSupported);
  (void)cudaGetLastError();
}

int main() {
  branches();
  loops();
  switches();
  wrongCalls();
  return program::finish();
}
