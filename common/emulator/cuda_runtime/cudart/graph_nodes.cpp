// Nodes of memory, and nodes of any kind: CUDA Runtime API, "Graph Management".
#include <fmt/format.h>

#include <cstring>

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/memory.hpp"
#include "common/emulator/cuda_runtime/core/properties.hpp"
#include "common/emulator/cuda_runtime/core/settings.hpp"
#include "common/emulator/cuda_runtime/cudart/copying.hpp"
#include "common/emulator/cuda_runtime/cudart/graph_work.hpp"

using namespace shiftconv::runtime;

namespace {

/// Memory that lives from this node on; `address` takes where.
Work allocation(uint64_t bytes, void*& address) {
  require(bytes != 0, "the node allocates no bytes");
  MemoryTable& memory = MemoryTable::instance();
  const uint64_t made = memory.allocate(bytes, MemoryKind::Device);
  memory.giveToGraph(made);
  address = reinterpret_cast<void*>(made);
  return AllocateWork{made, bytes};
}

Work release(void* address) { return FreeWork{reinterpret_cast<uint64_t>(address)}; }

/// The bodies come back in the parameters.
Work conditionalWork(cudaGraph_t graph, cudaConditionalNodeParams& parameters) {
  GraphTable& graphs = GraphTable::instance();
  require(graph != nullptr, "conditional nodes cannot be changed", cudaErrorNotSupported);
  ConditionalWork work = graphs.conditionalWork(*graphs.find(graph), parameters.handle, parameters.type, parameters.size);
  parameters.phGraph_out = work.handles->data();
  return work;
}

/// `graph`: the one that the node is added to; null when it is changed.
Work workOf(cudaGraphNodeParams& parameters, cudaGraph_t graph) {
  StreamTable& streams = StreamTable::instance();
  switch (parameters.type) {
    case cudaGraphNodeTypeKernel: {
      const cudaKernelNodeParamsV2& kernel = parameters.kernel;
      return kernelNodeWork(
          {kernel.func, kernel.gridDim, kernel.blockDim, kernel.sharedMemBytes, kernel.kernelParams, kernel.extra});
    }
    case cudaGraphNodeTypeMemcpy:
      return copyOf(parameters.memcpy.copyParams);
    case cudaGraphNodeTypeMemset: {
      const cudaMemsetParamsV2& fill = parameters.memset;
      return fillNodeWork({fill.dst, fill.pitch, fill.value, fill.elementSize, fill.width, fill.height});
    }
    case cudaGraphNodeTypeHost:
      return HostWork{parameters.host.fn, parameters.host.userData};
    case cudaGraphNodeTypeGraph:
      return childGraphWork(parameters.graph.graph);
    case cudaGraphNodeTypeEmpty:
      return EmptyWork{};
    case cudaGraphNodeTypeWaitEvent:
      return EventWaitWork{&streams.findEvent(parameters.eventWait.event)};
    case cudaGraphNodeTypeEventRecord:
      return EventRecordWork{&streams.findEvent(parameters.eventRecord.event)};
    case cudaGraphNodeTypeMemAlloc:
      return allocation(parameters.alloc.bytesize, parameters.alloc.dptr);
    case cudaGraphNodeTypeMemFree:
      return release(parameters.free.dptr);
    case cudaGraphNodeTypeConditional:
      return conditionalWork(graph, parameters.conditional);
    default:
      throw Failure(cudaErrorNotSupported,
                    fmt::format("graph nodes of type {} are not emulated", static_cast<int>(parameters.type)));
  }
}

void requireChangeable(const cudaGraphNodeParams* parameters) {
  require(parameters != nullptr, "the parameters are null");
  require(parameters->type != cudaGraphNodeTypeMemAlloc, "what a node allocates cannot be changed", cudaErrorNotSupported);
}

}  // namespace

cudaError_t cudaGraphAddNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                             const cudaGraphEdgeData* dependencyData, size_t numDependencies, cudaGraphNodeParams* nodeParams) {
  return call("cudaGraphAddNode", [&] {
    require(nodeParams != nullptr, "the parameters are null");
    addGraphNode(pGraphNode, graph, pDependencies, numDependencies, workOf(*nodeParams, graph), dependencyData);
  });
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* pHandle_out, cudaGraph_t graph,
                                             unsigned int defaultLaunchValue, unsigned int flags) {
  return call("cudaGraphConditionalHandleCreate", [&] {
    require(pHandle_out != nullptr, "the result is null");
    require((flags & ~static_cast<unsigned>(cudaGraphCondAssignDefault)) == 0, "this is no flag of conditions");
    GraphTable& graphs = GraphTable::instance();
    *pHandle_out = graphs.createCondition(*graphs.find(graph), defaultLaunchValue, (flags & cudaGraphCondAssignDefault) != 0);
  });
}

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* nodeParams) {
  return call("cudaGraphNodeSetParams", [&] {
    requireChangeable(nodeParams);
    replaceNodeWork(GraphTable::instance().findNode(node), workOf(*nodeParams, nullptr));
  });
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node, cudaGraphNodeParams* nodeParams) {
  return call("cudaGraphExecNodeSetParams", [&] {
    requireChangeable(nodeParams);
    replaceNodeWork(executableNode(graphExec, node), workOf(*nodeParams, nullptr));
  });
}

cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                     size_t numDependencies, cudaMemAllocNodeParams* nodeParams) {
  return call("cudaGraphAddMemAllocNode", [&] {
    require(nodeParams != nullptr, "the parameters are null");
    GraphTable::instance().find(graph);  // before memory is taken
    addGraphNode(pGraphNode, graph, pDependencies, numDependencies, allocation(nodeParams->bytesize, nodeParams->dptr));
  });
}

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* params_out) {
  return call("cudaGraphMemAllocNodeGetParams", [&] {
    const auto* work = std::get_if<AllocateWork>(&GraphTable::instance().findNode(node).work);
    require(work != nullptr && params_out != nullptr, "the node is of another kind, or the result is null");
    *params_out = {};
    params_out->bytesize = work->bytes;
    params_out->dptr = reinterpret_cast<void*>(work->address);
  });
}

cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* pGraphNode, cudaGraph_t graph, const cudaGraphNode_t* pDependencies,
                                    size_t numDependencies, void* dptr) {
  return call("cudaGraphAddMemFreeNode", [&] { addGraphNode(pGraphNode, graph, pDependencies, numDependencies, release(dptr)); });
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* dptr_out) {
  return call("cudaGraphMemFreeNodeGetParams", [&] {
    const auto* work = std::get_if<FreeWork>(&GraphTable::instance().findNode(node).work);
    require(work != nullptr && dptr_out != nullptr, "the node is of another kind, or the result is null");
    std::memcpy(dptr_out, &work->address, sizeof work->address);
  });
}

// Memory of graphs stays where it is until the process ends.
cudaError_t cudaDeviceGraphMemTrim(int device) {
  return call("cudaDeviceGraphMemTrim", [&] { requireDevice(device); });
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attr, void* value) {
  return call("cudaDeviceGetGraphMemAttribute", [&] {
    requireDevice(device);
    require(value != nullptr && attr >= cudaGraphMemAttrUsedMemCurrent && attr <= cudaGraphMemAttrReservedMemHigh,
            "this is no attribute of the memory of graphs, or the result is null");
    const uint64_t bytes = MemoryTable::instance().graphBytes();
    std::memcpy(value, &bytes, sizeof bytes);
  });
}

// Only high marks can be set, to nothing; there are none that differ from the present.
cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attr, void* value) {
  return call("cudaDeviceSetGraphMemAttribute", [&] {
    requireDevice(device);
    require(value != nullptr && (attr == cudaGraphMemAttrUsedMemHigh || attr == cudaGraphMemAttrReservedMemHigh),
            "only high marks can be set");
  });
}
