// Which nodes of a graph the provider takes, and why it leaves the others.
#pragma once

#include <string>
#include <vector>

#include "conv/runtimes/onnxruntime/graph.hpp"

namespace shiftconv::runtimes::onnx {

struct Claims {
  /// Nodes that run as one: connected, and no path between two of them leaves the island. Each has a convolution or a Gemm.
  std::vector<std::vector<size_t>> islands;
  std::vector<std::string> refusals;  ///< for every node of the graph; empty: it is in an island
};

Claims claim(const Graph& graph);

}  // namespace shiftconv::runtimes::onnx
