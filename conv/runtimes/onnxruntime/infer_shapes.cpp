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
  for (const Node& node : graph.nodes) {
    if (node.outputs.empty() || node.outputs[0] == kAbsent) continue;
    Value& output = graph.values[static_cast<size_t>(node.outputs[0])];
    std::string refusal;
    const bool isOpen =
        output.shape.empty() || std::any_of(output.shape.begin(), output.shape.end(), [](int64_t e) { return e < 0; });
    const std::optional<Step> step = isOpen ? stepOf(graph, node, refusal) : std::nullopt;
    if (!step || std::holds_alternative<Extents>(step->what)) continue;
    // Extents that are the same for two values of the unknown ones do not depend on them.
    const std::optional<Shape> one = outputFor(graph, *step, 1009), other = outputFor(graph, *step, 2003);
    if (!one || !other || one->size() != other->size()) continue;
    if (output.shape.empty()) output.shape.assign(one->size(), -1);
    for (size_t axis = 0; axis < one->size() && one->size() == output.shape.size(); ++axis)
      if (output.shape[axis] < 0 && (*one)[axis] == (*other)[axis]) output.shape[axis] = (*one)[axis];
  }
}

}  // namespace shiftconv::runtimes::onnx
