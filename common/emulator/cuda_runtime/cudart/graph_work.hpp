// What the calls that make and change nodes of graphs share.
#pragma once

#include "common/emulator/cuda_runtime/core/graph.hpp"

namespace shiftconv::runtime {

/// Checks the work and adds a node with it; `edges`: null, or one for each dependency. Throws Failure.
void addGraphNode(cudaGraphNode_t* result, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count, Work work,
                  const cudaGraphEdgeData* edges = nullptr);
bool isProgrammatic(const cudaGraphEdgeData* edges, size_t i);
/// The new work must be of the kind of the old. Throws Failure.
void replaceNodeWork(GraphNode& node, Work work);
/// The node of an executable graph that was made from `node`. Throws Failure.
GraphNode& executableNode(cudaGraphExec_t graph, cudaGraphNode_t node);

KernelWork kernelNodeWork(const cudaKernelNodeParams& parameters);
FillWork fillNodeWork(const cudaMemsetParams& parameters);
/// A copy of the graph as a node. Throws Failure.
Work childGraphWork(cudaGraph_t graph);

}  // namespace shiftconv::runtime
