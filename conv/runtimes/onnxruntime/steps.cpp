#include "conv/runtimes/onnxruntime/steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace shiftconv::runtimes::onnx {
namespace {

/// Why a node is left to others.
struct Refusal {
  std::string sentence;
};

[[noreturn]] void refuse(std::string sentence) { throw Refusal{std::move(sentence)}; }
void demand(bool fulfilled, const char* sentence) {
  if (!fulfilled) refuse(sentence);
}

class NodeReader {
 public:
  NodeReader(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  const Node& node() const { return node_; }
  const Graph& graph() const { return graph_; }
  /// The node that computes input i, or nullptr.
  const Node* producer(size_t i) const {
    const auto computes = [&](const Node& node) {
      return std::find(node.outputs.begin(), node.outputs.end(), node_.input(i)) != node.outputs.end();
    };
    const auto found = std::find_if(graph_.nodes.begin(), graph_.nodes.end(), computes);
    return found == graph_.nodes.end() ? nullptr : &*found;
  }
  bool has(size_t i) const { return node_.input(i) != kAbsent; }
  const Value& input(size_t i) const { return graph_.value(node_.input(i)); }
  size_t rank(size_t i = 0) const { return input(i).shape.size(); }
  std::vector<int64_t> ints(const char* name, std::vector<int64_t> otherwise = {}) const {
    return node_.attribute(name, std::move(otherwise));
  }
  int64_t integer(const char* name, int64_t otherwise) const { return node_.attribute<int64_t>(name, otherwise); }
  float real(const char* name, float otherwise) const { return node_.attribute<float>(name, otherwise); }
  std::string text(const char* name, const char* otherwise) const { return node_.attribute<std::string>(name, otherwise); }

  /// Input i as a tensor that flows, of one of the library's float types.
  int tensor(size_t i) const {
    demand(has(i), "an input is missing");
    const Value& value = input(i);
    if (!value.type) refuse("the type of '" + value.name + "' is none of float, float16 and bfloat16");
    if (value.isConstant) refuse("'" + value.name + "' is a constant");
    if (value.shape.empty() || value.shape.size() > 5) refuse("'" + value.name + "' has not one to five axes");
    return node_.input(i);
  }
  int constant(size_t i) const {
    const Value& value = input(i);
    if (!value.isConstant) refuse("'" + value.name + "' is not a constant");
    if (value.type != input(0).type) refuse("'" + value.name + "' has another type than '" + input(0).name + "'");
    return node_.input(i);
  }
  double scalar(size_t i, double otherwise) const {
    if (!has(i)) return otherwise;
    const auto numbers = numbersOf(input(i));
    if (!numbers || numbers->size() != 1) refuse("'" + input(i).name + "' is not one constant number");
    return numbers->front();
  }
  Step step(decltype(Step::what) what, std::vector<int> inputs) const {
    demand(!node_.outputs.empty() && node_.outputs[0] != kAbsent, "there is no output");
    for (size_t i = 1; i < node_.outputs.size(); ++i) demand(node_.outputs[i] == kAbsent, "only the first output can be had");
    demand(graph_.value(node_.outputs[0]).type.has_value(), "the type of the output is none of float, float16 and bfloat16");
    return {node_.name, std::move(what), std::move(inputs), node_.outputs[0]};
  }

 private:
  const Graph& graph_;
  const Node& node_;
};

AutoPad autoPadOf(const NodeReader& node) {
  const std::string text = node.text("auto_pad", "NOTSET");
  if (text == "SAME_UPPER") return AutoPad::SameUpper;
  if (text == "SAME_LOWER") return AutoPad::SameLower;
  return AutoPad::Explicit;  // VALID has no pads
}

Window windowOf(const NodeReader& node, std::vector<int64_t> taps) {
  const size_t axes = taps.size();
  Window window{std::move(taps),   node.ints("strides"), node.ints("dilations"),
                node.ints("pads"), autoPadOf(node),      node.integer("ceil_mode", 0) != 0};
  if (window.strides.empty()) window.strides.assign(axes, 1);
  if (window.dilations.empty()) window.dilations.assign(axes, 1);
  if (window.pads.empty()) window.pads.assign(2 * axes, 0);
  demand(window.strides.size() == axes && window.dilations.size() == axes && window.pads.size() == 2 * axes,
         "strides, dilations or pads are not one, one and two for each axis");
  demand(std::all_of(window.pads.begin(), window.pads.end(), [](int64_t pad) { return pad >= 0; }), "a pad is negative");
  return window;
}

Activation clampOf(double least, double most) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return {SHIFTCONV_ACTIVATION_CLAMP, static_cast<float>(std::clamp(least, -kMost, kMost)),
          static_cast<float>(std::clamp(most, -kMost, kMost))};
}

/// Of a FusedConv.
Activation namedActivation(const NodeReader& node) {
  const std::string name = node.text("activation", "");
  const auto parameters = node.node().attribute<std::vector<float>>("activation_params", {});
  if (name.empty()) return {};
  if (name == "Relu") return {SHIFTCONV_ACTIVATION_RELU};
  if (name == "Sigmoid") return {SHIFTCONV_ACTIVATION_SIGMOID};
  if (name == "Tanh") return {SHIFTCONV_ACTIVATION_TANH};
  if (name == "LeakyRelu" && parameters.size() == 1) return {SHIFTCONV_ACTIVATION_LEAKY_RELU, parameters[0]};
  if (name == "Clip" && parameters.size() == 2) return clampOf(parameters[0], parameters[1]);
  refuse("the activation " + name + " is not one of Relu, Sigmoid, Tanh, LeakyRelu and Clip");
}

Step convolution(const NodeReader& node) {
  Convolution conv;
  const int x = node.tensor(0);
  demand(node.rank() >= 3, "the input has not one to three spatial axes");
  conv.filter = node.constant(1);
  const Shape& filter = node.input(1).shape;
  demand(filter.size() == node.rank(), "input and filter have different numbers of axes");
  if (node.has(2)) conv.bias = node.constant(2);
  conv.window = windowOf(node, {filter.begin() + 2, filter.end()});
  conv.groups = node.integer("group", 1);
  conv.activation = namedActivation(node);
  if (!node.has(3)) return node.step(conv, {x});
  return node.step(conv, {x, node.tensor(3)});  // Z of a FusedConv
}

Step gemm(const NodeReader& node) {
  Convolution conv;
  const int x = node.tensor(0);
  demand(node.rank() == 2, "the first input has not two axes");
  conv.filter = node.constant(1);
  demand(node.rank(1) == 2, "the second input has not two axes");
  conv.matrix = true;
  conv.transposed = node.integer("transB", 0) == 0;
  conv.alpha = node.real("alpha", 1);
  demand(node.integer("transA", 0) == 0, "the first input is transposed");
  if (node.has(2)) {
    conv.bias = node.constant(2);
    const Shape& bias = node.input(2).shape;
    const int64_t columns = node.input(1).shape[conv.transposed ? 1 : 0];
    demand(node.real("beta", 1) == 1, "beta is not 1");
    demand(!bias.empty() && bias.back() == columns &&
               std::accumulate(bias.begin(), bias.end(), int64_t{1}, std::multiplies<>()) == columns,
           "the third input is not one number for each column");
  }
  return node.step(conv, {x});
}

Step pool(const NodeReader& node, bool average, bool whole) {
  const int x = node.tensor(0);
  demand(node.rank() == 3 || node.rank() == 4 || (whole && node.rank() == 5), "the input has not one or two spatial axes");
  Pool pool{{}, average, whole, node.integer("count_include_pad", 0) != 0};
  if (whole) return node.step(pool, {x});
  pool.window = windowOf(node, node.ints("kernel_shape"));
  demand(pool.window.taps.size() + 2 == node.rank(), "kernel_shape has not a number for each spatial axis");
  demand(node.integer("storage_order", 0) == 0, "storage_order is not 0");
  demand(!(pool.countPadding && pool.window.ceil), "ceil_mode with count_include_pad divides by what the library does not count");
  return node.step(pool, {x});
}

/// Over the spatial axes.
Step mean(const NodeReader& node) {
  Pool pool{{}, true, true};
  const int x = node.tensor(0);
  const auto rank = static_cast<int64_t>(node.rank());
  demand(rank >= 3, "the input has not one to three spatial axes");
  std::vector<int64_t> axes = node.ints("axes");
  if (node.has(1)) {  // since operator set 18
    const auto given = numbersOf(node.input(1));
    demand(given.has_value(), "the axes are not constants");
    axes.assign(given->begin(), given->end());
  }
  std::vector<bool> reduced(static_cast<size_t>(rank));
  for (int64_t axis : axes) {
    axis += axis < 0 ? rank : 0;
    demand(axis >= 2 && axis < rank && !reduced[static_cast<size_t>(axis)], "the axes are not the spatial ones");
    reduced[static_cast<size_t>(axis)] = true;
  }
  demand(axes.size() + 2 == node.rank(), "the axes are not the spatial ones");
  pool.flat = node.integer("keepdims", 1) == 0;
  return node.step(pool, {x});
}

Step hardSigmoid(const NodeReader& node) {
  const HardSigmoid step{node.real("alpha", 0.2F), node.real("beta", 0.5F)};
  demand(std::isfinite(step.factor) && std::isfinite(step.summand), "alpha or beta is not finite");
  return node.step(step, {node.tensor(0)});
}

Step normalization(const NodeReader& node, int64_t groups) {
  Normalize normalize;
  const int x = node.tensor(0);
  demand(node.rank() >= 3, "the input has not one to three spatial axes");
  normalize.scale = node.constant(1), normalize.bias = node.constant(2);
  demand(node.rank(1) == 1 && node.input(1).shape == node.input(2).shape, "scale and bias are not one number for each channel");
  const int64_t channels = node.input(0).shape[1], numbers = node.input(1).shape[0];
  demand(channels < 0 || channels == numbers, "scale and bias are not one number for each channel");
  demand(groups == 0 || (groups > 0 && numbers % groups == 0), "num_groups does not divide the channels");
  normalize.groups = groups;
  normalize.epsilon = node.real("epsilon", 1e-5F);
  demand(std::isfinite(normalize.epsilon) && normalize.epsilon >= 0, "epsilon is negative or not finite");
  return node.step(normalize, {x});
}

Step groupNormalization(const NodeReader& node) {
  demand(node.node().version >= 21, "before operator set 21, scale and bias are one number for each group");
  demand(node.integer("stash_type", 1) == 1, "stash_type is not float");
  const int64_t groups = node.integer("num_groups", 0);
  demand(groups > 0, "num_groups is not positive");
  return normalization(node, groups);
}

Step activation(const NodeReader& node, Activation activation) {
  return node.step(Pointwise{SHIFTCONV_OPERATION_NONE, activation}, {node.tensor(0)});
}

Step clip(const NodeReader& node) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (node.node().version < 11)  // attributes then
    return activation(
        node, clampOf(node.real("min", -std::numeric_limits<float>::max()), node.real("max", std::numeric_limits<float>::max())));
  return activation(node, clampOf(node.scalar(1, -kInfinity), node.scalar(2, kInfinity)));
}

Step gelu(const NodeReader& node) {
  const bool tanh = node.text("approximate", "none") == "tanh";
  return activation(node, {tanh ? SHIFTCONV_ACTIVATION_GELU_TANH : SHIFTCONV_ACTIVATION_GELU_ERF});
}

/// Whether every pixel of an image shares the one pixel of the other.
bool isSharedByPixels(const Shape& shape, const Shape& of) {
  return shape.size() == of.size() && shape.size() >= 3 && shape[0] == of[0] && shape[1] == of[1] &&
         std::all_of(shape.begin() + 2, shape.end(), [](int64_t extent) { return extent == 1; });
}

/// One number for each channel of the other operand. Axes are counted from the last one.
Step withConstant(const NodeReader& node, int32_t operation, size_t constant) {
  const int x = node.tensor(1 - constant);
  const Shape &shape = node.input(1 - constant).shape, &numbers = node.input(constant).shape;
  demand(node.input(0).type == node.input(1).type, "the inputs have different types");
  const char* const sentence = "the constant is not one number for each channel";
  demand(shape.size() >= 2 && numbers.size() <= shape.size() && numbers.size() + 1 >= shape.size() && shape[1] > 0, sentence);
  const size_t channel = numbers.size() + 1 - shape.size();
  for (size_t axis = 0; axis < numbers.size(); ++axis) demand(numbers[axis] == (axis == channel ? shape[1] : 1), sentence);
  return node.step(Pointwise{operation, {}, node.node().input(constant)}, {x});
}

Step binary(const NodeReader& node, int32_t operation) {
  for (const size_t i : {size_t{1}, size_t{0}})
    if (node.has(0) && node.has(1) && node.input(i).isConstant && !node.input(1 - i).isConstant)
      return withConstant(node, operation, i);
  const int a = node.tensor(0), b = node.tensor(1);
  const Shape &first = node.input(0).shape, &second = node.input(1).shape;
  demand(node.input(0).type == node.input(1).type, "the inputs have different types");
  if (first == second || isSharedByPixels(second, first)) return node.step(Pointwise{operation, {}}, {a, b});
  demand(isSharedByPixels(first, second), "the inputs have different shapes, and neither is one pixel for each image");
  return node.step(Pointwise{operation, {}}, {b, a});
}

Step resize(const NodeReader& node) {
  const int x = node.tensor(0);
  demand(node.rank() == 4, "the input has not two spatial axes");
  demand(node.text("mode", "nearest") == "nearest", "mode is not nearest");
  const std::string place = node.text("coordinate_transformation_mode", "half_pixel"),
                    nearest = node.text("nearest_mode", "round_prefer_floor");
  demand((place == "asymmetric" && nearest == "floor") || (place == "half_pixel" && nearest == "round_prefer_floor"),
         "the modes are neither asymmetric and floor nor half_pixel and round_prefer_floor, which repeat pixels");
  demand(node.node().attributes.count("axes") == 0, "axes are named");
  demand(node.has(2), "sizes are not given as scales");
  const auto scales = numbersOf(node.input(2));
  demand(scales && scales->size() == 4, "the scales are not four constant numbers");
  const auto whole = [](double scale) { return scale >= 1 && scale <= 1024 && scale == std::floor(scale); };
  demand((*scales)[0] == 1 && (*scales)[1] == 1 && whole((*scales)[2]) && whole((*scales)[3]),
         "the scales are not 1, 1 and two whole numbers");
  return node.step(Resize{{static_cast<int64_t>((*scales)[2]), static_cast<int64_t>((*scales)[3])}}, {x});
}

Step transpose(const NodeReader& node) {
  const int x = node.tensor(0);
  std::vector<int64_t> permutation = node.ints("perm");
  if (permutation.empty()) {
    permutation.resize(node.rank());
    std::iota(permutation.rbegin(), permutation.rend(), 0);
  }
  return node.step(Transpose{std::move(permutation)}, {x});
}

Step cast(const NodeReader& node) { return node.step(Cast{}, {node.tensor(0)}); }

Step flatten(const NodeReader& node) {
  const int x = node.tensor(0);
  const int64_t axis = node.integer("axis", 1);
  return node.step(Reshape{{}, axis < 0 ? axis + static_cast<int64_t>(node.rank()) : axis}, {x});
}

Step reshape(const NodeReader& node) {
  const int x = node.tensor(0);
  demand(node.integer("allowzero", 0) == 0, "allowzero is set");
  demand(node.has(1), "there is no shape");
  if (const Node* shapes = node.producer(1); shapes && shapes->op == "Shape" && !reshapesOf(node.graph(), *shapes).empty()) {
    const int like = shapes->input(0);
    demand(node.graph().value(like).type.has_value(), "the shape is that of a tensor that is none of float, float16 and bfloat16");
    return node.step(Reshape{{}, std::nullopt, like}, {x, like});
  }
  const auto shape = numbersOf(node.input(1));
  demand(shape.has_value(), "the shape is not a constant");
  demand(!shape->empty() && shape->size() <= 5, "the shape has not one to five axes");
  return node.step(Reshape{{shape->begin(), shape->end()}, std::nullopt}, {x});
}

Step extents(const NodeReader& node) {
  const int x = node.tensor(0);
  demand(!reshapesOf(node.graph(), node.node()).empty(), "the extents are not only the shape of nodes Reshape");
  return {node.node().name, Extents{}, {x}, node.node().outputs[0]};
}

Step concat(const NodeReader& node) {
  std::vector<int> inputs;
  for (size_t i = 0; i < node.node().inputs.size(); ++i) inputs.push_back(node.tensor(i));
  const auto rank = static_cast<int64_t>(node.rank());
  const int64_t axis = node.integer("axis", 0);
  demand(rank >= 2 && (axis < 0 ? axis + rank : axis) == 1, "the axis is not that of the channels");
  for (size_t i = 1; i < inputs.size(); ++i)
    demand(node.rank(i) == node.rank() && node.input(i).type == node.input(0).type, "the inputs differ in type or number of axes");
  return node.step(Concat{}, std::move(inputs));
}

/// The constant numbers of input i.
std::vector<int64_t> integersOf(const NodeReader& node, size_t i, const char* sentence) {
  const auto numbers = numbersOf(node.input(i));
  demand(numbers.has_value(), sentence);
  std::vector<int64_t> integers;  // the largest of them do not fit as numbers: 2^63 - 1 stands for the end
  for (const double number : *numbers)
    integers.push_back(number >= 0x1p62 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(number));
  return integers;
}

bool isChannels(int64_t axis, const NodeReader& node) {
  return node.rank() >= 2 && (axis == 1 || axis + static_cast<int64_t>(node.rank()) == 1);
}

Step slice(const NodeReader& node) {
  const int x = node.tensor(0);
  demand(node.has(1) && node.has(2) && node.has(3), "starts, ends and axes are not inputs");
  const auto starts = integersOf(node, 1, "the starts are not constants"), ends = integersOf(node, 2, "the ends are not constants"),
             axes = integersOf(node, 3, "the axes are not constants");
  demand(axes.size() == 1 && isChannels(axes[0], node), "the axis is not that of the channels");
  demand(starts.size() == 1 && ends.size() == 1, "starts and ends are not one number each");
  if (node.has(4)) demand(integersOf(node, 4, "the steps are not constants") == std::vector<int64_t>{1}, "a step is not 1");
  const int64_t channels = node.input(0).shape[1];
  demand(channels > 0, "the channels are not known");
  const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + channels : at, 0, channels); };
  const Slice slice{place(starts[0]), place(ends[0])};
  demand(slice.begin < slice.end, "it has no channels");
  return node.step(slice, {x});
}

std::vector<Step> split(const NodeReader& node) {
  const int x = node.tensor(0);
  demand(isChannels(node.integer("axis", 0), node), "the axis is not that of the channels");
  const int64_t channels = node.input(0).shape[1], parts = static_cast<int64_t>(node.node().outputs.size());
  demand(channels > 0, "the channels are not known");
  std::vector<int64_t> sizes = node.ints("split");  // before operator set 13
  if (node.has(1)) sizes = integersOf(node, 1, "the sizes are not constants");
  if (sizes.empty()) {
    demand(channels % parts == 0, "the parts are not equal");
    sizes.assign(static_cast<size_t>(parts), channels / parts);
  }
  demand(sizes.size() == node.node().outputs.size(), "there is not a size for each part");
  std::vector<Step> steps;
  int64_t begin = 0;
  for (size_t i = 0; i < node.node().outputs.size(); ++i) {
    const int output = node.node().outputs[i];
    demand(output != kAbsent && sizes[i] > 0, "a part is missing");
    steps.push_back({node.node().name, Slice{begin, begin + sizes[i]}, {x}, output});
    begin += sizes[i];
  }
  demand(begin == channels, "the sizes are not those of all channels");
  return steps;
}

Step batchNormalization(const NodeReader& node) {
  BatchNorm norm;
  const int x = node.tensor(0);
  demand(node.rank() >= 2, "the input has no channels");
  demand(node.input(0).type != SHIFTCONV_TYPE_BF16, "it is of bfloat16");
  demand(node.integer("training_mode", 0) == 0, "it is in training mode");
  norm.scale = node.constant(1), norm.bias = node.constant(2), norm.mean = node.constant(3), norm.variance = node.constant(4);
  for (const size_t i : {2, 3, 4}) demand(node.input(i).shape == node.input(1).shape, "the constants have different shapes");
  norm.epsilon = node.real("epsilon", 1e-5F);
  demand(std::isfinite(norm.epsilon) && norm.epsilon >= 0, "epsilon is negative or not finite");
  return node.step(norm, {x});
}

using Read = Step (*)(const NodeReader&);
const std::map<std::string, Read>& readers() {
  static const std::map<std::string, Read> table{
      {"Conv", convolution},
      {"FusedConv", convolution},
      {"Gemm", gemm},
      {"MatMul", gemm},
      {"MaxPool", [](const NodeReader& n) { return pool(n, false, false); }},
      {"AveragePool", [](const NodeReader& n) { return pool(n, true, false); }},
      {"GlobalMaxPool", [](const NodeReader& n) { return pool(n, false, true); }},
      {"GlobalAveragePool", [](const NodeReader& n) { return pool(n, true, true); }},
      {"ReduceMean", mean},
      {"BatchNormalization", batchNormalization},
      {"Slice", slice},
      {"InstanceNormalization", [](const NodeReader& n) { return normalization(n, 0); }},
      {"GroupNormalization", groupNormalization},
      {"Relu", [](const NodeReader& n) { return activation(n, {SHIFTCONV_ACTIVATION_RELU}); }},
      {"LeakyRelu",
       [](const NodeReader& n) {
         return activation(n, {SHIFTCONV_ACTIVATION_LEAKY_RELU, n.real("alpha", 0.01F)});
       }},
      {"HardSigmoid", hardSigmoid},
      {"HardSwish", [](const NodeReader& n) { return activation(n, {SHIFTCONV_ACTIVATION_HARD_SWISH}); }},
      {"Sigmoid", [](const NodeReader& n) { return activation(n, {SHIFTCONV_ACTIVATION_SIGMOID}); }},
      {"Tanh", [](const NodeReader& n) { return activation(n, {SHIFTCONV_ACTIVATION_TANH}); }},
      {"Gelu", gelu},
      {"Clip", clip},
      {"Add", [](const NodeReader& n) { return binary(n, SHIFTCONV_OPERATION_ADD); }},
      {"Mul", [](const NodeReader& n) { return binary(n, SHIFTCONV_OPERATION_MULTIPLY); }},
      {"Resize", resize},
      {"Transpose", transpose},
      {"Cast", cast},
      {"Flatten", flatten},
      {"Reshape", reshape},
      {"Shape", extents},
      {"Concat", concat}};
  return table;
}

}  // namespace

std::vector<size_t> reshapesOf(const Graph& graph, const Node& shape) {
  if (shape.outputs.empty() || shape.outputs[0] == kAbsent || graph.value(shape.outputs[0]).isOutput ||
      shape.attribute<int64_t>("start", 0) != 0 || shape.attributes.count("end") != 0)
    return {};
  std::vector<size_t> readers = graph.consumers(shape.outputs[0]);
  const auto reshapes = [&](size_t i) {
    const Node& node = graph.nodes[i];
    return node.op == "Reshape" && (node.domain.empty() || node.domain == "ai.onnx") && node.input(0) != shape.outputs[0] &&
           node.input(1) == shape.outputs[0];
  };
  return std::all_of(readers.begin(), readers.end(), reshapes) ? readers : std::vector<size_t>();
}

int constantOf(const Step& step) {
  if (const auto* norm = std::get_if<BatchNorm>(&step.what)) return norm->scale;
  if (const auto* conv = std::get_if<Convolution>(&step.what)) return conv->filter;
  if (const auto* pointwise = std::get_if<Pointwise>(&step.what)) return pointwise->constant;
  const auto* normalize = std::get_if<Normalize>(&step.what);
  return normalize ? normalize->scale : kAbsent;
}

std::vector<Step> stepsOf(const Graph& graph, const Node& node, std::string& refusal) {
  const bool known = node.domain.empty() || node.domain == "ai.onnx" ||
                     (node.domain == "com.microsoft" && (node.op == "FusedConv" || node.op == "Gelu"));
  const auto found = readers().find(node.op);
  const bool splits = node.op == "Split";
  if (!known || (found == readers().end() && !splits)) {
    refusal = "the library has no such operator";
    return {};
  }
  try {
    const NodeReader reader(graph, node);
    if (splits) return split(reader);
    return {found->second(reader)};
  } catch (const Refusal& reason) {
    refusal = reason.sentence;
    return {};
  }
}

}  // namespace shiftconv::runtimes::onnx
