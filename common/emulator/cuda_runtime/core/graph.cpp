#include "common/emulator/cuda_runtime/core/graph.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "common/emulator/cuda_runtime/core/memory.hpp"

namespace shiftconv::runtime {
namespace {

void assign(const Condition& condition, const Place& place) {
  std::byte* const bytes = Machine::instance().access("condition", place, condition.address, sizeof condition.value, true);
  std::memcpy(bytes, &condition.value, sizeof condition.value);
}

uint32_t valueOf(uint64_t condition, const Place& place) {
  uint32_t value = 0;
  std::memcpy(&value, Machine::instance().access("condition", place, condition, sizeof value, false), sizeof value);
  return value;
}

/// Nodes run one after the other in a fixed order; what the graph leaves unordered is kept as clocks. A node goes on in the
/// stream of its first dependency that nobody else has gone on in; the first of the others starts a stream of its own.
class Run {
 public:
  Run(ExecutableGraph& executable, Clock before) : executable_(executable), before_(std::move(before)) {}

  /// What has finished when all of the graph has.
  Clock run() {
    for (const Condition& condition : executable_.graph->conditions) {
      if (!condition.assigned) continue;
      uint64_t& number = executable_.work[executable_.conditions];
      assign(condition, {executable_.conditions, ++number, before_, StreamTable::instance().host()});
      before_[executable_.conditions] = number;
    }
    Clock after = before_;
    for (GraphNode* node : executable_.order) {
      Clock finished = before_;
      for (GraphNode* dependency : node->dependencies)
        if (!node->programmatic.contains(dependency)) join(finished, reached_.at(dependency));
      OverlappingKernels running = node->before == nullptr ? OverlappingKernels{} : running_.at(node->before);
      if (const auto own = finished.find(node->branch); own != finished.end()) running.finished(own->second);
      for (const GraphNode* dependency : node->programmatic) join(finished, reached_.at(dependency));
      const uint64_t number = ++executable_.work[node->branch];
      const uint64_t overlapping = running.enqueue(number, streamWorkOf(*node));
      running_[node] = running;
      perform(*node, {node->branch, number, finished, StreamTable::instance().host(), overlapping});
      Clock& reached = reached_[node];
      reached = std::move(finished);
      reached[node->branch] = number;
      join(reached, inside_);
      join(after, reached);
    }
    return after;
  }

 private:
  static StreamWork streamWorkOf(const GraphNode& node) {
    if (!node.enabled || !std::holds_alternative<KernelWork>(node.work)) return StreamWork::Other;
    return node.programmatic.contains(node.before) ? StreamWork::DependentKernel : StreamWork::Kernel;
  }

  void perform(GraphNode& node, const Place& place) {
    inside_.clear();
    if (!node.enabled) return;
    if (const auto* wait = std::get_if<EventWaitWork>(&node.work)) {
      inside_ = wait->event->reached;
    } else if (const auto* record = std::get_if<EventRecordWork>(&node.work)) {
      record->event->recorded = true;
      record->event->time = std::chrono::steady_clock::now();
      record->event->reached = place.finished;
      record->event->reached[place.stream] = place.number;
    } else if (const auto* conditional = std::get_if<ConditionalWork>(&node.work)) {
      inside_ = perform(*conditional, place);
    } else {
      runtime::perform(node.work, place);
    }
  }

  /// What has finished when the body that the condition chooses has, or the last round of it.
  static Clock perform(const ConditionalWork& work, const Place& place) {
    Place at = place;
    const auto runBody = [&](size_t body) {
      at.finished[place.stream] = place.number;
      if (body < work.executables.size()) at.finished = Run(*work.executables[body], at.finished).run();
    };
    if (work.type == cudaGraphCondTypeIf) {
      runBody(valueOf(work.condition, at) != 0 ? 0 : 1);
    } else if (work.type == cudaGraphCondTypeSwitch) {
      runBody(valueOf(work.condition, at));
    } else {
      while (valueOf(work.condition, at) != 0) runBody(0);
    }
    return at.finished;
  }

  ExecutableGraph& executable_;
  Clock before_;
  std::map<const GraphNode*, Clock> reached_;
  std::map<const GraphNode*, OverlappingKernels> running_;  ///< in the node's branch, after it
  Clock inside_;                                            ///< what an event node has brought
};

/// Puts the nodes of child graphs in place of the nodes that hold them.
void flatten(Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    GraphNode* const node = graph.nodes[i].get();
    const auto* child = std::get_if<ChildWork>(&node->work);
    if (child == nullptr) continue;
    std::map<const GraphNode*, GraphNode*> copies;
    const std::shared_ptr<Graph> inner = child->graph->clone(copies);
    const std::vector<GraphNode*> leaves = inner->leaves();
    for (const auto& innerNode : inner->nodes)
      if (innerNode->dependencies.empty()) innerNode->dependencies = node->dependencies;
    node->work = EmptyWork{};
    if (!leaves.empty()) node->dependencies = leaves;
    for (auto& innerNode : inner->nodes) {
      innerNode->graph = &graph;
      graph.nodes.push_back(std::move(innerNode));
    }
  }
}

void assignBranches(const std::vector<GraphNode*>& order) {
  std::set<const GraphNode*> continued;
  for (GraphNode* node : order) {
    // One that the node need not wait for comes first: only within a branch do kernels overlap.
    std::vector<GraphNode*> candidates(node->programmatic.begin(), node->programmatic.end());
    candidates.insert(candidates.end(), node->dependencies.begin(), node->dependencies.end());
    const auto first = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const GraphNode* dependency) { return !continued.contains(dependency); });
    if (first == candidates.end()) {
      node->branch = StreamTable::instance().freshStreamId();
    } else {
      node->before = *first;
      node->branch = (*first)->branch;
      continued.insert(*first);
    }
  }
}

/// A graph that can be run, and the bodies of its conditional nodes likewise.
void prepare(ExecutableGraph& executable, const Graph& graph) {
  executable.graph = graph.clone(executable.copies);
  flatten(*executable.graph);
  executable.order = executable.graph->ordered();
  assignBranches(executable.order);
  executable.conditions = StreamTable::instance().freshStreamId();
  for (GraphNode* node : executable.order)
    if (auto* conditional = std::get_if<ConditionalWork>(&node->work))
      for (const std::shared_ptr<Graph>& body : conditional->bodies)
        prepare(*conditional->executables.emplace_back(std::make_shared<ExecutableGraph>()), *body);
}

[[noreturn]] void refuseInvalid() {
  throw Failure(cudaErrorStreamCaptureInvalidated, "an earlier call has made the capture invalid");
}

}  // namespace

cudaGraphNodeType GraphNode::type() const {
  switch (work.index()) {
    case 1:
      return cudaGraphNodeTypeKernel;
    case 2:
      return cudaGraphNodeTypeMemcpy;
    case 3:
      return cudaGraphNodeTypeMemset;
    case 4:
      return cudaGraphNodeTypeHost;
    case 5:
      return cudaGraphNodeTypeMemFree;
    case 6:
      return cudaGraphNodeTypeEventRecord;
    case 7:
      return cudaGraphNodeTypeWaitEvent;
    case 8:
      return cudaGraphNodeTypeGraph;
    case 9:
      return cudaGraphNodeTypeMemAlloc;
    case 10:
      return cudaGraphNodeTypeConditional;
    default:
      return cudaGraphNodeTypeEmpty;
  }
}

GraphNode& Graph::add(Work work, const std::vector<GraphNode*>& dependencies) {
  auto node = std::make_unique<GraphNode>();
  node->graph = this;
  node->work = std::move(work);
  for (GraphNode* dependency : dependencies) addDependency(*node, *dependency, false);
  return *nodes.emplace_back(std::move(node));
}

void Graph::addDependency(GraphNode& node, GraphNode& dependency, bool programmatic) {
  require(node.graph == this && dependency.graph == this, "a dependency is a node of another graph");
  requireEdge(node.work, dependency, programmatic);
  if (std::find(node.dependencies.begin(), node.dependencies.end(), &dependency) == node.dependencies.end())
    node.dependencies.push_back(&dependency);
  if (programmatic) node.programmatic.insert(&dependency);
}

void Graph::requireEdge(const Work& work, const GraphNode& dependency, bool programmatic) {
  require(!programmatic || (std::holds_alternative<KernelWork>(work) && std::holds_alternative<KernelWork>(dependency.work)),
          "programmatic edges lead from a kernel to a kernel");
}

std::shared_ptr<Graph> Graph::clone(std::map<const GraphNode*, GraphNode*>& copies) const {
  auto copy = std::make_shared<Graph>();
  copy->conditions = conditions;
  for (const auto& node : nodes) {
    auto duplicate = std::make_unique<GraphNode>(*node);
    duplicate->graph = copy.get();
    copies[node.get()] = duplicate.get();
    copy->nodes.push_back(std::move(duplicate));
  }
  for (const auto& node : copy->nodes) {
    for (GraphNode*& dependency : node->dependencies) dependency = copies.at(dependency);
    std::set<GraphNode*> programmatic;
    for (const GraphNode* dependency : node->programmatic) programmatic.insert(copies.at(dependency));
    node->programmatic = std::move(programmatic);
  }
  return copy;
}

std::vector<GraphNode*> Graph::ordered() const {
  std::vector<GraphNode*> order;
  std::set<const GraphNode*> done;
  while (order.size() < nodes.size()) {
    const size_t before = order.size();
    for (const auto& node : nodes) {
      const auto isDone = [&](const GraphNode* dependency) { return done.contains(dependency); };
      if (done.contains(node.get()) || !std::all_of(node->dependencies.begin(), node->dependencies.end(), isDone)) continue;
      order.push_back(node.get());
      done.insert(node.get());
    }
    require(order.size() > before, "the graph has a circle");
  }
  return order;
}

std::vector<GraphNode*> Graph::leaves() const {
  std::set<const GraphNode*> needed;
  for (const auto& node : nodes) needed.insert(node->dependencies.begin(), node->dependencies.end());
  std::vector<GraphNode*> leaves;
  for (const auto& node : nodes)
    if (!needed.contains(node.get())) leaves.push_back(node.get());
  return leaves;
}

bool Graph::hasConditionals() const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const auto& node) { return std::holds_alternative<ConditionalWork>(node->work); });
}

GraphTable& GraphTable::instance() {
  static auto* const table = new GraphTable;
  return *table;
}

std::shared_ptr<Graph> GraphTable::create() {
  auto graph = std::make_shared<Graph>();
  keep(graph);
  return graph;
}

std::shared_ptr<Graph> GraphTable::find(cudaGraph_t handle) {
  const auto found = graphs_.find(reinterpret_cast<Graph*>(handle));
  require(found != graphs_.end(), "this is no graph");
  return found->second;
}

void GraphTable::destroy(cudaGraph_t handle) {
  const std::shared_ptr<Graph> graph = find(handle);
  graphs_.erase(graph.get());
  for (const auto& node : graph->nodes)
    if (const auto* conditional = std::get_if<ConditionalWork>(&node->work))
      for (cudaGraph_t body : *conditional->handles) destroy(body);
}

GraphNode& GraphTable::findNode(cudaGraphNode_t handle) {
  for (const auto& [graph, owner] : graphs_)
    for (const auto& node : graph->nodes)
      if (node.get() == reinterpret_cast<GraphNode*>(handle)) return *node;
  throw Failure(cudaErrorInvalidValue, "this is no node of a graph");
}

ExecutableGraph& GraphTable::instantiate(const Graph& graph, unsigned long long flags) {
  auto executable = std::make_unique<ExecutableGraph>();
  prepare(*executable, graph);
  executable->flags = flags;
  ExecutableGraph& made = *executable;
  executables_.emplace(&made, std::move(executable));
  return made;
}

ExecutableGraph& GraphTable::findExecutable(cudaGraphExec_t handle) {
  const auto found = executables_.find(reinterpret_cast<ExecutableGraph*>(handle));
  require(found != executables_.end(), "this is no executable graph");
  return *found->second;
}

void GraphTable::destroyExecutable(cudaGraphExec_t handle) {
  findExecutable(handle);
  executables_.erase(reinterpret_cast<ExecutableGraph*>(handle));
}

uint64_t GraphTable::createCondition(Graph& graph, uint32_t value, bool assigned) {
  const Condition condition{MemoryTable::instance().allocate(sizeof value, MemoryKind::Device), value, assigned};
  MemoryTable::instance().giveToGraph(condition.address);
  assign({condition.address, assigned ? value : 0, assigned}, StreamTable::instance().hostPlace());
  graph.conditions.push_back(condition);
  return condition.address;
}

ConditionalWork GraphTable::conditionalWork(Graph& graph, uint64_t condition, cudaGraphConditionalNodeType type, uint32_t size) {
  require(
      std::any_of(graph.conditions.begin(), graph.conditions.end(), [&](const Condition& one) { return one.address == condition; }),
      "the handle is of no condition of this graph");
  require(type >= cudaGraphCondTypeIf && type <= cudaGraphCondTypeSwitch, "this is no type of a conditional node");
  const uint32_t most = type == cudaGraphCondTypeIf ? 2 : type == cudaGraphCondTypeWhile ? 1 : UINT32_MAX;
  require(size >= 1 && size <= most, "a conditional node of this type has another number of bodies");
  ConditionalWork work{condition, type, {}, std::make_shared<std::vector<cudaGraph_t>>(), {}};
  for (uint32_t i = 0; i < size; ++i) {
    work.bodies.push_back(create());
    work.handles->push_back(handleOf(*work.bodies.back()));
  }
  return work;
}

void capture(Stream& stream, Work work) {
  Capture& capture = *stream.capturing.capture;
  if (capture.invalid) refuseInvalid();
  const std::vector<GraphNode*> before = std::exchange(stream.capturing.tips, {});
  GraphNode& node = capture.graph->add(std::move(work), before);
  stream.capturing.tips = {&node};
  if (runtime::streamWorkOf(node.work) == StreamWork::DependentKernel && before.size() == 1 &&
      std::holds_alternative<KernelWork>(before[0]->work))
    capture.graph->addDependency(node, *before[0], true);
}

void beginCapture(Stream& stream, cudaStreamCaptureMode mode, std::shared_ptr<Graph> graph, std::vector<GraphNode*> tips) {
  static unsigned long long captures = 0;
  if (stream.isLegacy) throw Failure(cudaErrorStreamCaptureUnsupported, "the legacy default stream cannot capture");
  if (stream.capturing.capture) throw Failure(cudaErrorIllegalState, "the stream is capturing already");
  auto capture = std::make_shared<Capture>();
  capture->graph = std::move(graph);
  capture->origin = &stream;
  capture->mode = mode;
  capture->id = ++captures;
  stream.capturing = {std::move(capture), std::move(tips)};
}

std::shared_ptr<Graph> endCapture(Stream& stream) {
  const std::shared_ptr<Capture> capture = stream.capturing.capture;
  if (!capture) throw Failure(cudaErrorIllegalState, "the stream is not capturing");
  if (capture->origin != &stream) {
    capture->invalid = true;
    throw Failure(cudaErrorStreamCaptureUnmatched, "the capture was begun in another stream");
  }
  const std::vector<GraphNode*> tips = stream.capturing.tips;
  capture->ended = true;
  bool joined = true;
  for (Stream* other : StreamTable::instance().all()) {
    if (other->capturing.capture != capture) continue;
    other->capturing = {};
  }
  for (const GraphNode* leaf : capture->graph->leaves()) joined &= std::find(tips.begin(), tips.end(), leaf) != tips.end();
  if (capture->invalid) refuseInvalid();
  if (!joined) throw Failure(cudaErrorStreamCaptureUnjoined, "work of another stream has not been joined by an event");
  GraphTable::instance().keep(capture->graph);
  return capture->graph;
}

void recordEvent(Event& event, Stream& stream) {
  if (stream.capturing.capture) {
    if (stream.capturing.capture->invalid) refuseInvalid();
    event.captured = stream.capturing;
    return;
  }
  refuseCapturing(stream);
  stream.running.enqueue(stream.last, StreamWork::Other);
  event.captured = {};
  event.recorded = true;
  event.reached = StreamTable::instance().reachedBy(stream);
  event.time = std::chrono::steady_clock::now();
}

void waitForEvent(Stream& stream, Event& event) {
  if (const std::shared_ptr<Capture>& capture = event.captured.capture) {
    if (capture->ended) {
      if (stream.capturing.capture) stream.capturing.capture->invalid = true;
      throw Failure(cudaErrorCapturedEvent, "the event was recorded in a capture that has ended");
    }
    if (stream.capturing.capture && stream.capturing.capture != capture) {
      stream.capturing.capture->invalid = capture->invalid = true;
      throw Failure(cudaErrorStreamCaptureMerge, "the event belongs to another capture");
    }
    if (capture->invalid) refuseInvalid();
    stream.capturing.capture = capture;
    for (GraphNode* tip : event.captured.tips)
      if (std::find(stream.capturing.tips.begin(), stream.capturing.tips.end(), tip) == stream.capturing.tips.end())
        stream.capturing.tips.push_back(tip);
    return;
  }
  if (stream.capturing.capture) {
    stream.capturing.capture->invalid = true;
    throw Failure(cudaErrorStreamCaptureIsolation, "the event was recorded outside of the capture");
  }
  stream.running.enqueue(stream.last, StreamWork::Other);
  join(stream.finished, event.reached);
}

void launchGraph(ExecutableGraph& executable, Stream& stream) {
  if (stream.capturing.capture) {
    capture(stream, ChildWork{executable.graph});
    return;
  }
  refuseCapturing(stream);
  StreamTable& streams = StreamTable::instance();
  stream.running.enqueue(stream.last, StreamWork::Other);
  Clock before = streams.reachedBy(stream);
  join(before, streams.host());
  join(stream.finished, Run(executable, std::move(before)).run());
}

}  // namespace shiftconv::runtime
