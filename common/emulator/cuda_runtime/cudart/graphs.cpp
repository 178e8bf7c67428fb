// Graphs: CUDA Runtime API, "Graph Management".
#include <algorithm>

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/graph.hpp"
#include "common/emulator/cuda_runtime/core/launch_limits.hpp"
#include "common/emulator/cuda_runtime/core/memory.hpp"
#include "common/emulator/cuda_runtime/cudart/copying.hpp"
#include "common/emulator/cuda_runtime/cudart/graph_work.hpp"
#include "common/emulator/cuda_runtime/cudart/launching.hpp"

namespace shiftconv::runtime {
namespace {

GraphTable& graphs() { return GraphTable::instance(); }

std::vector<GraphNode*> nodesOf(const cudaGraphNode_t* handles, size_t count) {
  require(handles != nullptr || count == 0, "the list of nodes is null");
  std::vector<GraphNode*> nodes;
  for (size_t i = 0; i < count; ++i) nodes.push_back(&graphs().findNode(handles[i]));
  return nodes;
}

}  // namespace

bool isProgrammatic(const cudaGraphEdgeData* edges, size_t i) {
  return edges != nullptr && edges[i].type == cudaGraphDependencyTypeProgrammatic;
}

void addGraphNode(cudaGraphNode_t* result, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count, Work work,
                  const cudaGraphEdgeData* edges) {
  require(result != nullptr, "the result is null");
  check(work);
  const std::shared_ptr<Graph> owner = graphs().find(graph);
  const std::vector<GraphNode*> before = nodesOf(dependencies, count);
  for (size_t i = 0; i < count; ++i) Graph::requireEdge(work, *before[i], isProgrammatic(edges, i));
  GraphNode& node = owner->add(std::move(work), before);
  for (size_t i = 0; i < count; ++i)
    if (isProgrammatic(edges, i)) node.programmatic.insert(before[i]);
  *result = GraphTable::handleOf(node);
}

void replaceNodeWork(GraphNode& node, Work work) {
  require(node.work.index() == work.index(), "the node is of another kind");
  check(work);
  node.work = std::move(work);
}

GraphNode& executableNode(cudaGraphExec_t graph, cudaGraphNode_t node) {
  const ExecutableGraph& executable = graphs().findExecutable(graph);
  const auto found = executable.copies.find(&graphs().findNode(node));
  require(found != executable.copies.end(), "the executable graph was not made from this node");
  return *found->second;
}

KernelWork kernelNodeWork(const cudaKernelNodeParams& parameters) {
  Function& function = ImageTable::instance().function(parameters.func);
  KernelWork work = kernelWork(function, parameters.gridDim, parameters.blockDim, parameters.sharedMemBytes);
  require(parameters.extra == nullptr, "extra is not emulated for nodes; use kernelParams", cudaErrorNotSupported);
  work.arguments = copyArguments(function, parameters.kernelParams);
  return work;
}

Work childGraphWork(cudaGraph_t graph) {
  std::map<const GraphNode*, GraphNode*> copies;
  const std::shared_ptr<Graph> child = graphs().find(graph);
  require(!child->hasConditionals(), "a graph with conditional nodes cannot be one in a graph", cudaErrorNotSupported);
  return ChildWork{child->clone(copies)};
}

FillWork fillNodeWork(const cudaMemsetParams& parameters) {
  return {.to = {static_cast<std::byte*>(parameters.dst), parameters.pitch, 0},
          .value = parameters.value,
          .elementBytes = parameters.elementSize,
          .width = parameters.width * parameters.elementSize,
          .height = parameters.height};
}

}  // namespace shiftconv::runtime

using namespace shiftconv::runtime;

namespace {

/// Fills `list` up to *count entries, or only says how many there are.
template <class Handle, class Nodes>
void giveOut(Handle* list, size_t* count, const Nodes& nodes) {
  require(count != nullptr, "the number is null");
  if (list != nullptr)
    for (size_t i = 0; i < std::min(*count, nodes.size()); ++i) list[i] = GraphTable::handleOf(*nodes[i]);
  *count = list == nullptr ? nodes.size() : std::min(*count, nodes.size());
}

template <class Kind>
Kind& workIn(cudaGraphNode_t node) {
  auto* work = std::get_if<Kind>(&graphs().findNode(node).work);
  require(work != nullptr, "the node is of another kind");
  return *work;
}

void instantiate(cudaGraphExec_t* result, cudaGraph_t graph, unsigned long long flags) {
  require(result != nullptr, "the result is null");
  *result = GraphTable::handleOf(graphs().instantiate(*graphs().find(graph), flags));
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* pGraph, unsigned int) {
  return call("cudaGraphCreate", [&] { into(pGraph) = GraphTable::handleOf(*graphs().create()); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call("cudaGraphDestroy", [&] { graphs().destroy(graph); });
}

cudaError_t cudaGraphClone(cudaGraph_t* pGraphClone, cudaGraph_t originalGraph) {
  return call("cudaGraphClone", [&] {
    std::map<const GraphNode*, GraphNode*> copies;
    const std::shared_ptr<Graph> original = graphs().find(originalGraph);
    require(!original->hasConditionals(), "graphs with conditional nodes cannot be cloned", cudaErrorNotSupported);
    const std::shared_ptr<Graph> copy = original->clone(copies);
    graphs().keep(copy);
    into(pGraphClone) = GraphTable::handleOf(*copy);
  });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                   size_t numDependencies, const cudaKernelNodeParams* pNodeParams) {
  return call("cudaGraphAddKernelNode",
              [&] { addGraphNode(pGraphNode, graph, pDependencies, numDependencies, kernelNodeWork(given(pNodeParams))); });
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                   size_t numDependencies, const cudaMemcpy3DParms* pCopyParams) {
  return call("cudaGraphAddMemcpyNode",
              [&] { addGraphNode(pGraphNode, graph, pDependencies, numDependencies, copyOf(given(pCopyParams))); });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                     size_t numDependencies, void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return call("cudaGraphAddMemcpyNode1D",
              [&] { addGraphNode(pGraphNode, graph, pDependencies, numDependencies, linearCopy(dst, src, count, kind)); });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                   size_t numDependencies, const cudaMemsetParams* pMemsetParams) {
  return call("cudaGraphAddMemsetNode",
              [&] { addGraphNode(pGraphNode, graph, pDependencies, numDependencies, fillNodeWork(given(pMemsetParams))); });
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                 size_t numDependencies, const cudaHostNodeParams* pNodeParams) {
  return call("cudaGraphAddHostNode", [&] {
    addGraphNode(pGraphNode, graph, pDependencies, numDependencies, HostWork{given(pNodeParams).fn, pNodeParams->userData});
  });
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                       size_t numDependencies, cudaGraph_t childGraph) {
  return call("cudaGraphAddChildGraphNode",
              [&] { addGraphNode(pGraphNode, graph, pDependencies, numDependencies, childGraphWork(childGraph)); });
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                  size_t numDependencies) {
  return call("cudaGraphAddEmptyNode", [&] { addGraphNode(pGraphNode, graph, pDependencies, numDependencies, EmptyWork{}); });
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                        size_t numDependencies, cudaEvent_t event) {
  return call("cudaGraphAddEventRecordNode", [&] {
    addGraphNode(pGraphNode, graph, pDependencies, numDependencies, EventRecordWork{&StreamTable::instance().findEvent(event)});
  });
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                      size_t numDependencies, cudaEvent_t event) {
  return call("cudaGraphAddEventWaitNode", [&] {
    addGraphNode(pGraphNode, graph, pDependencies, numDependencies, EventWaitWork{&StreamTable::instance().findEvent(event)});
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData* edgeData, size_t numDependencies) {
  return call("cudaGraphAddDependencies", [&] {
    const std::shared_ptr<Graph> owner = graphs().find(graph);
    const std::vector<GraphNode*> before = nodesOf(from, numDependencies), behind = nodesOf(to, numDependencies);
    for (size_t i = 0; i < numDependencies; ++i) owner->addDependency(*behind[i], *before[i], isProgrammatic(edgeData, i));
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* numNodes) {
  return call("cudaGraphGetNodes", [&] { giveOut(nodes, numNodes, graphs().find(graph)->nodes); });
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* pRootNodes, size_t* pNumRootNodes) {
  return call("cudaGraphGetRootNodes", [&] {
    std::vector<GraphNode*> roots;
    for (const auto& node : graphs().find(graph)->nodes)
      if (node->dependencies.empty()) roots.push_back(node.get());
    giveOut(pRootNodes, pNumRootNodes, roots);
  });
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* pDependencies, cudaGraphEdgeData*,
                                         size_t* pNumDependencies) {
  return call("cudaGraphNodeGetDependencies",
              [&] { giveOut(pDependencies, pNumDependencies, graphs().findNode(node).dependencies); });
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* pType) {
  return call("cudaGraphNodeGetType", [&] { into(pType) = graphs().findNode(node).type(); });
}

cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* pNodeParams) {
  return call("cudaGraphKernelNodeSetParams",
              [&] { replaceNodeWork(graphs().findNode(node), kernelNodeWork(given(pNodeParams))); });
}

// Parameters can be had back as addresses of the copies that the node keeps.
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* pNodeParams) {
  return call("cudaGraphKernelNodeGetParams", [&] {
    auto& work = workIn<KernelWork>(node);
    work.pointers.clear();
    for (auto& argument : work.arguments) work.pointers.push_back(argument.data());
    const Extent &grid = work.shape.grid, &block = work.shape.block;
    into(pNodeParams) = {
        work.function, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, work.shape.dynamicSharedBytes, work.pointers.data(),
        nullptr};
  });
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attr,
                                            const cudaLaunchAttributeValue* value) {
  return call("cudaGraphKernelNodeSetAttribute", [&] {
    cudaLaunchAttribute attribute{};
    attribute.id = attr;
    attribute.val = given(value);
    applyAttributes(workIn<KernelWork>(node), &attribute, 1, StreamTable::instance().find(nullptr));
  });
}

cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* pNodeParams) {
  return call("cudaGraphMemsetNodeSetParams", [&] { replaceNodeWork(graphs().findNode(node), fillNodeWork(given(pNodeParams))); });
}

cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* pNodeParams) {
  return call("cudaGraphMemcpyNodeSetParams", [&] { replaceNodeWork(graphs().findNode(node), copyOf(given(pNodeParams))); });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* pGraphExec, cudaGraph_t graph, unsigned long long flags) {
  return call("cudaGraphInstantiate", [&] { instantiate(pGraphExec, graph, flags); });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* pGraphExec, cudaGraph_t graph, unsigned long long flags) {
  return call("cudaGraphInstantiateWithFlags", [&] { instantiate(pGraphExec, graph, flags); });
}

cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* pGraphExec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* instantiateParams) {
  return call("cudaGraphInstantiateWithParams", [&] {
    instantiate(pGraphExec, graph, given(instantiateParams).flags);
    instantiateParams->result_out = cudaGraphInstantiateSuccess;
  });
}

cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long* flags) {
  return call("cudaGraphExecGetFlags", [&] { into(flags) = graphs().findExecutable(graphExec).flags; });
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* pNodeParams) {
  return call("cudaGraphExecKernelNodeSetParams",
              [&] { replaceNodeWork(executableNode(hGraphExec, node), kernelNodeWork(given(pNodeParams))); });
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec, cudaGraphNode_t node, void* dst, const void* src,
                                               size_t count, cudaMemcpyKind kind) {
  return call("cudaGraphExecMemcpyNodeSetParams1D",
              [&] { replaceNodeWork(executableNode(hGraphExec, node), linearCopy(dst, src, count, kind)); });
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                             const cudaMemsetParams* pNodeParams) {
  return call("cudaGraphExecMemsetNodeSetParams",
              [&] { replaceNodeWork(executableNode(hGraphExec, node), fillNodeWork(given(pNodeParams))); });
}

cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode, unsigned int isEnabled) {
  return call("cudaGraphNodeSetEnabled", [&] { executableNode(hGraphExec, hNode).enabled = isEnabled != 0; });
}

// The new graph must have the same nodes in the same order; their work replaces what the executable graph has.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph, cudaGraphExecUpdateResultInfo* resultInfo) {
  return call("cudaGraphExecUpdate", [&] {
    ExecutableGraph& executable = graphs().findExecutable(hGraphExec);
    ExecutableGraph& fresh = graphs().instantiate(*graphs().find(hGraph), executable.flags);
    bool same = fresh.order.size() == executable.order.size();
    for (size_t i = 0; same && i < fresh.order.size(); ++i)
      same = fresh.order[i]->work.index() == executable.order[i]->work.index();
    for (size_t i = 0; same && i < fresh.order.size(); ++i) executable.order[i]->work = fresh.order[i]->work;
    graphs().destroyExecutable(GraphTable::handleOf(fresh));
    if (resultInfo != nullptr) {
      *resultInfo = {};
      resultInfo->result = same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
    }
    require(same, "the graph has other nodes", cudaErrorGraphExecUpdateFailure);
  });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream) {
  return call("cudaGraphUpload", [&] {
    graphs().findExecutable(graphExec);
    StreamTable::instance().find(stream);
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream) {
  return call("cudaGraphLaunch", [&] { launchGraph(graphs().findExecutable(graphExec), StreamTable::instance().find(stream)); });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graphExec) {
  return call("cudaGraphExecDestroy", [&] { graphs().destroyExecutable(graphExec); });
}
