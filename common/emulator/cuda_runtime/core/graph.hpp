// Graphs of work: made by capture or node by node, instantiated, replayed.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "common/emulator/cuda_runtime/core/work.hpp"

namespace shiftconv::runtime {

struct GraphNode {
  Graph* graph = nullptr;
  Work work;
  std::vector<GraphNode*> dependencies;  ///< each once
  std::set<GraphNode*> programmatic;     ///< of those, kernels whose end a kernel need not wait for
  bool enabled = true;
  uint64_t branch = UINT64_MAX;  ///< in an executable graph: the stream that hazard reports see it in
  GraphNode* before = nullptr;   ///< in an executable graph: the node in that stream that this one goes on from
  cudaGraphNodeType type() const;
};

/// What a conditional node reads, and kernels set: 32 bits of device memory, whose address is the handle.
struct Condition {
  uint64_t address = 0;
  uint32_t value = 0;     ///< by default
  bool assigned = false;  ///< before every run of the graph
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;  ///< in the order in which they were added
  std::vector<Condition> conditions;

  GraphNode& add(Work work, const std::vector<GraphNode*>& dependencies);
  /// One more dependency. Throws Failure cudaErrorInvalidValue when it is of another graph, or as requireEdge().
  void addDependency(GraphNode& node, GraphNode& dependency, bool programmatic);
  /// Throws Failure cudaErrorInvalidValue when the edge is programmatic and does not lead from a kernel to a kernel.
  static void requireEdge(const Work& work, const GraphNode& dependency, bool programmatic);
  /// A copy, and which node became which.
  std::shared_ptr<Graph> clone(std::map<const GraphNode*, GraphNode*>& copies) const;
  /// Nodes after all that they depend on. Throws Failure cudaErrorInvalidValue when they go round in circles.
  std::vector<GraphNode*> ordered() const;
  std::vector<GraphNode*> leaves() const;
  bool hasConditionals() const;
};

/// A graph that can be launched.
struct ExecutableGraph {
  std::shared_ptr<Graph> graph;
  std::map<const GraphNode*, GraphNode*> copies;  ///< nodes of the graph it was made from
  std::vector<GraphNode*> order;
  std::map<uint64_t, uint64_t> work;  ///< by branch: pieces of work so far
  uint64_t conditions = UINT64_MAX;   ///< the branch that assigns conditions
  unsigned long long flags = 0;
};

/// One capture: begun in one stream, spread to others by events.
struct Capture {
  std::shared_ptr<Graph> graph;
  Stream* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  unsigned long long id = 0;
  bool invalid = false, ended = false;
};

class GraphTable {
 public:
  static GraphTable& instance();
  std::shared_ptr<Graph> create();
  void keep(const std::shared_ptr<Graph>& graph) { graphs_[graph.get()] = graph; }
  void destroy(cudaGraph_t handle);
  std::shared_ptr<Graph> find(cudaGraph_t handle);
  GraphNode& findNode(cudaGraphNode_t handle);
  ExecutableGraph& instantiate(const Graph& graph, unsigned long long flags);
  ExecutableGraph& findExecutable(cudaGraphExec_t handle);
  void destroyExecutable(cudaGraphExec_t handle);

  /// A condition for nodes of this graph. Throws Failure cudaErrorMemoryAllocation.
  uint64_t createCondition(Graph& graph, uint32_t value, bool assigned);
  /// A node of `size` bodies, empty graphs that the program fills. Throws Failure cudaErrorInvalidValue.
  ConditionalWork conditionalWork(Graph& graph, uint64_t condition, cudaGraphConditionalNodeType type, uint32_t size);

  static cudaGraph_t handleOf(Graph& graph) { return reinterpret_cast<cudaGraph_t>(&graph); }
  static cudaGraphNode_t handleOf(GraphNode& node) { return reinterpret_cast<cudaGraphNode_t>(&node); }
  static cudaGraphExec_t handleOf(ExecutableGraph& graph) { return reinterpret_cast<cudaGraphExec_t>(&graph); }

 private:
  std::map<Graph*, std::shared_ptr<Graph>> graphs_;
  std::map<ExecutableGraph*, std::unique_ptr<ExecutableGraph>> executables_;
};

/// Adds the work to the graph that the stream captures. Throws Failure when the capture is invalid.
void capture(Stream& stream, Work work);
void beginCapture(Stream& stream, cudaStreamCaptureMode mode, std::shared_ptr<Graph> graph, std::vector<GraphNode*> tips);
/// The captured graph. Throws Failure; the capture is over in any case.
std::shared_ptr<Graph> endCapture(Stream& stream);

/// Records an event after the work of a stream, or makes the stream wait for one: also while capturing.
void recordEvent(Event& event, Stream& stream);
void waitForEvent(Stream& stream, Event& event);

/// All of the graph, as work of the stream.
void launchGraph(ExecutableGraph& executable, Stream& stream);

}  // namespace shiftconv::runtime
