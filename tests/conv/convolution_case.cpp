#include "tests/conv/convolution_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>

#include "common/numerics/codec.hpp"
#include "common/numerics/packed.hpp"
#include "conv/problem/text.hpp"

namespace shiftconv::tests {
namespace {

constexpr std::byte kPoison{0xCD};
constexpr int kShownErrors = 5;

DataKind dataNamed(const std::string& name) {
  static const std::map<std::string, DataKind> kinds{
      {"unit", DataKind::Unit}, {"wide", DataKind::Wide}, {"subnormal", DataKind::Subnormal}};
  return kinds.at(name);
}

double smallestNormal(DataType type) {
  switch (type) {
    case DataType::E4M3:
      return 0x1p-6;
    case DataType::F16:
    case DataType::E5M2:
      return 0x1p-14;
    default:
      return 0x1p-126;
  }
}

double randomMagnitude(DataKind kind, DataType type, std::mt19937_64& generator) {
  std::uniform_real_distribution<double> unit(0, 1);
  switch (kind) {
    case DataKind::Unit:
      return unit(generator) + 1e-3;
    case DataKind::Wide:
      return unit(generator) < 0.02 ? 0.0 : std::exp2(-7 + 12 * unit(generator));
    case DataKind::Subnormal: {
      const double choice = unit(generator);
      if (choice < 0.5) return smallestNormal(type) * unit(generator);
      return choice < 0.8 ? smallestNormal(type) * (1 + 3 * unit(generator)) : unit(generator);
    }
  }
  return 0;
}

/// Integers are any of their codes, whatever the kind.
uint32_t randomElement(DataKind kind, DataType type, std::mt19937_64& generator) {
  if (isInteger(type)) return static_cast<uint32_t>(generator() & 0xff);
  const double magnitude = randomMagnitude(kind, type, generator);
  return numerics::encode(numberType(type), generator() % 2 ? magnitude : -magnitude);
}

/// Rows of random elements, `pitch` elements from one to the next.
std::vector<std::byte> randomRows(size_t bytes, DataKind kind, DataType type, int64_t rows, int64_t columns, int64_t pitch,
                                  std::mt19937_64& generator) {
  constexpr std::byte kGap{0xFF};
  std::vector<std::byte> tensor(bytes, kGap);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      numerics::storePacked(numberType(type), tensor.data(), row * pitch + column, randomElement(kind, type, generator));
  return tensor;
}

std::vector<std::byte> randomFloats(size_t bytes, float low, float high, std::mt19937_64& generator) {
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<std::byte> tensor(bytes);
  for (size_t i = 0; i < bytes; i += sizeof(float)) {
    const float value = distribution(generator);
    std::memcpy(tensor.data() + i, &value, sizeof(value));
  }
  return tensor;
}

float decodeOutput(DataType type, const std::byte* bytes) {
  return static_cast<float>(numerics::decode(numberType(type), numerics::loadPacked(numberType(type), bytes, 0)));
}

}  // namespace

PlanOptions ConvolutionCase::options() const {
  PlanOptions result;
  result.algorithm = algorithm.c_str();
  result.options = planOptions.c_str();
  return result;
}

ConvolutionCase parseCase(const std::string& line) {
  ConvolutionCase test;
  std::istringstream parts(line);
  std::string part;
  std::getline(parts, part, '|');
  test.problem = Convolution::parse(part);
  while (std::getline(parts, part, '|')) {
    std::istringstream words(part);
    std::string name, value, more;
    words >> name >> value;
    if (name == "algorithm" && !(words >> more))
      test.algorithm = value;
    else if (name == "options" && !(words >> more))
      test.planOptions = value;
    else if (name == "multiprocessors" && !(words >> more))
      test.multiprocessors = static_cast<uint32_t>(std::stoul(value));
    else if (name == "data" && !(words >> more))
      test.data = dataNamed(value);
    else
      throw std::invalid_argument(fmt::format("\"{}\" in shape: {}", part, line));
  }
  return test;
}

Problem internalProblem(const Convolution& convolution) {
  Problem problem;
  if (const Status status = parse(convolution.describe(), problem); !status.ok()) throw std::invalid_argument(status.message());
  return problem;
}

reference::Operands CaseTensors::operands() const {
  reference::Operands all;
  all.input = input, all.secondInput = secondInput, all.filter = filter, all.bias = bias, all.residual = residual,
  all.channelScale = channelScale;
  return all;
}

CaseTensors makeTensors(const ConvolutionCase& test, uint64_t seed) {
  std::mt19937_64 generator(seed);
  const Problem p = internalProblem(test.problem);
  const auto bytes = test.problem.tensorBytes();
  CaseTensors tensors;
  tensors.input = randomRows(bytes.input, test.data, p.inputType, p.firstPixels(), p.firstChannels(), p.inputPitch(), generator);
  if (p.isSplit())
    tensors.secondInput =
        randomRows(bytes.second_input, test.data, p.inputType, p.secondPixels(), p.secondChannels(), p.secondPitch(), generator);
  const int64_t taps = p.k * p.t * p.r * p.s;
  tensors.filter = randomRows(bytes.filter, test.data, p.filterType, taps, p.groupChannels(), p.groupChannels(), generator);
  if (p.hasBias) tensors.bias = randomRows(bytes.bias, DataKind::Unit, p.biasType, 1, p.k, p.k, generator);
  if (p.hasResidual())
    tensors.residual =
        randomRows(bytes.residual, DataKind::Unit, p.residualType, p.outputPixels(), p.k, p.residualPitch(), generator);
  tensors.channelScale = randomFloats(bytes.channel_scale, 0.5F, 2, generator);
  return tensors;
}

reference::Expectation expectationOf(const ConvolutionCase& test, const CaseTensors& tensors, const Plan& plan) {
  return reference::convolve(internalProblem(test.problem), tensors.operands(), accumulationsIn(plan.describe()));
}

std::vector<std::byte> runCase(const ConvolutionCase& test, const CaseTensors& tensors, const Device& device, const Plan& plan,
                               shiftconv_stream_t stream) {
  const auto bytes = test.problem.tensorBytes();
  const shiftconv_device_t handle = device.handle();
  const auto upload = [&](const std::vector<std::byte>& tensor) {
    Memory memory(device, std::max<size_t>(tensor.size(), 16));
    if (!tensor.empty()) shiftconv::check(shiftconv_copy_to_device(handle, memory.get(), tensor.data(), tensor.size(), stream));
    return memory;
  };
  const Memory input = upload(tensors.input), secondInput = upload(tensors.secondInput), filter = upload(tensors.filter),
               bias = upload(tensors.bias);
  const Memory residual = upload(tensors.residual), channelScale = upload(tensors.channelScale);
  const Memory output = upload(std::vector<std::byte>(bytes.output, kPoison));
  const Memory amax(device, sizeof(float));
  shiftconv::check(shiftconv_copy_to_device(handle, amax.get(), &tensors.amaxBefore, sizeof(float), stream));
  Tensors arguments;
  arguments.input = input.get();
  arguments.second_input = bytes.second_input ? secondInput.get() : nullptr;
  arguments.filter = filter.get();
  arguments.bias = bytes.bias ? bias.get() : nullptr;
  arguments.residual = bytes.residual ? residual.get() : nullptr;
  arguments.channel_scale = bytes.channel_scale ? channelScale.get() : nullptr;
  arguments.output = output.get();
  arguments.amax = bytes.amax ? amax.get() : nullptr;
  const Memory workspace(device, std::max<size_t>(plan.workspaceBytes(), 16));
  arguments.workspace = plan.workspaceBytes() ? workspace.get() : nullptr;
  plan.run(device, arguments, stream);
  std::vector<std::byte> result(bytes.output + bytes.amax);
  shiftconv::check(shiftconv_copy_to_host(handle, result.data(), output.get(), bytes.output, stream));
  if (bytes.amax) shiftconv::check(shiftconv_copy_to_host(handle, result.data() + bytes.output, amax.get(), bytes.amax, stream));
  shiftconv::check(shiftconv_stream_synchronize(handle, stream));
  return result;
}

std::string judge(const ConvolutionCase& test, const reference::Expectation& expected, const std::vector<std::byte>& output) {
  const Problem p = internalProblem(test.problem);
  const auto size = static_cast<int64_t>(bytesOf(p.outputType));
  const int64_t pixels = p.outputPixels();
  std::string text;
  int64_t wrong = 0;
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    const std::byte* row = output.data() + pixel * p.outputPitch() * size;
    for (int64_t k = 0; k < p.k; ++k) {
      const auto index = static_cast<size_t>(pixel * p.k + k);
      const float computed = decodeOutput(p.outputType, output.data() + p.outputIndex(pixel, k) * size);
      if (reference::agrees(p, expected.value[index], expected.bound[index], computed)) continue;
      if (wrong++ < kShownErrors)
        text += fmt::format("output[n={},p={},q={},k={}] is {}, exact {}, bound {:.3g}\n", pixel / (p.p() * p.q()),
                            pixel / p.q() % p.p(), pixel % p.q(), k, computed, expected.value[index], expected.bound[index]);
    }
    const int64_t end = pixel + 1 < pixels ? p.outputPitch() : p.k;
    const bool gapWritten = std::any_of(row + p.k * size, row + end * size, [](std::byte byte) { return byte != kPoison; });
    if (gapWritten && wrong++ < kShownErrors) text += fmt::format("the gap after output pixel {} was written\n", pixel);
  }
  if (p.hasAmax) {
    const float amax = decodeOutput(DataType::F32, output.data() + output.size() - sizeof(float));
    const double error = std::abs(amax - expected.amax);
    if (std::isnan(error) || error > expected.amaxBound) {
      ++wrong;
      text += fmt::format("amax is {}, exact {}, bound {:.3g}\n", amax, expected.amax, expected.amaxBound);
    }
  }
  if (wrong > 0) text += fmt::format("{} of {} elements wrong", wrong, pixels * p.k);
  return text;
}

Plan planFor(const ConvolutionCase& test, const Device& device) { return planFor(test, device.properties()); }

Plan planFor(const ConvolutionCase& test, DeviceProperties properties) {
  if (test.multiprocessors != 0) properties.multiprocessors = test.multiprocessors;
  return Plan(test.problem, properties, test.options());
}

std::string check(const ConvolutionCase& test, Device& device, uint64_t seed) {
  const CaseTensors tensors = makeTensors(test, seed);
  const Plan plan = planFor(test, device);
  const auto output = runCase(test, tensors, device, plan);
  const auto expected = expectationOf(test, tensors, plan);
  return judge(test, expected, output);
}

ConvolutionCase randomCase(std::mt19937_64& generator) {
  const auto in = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(generator); };
  // Multiply-accumulates that the emulated tensor core executes, idle lanes and padded channels included.
  constexpr int64_t kMostMacs = 60'000'000;
  for (;;) {
    ConvolutionCase test;
    Convolution& p = test.problem;
    p.n = in(1, 3);
    p.h = in(1, in(0, 3) ? 14 : 60);
    p.w = in(1, in(0, 3) ? 24 : 140);
    p.c = 8 * in(1, in(0, 2) ? 5 : 18);
    p.k = 8 * in(1, in(0, 2) ? 6 : 33);
    p.r = in(1, 7);
    p.s = in(2, 7);
    p.dilation_h = in(1, 3);
    const int64_t padH = in(0, (p.r - 1) * p.dilation_h), padW = in(0, p.s - 1);
    p.pad_top = in(0, padH);
    p.pad_bottom = padH - p.pad_top;
    p.pad_left = in(0, padW);
    p.pad_right = padW - p.pad_left;
    p.input_type = p.filter_type = in(0, 1) ? SHIFTCONV_TYPE_F16 : SHIFTCONV_TYPE_BF16;
    p.output_type = static_cast<int32_t>(in(0, 2));
    p.has_bias = in(0, 1) != 0;
    p.activation = in(0, 1) ? SHIFTCONV_ACTIVATION_RELU : SHIFTCONV_ACTIVATION_NONE;
    if (in(0, 3) == 0) p.input_pixel_pitch = p.c + 8 * in(1, 3);
    if (in(0, 3) == 0) p.output_pixel_pitch = p.k + 8 * in(1, 3);
    test.planOptions = in(0, 1) ? "group=single" : "group=pair";
    if (in(0, 1)) test.planOptions += fmt::format(",ctas={}", in(1, 4));
    const int64_t kind = in(0, 3);
    test.data = kind == 0 ? DataKind::Wide : kind == 1 ? DataKind::Subnormal : DataKind::Unit;
    const int64_t tiles = (p.n * p.h * p.w + 4 * (33 - p.s) - 1) / (4 * (33 - p.s));
    const int64_t macs = tiles * 128 * p.r * p.s * ((p.c + 15) / 16 * 16) * ((p.k + 15) / 16 * 16);
    if (macs <= kMostMacs && shiftconv_problem_validate(&p) == SHIFTCONV_STATUS_SUCCESS) return test;
  }
}

}  // namespace shiftconv::tests
