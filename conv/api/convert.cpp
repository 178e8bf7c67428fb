#include "conv/api/convert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "conv/api/boundary.hpp"
#include "conv/api/versioned.hpp"
#include "conv/plan/device_limits.hpp"
#include "conv/problem/validation.hpp"

namespace shiftconv::api {

template <>
constexpr size_t kFirstSize<shiftconv_problem_t> = SHIFTCONV_PROBLEM_SIZE_0_2;
template <>
constexpr size_t kFirstSize<shiftconv_device_properties_t> = SHIFTCONV_DEVICE_PROPERTIES_SIZE_0_2;
template <>
constexpr size_t kFirstSize<shiftconv_plan_options_t> = SHIFTCONV_PLAN_OPTIONS_SIZE_0_2;
template <>
constexpr size_t kFirstSize<shiftconv_autotune_t> = SHIFTCONV_AUTOTUNE_SIZE_0_2;
template <>
constexpr size_t kFirstSize<shiftconv_tensors_t> = SHIFTCONV_TENSORS_SIZE_0_2;
template <>
constexpr size_t kFirstSize<shiftconv_tensor_bytes_t> = SHIFTCONV_TENSOR_BYTES_SIZE_0_2;
template <>
constexpr size_t kFirstSize<shiftconv_estimate_t> = SHIFTCONV_ESTIMATE_SIZE_0_2;

namespace {

Status invalid(std::string message) { return {StatusCode::InvalidArgument, std::move(message)}; }

Status readFlag(const char* name, int32_t value, bool& flag) {
  if (value != 0 && value != 1) return invalid(fmt::format("{} must be 0 or 1, but is {}", name, value));
  flag = value == 1;
  return {};
}

BlockScale fromC(const shiftconv_block_scale_t& scale) {
  return {scale.block_size, static_cast<DataType>(scale.type), static_cast<ScaleOrder>(scale.order)};
}
shiftconv_block_scale_t toC(const BlockScale& scale) {
  return {scale.blockSize, static_cast<int32_t>(scale.type), static_cast<int32_t>(scale.order)};
}

/// The integers that both structures hold, in one place for both directions.
constexpr std::array<std::pair<int64_t shiftconv_problem_t::*, int64_t Problem::*>, 34> kLengths{
    {{&shiftconv_problem_t::n, &Problem::n},
     {&shiftconv_problem_t::d, &Problem::d},
     {&shiftconv_problem_t::h, &Problem::h},
     {&shiftconv_problem_t::w, &Problem::w},
     {&shiftconv_problem_t::c, &Problem::c},
     {&shiftconv_problem_t::k, &Problem::k},
     {&shiftconv_problem_t::t, &Problem::t},
     {&shiftconv_problem_t::r, &Problem::r},
     {&shiftconv_problem_t::s, &Problem::s},
     {&shiftconv_problem_t::groups, &Problem::groups},
     {&shiftconv_problem_t::pad_front, &Problem::padFront},
     {&shiftconv_problem_t::pad_back, &Problem::padBack},
     {&shiftconv_problem_t::pad_top, &Problem::padTop},
     {&shiftconv_problem_t::pad_bottom, &Problem::padBottom},
     {&shiftconv_problem_t::pad_left, &Problem::padLeft},
     {&shiftconv_problem_t::pad_right, &Problem::padRight},
     {&shiftconv_problem_t::stride_d, &Problem::strideD},
     {&shiftconv_problem_t::stride_h, &Problem::strideH},
     {&shiftconv_problem_t::stride_w, &Problem::strideW},
     {&shiftconv_problem_t::dilation_d, &Problem::dilationD},
     {&shiftconv_problem_t::dilation_h, &Problem::dilationH},
     {&shiftconv_problem_t::dilation_w, &Problem::dilationW},
     {&shiftconv_problem_t::input_pixel_pitch, &Problem::inputPixelPitch},
     {&shiftconv_problem_t::output_pixel_pitch, &Problem::outputPixelPitch},
     {&shiftconv_problem_t::residual_pixel_pitch, &Problem::residualPixelPitch},
     {&shiftconv_problem_t::output_padding_d, &Problem::outputPaddingD},
     {&shiftconv_problem_t::output_padding_h, &Problem::outputPaddingH},
     {&shiftconv_problem_t::output_padding_w, &Problem::outputPaddingW},
     {&shiftconv_problem_t::upsample_d, &Problem::upsampleD},
     {&shiftconv_problem_t::upsample_h, &Problem::upsampleH},
     {&shiftconv_problem_t::upsample_w, &Problem::upsampleW},
     {&shiftconv_problem_t::split_c, &Problem::splitC},
     {&shiftconv_problem_t::split_d, &Problem::splitD},
     {&shiftconv_problem_t::second_pixel_pitch, &Problem::secondPixelPitch}}};
constexpr std::array<std::pair<int32_t shiftconv_problem_t::*, DataType Problem::*>, 5> kTypes{
    {{&shiftconv_problem_t::input_type, &Problem::inputType},
     {&shiftconv_problem_t::filter_type, &Problem::filterType},
     {&shiftconv_problem_t::output_type, &Problem::outputType},
     {&shiftconv_problem_t::bias_type, &Problem::biasType},
     {&shiftconv_problem_t::residual_type, &Problem::residualType}}};
constexpr std::array<std::pair<shiftconv_block_scale_t shiftconv_problem_t::*, BlockScale Problem::*>, 3> kScales{
    {{&shiftconv_problem_t::input_block_scale, &Problem::inputScale},
     {&shiftconv_problem_t::filter_block_scale, &Problem::filterScale},
     {&shiftconv_problem_t::output_block_scale, &Problem::outputScale}}};
constexpr std::array<std::pair<int32_t shiftconv_problem_t::*, int32_t Problem::*>, 3> kZeroPoints{
    {{&shiftconv_problem_t::input_zero_point, &Problem::inputZeroPoint},
     {&shiftconv_problem_t::filter_zero_point, &Problem::filterZeroPoint},
     {&shiftconv_problem_t::output_zero_point, &Problem::outputZeroPoint}}};
constexpr std::array<std::pair<float shiftconv_problem_t::*, float Problem::*>, 5> kReals{
    {{&shiftconv_problem_t::alpha, &Problem::alpha},
     {&shiftconv_problem_t::beta, &Problem::beta},
     {&shiftconv_problem_t::out_scale, &Problem::outScale},
     {&shiftconv_problem_t::activation_a, &Problem::activationA},
     {&shiftconv_problem_t::activation_b, &Problem::activationB}}};

}  // namespace

Status fromC(const shiftconv_problem_t* source, Problem& problem) {
  shiftconv_problem_t p = SHIFTCONV_PROBLEM_INIT;
  if (Status status = readVersioned(source, "shiftconv_problem", p); !status.ok()) return status;
  if (Status status = readFlag("has_bias", p.has_bias, problem.hasBias); !status.ok()) return status;
  if (Status status = readFlag("has_channel_scale", p.has_channel_scale, problem.hasChannelScale); !status.ok()) return status;
  if (Status status = readFlag("has_amax", p.has_amax, problem.hasAmax); !status.ok()) return status;
  if (Status status = readFlag("transposed", p.transposed, problem.transposed); !status.ok()) return status;
  if (Status status = readFlag("filter_flipped", p.filter_flipped, problem.filterFlipped); !status.ok()) return status;
  if (Status status = readFlag("residual_last", p.residual_last, problem.residualLast); !status.ok()) return status;
  for (const auto& [from, to] : kLengths) problem.*to = p.*from;
  for (const auto& [from, to] : kTypes) problem.*to = static_cast<DataType>(p.*from);
  for (const auto& [from, to] : kScales) problem.*to = fromC(p.*from);
  for (const auto& [from, to] : kZeroPoints) problem.*to = p.*from;
  for (const auto& [from, to] : kReals) problem.*to = p.*from;
  problem.compute = static_cast<Compute>(p.compute);
  problem.activation = static_cast<Activation>(p.activation);
  problem.rounding = static_cast<Rounding>(p.rounding);
  problem.inputLayout = static_cast<Layout>(p.input_layout);
  problem.outputLayout = static_cast<Layout>(p.output_layout);
  return validate(problem);
}

Status toC(const Problem& problem, shiftconv_problem_t* target) {
  if (Status status = checkSize(target, "shiftconv_problem"); !status.ok()) return status;
  for (const auto& [isAsked, what, firstSize] :
       {std::tuple{problem.transposed, "transposed", offsetof(shiftconv_problem_t, upsample_d)},
        {problem.rounding == Rounding::Separate, "rounded in separate steps", offsetof(shiftconv_problem_t, upsample_d)},
        {problem.isUpsampled(), "upsampled", offsetof(shiftconv_problem_t, split_c)},
        {problem.hasChannelsFirst(), "in NCHW", offsetof(shiftconv_problem_t, split_c)},
        {problem.isSplit(), "one of a split input", offsetof(shiftconv_problem_t, filter_flipped)},
        {problem.filterFlipped, "one with a flipped filter", offsetof(shiftconv_problem_t, residual_last)},
        {problem.residualLast, "one whose residual is added last", sizeof(shiftconv_problem_t)}})
    if (isAsked && target->size < firstSize)
      return invalid(fmt::format("the problem is {}, but shiftconv_problem.size is {}, that of a version without such problems",
                                 what, target->size));
  shiftconv_problem_t p = SHIFTCONV_PROBLEM_INIT;
  for (const auto& [to, from] : kLengths) p.*to = problem.*from;
  for (const auto& [to, from] : kTypes) p.*to = static_cast<int32_t>(problem.*from);
  for (const auto& [to, from] : kScales) p.*to = toC(problem.*from);
  for (const auto& [to, from] : kZeroPoints) p.*to = problem.*from;
  for (const auto& [to, from] : kReals) p.*to = problem.*from;
  p.has_bias = problem.hasBias;
  p.has_channel_scale = problem.hasChannelScale;
  p.has_amax = problem.hasAmax;
  p.transposed = problem.transposed;
  p.filter_flipped = problem.filterFlipped;
  p.residual_last = problem.residualLast;
  p.compute = static_cast<int32_t>(problem.compute);
  p.activation = static_cast<int32_t>(problem.activation);
  p.rounding = static_cast<int32_t>(problem.rounding);
  p.input_layout = static_cast<int32_t>(problem.inputLayout);
  p.output_layout = static_cast<int32_t>(problem.outputLayout);
  writeVersioned(p, target);
  return {};
}

Status fromC(const shiftconv_device_properties_t* source, device::Properties& properties) {
  shiftconv_device_properties_t p = SHIFTCONV_DEVICE_PROPERTIES_INIT;
  if (Status status = readVersioned(source, "shiftconv_device_properties", p); !status.ok()) return status;
  if (p.kind != SHIFTCONV_DEVICE_CUDA && p.kind != SHIFTCONV_DEVICE_EMULATED)
    return invalid(
        fmt::format("properties.kind must be CUDA (1) or EMULATED (2), but is {}; let the library fill the properties", p.kind));
  if (p.reserved != 0) return invalid(fmt::format("properties.reserved must be 0, but is {}", p.reserved));
  properties.kind = p.kind == SHIFTCONV_DEVICE_CUDA ? device::Kind::Cuda : device::Kind::Emulated;
  properties.name.assign(p.name, strnlen(p.name, sizeof(p.name)));
  properties.computeMajor = p.compute_major;
  properties.computeMinor = p.compute_minor;
  properties.multiprocessors = p.multiprocessors;
  properties.sharedBytesPerBlock = p.shared_bytes_per_block;
  properties.l2Bytes = p.l2_bytes;
  properties.globalBytes = p.global_bytes;
  return plan::validate(properties);
}

Status fromC(const shiftconv_plan_options_t* source, plan::PlanOptions& options) {
  if (!source) return {};
  shiftconv_plan_options_t o = SHIFTCONV_PLAN_OPTIONS_INIT;
  if (Status status = readVersioned(source, "shiftconv_plan_options", o); !status.ok()) return status;
  if (o.algorithm) options.algorithm = o.algorithm;
  if (o.options) options.options = o.options;
  if (Status status = readFlag("batch_invariant", o.batch_invariant, options.batchInvariant); !status.ok()) return status;
  if (Status status = readFlag("constant_filter", o.constant_filter, options.constantFilter); !status.ok()) return status;
  if (Status status = readFlag("no_workspace", o.no_workspace, options.noWorkspace); !status.ok()) return status;
  options.multiprocessors = o.multiprocessors;
  return {};
}

Status fromC(const shiftconv_autotune_t* source, plan::AutotuneOptions& options) {
  shiftconv_autotune_t a = SHIFTCONV_AUTOTUNE_INIT;
  if (source != nullptr)
    if (Status status = readVersioned(source, "shiftconv_autotune", a); !status.ok()) return status;
  constexpr double kMostSeconds = 3600;
  if (!(a.seconds > 0 && a.seconds <= kMostSeconds))
    return invalid(fmt::format("shiftconv_autotune.seconds is {}, but must be positive and at most {}", a.seconds, kMostSeconds));
  if (a.reserved != 0) return invalid(fmt::format("shiftconv_autotune.reserved is {}, but must be 0", a.reserved));
  if (a.cache == nullptr) a.cache = std::getenv("SHIFTCONV_AUTOTUNE_CACHE");
  if (a.cache != nullptr) options.cache = a.cache;
  options.version = shiftconv_version_string();
  options.seconds = a.seconds;
  options.candidates = a.candidates;
  return {};
}

Status fromC(const shiftconv_tensors_t* source, plan::TensorAddresses& tensors) {
  shiftconv_tensors_t t = SHIFTCONV_TENSORS_INIT;
  if (Status status = readVersioned(source, "shiftconv_tensors", t); !status.ok()) return status;
  const std::array<const void*, kTensors> pointers{t.input,       t.filter,       t.bias,         t.residual, t.channel_scale,
                                                   t.input_scale, t.filter_scale, t.second_input, t.output,   t.output_scale,
                                                   t.amax,        t.workspace,    t.packed_filter};
  for (size_t i = 0; i < kTensors; ++i) tensors.values[i] = reinterpret_cast<device::Address>(pointers[i]);
  return {};
}

Status matrixToC(int64_t m, int64_t n, int64_t k, shiftconv_problem_t* target) {
  shiftconv_problem_t p = SHIFTCONV_PROBLEM_INIT;
  if (Status status = readVersioned(target, "shiftconv_problem", p); !status.ok()) return status;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (const auto& [name, extent] : {std::pair{"m", m}, {"n", n}, {"k", k}})
    if (extent < 1 || extent > kMost) return invalid(fmt::format("{} must lie in [1, {}], but is {}", name, kMost, extent));
  p.n = p.d = p.h = p.t = p.r = p.s = p.groups = 1;
  p.w = m, p.c = k, p.k = n;
  p.pad_front = p.pad_back = p.pad_top = p.pad_bottom = p.pad_left = p.pad_right = 0;
  p.upsample_d = p.upsample_h = p.upsample_w = 1;
  p.stride_d = p.stride_h = p.stride_w = p.dilation_d = p.dilation_h = p.dilation_w = 1;
  writeVersioned(p, target);
  return {};
}

Status toC(const device::Properties& properties, shiftconv_device_properties_t* target) {
  if (Status status = checkSize(target, "shiftconv_device_properties"); !status.ok()) return status;
  shiftconv_device_properties_t p = SHIFTCONV_DEVICE_PROPERTIES_INIT;
  p.kind = properties.kind == device::Kind::Cuda ? SHIFTCONV_DEVICE_CUDA : SHIFTCONV_DEVICE_EMULATED;
  p.compute_major = properties.computeMajor;
  p.compute_minor = properties.computeMinor;
  p.multiprocessors = properties.multiprocessors;
  p.shared_bytes_per_block = properties.sharedBytesPerBlock;
  p.l2_bytes = properties.l2Bytes;
  p.global_bytes = properties.globalBytes;
  std::memcpy(p.name, properties.name.data(), std::min(properties.name.size(), sizeof(p.name) - 1));
  writeVersioned(p, target);
  return {};
}

Status toC(const PerTensor<size_t>& bytes, shiftconv_tensor_bytes_t* target) {
  if (Status status = checkSize(target, "shiftconv_tensor_bytes"); !status.ok()) return status;
  const shiftconv_tensor_bytes_t b{0,
                                   bytes[TensorName::Input],
                                   bytes[TensorName::Filter],
                                   bytes[TensorName::Bias],
                                   bytes[TensorName::Residual],
                                   bytes[TensorName::ChannelScale],
                                   bytes[TensorName::InputScale],
                                   bytes[TensorName::FilterScale],
                                   bytes[TensorName::Output],
                                   bytes[TensorName::OutputScale],
                                   bytes[TensorName::Amax],
                                   bytes[TensorName::SecondInput]};
  writeVersioned(b, target);
  return {};
}

Status toC(const plan::Estimate& estimate, shiftconv_estimate_t* target) {
  if (Status status = checkSize(target, "shiftconv_estimate"); !status.ok()) return status;
  // The names of resources are literals.
  writeVersioned({0, estimate.seconds, estimate.flops, estimate.bytes, nameOf(estimate.bound).data()}, target);
  return {};
}

}  // namespace shiftconv::api
