#include "conv/runtimes/onnxruntime/claims.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "conv/runtimes/onnxruntime/steps.hpp"

namespace shiftconv::runtimes::onnx {
namespace {

constexpr const char* kNoConvolution =
    "no convolution or Gemm is connected to it through nodes that are claimed, and copies would cost more than it gains";

/// Sets of nodes that are merged.
class Components {
 public:
  explicit Components(size_t nodes) : parent_(nodes) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t of(size_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }
  void merge(size_t a, size_t b) { parent_[of(a)] = of(b); }

 private:
  std::vector<size_t> parent_;
};

/// The islands in the making: nodes that are taken, connected, and on one level.
template <class ForProducers>
Components connectedNodes(const std::vector<bool>& can, const ForProducers& forProducers) {
  const size_t nodes = can.size();
  // How often a path to the node has come back from nodes that are not taken. A path that leaves nodes of one level comes back to a
  // higher one only, so that connected nodes of a level make an island.
  std::vector<size_t> level(nodes, 0);
  for (size_t i = 0; i < nodes; ++i)
    forProducers(i, [&](size_t before) { level[i] = std::max(level[i], level[before] + (can[i] && !can[before] ? 1 : 0)); });

  Components components(nodes);
  for (size_t i = 0; i < nodes; ++i)
    forProducers(i, [&](size_t before) {
      if (can[i] && can[before] && level[i] == level[before]) components.merge(i, before);
    });
  return components;
}

/// Extents never leave an island: a node Shape is only taken together with all that read it. Whether anything changed.
bool refuseExtentsOfOthers(const Graph& graph, Components& components, std::vector<bool>& can, std::vector<std::string>& refusals) {
  bool changed = false;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!can[i] || graph.nodes[i].op != "Shape") continue;
    std::vector<size_t> together = reshapesOf(graph, graph.nodes[i]);
    if (std::all_of(together.begin(), together.end(), [&](size_t r) { return can[r] && components.of(r) == components.of(i); }))
      continue;
    together.push_back(i);
    for (const size_t node : together) {
      if (can[node]) refusals[node] = "extents would leave their island";
      can[node] = false;
    }
    changed = true;
  }
  return changed;
}

}  // namespace

Claims claim(const Graph& graph) {
  Claims claims;
  const size_t nodes = graph.nodes.size();
  claims.refusals.resize(nodes);
  std::vector<bool> can(nodes), multiplies(nodes);
  for (size_t i = 0; i < nodes; ++i) {
    const std::vector<Step> steps = stepsOf(graph, graph.nodes[i], claims.refusals[i]);
    can[i] = !steps.empty();
    multiplies[i] = can[i] && std::holds_alternative<Convolution>(steps[0].what);
  }

  std::vector<size_t> producer(graph.values.size(), nodes);
  for (size_t i = 0; i < nodes; ++i)
    for (const int value : graph.nodes[i].outputs)
      if (value != kAbsent) producer[static_cast<size_t>(value)] = i;
  const auto forProducers = [&](size_t node, auto&& visit) {
    for (const int value : graph.nodes[node].inputs)
      if (value != kAbsent && producer[static_cast<size_t>(value)] != nodes) visit(producer[static_cast<size_t>(value)]);
  };

  Components components = connectedNodes(can, forProducers);
  while (refuseExtentsOfOthers(graph, components, can, claims.refusals)) components = connectedNodes(can, forProducers);

  std::map<size_t, std::vector<size_t>> islands;
  for (size_t i = 0; i < nodes; ++i)
    if (can[i]) islands[components.of(i)].push_back(i);
  for (auto& [root, island] : islands) {
    if (std::any_of(island.begin(), island.end(), [&](size_t i) { return multiplies[i]; })) {
      claims.islands.push_back(std::move(island));
    } else {
      for (const size_t i : island) claims.refusals[i] = kNoConvolution;
    }
  }
  std::sort(claims.islands.begin(), claims.islands.end());
  return claims;
}

}  // namespace shiftconv::runtimes::onnx
