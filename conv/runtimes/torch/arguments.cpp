#include "conv/runtimes/torch/arguments.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "conv/runtimes/torch/sentences.hpp"

namespace shiftconv::torch_glue {
namespace {

struct NamedType {
  int32_t torch;
  int32_t ours;
  const char* name;
};

const std::array<NamedType, 8>& types() {
  static const std::array<NamedType, 8> table{{
      {aoti_torch_dtype_float16(), SHIFTCONV_TYPE_F16, "float16"},
      {aoti_torch_dtype_bfloat16(), SHIFTCONV_TYPE_BF16, "bfloat16"},
      {aoti_torch_dtype_float32(), SHIFTCONV_TYPE_F32, "float32"},
      {aoti_torch_dtype_float8_e4m3fn(), SHIFTCONV_TYPE_E4M3, "float8_e4m3fn"},
      {aoti_torch_dtype_float8_e5m2(), SHIFTCONV_TYPE_E5M2, "float8_e5m2"},
      {aoti_torch_dtype_int8(), SHIFTCONV_TYPE_S8, "int8"},
      {aoti_torch_dtype_uint8(), SHIFTCONV_TYPE_U8, "uint8"},
      {aoti_torch_dtype_int32(), SHIFTCONV_TYPE_S32, "int32"},
  }};
  return table;
}

int32_t typeOf(const char* argument, int32_t torchType) {
  for (const NamedType& type : types())
    if (type.torch == torchType) return type.ours;
  refuse(argument,
         " must be float16, bfloat16, float32, float8_e4m3fn, float8_e5m2, int8 or uint8 (results also int32), but it has another "
         "dtype");
}

constexpr std::array kActivations{
    std::pair{"none", SHIFTCONV_ACTIVATION_NONE},
    std::pair{"relu", SHIFTCONV_ACTIVATION_RELU},
    std::pair{"leaky_relu", SHIFTCONV_ACTIVATION_LEAKY_RELU},
    std::pair{"clamp", SHIFTCONV_ACTIVATION_CLAMP},
    std::pair{"gelu_erf", SHIFTCONV_ACTIVATION_GELU_ERF},
    std::pair{"gelu_tanh", SHIFTCONV_ACTIVATION_GELU_TANH},
    std::pair{"silu", SHIFTCONV_ACTIVATION_SILU},
    std::pair{"hard_swish", SHIFTCONV_ACTIVATION_HARD_SWISH},
    std::pair{"sigmoid", SHIFTCONV_ACTIVATION_SIGMOID},
    std::pair{"tanh", SHIFTCONV_ACTIVATION_TANH},
};
constexpr std::array kComputes{
    std::pair{"default", SHIFTCONV_COMPUTE_DEFAULT},
    std::pair{"tf32", SHIFTCONV_COMPUTE_TF32},
    std::pair{"f16", SHIFTCONV_COMPUTE_F16},
};

template <class Table>
int32_t valueOf(const char* argument, const Table& table, const std::string& name) {
  for (const auto& [known, value] : table)
    if (name == known) return value;
  std::string all;
  for (const auto& [known, value] : table) all += (all.empty() ? "" : ", ") + std::string(known);
  refuse(argument, " must be one of ", all, ", but is \"", name, "\"");
}

/// Elements from one pixel to the next. Extents of 1 have any stride.
int64_t pixelPitch(const char* argument, const Tensor& tensor) {
  const std::span<const int64_t> sizes = tensor.sizes(), strides = tensor.strides();
  const int64_t channels = sizes[1];
  int64_t pitch = 0, pixels = 1;
  bool fits = channels == 1 || strides[1] == 1;
  const auto pass = [&](size_t dimension) {
    if (sizes[dimension] == 1) return;
    if (pitch == 0) pitch = strides[dimension] / pixels;
    fits = fits && pitch >= channels && strides[dimension] == pitch * pixels;
    pixels *= sizes[dimension];
  };
  for (size_t dimension = sizes.size() - 1; dimension >= 2; --dimension) pass(dimension);
  pass(0);
  if (!fits)
    refuse(argument, " must be ", layoutName(sizes.size()), ": channels next to each other, pixels at one distance. Its shape is ",
           listOf(sizes), " and its strides are ", listOf(strides), ". ", argument, copyIntoLayout(sizes.size()),
           " copies it into that layout");
  return pitch == 0 ? channels : pitch;
}

void checkDense(const char* argument, const Tensor& tensor) {
  if (pixelPitch(argument, tensor) != tensor.sizes()[1])
    refuse(argument, " must be dense, but its pixels are ", std::to_string(pixelPitch(argument, tensor)),
           " elements apart and have ", std::to_string(tensor.sizes()[1]), " channels");
}

void checkDevice(const char* argument, const Tensor& tensor, const Tensor& x) {
  if (tensor.deviceType() != x.deviceType() || tensor.deviceIndex() != x.deviceIndex())
    refuse(argument, " must be on the device of x, but is on another one");
}

void checkShape(const char* argument, std::span<const int64_t> sizes, std::span<const int64_t> wanted, const char* what) {
  if (!std::equal(sizes.begin(), sizes.end(), wanted.begin(), wanted.end()))
    refuse(argument, " must have the shape ", listOf(wanted), ", ", what, ", but has ", listOf(sizes));
}

/// One dense number for each output channel.
void checkChannels(const char* argument, const Tensor& tensor, const Tensor& x, int64_t k) {
  checkDevice(argument, tensor, x);
  checkShape(argument, tensor.sizes(), std::span(&k, 1), "one number for each output channel");
  if (k > 1 && tensor.strides()[0] != 1) refuse(argument, " must be contiguous");
}

void checkExtents(const char* argument, const Tensor& tensor) {
  for (const int64_t size : tensor.sizes())
    if (size == 0) refuse(argument, " must not be empty, but its shape is ", listOf(tensor.sizes()));
}

void checkCount(const char* argument, const Integers& list, size_t spatial, bool pairs) {
  if (list.count() == 1 || list.count() == spatial || (pairs && list.count() == 2 * spatial)) return;
  refuse(argument, " must have 1", spatial > 1 ? " or " + std::to_string(spatial) : std::string(),
         pairs ? " or " + std::to_string(2 * spatial) : std::string(), " numbers for an x with ", std::to_string(spatial),
         " spatial dimensions, but has ", std::to_string(list.count()));
}

/// What follows x along a dimension has its other extents, its dtype and its device.
void checkSecond(const Operands& operands) {
  const std::span<const int64_t> sizes = operands.x.sizes();
  const bool isDepth = operands.dimension == 2 && sizes.size() == 5;
  if (operands.dimension != 1 && !isDepth)
    refuse("dim", " must be 1 (channels), or 2 (depth) of tensors with 5 dimensions, but is ", std::to_string(operands.dimension),
           " of ", std::to_string(sizes.size()));
  checkExtents("second", operands.second);
  checkDevice("second", operands.second, operands.x);
  std::vector<int64_t> wanted(sizes.begin(), sizes.end());
  const auto at = static_cast<size_t>(operands.dimension);
  if (operands.second.sizes().size() == wanted.size()) wanted[at] = operands.second.sizes()[at];
  checkShape("second", operands.second.sizes(), wanted, isDepth ? "that of x with any depth" : "that of x with any channels");
  if (operands.second.type() != operands.x.type()) refuse("second", " must have the dtype of x, but has another one");
}

void setWindow(const Settings& settings, size_t spatial, shiftconv_problem_t& problem) {
  checkCount("stride", settings.stride, spatial, false);
  checkCount("padding", settings.padding, spatial, true);
  checkCount("dilation", settings.dilation, spatial, false);
  const auto of = [](const Integers& list, size_t i) { return list.count() == 1 ? list[0] : list[i]; };
  int64_t* const strides[] = {&problem.stride_d, &problem.stride_h, &problem.stride_w};
  int64_t* const dilations[] = {&problem.dilation_d, &problem.dilation_h, &problem.dilation_w};
  int64_t* const before[] = {&problem.pad_front, &problem.pad_top, &problem.pad_left};
  int64_t* const after[] = {&problem.pad_back, &problem.pad_bottom, &problem.pad_right};
  const bool pairs = settings.padding.count() == 2 * spatial && settings.padding.count() > 1;
  for (size_t i = 0; i < spatial; ++i) {
    const size_t axis = 3 - spatial + i;
    *strides[axis] = of(settings.stride, i);
    *dilations[axis] = of(settings.dilation, i);
    *before[axis] = pairs ? settings.padding[2 * i] : of(settings.padding, i);
    *after[axis] = pairs ? settings.padding[2 * i + 1] : of(settings.padding, i);
  }
}

void setShapes(const Operands& operands, const Settings& settings, size_t spatial, shiftconv_problem_t& problem) {
  std::array<int64_t, 5> x{};
  std::ranges::copy(operands.x.sizes(), x.begin());
  if (operands.second) {
    const auto dimension = static_cast<size_t>(operands.dimension);
    (dimension == 1 ? problem.split_c : problem.split_d) = x[dimension];
    x[dimension] += operands.second.sizes()[dimension];
  }
  const std::span<const int64_t> w = operands.w.sizes();
  problem.n = x[0], problem.c = x[1], problem.k = w[0];
  problem.groups = settings.groups;
  problem.h = problem.r = 1;  // of 1-D
  int64_t* const image[] = {&problem.d, &problem.h, &problem.w};
  int64_t* const filter[] = {&problem.t, &problem.r, &problem.s};
  for (size_t i = 0; i < spatial; ++i) {
    *image[3 - spatial + i] = x[2 + i];
    *filter[3 - spatial + i] = w[2 + i];
  }
  if (problem.groups < 1 || problem.c != w[1] * problem.groups)
    refuse("w", " must have ", problem.groups < 1 ? std::string("a positive number of groups") : "x's channels / groups",
           ": x has ", std::to_string(problem.c), " channels, w's shape is ", listOf(w), " and groups is ",
           std::to_string(problem.groups));
}

void setEpilogue(const Operands& operands, const Settings& settings, shiftconv_problem_t& problem) {
  if (operands.bias) {
    checkChannels("bias", operands.bias, operands.x, problem.k);
    problem.has_bias = 1;
    problem.bias_type = typeOf("bias", operands.bias.type());
  }
  if (operands.channelScale) {
    checkChannels("channel_scale", operands.channelScale, operands.x, problem.k);
    if (typeOf("channel_scale", operands.channelScale.type()) != SHIFTCONV_TYPE_F32) refuse("channel_scale", " must be float32");
    problem.has_channel_scale = 1;
  }
  problem.activation = valueOf("activation", kActivations, settings.activation);
  problem.activation_a = static_cast<float>(settings.activationA);
  problem.activation_b = static_cast<float>(settings.activationB);
  problem.compute = valueOf("compute", kComputes, settings.compute);
}

int64_t outputExtent(int64_t extent, int64_t before, int64_t after, int64_t taps, int64_t dilation, int64_t stride) {
  return (extent + before + after - dilation * (taps - 1) - 1) / stride + 1;
}

}  // namespace

void Operands::takeOutput(StableIValue value, Output output) {
  if (output == Output::Given)
    out = takeTensor(value);
  else if (const std::optional<StableIValue> type = takeOptional(value))
    outType = static_cast<int32_t>(*type);
}

Operands Operands::ofPair(const StableIValue* stack, Output output) {
  Operands operands;
  operands.x = takeTensor(stack[0]);
  operands.second = takeTensor(stack[1]);
  operands.dimension = static_cast<int64_t>(stack[2]);
  operands.w = takeTensor(stack[3]);
  operands.bias = takeOptionalTensor(stack[4]);
  operands.residual = takeOptionalTensor(stack[5]);
  operands.channelScale = takeOptionalTensor(stack[6]);
  operands.takeOutput(stack[8], output);
  return operands;
}

Operands::Operands(const StableIValue* stack, size_t channelScaleAt, size_t outAt, Output output)
    : x(takeTensor(stack[0])),
      w(takeTensor(stack[1])),
      bias(takeOptionalTensor(stack[2])),
      residual(takeOptionalTensor(stack[3])),
      channelScale(takeOptionalTensor(stack[channelScaleAt])) {
  takeOutput(stack[outAt], output);
}

Described describe(const Operands& operands, const Settings& settings) {
  const size_t rank = operands.x.sizes().size();
  if (rank < 3 || rank > 5) refuse("x", " must have 3, 4 or 5 dimensions, but its shape is ", listOf(operands.x.sizes()));
  if (operands.w.sizes().size() != rank)
    refuse("w", " must have as many dimensions as x, which has ", std::to_string(rank), ", but its shape is ",
           listOf(operands.w.sizes()));
  checkExtents("x", operands.x);
  checkExtents("w", operands.w);
  checkDevice("w", operands.w, operands.x);
  if (operands.second) checkSecond(operands);

  Described described{SHIFTCONV_PROBLEM_INIT, {}, rank, operands.x.type()};
  shiftconv_problem_t& problem = described.problem;
  setShapes(operands, settings, rank - 2, problem);
  setWindow(settings, rank - 2, problem);
  problem.input_pixel_pitch = pixelPitch("x", operands.x);
  if (operands.second) problem.second_pixel_pitch = pixelPitch("second", operands.second);
  checkDense("w", operands.w);
  problem.input_type = typeOf("x", operands.x.type());
  problem.filter_type = typeOf("w", operands.w.type());
  if (operands.outType) described.outputType = *operands.outType;
  if (operands.out) described.outputType = operands.out.type();
  problem.output_type = typeOf(operands.out ? "out" : "out_dtype", described.outputType);
  setEpilogue(operands, settings, problem);

  // Padding, strides and dilations out of range have the library's sentence.
  if (shiftconv_problem_validate(&problem) != SHIFTCONV_STATUS_SUCCESS) refuse("", shiftconv_last_error());
  const std::array<int64_t, 3> extents{
      outputExtent(problem.d, problem.pad_front, problem.pad_back, problem.t, problem.dilation_d, problem.stride_d),
      outputExtent(problem.h, problem.pad_top, problem.pad_bottom, problem.r, problem.dilation_h, problem.stride_h),
      outputExtent(problem.w, problem.pad_left, problem.pad_right, problem.s, problem.dilation_w, problem.stride_w)};
  described.outputSizes[0] = problem.n, described.outputSizes[1] = problem.k;
  for (size_t i = 2; i < rank; ++i) described.outputSizes[i] = extents[5 - rank + i - 2];
  const std::span<const int64_t> outputSizes(described.outputSizes.data(), rank);
  if (operands.residual) {
    checkDevice("residual", operands.residual, operands.x);
    checkShape("residual", operands.residual.sizes(), outputSizes, "that of the output");
    problem.beta = 1;
    problem.residual_type = typeOf("residual", operands.residual.type());
    problem.residual_pixel_pitch = pixelPitch("residual", operands.residual);
    problem.residual_last = settings.residualLast ? 1 : 0;
  } else if (settings.residualLast) {
    refuse("residual_last", " must be False without a residual");
  }
  if (operands.out) {
    checkDevice("out", operands.out, operands.x);
    checkShape("out", operands.out.sizes(), outputSizes, "that of the output");
    problem.output_pixel_pitch = pixelPitch("out", operands.out);
  }
  return described;
}

std::array<int64_t, 5> channelsLastStrides(std::span<const int64_t> sizes) {
  std::array<int64_t, 5> strides{};
  strides[1] = 1;
  int64_t next = sizes[1];
  for (size_t dimension = sizes.size() - 1; dimension >= 2; --dimension) {
    strides[dimension] = next;
    next *= sizes[dimension];
  }
  strides[0] = next;
  return strides;
}

}  // namespace shiftconv::torch_glue
