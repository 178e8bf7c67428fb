#include "conv/helpers/helpers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "common/layout/ceil_divide.hpp"
#include "conv/helpers/params.hpp"
#include "helpers_image.hpp"

namespace shiftconv::helpers {
namespace {

using kernels::helpers::FastDivisor;
using kernels::helpers::kThreads;
using kernels::helpers::kVector;

/// Coordinates and divisors are 31-bit numbers.
constexpr int64_t kMost = (int64_t{1} << 31) - 1;
/// Strides and pitches stay far from the end of 64-bit offsets.
constexpr int64_t kMostStride = int64_t{1} << 40;

Status wrong(std::string message) { return {StatusCode::InvalidArgument, std::move(message)}; }

Status inRange(std::string_view field, int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most) return {};
  return wrong(fmt::format("{} must be in {}..{}, but is {}", field, least, most, value));
}

Status isFloat(std::string_view field, DataType type) {
  if (type == DataType::F32 || type == DataType::F16 || type == DataType::BF16) return {};
  return wrong(fmt::format("{} must be f32, f16 or bf16, but is {}", field, nameOf(type)));
}

Status isAddress(std::string_view name, device::Address address, uint32_t elementBytes) {
  if (address == 0) return wrong(fmt::format("{} must not be NULL", name));
  if (address % elementBytes == 0) return {};
  return wrong(fmt::format("{} must be aligned to its elements of {} bytes, but is {:#x}", name, elementBytes, address));
}

/// The first failure of several checks.
template <class... Checks>
Status allOf(Checks&&... checks) {
  Status status;
  ((status = checks(), status.ok()) && ...);
  return status;
}

FastDivisor divisor(int64_t value) { return FastDivisor(static_cast<uint32_t>(value)); }

/// Kernels are found by their names; what else a plan says of a launch, a helper's own launch says.
struct HelperKernel {
  explicit HelperKernel(const char* name) {
    launch.image = images::helpers();
    launch.kernel = name;
    for (int warp = 0; warp < kThreads / 32; ++warp) launch.warpRoles.push_back(fmt::format("helper {}", warp));
  }
  plan::PlannedLaunch launch;
};

const HelperKernel& relayoutKernel() {
  static const HelperKernel kernel("helper_relayout");
  return kernel;
}
const HelperKernel& poolKernel(bool vector) {
  static const HelperKernel one("helper_pool"), four("helper_pool_vector");
  return vector ? four : one;
}
const HelperKernel& pointwiseKernel(bool vector) {
  static const HelperKernel one("helper_pointwise"), four("helper_pointwise_vector");
  return vector ? four : one;
}
const HelperKernel& normalizeKernel(bool vector) {
  static const HelperKernel one("helper_normalize"), four("helper_normalize_vector");
  return vector ? four : one;
}

template <class Params>
Status launch(const HelperKernel& helper, plan::KernelCache& cache, const Params& params, int64_t ctas, device::Stream stream) {
  const device::Kernel* kernel = nullptr;
  if (Status status = cache.find(helper.launch, kernel); !status.ok()) return status;
  LaunchConfig config;
  config.grid.x = static_cast<uint32_t>(ctas);
  config.block.x = kThreads;
  const void* const arguments[] = {&params};
  return cache.device().launch(*kernel, config, arguments, stream);
}

/// A thread for each of params.count.
template <class Params>
Status launch(const HelperKernel& helper, plan::KernelCache& cache, const Params& params, device::Stream stream) {
  return launch(helper, cache, params, ceilDivide(int64_t{params.count}, int64_t{kThreads}), stream);
}

/// Whether every row of a tensor begins with whole vectors.
bool hasVectors(device::Address address, int64_t pitch, DataType type) {
  return pitch % kVector == 0 && address % (kVector * bytesOf(type)) == 0;
}

int64_t pitchOf(int64_t pitch, int64_t channels) { return pitch == 0 ? channels : pitch; }

Status checkPitch(std::string_view field, int64_t pitch, int64_t channels) {
  return pitch == 0 ? Status() : inRange(field, pitch, channels, kMostStride);
}

int64_t outputExtent(int64_t extent, int64_t before, int64_t after, int64_t taps, int64_t stride, int64_t dilation) {
  const int64_t room = extent + before + after - dilation * (taps - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

}  // namespace

Status prepare(plan::KernelCache& kernels) {
  const device::Kernel* kernel = nullptr;
  for (const HelperKernel* helper : {&relayoutKernel(), &poolKernel(false), &poolKernel(true), &pointwiseKernel(false),
                                     &pointwiseKernel(true), &normalizeKernel(false), &normalizeKernel(true)})
    if (Status status = kernels.find(helper->launch, kernel); !status.ok()) return status;
  return {};
}

Status run(const Relayout& r, plan::KernelCache& kernels, device::Address source, device::Address destination,
           device::Stream stream) {
  kernels::helpers::RelayoutParams params;
  int64_t count = 1;
  for (size_t axis = 0; axis < kAxes; ++axis) {
    const auto field = [axis](const char* name) { return fmt::format("{}[{}]", name, axis); };
    if (r.extent[axis] < 1 || r.extent[axis] > kMost) return inRange(field("extent"), r.extent[axis], 1, kMost);
    if (r.sourceStride[axis] < 0 || r.sourceStride[axis] > kMostStride)
      return inRange(field("source_stride"), r.sourceStride[axis], 0, kMostStride);
    if (r.destinationStride[axis] < 0 || r.destinationStride[axis] > kMostStride)
      return inRange(field("destination_stride"), r.destinationStride[axis], 0, kMostStride);
    if (r.extent[axis] > 1 && r.destinationStride[axis] == 0)
      return wrong(fmt::format("{} must not be 0: every element of the destination is written once", field("destination_stride")));
    if (r.extent[axis] > kMost / count) return wrong(fmt::format("extent has more than {} elements in all", kMost));
    count *= r.extent[axis];
    params.extent[axis] = divisor(r.extent[axis]);
    params.sourceStride[axis] = r.sourceStride[axis], params.destinationStride[axis] = r.destinationStride[axis];
  }
  const bool same = r.sourceType == r.destinationType;
  const int bits = bitsOf(r.sourceType);
  if (same && bits < 8) return wrong(fmt::format("source_type must fill whole bytes, but {} does not", nameOf(r.sourceType)));
  if (Status status = allOf([&] { return same ? Status() : isFloat("source_type", r.sourceType); },
                            [&] { return same ? Status() : isFloat("destination_type", r.destinationType); },
                            [&] { return isAddress("source", source, bytesOf(r.sourceType)); },
                            [&] { return isAddress("destination", destination, bytesOf(r.destinationType)); });
      !status.ok())
    return status;
  params.source = reinterpret_cast<const void*>(source), params.destination = reinterpret_cast<void*>(destination);
  params.count = static_cast<uint32_t>(count);
  params.sourceType = numberType(r.sourceType), params.destinationType = numberType(r.destinationType);
  params.moved = same ? bytesOf(r.sourceType) : 0;
  return launch(relayoutKernel(), kernels, params, stream);
}

Status run(const Pool& p, plan::KernelCache& kernels, device::Address input, device::Address output, device::Stream stream) {
  const auto length = [](const char* field, int64_t value, int64_t least) {
    return [=] { return inRange(field, value, least, kMost); };
  };
  if (Status status = allOf(
          length("n", p.n, 1), length("h", p.h, 1), length("w", p.w, 1), length("c", p.c, 1), length("r", p.r, 1),
          length("s", p.s, 1), length("stride_h", p.strideH, 1), length("stride_w", p.strideW, 1),
          length("dilation_h", p.dilationH, 1), length("dilation_w", p.dilationW, 1), length("pad_top", p.padTop, 0),
          length("pad_bottom", p.padBottom, 0), length("pad_left", p.padLeft, 0), length("pad_right", p.padRight, 0),
          [&] { return checkPitch("input_pixel_pitch", p.inputPixelPitch, p.c); },
          [&] { return checkPitch("output_pixel_pitch", p.outputPixelPitch, p.c); }, [&] { return isFloat("type", p.type); },
          [&] { return inRange("kind", static_cast<int64_t>(p.kind), 0, 1); },
          [&] { return isAddress("input", input, bytesOf(p.type)); }, [&] { return isAddress("output", output, bytesOf(p.type)); });
      !status.ok())
    return status;
  const int64_t height = outputExtent(p.h, p.padTop, p.padBottom, p.r, p.strideH, p.dilationH);
  const int64_t width = outputExtent(p.w, p.padLeft, p.padRight, p.s, p.strideW, p.dilationW);
  if (height < 1 || width < 1) return wrong("the padded input is smaller than the window, so that the output is empty");
  // Coordinates, taps outside of the image included, and numbers of pixels and threads.
  const auto fits = [](int64_t a, int64_t b) { return a <= kMost / b; };
  if (p.h + p.padTop + p.padBottom > kMost || p.w + p.padLeft + p.padRight > kMost || !fits(p.r, p.s) || !fits(p.n, p.h) ||
      !fits(p.n, height) || !fits(p.n * height, width) || !fits(p.n * height * width, p.c))
    return wrong(fmt::format("the padded input, the window or the output has more than {} elements", kMost));

  kernels::helpers::PoolParams params;
  params.inputPitch = pitchOf(p.inputPixelPitch, p.c), params.outputPitch = pitchOf(p.outputPixelPitch, p.c);
  const bool vector =
      p.c % kVector == 0 && hasVectors(input, params.inputPitch, p.type) && hasVectors(output, params.outputPitch, p.type);
  const int64_t vectors = vector ? p.c / kVector : p.c;
  params.input = reinterpret_cast<const void*>(input), params.output = reinterpret_cast<void*>(output);
  params.count = static_cast<uint32_t>(p.n * height * width * vectors);
  params.channelVectors = divisor(vectors), params.outputWidth = divisor(width), params.outputHeight = divisor(height);
  const auto i = [](int64_t value) { return static_cast<int32_t>(value); };
  params.height = i(p.h), params.width = i(p.w), params.tapsH = i(p.r), params.tapsW = i(p.s);
  params.strideH = i(p.strideH), params.strideW = i(p.strideW), params.dilationH = i(p.dilationH),
  params.dilationW = i(p.dilationW);
  params.padTop = i(p.padTop), params.padLeft = i(p.padLeft);
  params.type = numberType(p.type);
  params.average = p.kind == PoolKind::Average, params.countPadding = p.countPadding;
  return launch(poolKernel(vector), kernels, params, stream);
}

Status run(const Pointwise& p, plan::KernelCache& kernels, device::Address a, device::Address b, device::Address output,
           device::Stream stream) {
  const bool binary = p.operation != Operation::None;
  if (Status status = allOf(
          [&] { return inRange("rows", p.rows, 1, kMost); }, [&] { return inRange("c", p.c, 1, kMost); },
          [&] { return inRange("rows_of_b", p.rowsOfB, 1, kMost); }, [&] { return checkPitch("a_pitch", p.aPitch, p.c); },
          [&] { return checkPitch("b_pitch", p.bPitch, p.c); }, [&] { return checkPitch("output_pitch", p.outputPitch, p.c); },
          [&] { return isFloat("a_type", p.aType); }, [&] { return isFloat("b_type", p.bType); },
          [&] { return isFloat("output_type", p.outputType); },
          [&] { return inRange("operation", static_cast<int64_t>(p.operation), 0, 2); },
          [&] { return inRange("activation", static_cast<int64_t>(p.activation), 0, kActivations - 1); },
          [&] { return isAddress("a", a, bytesOf(p.aType)); }, [&] { return isAddress("output", output, bytesOf(p.outputType)); },
          [&] { return binary ? isAddress("b", b, bytesOf(p.bType)) : Status(); });
      !status.ok())
    return status;
  if (!binary && b != 0) return wrong("b must be NULL, because operation NONE (0) uses none");
  if (!std::isfinite(p.activationA) || !std::isfinite(p.activationB)) return wrong("activation_a and activation_b must be finite");
  if (p.rows > kMost / p.c) return wrong(fmt::format("rows * c must be at most {}, but is larger", kMost));

  kernels::helpers::PointwiseParams params;
  params.pitchA = pitchOf(p.aPitch, p.c), params.pitchB = pitchOf(p.bPitch, p.c), params.outputPitch = pitchOf(p.outputPitch, p.c);
  const bool vector = p.c % kVector == 0 && hasVectors(a, params.pitchA, p.aType) &&
                      hasVectors(output, params.outputPitch, p.outputType) && (!binary || hasVectors(b, params.pitchB, p.bType));
  const int64_t vectors = vector ? p.c / kVector : p.c;
  params.a = reinterpret_cast<const void*>(a), params.b = reinterpret_cast<const void*>(b);
  params.output = reinterpret_cast<void*>(output);
  params.count = static_cast<uint32_t>(p.rows * vectors);
  params.channelVectors = divisor(vectors), params.rowsOfB = divisor(p.rowsOfB);
  params.typeA = numberType(p.aType), params.typeB = numberType(p.bType), params.outputType = numberType(p.outputType);
  params.adds = p.operation == Operation::Add, params.multiplies = p.operation == Operation::Multiply;
  params.activation = static_cast<gemm::Activation>(p.activation), params.activationA = p.activationA,
  params.activationB = p.activationB;
  return launch(pointwiseKernel(vector), kernels, params, stream);
}

Status run(const Normalize& p, plan::KernelCache& kernels, device::Address input, device::Address scale, device::Address bias,
           device::Address output, device::Stream stream) {
  const auto isParameter = [&](const char* name, device::Address address) {
    return [=, &p] { return address == 0 ? Status() : isAddress(name, address, bytesOf(p.parameterType)); };
  };
  if (Status status = allOf([&] { return inRange("n", p.n, 1, kMost); }, [&] { return inRange("pixels", p.pixels, 1, kMost); },
                            [&] { return inRange("c", p.c, 1, kMost); }, [&] { return inRange("groups", p.groups, 1, p.c); },
                            [&] { return checkPitch("input_pixel_pitch", p.inputPixelPitch, p.c); },
                            [&] { return checkPitch("output_pixel_pitch", p.outputPixelPitch, p.c); },
                            [&] { return isFloat("type", p.type); }, [&] { return isFloat("parameter_type", p.parameterType); },
                            [&] { return inRange("activation", static_cast<int64_t>(p.activation), 0, kActivations - 1); },
                            [&] { return isAddress("input", input, bytesOf(p.type)); },
                            [&] { return isAddress("output", output, bytesOf(p.type)); }, isParameter("scale", scale),
                            isParameter("bias", bias));
      !status.ok())
    return status;
  if (p.c % p.groups != 0) return wrong(fmt::format("groups must divide c = {}, but is {}", p.c, p.groups));
  if (!std::isfinite(p.epsilon) || p.epsilon < 0)
    return wrong(fmt::format("epsilon must be finite and >= 0, but is {}", p.epsilon));
  if (!std::isfinite(p.activationA) || !std::isfinite(p.activationB)) return wrong("activation_a and activation_b must be finite");
  if (p.pixels > kMost / p.n || p.n * p.pixels > kMost / p.c)
    return wrong(fmt::format("n * pixels * c must be at most {}, but is larger", kMost));

  kernels::helpers::NormalizeParams params;
  const int64_t channels = p.c / p.groups;
  params.inputPitch = pitchOf(p.inputPixelPitch, p.c), params.outputPitch = pitchOf(p.outputPixelPitch, p.c);
  const bool vector = channels % kVector == 0 && hasVectors(input, params.inputPitch, p.type) &&
                      hasVectors(output, params.outputPitch, p.type) && hasVectors(scale, 0, p.parameterType) &&
                      hasVectors(bias, 0, p.parameterType);
  const int64_t vectors = vector ? channels / kVector : channels;
  params.input = reinterpret_cast<const void*>(input), params.output = reinterpret_cast<void*>(output);
  params.scale = reinterpret_cast<const void*>(scale), params.bias = reinterpret_cast<const void*>(bias);
  params.count = static_cast<uint32_t>(p.pixels * vectors);
  params.groups = divisor(p.groups), params.vectors = divisor(vectors);
  params.pixels = p.pixels, params.elements = static_cast<float>(p.pixels * channels), params.epsilon = p.epsilon;
  params.type = numberType(p.type), params.parameterType = numberType(p.parameterType);
  params.activation = static_cast<gemm::Activation>(p.activation), params.activationA = p.activationA,
  params.activationB = p.activationB;
  return launch(normalizeKernel(vector), kernels, params, p.n * p.groups, stream);
}

}  // namespace shiftconv::helpers
