#include "conv/runtimes/onnxruntime/lowering.hpp"

#include <algorithm>
#include <stdexcept>

namespace shiftconv::runtimes::onnx {
namespace {

/// The steps of the nodes, of which those that were fused into others vanish.
class Fusion {
 public:
  explicit Fusion(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes) {
      std::string refusal;
      auto step = stepOf(graph, node, refusal);
      if (!step) throw std::invalid_argument(node.op + " '" + node.name + "': " + refusal);
      steps_.push_back(std::move(step));
    }
  }

  std::vector<Step> run() {
    for (size_t i = 0; i < steps_.size(); ++i) fuseSilu(i);
    for (size_t i = 0; i < steps_.size(); ++i) fuseFollowers(i);
    std::vector<Step> result;
    for (auto& step : steps_)
      if (step) result.push_back(std::move(*step));
    return result;
  }

 private:
  std::vector<size_t> readersOf(int value) const {
    std::vector<size_t> readers;
    for (size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i] && std::find(steps_[i]->inputs.begin(), steps_[i]->inputs.end(), value) != steps_[i]->inputs.end())
        readers.push_back(i);
    return readers;
  }
  Pointwise* pointwise(size_t i) { return steps_[i] ? std::get_if<Pointwise>(&steps_[i]->what) : nullptr; }
  bool staysInside(int value) const { return !graph_.value(value).isOutput; }
  const Shape& shapeOf(int value) const { return graph_.value(value).shape; }

  /// x * Sigmoid(x) becomes one activation of x.
  void fuseSilu(size_t i) {
    const Pointwise* sigmoid = pointwise(i);
    if (!sigmoid || sigmoid->operation != SHIFTCONV_OPERATION_NONE || sigmoid->activation.kind != SHIFTCONV_ACTIVATION_SIGMOID)
      return;
    const int x = steps_[i]->inputs[0], gate = steps_[i]->output;
    const auto readers = readersOf(gate);
    if (readers.size() != 1 || !staysInside(gate)) return;
    Pointwise* product = pointwise(readers[0]);
    if (!product || product->operation != SHIFTCONV_OPERATION_MULTIPLY) return;
    auto& inputs = steps_[readers[0]]->inputs;
    if (!(inputs == std::vector<int>{x, gate} || inputs == std::vector<int>{gate, x})) return;
    *product = {SHIFTCONV_OPERATION_NONE, {SHIFTCONV_ACTIVATION_SILU}};
    inputs = {x};
    steps_[i].reset();
  }

  /// What follows a convolution, a normalisation or a pointwise operation, and is the only one to read it, moves into it. The fused
  /// step takes the place of the last one, where everything that it reads has been computed.
  void fuseFollowers(size_t i) {
    for (size_t at = i; steps_[at];) {
      const int result = steps_[at]->output;
      const auto readers = readersOf(result);
      if (readers.size() != 1 || !staysInside(result) || !pointwise(readers[0]) || !absorb(*steps_[at], *steps_[readers[0]]))
        return;
      steps_[at]->name = steps_[readers[0]]->name;
      steps_[at]->output = steps_[readers[0]]->output;
      steps_[readers[0]] = std::move(steps_[at]);
      steps_[at].reset();
      at = readers[0];
    }
  }

  bool absorb(Step& step, const Step& follower) const {
    const auto& next = std::get<Pointwise>(follower.what);
    auto* conv = std::get_if<Convolution>(&step.what);
    auto* own = std::get_if<Pointwise>(&step.what);
    auto* normalize = std::get_if<Normalize>(&step.what);
    if (!conv && !own && !normalize) return false;
    Activation& activation = conv ? conv->activation : own ? own->activation : normalize->activation;
    if (activation.kind != SHIFTCONV_ACTIVATION_NONE) return false;
    if (next.operation == SHIFTCONV_OPERATION_NONE) {
      activation = next.activation;
      return true;
    }
    const int first = follower.inputs[0], second = follower.inputs[1];
    if (!conv || step.inputs.size() == 2 || next.operation != SHIFTCONV_OPERATION_ADD || first == second) return false;
    if (shapeOf(first) != shapeOf(second)) return false;
    step.inputs.push_back(first == step.output ? second : first);
    activation = next.activation;
    return true;
  }

  const Graph& graph_;
  std::vector<std::optional<Step>> steps_;
};

}  // namespace

std::vector<Step> lower(const Graph& graph) { return Fusion(graph).run(); }

}  // namespace shiftconv::runtimes::onnx
