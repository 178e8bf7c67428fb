#include "bench/traffic/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

#include "common/numerics/codec.hpp"

namespace shiftconv::bench {
namespace {

constexpr size_t kPeriod = 65521;  // prime, so that rows of pixels differ

std::vector<double> smallNumbers(std::mt19937_64& random) {
  std::vector<double> values(kPeriod);
  for (double& value : values) value = (random() % 2 != 0 ? 0.5 : -0.5) * static_cast<double>(1 + random() % 4);
  return values;
}
std::vector<double> smallPowers(std::mt19937_64& random) {
  std::vector<double> values(kPeriod);
  for (double& value : values) value = std::ldexp(0.5, static_cast<int>(random() % 4));
  return values;
}

Problem checked(const Problem& p) {
  const bool plain = p.groups == 1 && p.inputPixelPitch == 0 && p.outputPixelPitch == 0 && !p.hasBias && !p.hasResidual() &&
                     !p.hasChannelScale && !p.hasAmax && p.alpha == 1 && p.outScale == 1 && p.activation == Activation::None;
  if (!plain || bitsOf(p.inputType) < 8 || bitsOf(p.filterType) < 8 || isInteger(p.inputType))
    throw std::invalid_argument("layers of a comparison are plain convolutions of floating-point types of at least 8 bits");
  return p;
}

}  // namespace

Pattern::Pattern(numerics::NumberType type, std::vector<double> values) : type_(type), values_(std::move(values)) {}

std::vector<uint8_t> Pattern::bytes(int64_t count) const {
  const auto width = static_cast<size_t>(numerics::storageBits(type_) / 8);
  std::vector<uint8_t> period(values_.size() * width), all(static_cast<size_t>(count) * width);
  for (size_t i = 0; i < values_.size(); ++i) {
    const uint32_t bits = numerics::encode(type_, values_[i]);
    std::memcpy(&period[i * width], &bits, width);
  }
  for (size_t begin = 0; begin < all.size(); begin += period.size())
    std::memcpy(&all[begin], period.data(), std::min(period.size(), all.size() - begin));
  return all;
}

Reference::Reference(const Problem& problem, uint64_t seed)
    : problem_(checked(problem)), input_({}, {}), filter_({}, {}), inputScale_({}, {}), filterScale_({}, {}) {
  std::mt19937_64 random(seed);
  const Problem& p = problem_;
  input_ = {numberType(p.inputType), smallNumbers(random)};
  filter_ = {numberType(p.filterType), smallNumbers(random)};
  inputScale_ = {numberType(p.inputScale.type), smallPowers(random)};
  filterScale_ = {numberType(p.filterScale.type), smallPowers(random)};
  const int64_t taps = p.t * p.r * p.s, block = p.filterScale.blockSize, blocks = block == 0 ? 0 : (p.c + block - 1) / block;
  taps_.resize(static_cast<size_t>(taps * p.c * p.k));
  for (int64_t k = 0; k < p.k; ++k)
    for (int64_t tap = 0; tap < taps; ++tap)
      for (int64_t c = 0; c < p.c; ++c) {
        const int64_t row = k * taps + tap;
        const double scale = block == 0 ? 1 : filterScale_[row * blocks + c / block];
        taps_[static_cast<size_t>((tap * p.c + c) * p.k + k)] = static_cast<float>(filter_[row * p.c + c] * scale);
      }
}

std::vector<uint8_t> Reference::bytes(TensorName tensor) const {
  const Problem& p = problem_;
  const auto blocks = [&](const BlockScale& scale) {
    return scale.blockSize == 0 ? 0 : (p.c + scale.blockSize - 1) / scale.blockSize;
  };
  const int64_t rows = p.k * p.t * p.r * p.s;
  switch (tensor) {
    case TensorName::Input:
      return input_.bytes(p.inputPixels() * p.c);
    case TensorName::Filter:
      return filter_.bytes(rows * p.c);
    case TensorName::InputScale:
      return inputScale_.bytes(p.inputPixels() * blocks(p.inputScale));
    case TensorName::FilterScale:
      return filterScale_.bytes(rows * blocks(p.filterScale));
    default:
      return {};
  }
}

std::vector<uint32_t> Reference::pixel(int64_t pixel) const {
  const Problem& p = problem_;
  const int64_t q = pixel % p.q(), row = pixel / p.q() % p.p(), z = pixel / p.q() / p.p() % p.z(),
                n = pixel / p.q() / p.p() / p.z();
  const int64_t block = p.inputScale.blockSize, blocks = block == 0 ? 0 : (p.c + block - 1) / block;
  std::vector<float> sums(static_cast<size_t>(p.k));
  for (int64_t tap = 0; tap < p.t * p.r * p.s; ++tap) {
    const int64_t x = q * p.strideW + tap % p.s * p.dilationW - p.padLeft;
    const int64_t y = row * p.strideH + tap / p.s % p.r * p.dilationH - p.padTop;
    const int64_t d = z * p.strideD + tap / p.s / p.r * p.dilationD - p.padFront;
    if (x < 0 || x >= p.w || y < 0 || y >= p.h || d < 0 || d >= p.d) continue;
    const int64_t from = ((n * p.d + d) * p.h + y) * p.w + x;
    for (int64_t c = 0; c < p.c; ++c) {
      const double scale = block == 0 ? 1 : inputScale_[from * blocks + c / block];
      const auto value = static_cast<float>(input_[from * p.c + c] * scale);
      const float* const weights = &taps_[static_cast<size_t>((tap * p.c + c) * p.k)];
      for (size_t k = 0; k < sums.size(); ++k) sums[k] += value * weights[k];
    }
  }
  std::vector<uint32_t> bits(sums.size());
  for (size_t k = 0; k < sums.size(); ++k) bits[k] = numerics::encode(numberType(p.outputType), static_cast<double>(sums[k]));
  return bits;
}

}  // namespace shiftconv::bench
