#include "tests/conv/kernel/kernel_case.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <random>
#include <span>

#include "common/numerics/float16.hpp"

namespace shiftconv::tests {
namespace {

/// A sign and a magnitude of 2^-6 up to 2; one in `subnormalOneIn` is a non-zero subnormal instead (0: none).
uint16_t randomElement(DataType type, std::mt19937_64& random, unsigned subnormalOneIn) {
  const int fractionBits = type == DataType::BF16 ? 7 : 10;
  const int bias = type == DataType::BF16 ? 127 : 15;
  const auto fraction = static_cast<uint16_t>(random() & ((1u << fractionBits) - 1));
  const auto sign = static_cast<uint16_t>(random() & 0x8000u);
  if (subnormalOneIn != 0 && random() % subnormalOneIn == 0) return static_cast<uint16_t>(sign | (fraction | 1u));
  return static_cast<uint16_t>(sign | ((bias - 6 + random() % 7) << fractionBits) | fraction);
}

float decodeOutput(DataType type, const std::byte* element) {
  if (type == DataType::F32) {
    float value;
    std::memcpy(&value, element, sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, element, sizeof bits);
  return type == DataType::F16 ? numerics::decodeF16(bits) : numerics::decodeBf16(bits);
}

}  // namespace

KernelCase::KernelCase(const Problem& problem, uint64_t seed) : problem_(problem) {
  std::mt19937_64 random(seed);
  inputs_.activations.resize(static_cast<size_t>(problem.n * problem.d * problem.h * problem.w * problem.inputPitch()));
  for (uint16_t& x : inputs_.activations) x = randomElement(problem.inputType, random, 16);
  inputs_.filter.resize(static_cast<size_t>(problem.k * problem.t * problem.r * problem.s * problem.groupChannels()));
  for (uint16_t& w : inputs_.filter) w = randomElement(problem.inputType, random, 0);
  if (problem.hasBias) {
    inputs_.bias.resize(static_cast<size_t>(problem.k));
    for (float& b : inputs_.bias) b = std::uniform_real_distribution<float>(-2, 2)(random);
  }
  if (problem.hasResidual()) {
    inputs_.residual.resize(static_cast<size_t>(problem.outputPixels() * problem.residualPitch()));
    for (uint16_t& x : inputs_.residual) x = randomElement(problem.residualType, random, 16);
  }
  reference::Operands operands{inputs_.activations, inputs_.filter, inputs_.bias};
  operands.residual = std::as_bytes(std::span(inputs_.residual));
  hardware_ = reference::convolve(problem, operands, reference::Accumulation::TensorCore);
  fast_ = reference::convolve(problem, operands, reference::Accumulation::FusedMultiplyAdd);
}

std::string KernelCase::judge(const KernelRun& run, emulator::Numerics numerics) const {
  const reference::Expectation& expected = numerics == emulator::Numerics::Hardware ? hardware_ : fast_;
  const size_t elementBytes = bytesOf(problem_.outputType);
  const int64_t pixels = problem_.outputPixels(), pitch = problem_.outputPitch();
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (int64_t channel = 0; channel < pitch; ++channel) {
      const std::byte* element = run.output.data() + static_cast<size_t>(pixel * pitch + channel) * elementBytes;
      if (channel >= problem_.k) {
        for (size_t i = 0; i < elementBytes; ++i)
          if (element[i] != std::byte{0xCD}) return fmt::format("pixel {}: wrote past channel K, at channel {}", pixel, channel);
        continue;
      }
      const auto index = static_cast<size_t>(pixel * problem_.k + channel);
      const float computed = decodeOutput(problem_.outputType, element);
      if (!reference::agrees(problem_, expected.value[index], expected.bound[index], computed))
        return fmt::format("pixel {} channel {}: computed {}, exact {}, allowed error {}", pixel, channel, computed,
                           expected.value[index], expected.bound[index]);
    }
  }
  return {};
}

Problem makeProblem(int64_t n, int64_t h, int64_t w, int64_t c, int64_t k, int64_t r, int64_t s, std::array<int64_t, 4> pads) {
  Problem p;
  p.n = n;
  p.h = h;
  p.w = w;
  p.c = c;
  p.k = k;
  p.r = r;
  p.s = s;
  p.padTop = pads[0];
  p.padBottom = pads[1];
  p.padLeft = pads[2];
  p.padRight = pads[3];
  p.outputType = DataType::F32;
  return p;
}

std::vector<Problem> kernelFixture() {
  std::vector<Problem> problems;
  problems.push_back(makeProblem(2, 17, 23, 72, 40, 3, 3, {1, 1, 1, 1}));
  problems.push_back(makeProblem(1, 9, 37, 200, 264, 3, 3, {1, 1, 1, 1}));  // streamed filter, two passes
  problems.push_back(makeProblem(3, 11, 7, 8, 8, 7, 7, {3, 3, 3, 3}));
  problems.push_back(makeProblem(1, 21, 40, 24, 16, 2, 5, {0, 1, 3, 1}));
  problems.push_back(makeProblem(5, 1, 1, 16, 24, 1, 2, {0, 0, 1, 0}));
  Problem dilated = makeProblem(2, 14, 19, 64, 64, 3, 2, {3, 1, 0, 0});
  dilated.dilationH = 2;
  dilated.hasBias = true;
  dilated.activation = Activation::Relu;
  dilated.inputType = dilated.filterType = DataType::BF16;
  dilated.outputType = DataType::BF16;
  problems.push_back(dilated);
  Problem half = makeProblem(2, 8, 50, 40, 32, 3, 4, {1, 0, 1, 2});
  half.outputType = DataType::F16;
  half.hasBias = true;
  half.inputPixelPitch = 48;
  half.outputPixelPitch = 40;
  problems.push_back(half);
  return problems;
}

}  // namespace shiftconv::tests
