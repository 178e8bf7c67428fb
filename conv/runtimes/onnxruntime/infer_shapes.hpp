// Shapes that ONNX Runtime leaves open: it has none for what comes behind a GroupNormalization, which is a function to it.
#pragma once

#include "conv/runtimes/onnxruntime/graph.hpp"

namespace shiftconv::runtimes::onnx {

/// Gives the outputs of nodes that the library has steps for their shapes and extents, where they lack them. Extents that depend on
/// unknown ones are -1.
void inferShapes(Graph& graph);

}  // namespace shiftconv::runtimes::onnx
