#include "bench/conv/gpu/cudnn_side.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <vector>

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // where the frontend looks symbols up
}

namespace shiftconv::cudnn {

namespace fe = cudnn_frontend;

namespace {

[[noreturn]] void fail(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(2);
}

cudnnHandle_t handle() {
  static cudnnHandle_t instance = [] {
    cudnnHandle_t created = nullptr;
    if (fe::detail::create_handle(&created) != CUDNN_STATUS_SUCCESS) fail("cudnnCreate failed");
    return created;
  }();
  return instance;
}

/// NOT_SET for types that cuDNN has no convolution of.
fe::DataType_t typeOf(DataType type) {
  switch (type) {
    case DataType::F16:
      return fe::DataType_t::HALF;
    case DataType::BF16:
      return fe::DataType_t::BFLOAT16;
    case DataType::F32:
      return fe::DataType_t::FLOAT;
    case DataType::E4M3:
      return fe::DataType_t::FP8_E4M3;
    case DataType::E5M2:
      return fe::DataType_t::FP8_E5M2;
    case DataType::S8:
      return fe::DataType_t::INT8;
    case DataType::U8:
      return fe::DataType_t::UINT8;
    case DataType::S32:
      return fe::DataType_t::INT32;
    default:
      return fe::DataType_t::NOT_SET;
  }
}

double millisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

/// N, C and then the spatial sizes, with channels fastest or slowest; depth only where the problem has one.
struct Shape {
  std::vector<int64_t> sizes, strides;
};
Shape shapeOf(bool deep, int64_t n, int64_t d, int64_t h, int64_t w, int64_t c, int64_t pitch,
              Layout layout = Layout::ChannelsLast) {
  if (layout == Layout::ChannelsFirst) {
    if (deep) return {{n, c, d, h, w}, {c * d * h * w, d * h * w, h * w, w, 1}};
    return {{n, c, h, w}, {c * h * w, h * w, w, 1}};
  }
  if (deep) return {{n, c, d, h, w}, {pitch * d * h * w, 1, pitch * h * w, pitch * w, pitch}};
  return {{n, c, h, w}, {pitch * h * w, 1, pitch * w, pitch}};
}

}  // namespace

bool available() { return true; }

std::string load(const std::string& path) {
  fe::cudnn_dlhandle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (fe::cudnn_dlhandle == nullptr) fail("cannot open cuDNN: " + std::string(dlerror()));
  const size_t version = fe::detail::get_backend_version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

struct Convolution::State {
  State(const Problem& problem, Types types, Plain plain) : p(problem), types(types), plain(plain) {
    const auto start = std::chrono::steady_clock::now();
    refusal = build();
    queryTime = millisecondsSince(start);
  }

  std::string build() {
    const bool asked = types == Types::OfTheProblem;
    if (asked && (p.inputScale.blockSize != 0 || p.filterScale.blockSize != 0 || p.outputScale.blockSize != 0))
      return "no block scales for a convolution";
    if (p.isSplit()) return "no input in two tensors";
    if (p.isUpsampled()) return "no upsampling before a convolution";
    if (!asked && p.rounding == Rounding::Separate) return "f32 does not round to the problem's type between steps";
    if (p.inputZeroPoint != 0 || p.filterZeroPoint != 0 || p.outputZeroPoint != 0) return "no zero points";
    if (p.compute == Compute::F16) return "sums in f16 are not asked of it";
    const auto inputType = asked ? typeOf(p.inputType) : fe::DataType_t::FLOAT;
    const auto filterType = asked ? typeOf(p.filterType) : fe::DataType_t::FLOAT;
    const auto outputType = asked ? typeOf(p.outputType) : fe::DataType_t::FLOAT;
    for (const auto type : {inputType, filterType, outputType})
      if (type == fe::DataType_t::NOT_SET) return "no such element type";
    const bool integers = asked && isInteger(p.inputType);

    graph.set_io_data_type(inputType)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(integers ? fe::DataType_t::INT32 : fe::DataType_t::FLOAT);
    const bool deep = !isTwoDimensional(p);
    const Layout inputLayout = asked ? p.inputLayout : Layout::ChannelsLast,
                 outputLayout = asked ? p.outputLayout : Layout::ChannelsLast;
    const int64_t outer = p.transposed ? p.c : p.k, inner = p.transposed ? p.k / p.groups : p.groupChannels();
    input = tensor("x", shapeOf(deep, p.n, p.d, p.h, p.w, p.c, asked ? p.inputPitch() : p.c, inputLayout), inputType);
    filter = tensor("w", shapeOf(deep, outer, p.t, p.r, p.s, inner, inner, inputLayout), filterType);
    const auto spatial = [&](int64_t depth, int64_t height, int64_t width) {
      return deep ? std::vector<int64_t>{depth, height, width} : std::vector<int64_t>{height, width};
    };
    const auto places = [&](auto attributes) {
      return attributes.set_pre_padding(spatial(p.padFront, p.padTop, p.padLeft))
          .set_post_padding(spatial(p.padBack, p.padBottom, p.padRight))
          .set_stride(spatial(p.strideD, p.strideH, p.strideW))
          .set_dilation(spatial(p.dilationD, p.dilationH, p.dilationW));
    };
    Tensor sum = p.transposed ? graph.conv_dgrad(input, filter, places(fe::graph::Conv_dgrad_attributes()))
                              : graph.conv_fprop(input, filter, places(fe::graph::Conv_fprop_attributes()));
    const Shape outputShape = shapeOf(deep, p.n, p.z(), p.p(), p.q(), p.k, asked ? p.outputPitch() : p.k, outputLayout);
    sum->set_dim(outputShape.sizes).set_stride(outputShape.strides);
    if (integers) sum->set_data_type(fe::DataType_t::INT32);
    output = epilogue(rounded(sum), deep);
    // Not the sums themselves: asked for s32 outputs of plain convolutions, cuDNN 9.19 on an H200 gave numbers near 2^31.
    if ((integers || plain == Plain::Identity) && output == sum) output = unary(sum, fe::PointwiseMode_t::IDENTITY);
    output->set_output(true).set_data_type(outputType).set_dim(outputShape.sizes).set_stride(outputShape.strides);

    const auto tried = [](fe::error_t status, const char* what) {
      return status.is_good() ? std::string() : std::string(what) + ": " + status.get_message();
    };
    if (auto reason = tried(graph.validate(), "graph"); !reason.empty()) return reason;
    if (auto reason = tried(graph.build_operation_graph(handle()), "operation graph"); !reason.empty()) return reason;
    return tried(graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::B, fe::HeurMode_t::FALLBACK}), "plans");
  }

  /// A step's result in the output's type, where the problem rounds after every step.
  Tensor rounded(Tensor v) {
    if (p.rounding == Rounding::Separate) v->set_data_type(typeOf(p.outputType));
    return v;
  }

  /// alpha, channel scale, bias, residual, activation, output scale, in this order; a residual that is added last after the
  /// activation.
  Tensor epilogue(Tensor v, bool deep) {
    const auto perChannel = [&](const char* name, DataType type) {
      return tensor(name, shapeOf(deep, 1, 1, 1, 1, p.k, p.k), typeOf(type));
    };
    if (p.alpha != 1) v = rounded(binary(v, constant(p.alpha), fe::PointwiseMode_t::MUL));
    if (p.hasChannelScale) v = rounded(binary(v, channelScale = perChannel("scale", DataType::F32), fe::PointwiseMode_t::MUL));
    if (p.hasBias) v = rounded(binary(v, bias = perChannel("bias", p.biasType), fe::PointwiseMode_t::ADD));
    if (p.residualLast) v = activation(v);
    if (p.hasResidual()) {
      residual = tensor("residual", shapeOf(deep, p.n, p.z(), p.p(), p.q(), p.k, p.residualPitch(), p.outputLayout),
                        typeOf(p.residualType));
      Tensor added = residual;
      if (p.beta != 1) added = binary(residual, constant(p.beta), fe::PointwiseMode_t::MUL);
      v = rounded(binary(v, added, fe::PointwiseMode_t::ADD));
    }
    if (!p.residualLast) v = activation(v);
    if (p.outScale != 1) v = binary(v, constant(p.outScale), fe::PointwiseMode_t::MUL);
    return v;
  }

  Tensor activation(Tensor v) {
    using Mode = fe::PointwiseMode_t;
    const auto relu = [](float lower) { return attributes(Mode::RELU_FWD).set_relu_lower_clip(lower); };
    switch (p.activation) {
      case Activation::None:
        return v;
      case Activation::Relu:
        return unary(v, Mode::RELU_FWD);
      case Activation::LeakyRelu:
        return graph.pointwise(v, relu(0).set_relu_lower_clip_slope(p.activationA));
      case Activation::Clamp:
        return graph.pointwise(v, relu(p.activationA).set_relu_upper_clip(p.activationB));
      case Activation::GeluErf:
        return unary(v, Mode::GELU_FWD);
      case Activation::GeluTanh:
        return unary(v, Mode::GELU_APPROX_TANH_FWD);
      case Activation::Silu:
        return graph.pointwise(v, attributes(Mode::SWISH_FWD).set_swish_beta(1));
      case Activation::HardSwish: {
        const Tensor gate = graph.pointwise(binary(v, constant(3), Mode::ADD), relu(0).set_relu_upper_clip(6));
        return binary(binary(v, gate, Mode::MUL), constant(1.0f / 6), Mode::MUL);
      }
      case Activation::Sigmoid:
        return unary(v, Mode::SIGMOID_FWD);
      case Activation::Tanh:
        return unary(v, Mode::TANH_FWD);
    }
    return v;
  }

  static fe::graph::Pointwise_attributes attributes(fe::PointwiseMode_t mode) {
    return fe::graph::Pointwise_attributes().set_mode(mode).set_compute_data_type(fe::DataType_t::FLOAT);
  }
  Tensor unary(Tensor v, fe::PointwiseMode_t mode) { return graph.pointwise(v, attributes(mode)); }
  Tensor binary(Tensor a, Tensor b, fe::PointwiseMode_t mode) { return graph.pointwise(a, b, attributes(mode)); }
  Tensor tensor(const char* name, const Shape& shape, fe::DataType_t type) {
    return graph.tensor(
        fe::graph::Tensor_attributes().set_name(name).set_dim(shape.sizes).set_stride(shape.strides).set_data_type(type));
  }
  /// A number that is handed over at every call.
  Tensor constant(float value) {
    const auto rank = isTwoDimensional(p) ? 4u : 5u;
    constants.emplace_back(graph.tensor(fe::graph::Tensor_attributes()
                                            .set_name("constant")
                                            .set_dim(std::vector<int64_t>(rank, 1))
                                            .set_stride(std::vector<int64_t>(rank, 1))
                                            .set_is_pass_by_value(true)
                                            .set_data_type(fe::DataType_t::FLOAT)),
                           value);
    return constants.back().first;
  }

  const Problem p;
  const Types types;
  const Plain plain;
  fe::graph::Graph graph;
  Tensor input, filter, bias, residual, channelScale, output;
  std::vector<std::pair<Tensor, float>> constants;
  std::string refusal;
  double queryTime = 0;
};

Convolution::Convolution(const Problem& problem, Types types, Plain plain)
    : state_(std::make_unique<State>(problem, types, plain)) {}
Convolution::~Convolution() = default;

const std::string& Convolution::refusal() const { return state_->refusal; }
double Convolution::queryTime() const { return state_->queryTime; }
int64_t Convolution::plans() const { return state_->graph.get_execution_plan_count(); }

std::vector<Engine> Convolution::engines() const {
  int64_t count = 0;
  if (state_->graph.get_engine_count(count).is_bad()) return {};
  std::vector<Engine> found;
  for (int64_t id = 0; id < count; ++id) {
    std::vector<fe::Knob> knobs;
    if (state_->graph.get_knobs_for_engine(id, knobs).is_bad()) continue;
    Engine& engine = found.emplace_back();
    engine.id = id;
    for (const fe::Knob& knob : knobs)
      engine.knobs.push_back({static_cast<int64_t>(knob.type), knob.minValue, knob.maxValue, std::max<int64_t>(1, knob.stride)});
  }
  return found;
}

std::optional<int64_t> Convolution::add(int64_t engine, const KnobValues& knobs) {
  std::unordered_map<fe::KnobType_t, int64_t> values;
  for (const auto& [type, value] : knobs) values[static_cast<fe::KnobType_t>(type)] = value;
  const int64_t before = plans();
  if (state_->graph.create_execution_plan(engine, values).is_bad() || plans() != before + 1) return {};
  return before;
}

bool Convolution::build(int64_t index, size_t mostWorkspace, double& buildTime) {
  const auto start = std::chrono::steady_clock::now();
  const bool good = state_->graph.build_plan_at_index(handle(), index).is_good();
  buildTime = millisecondsSince(start);
  return good && workspaceBytes(index) <= mostWorkspace;
}
size_t Convolution::workspaceBytes(int64_t index) const {
  return static_cast<size_t>(std::max<int64_t>(0, state_->graph.get_workspace_size_plan_at_index(index)));
}
std::string Convolution::name(int64_t index) const {
  std::string name;
  if (state_->graph.get_plan_name_at_index(index, name).is_bad()) return "?";
  return name;
}

bool Convolution::run(int64_t index, const Tensors& tensors, CUdeviceptr workspace, CUstream stream) const {
  if (fe::detail::set_stream(handle(), reinterpret_cast<cudaStream_t>(stream)) != CUDNN_STATUS_SUCCESS) return false;
  std::unordered_map<Tensor, void*> addresses;
  const auto add = [&](const Tensor& tensor, CUdeviceptr address) {
    if (tensor != nullptr) addresses[tensor] = reinterpret_cast<void*>(address);
  };
  add(state_->input, tensors.input);
  add(state_->filter, tensors.filter);
  add(state_->bias, tensors.bias);
  add(state_->residual, tensors.residual);
  add(state_->channelScale, tensors.channelScale);
  add(state_->output, tensors.output);
  for (auto& [tensor, value] : state_->constants) addresses[tensor] = &value;
  return state_->graph.execute_plan_at_index(handle(), addresses, reinterpret_cast<void*>(workspace), index).is_good();
}

}  // namespace shiftconv::cudnn
