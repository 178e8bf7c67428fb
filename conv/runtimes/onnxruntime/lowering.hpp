// The steps of an island: its nodes in order, with what a convolution's epilogue can do fused into it.
#pragma once

#include <vector>

#include "conv/runtimes/onnxruntime/graph.hpp"
#include "conv/runtimes/onnxruntime/steps.hpp"

namespace shiftconv::runtimes::onnx {

/// Requires a graph of which every node has a step. Throws std::invalid_argument otherwise.
std::vector<Step> lower(const Graph& graph);

}  // namespace shiftconv::runtimes::onnx
