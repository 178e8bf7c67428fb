// From ONNX Runtime's graphs to ours.
#pragma once

#include "conv/runtimes/onnxruntime/api.hpp"
#include "conv/runtimes/onnxruntime/graph.hpp"

namespace shiftconv::runtimes::onnx {

/// `constantBytes`: constants up to this size come with their data. Throws Ort::Exception.
Graph readGraph(const Ort::ConstGraph& graph, size_t constantBytes);

}  // namespace shiftconv::runtimes::onnx
