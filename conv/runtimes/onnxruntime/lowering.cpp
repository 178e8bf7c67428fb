#include "conv/runtimes/onnxruntime/lowering.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace shiftconv::runtimes::onnx {
namespace {

/// The steps of the nodes, of which those that were fused into others vanish.
class Fusion {
 public:
  explicit Fusion(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes) {
      std::string refusal;
      std::vector<Step> steps = stepsOf(graph, node, refusal);
      if (steps.empty()) throw std::invalid_argument(node.op + " '" + node.name + "': " + refusal);
      for (Step& step : steps) steps_.push_back(std::move(step));
    }
  }

  std::vector<Step> run() {
    for (auto& step : steps_)
      if (std::holds_alternative<Extents>(step->what)) step.reset();
    for (size_t i = 0; i < steps_.size(); ++i) fuseGate(i);
    for (size_t i = 0; i < steps_.size(); ++i) fuseGroups(i);
    for (size_t i = 0; i < steps_.size(); ++i) fuseFollowers(i);
    for (size_t i = 0; i < steps_.size(); ++i) fuseSum(i);
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

  /// What x * gate(x) is as one activation of x: SiLU of a sigmoid, hard swish of the hard one that PyTorch has.
  int32_t gated(size_t i) {
    if (const Pointwise* own = pointwise(i))
      return own->operation == SHIFTCONV_OPERATION_NONE && own->activation.kind == SHIFTCONV_ACTIVATION_SIGMOID
                 ? SHIFTCONV_ACTIVATION_SILU
                 : SHIFTCONV_ACTIVATION_NONE;
    const auto* hard = steps_[i] ? std::get_if<HardSigmoid>(&steps_[i]->what) : nullptr;
    return hard && hard->factor == 1.0F / 6 && hard->summand == 0.5F ? SHIFTCONV_ACTIVATION_HARD_SWISH : SHIFTCONV_ACTIVATION_NONE;
  }

  /// x * gate(x) becomes one activation of x.
  void fuseGate(size_t i) {
    const int32_t activation = gated(i);
    if (activation == SHIFTCONV_ACTIVATION_NONE) return;
    const int x = steps_[i]->inputs[0], gate = steps_[i]->output;
    const auto readers = readersOf(gate);
    if (readers.size() != 1 || !staysInside(gate)) return;
    Pointwise* product = pointwise(readers[0]);
    if (!product || product->operation != SHIFTCONV_OPERATION_MULTIPLY) return;
    auto& inputs = steps_[readers[0]]->inputs;
    if (!(inputs == std::vector<int>{x, gate} || inputs == std::vector<int>{gate, x})) return;
    *product = {SHIFTCONV_OPERATION_NONE, {activation}};
    inputs = {x};
    steps_[i].reset();
  }

  /// The only reader of what a step writes, or nothing.
  std::optional<size_t> follower(size_t i) const {
    const auto readers = readersOf(steps_[i]->output);
    return readers.size() == 1 && staysInside(steps_[i]->output) ? std::optional(readers[0]) : std::nullopt;
  }
  template <class What>
  const What* followerAs(size_t i, size_t& at) const {
    const auto next = follower(i);
    if (!next) return nullptr;
    at = *next;
    return std::get_if<What>(&steps_[at]->what);
  }
  bool isAll(int constant, double number) const {
    const auto numbers = numbersOf(graph_.value(constant));
    return numbers && std::all_of(numbers->begin(), numbers->end(), [=](double value) { return value == number; });
  }

  /// Exporters write a group normalisation as that of the images in another shape, [N, groups, rest], without factors; then follow
  /// those of channels, and summands.
  void fuseGroups(size_t i) {
    const auto* there = steps_[i] ? std::get_if<Reshape>(&steps_[i]->what) : nullptr;
    size_t normalized = 0, back = 0, next = 0;
    const auto* inner = there ? followerAs<Normalize>(i, normalized) : nullptr;
    if (!inner || inner->groups != 0 || !isAll(inner->scale, 1) || !isAll(inner->bias, 0)) return;
    const auto* again = followerAs<Reshape>(normalized, back);
    if (!again || there->like != kAbsent) return;
    const int x = steps_[i]->inputs[0];
    const Shape &shape = shapeOf(x), &between = shapeOf(steps_[i]->output);
    const bool anyExtents = again->like == x && shape.size() >= 3 && between.size() == 3 &&
                            there->shape == Shape{0, between[1], -1} && between[1] > 0 && shape[1] > 0 &&
                            shape[1] % between[1] == 0;
    if (!anyExtents && (shape != shapeOf(steps_[back]->output) || !hasGroups(shape, *there, between))) return;
    Normalize whole{kAbsent, kAbsent, between[1], inner->epsilon, {}};
    std::vector<size_t> fused{i, normalized, back};
    const auto take = [&](int32_t operation, int& constant) {
      const auto* with = followerAs<Pointwise>(fused.back(), next);
      if (!with || with->operation != operation || with->constant == kAbsent) return;
      constant = with->constant;
      fused.push_back(next);
    };
    take(SHIFTCONV_OPERATION_MULTIPLY, whole.scale);
    take(SHIFTCONV_OPERATION_ADD, whole.bias);
    Step step{steps_[fused.back()]->name, whole, {x}, steps_[fused.back()]->output};
    for (const size_t gone : fused) steps_[gone].reset();
    steps_[fused.back()] = std::move(step);
  }

  /// Whether a reshaped tensor is [N, groups of the channels, rest]. Only N may be unknown: it is what the other extents leave.
  static bool hasGroups(const Shape& x, const Reshape& reshape, const Shape& result) {
    if (x.size() < 3 || result.size() != 3 || std::any_of(x.begin() + 1, x.end(), [](int64_t extent) { return extent < 1; }))
      return false;
    if (result[1] < 1 || x[1] % result[1] != 0) return false;
    const int64_t elements = std::accumulate(x.begin() + 1, x.end(), int64_t{1}, std::multiplies<>());
    if (result[2] > 0) return result[1] * result[2] == elements;
    return (reshape.shape.size() == 3 && reshape.shape[0] == 0) || (x[0] > 0 && x[0] == result[0]);
  }

  /// What follows a convolution, a normalisation or a pointwise operation, and is the only one to read it, moves into it.
  void fuseFollowers(size_t i) {
    for (size_t at = i, next = 0; steps_[at]; at = next) {
      if (!followerAs<Pointwise>(at, next) || !absorb(*steps_[at], *steps_[next])) return;
      moveTo(next, at);
    }
  }

  /// The fused step takes the place of the last one, where everything that it reads has been computed.
  void moveTo(size_t last, size_t from) {
    steps_[from]->name = steps_[last]->name;
    steps_[from]->output = steps_[last]->output;
    steps_[last] = std::move(steps_[from]);
    steps_[from].reset();
  }

  bool absorb(Step& step, const Step& follower) const {
    const auto& next = std::get<Pointwise>(follower.what);
    auto* conv = std::get_if<Convolution>(&step.what);
    auto* own = std::get_if<Pointwise>(&step.what);
    auto* normalize = std::get_if<Normalize>(&step.what);
    auto* norm = std::get_if<BatchNorm>(&step.what);
    if (!conv && !own && !normalize && !norm) return false;
    Activation& activation = conv ? conv->activation : own ? own->activation : norm ? norm->activation : normalize->activation;
    if (activation.kind != SHIFTCONV_ACTIVATION_NONE) return false;
    if (next.operation == SHIFTCONV_OPERATION_NONE) {
      activation = next.activation;
      return true;
    }
    if (!conv || !addResidual(step, follower)) return false;
    activation = next.activation;
    return true;
  }

  /// The other operand of a sum becomes the residual of a convolution that has none.
  bool addResidual(Step& convolution, const Step& sum) const {
    const auto& add = std::get<Pointwise>(sum.what);
    if (convolution.inputs.size() == 2 || add.operation != SHIFTCONV_OPERATION_ADD || add.constant != kAbsent) return false;
    const int first = sum.inputs[0], second = sum.inputs[1];
    if (first == second || shapeOf(first) != shapeOf(second)) return false;
    convolution.inputs.push_back(first == convolution.output ? second : first);
    return true;
  }

  /// A sum that follows a convolution's activation moves into the convolution, too, if no other convolution has taken it. One that
  /// has an activation of its own stays: a convolution has only one.
  void fuseSum(size_t i) {
    auto* conv = steps_[i] ? std::get_if<Convolution>(&steps_[i]->what) : nullptr;
    size_t next = 0;
    const auto* sum = conv ? followerAs<Pointwise>(i, next) : nullptr;
    if (!sum || sum->activation.kind != SHIFTCONV_ACTIVATION_NONE || !addResidual(*steps_[i], *steps_[next])) return;
    conv->residualLast = true;
    moveTo(next, i);
  }

  const Graph& graph_;
  std::vector<std::optional<Step>> steps_;
};

}  // namespace

std::vector<Step> lower(const Graph& graph) { return Fusion(graph).run(); }

}  // namespace shiftconv::runtimes::onnx
