#include "conv/runtimes/onnxruntime/infer_shapes.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>

#include "conv/runtimes/onnxruntime/shapes.hpp"
#include "conv/runtimes/onnxruntime/steps.hpp"

namespace shiftconv::runtimes::onnx {
namespace {

/// The output where every unknown extent is `unknown`; nothing where that does not fit.
std::optional<Shape> outputFor(const Graph& graph, const Step& step, int64_t unknown) {
  std::vector<Shape> inputs;
  for (const int input : step.inputs) {
    inputs.push_back(graph.value(input).shape);
    std::replace_if(
        inputs.back().begin(), inputs.back().end(), [](int64_t extent) { return extent < 0; }, unknown);
  }
  const int constant = constantOf(step);
  try {
    return outputShape(step, inputs, constant == kAbsent ? Shape() : graph.value(constant).shape);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace

void inferShapes(Graph& graph) {
  const auto isOpen = [&](int value) {
    const Shape& shape = graph.value(value).shape;
    return shape.empty() || std::any_of(shape.begin(), shape.end(), [](int64_t e) { return e < 0; });
  };
  for (const Node& node : graph.nodes) {
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](int value) { return value != kAbsent && isOpen(value); }))
      continue;
    std::string refusal;
    for (const Step& step : stepsOf(graph, node, refusal)) {
      if (std::holds_alternative<Extents>(step.what)) continue;
      Value& output = graph.values[static_cast<size_t>(step.output)];
      // Extents that are the same for two values of the unknown ones do not depend on them.
      const std::optional<Shape> one = outputFor(graph, step, 1009), other = outputFor(graph, step, 2003);
      if (!one || !other || one->size() != other->size()) continue;
      if (output.shape.empty()) output.shape.assign(one->size(), -1);
      for (size_t axis = 0; axis < one->size() && one->size() == output.shape.size(); ++axis)
        if (output.shape[axis] < 0 && (*one)[axis] == (*other)[axis]) output.shape[axis] = (*one)[axis];
    }
  }
}

}  // namespace shiftconv::runtimes::onnx
