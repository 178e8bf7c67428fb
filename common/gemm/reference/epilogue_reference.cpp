#include "common/gemm/reference/epilogue_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "common/numerics/codec.hpp"

namespace shiftconv::gemm {
namespace {

constexpr double kUnit = 0x1p-24, kSmallest = 0x1p-150, kSmallestNormal = 0x1p-126;
/// What the doubles of this file are off by.
constexpr double kDouble = 0x1p-50;

/// The result of an f32 operation with this exact value and the error of its operands.
Bounded rounded(double value, double handedOn) {
  if (handedOn == 0 && static_cast<double>(static_cast<float>(value)) == value) return {value, 0};
  return {value, handedOn + (std::fabs(value) + handedOn) * (kUnit + kDouble) + kSmallest};
}

Bounded operator*(Bounded a, Bounded b) {
  return rounded(a.value * b.value, std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error);
}
Bounded operator+(Bounded a, Bounded b) { return rounded(a.value + b.value, a.error + b.error); }

/// Rounded to a type with infinities: conversions are monotone, so that the ends of the interval say where the result lies.
Bounded converted(NumberType type, Bounded x) {
  const auto at = [type](double value) { return numerics::decode(type, numerics::encode(type, value)); };
  const double value = at(x.value);
  if (!std::isfinite(value)) return {value, 0};
  return {value, std::max(at(x.value + x.error) - value, value - at(x.value - x.error))};
}

double load(NumberType type, const void* row, int64_t column) {
  const auto bytes = static_cast<size_t>(numerics::storageBits(type)) / 8;
  uint32_t code = 0;
  std::memcpy(&code, static_cast<const std::byte*>(row) + static_cast<size_t>(column) * bytes, bytes);
  return numerics::decode(type, code);
}

double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }
double normalTail(double w) { return std::erfc(w / std::sqrt(2.0)) / 2; }

/// Own error of sigmoidOf where |argument| is at most w and the result at most s; `relative`: of the argument.
double sigmoidError(double w, double s, double oneMinusS, double relative) {
  return s * (oneMinusS * ((1.5 + relative) * w + 4) + 3) * kUnit + kSmallestNormal;
}

/// Of weighSigmoid with a weight of at most `weight`: 9u in place of sigmoid's 3u, as several numbers have one reciprocal and the
/// weight is multiplied.
double weighedSigmoidError(double weight, double w, double s, double oneMinusS, double relative) {
  return weight * (sigmoidError(w, s, oneMinusS, relative) + 6 * s * kUnit);
}

/// f(x), the largest slope of f, and the error of the device's f on numbers within x's error.
struct Activated {
  double value, slope, own;
};

Activated geluErf(double v, double w) {
  const double tail = normalTail(std::fabs(v)) + 0.4 * (w - std::fabs(v));
  const double phiError = tail * (2 * w * w + 66) * kUnit + (v > -(w - std::fabs(v)) ? kUnit : 0) + kSmallestNormal;
  const double value = v * normalTail(-v);
  return {value, 1.13, w * phiError + 0x1p-38 + std::fabs(value) * kUnit + 2 * kSmallest};
}

Activated geluTanh(double v, double w) {
  const double linear = 2 * std::sqrt(2 / std::acos(-1.0)), cubic = linear * 0.044715;
  const double argument = v * (linear + cubic * v * v), bound = w * (linear + cubic * w * w);
  const double s = sigmoid(argument);
  // s(1 - s) is flatter than its argument is wrong: the slope of s is 1/4 at most.
  const double reach = 0.25 * (bound - std::fabs(argument));
  return {v * s, 1.13, weighedSigmoidError(w, bound, s + reach, 1 - s + reach, 2.5)};
}

Activated activation(const EpilogueParams& p, double v, double error) {
  const double w = std::fabs(v) + error, a = double{p.activationA}, b = double{p.activationB};
  switch (p.activation) {
    case Activation::None:
      return {v, 1, 0};
    case Activation::Relu:
      return {v < 0 ? 0 : v, 1, 0};
    case Activation::LeakyRelu: {
      const double value = v < 0 ? a * v : v, handedOn = std::fabs(a) * error;  // that counts with the slope
      return {value, std::max(1.0, std::fabs(a)), v - error < 0 ? rounded(value, handedOn).error - handedOn : 0};
    }
    case Activation::Clamp:
      return {v < a ? a : v > b ? b : v, 1, 0};
    case Activation::GeluErf:
      return geluErf(v, w);
    case Activation::GeluTanh:
      return geluTanh(v, w);
    case Activation::Silu: {
      const double s = sigmoid(v), reach = 0.25 * error;
      return {v * s, 1.1, weighedSigmoidError(w, w, s + reach, 1 - s + reach, 0)};
    }
    case Activation::HardSwish: {
      const double value = v * std::clamp(v + 3, 0.0, 6.0) / 6;
      return {value, 1.5, 4 * (std::fabs(value) + 1.5 * error) * kUnit};
    }
    case Activation::Sigmoid: {
      const double s = sigmoid(v), reach = 0.25 * error;
      return {s, 0.25, sigmoidError(w, s + reach, 1 - s + reach, 0)};
    }
    case Activation::Tanh:
      return {std::tanh(v), 1, 21 * (std::fabs(std::tanh(v)) + error) * kUnit};
  }
  return {v, 1, 0};
}

Bounded activate(const EpilogueParams& p, Bounded x) {
  const Activated f = activation(p, x.value, x.error);
  // Second-order terms and the doubles here: 2^-20 of the error and 2^-50 of the value.
  const double error = f.slope * x.error + f.own;
  return {f.value, error == 0 ? 0 : error * (1 + 0x1p-20) + std::fabs(f.value) * kDouble + kSmallest};
}

/// Codes of a type in the order of their values: sign and magnitude unfolded.
int64_t ordinal(NumberType type, uint32_t code) {
  const int bits = numerics::storageBits(type);
  if (type == NumberType::U8 || type == NumberType::UE4M3 || type == NumberType::UE8M0) return code;
  if (type == NumberType::S8) return static_cast<int8_t>(code);
  if (type == NumberType::S32) return static_cast<int32_t>(code);
  const uint32_t magnitude = code & ((uint32_t{1} << (bits - 1)) - 1);
  return (code >> (bits - 1) & 1) != 0 ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
}

bool between(NumberType type, double low, double high, uint32_t code) {
  const int64_t at = ordinal(type, code);
  return ordinal(type, numerics::encode(type, low)) <= at && at <= ordinal(type, numerics::encode(type, high));
}

}  // namespace

EpilogueValue epilogueReference(const EpilogueParams& p, int64_t row, int64_t column, Bounded accumulator) {
  Bounded v = accumulator;
  if (p.rowCorrection != nullptr) v.value -= p.rowCorrection[row];
  if (p.columnCorrection != nullptr) {
    const int64_t rowClass = p.rowClass != nullptr ? p.rowClass[row] : 0;
    v.value -= p.columnCorrection[rowClass * p.correctionPitch + column];
  }
  if (p.outputType == NumberType::S32) return {v, v};
  if (p.accumulatorType == NumberType::S32) v = rounded(v.value, v.error);
  Bounded factor{double{p.alpha}, 0};
  if (p.rowScale != nullptr) factor = factor * Bounded{double{p.rowScale[row]}, 0};
  const auto step = [&p](Bounded result) { return p.roundsSteps ? converted(p.outputType, result) : result; };
  v = step(v * factor);
  if (p.columnScale != nullptr) v = step(v * Bounded{double{p.columnScale[column]}, 0});
  if (p.bias != nullptr) v = step(v + Bounded{load(p.biasType, p.bias, column), 0});
  if (p.residualLast) v = step(activate(p, v));
  if (p.residual != nullptr) {
    const auto* const residualRow = static_cast<const std::byte*>(p.residual) + row * p.residualPitch;
    // One rounding; the product of two f32 is exact in double.
    v = step(v + Bounded{double{p.beta} * load(p.residualType, residualRow, column), 0});
  }
  if (!p.residualLast) v = step(activate(p, v));
  return {v, v * Bounded{double{p.outputScale}, 0}};
}

bool reachable(NumberType type, Bounded value, uint32_t code, int32_t zeroPoint) {
  if (zeroPoint != 0) {
    if (std::isnan(value.value)) return code == numerics::encode(type, static_cast<double>(zeroPoint));
    return between(type, std::nearbyint(value.value - value.error) + zeroPoint,
                   std::nearbyint(value.value + value.error) + zeroPoint, code);
  }
  if (std::isnan(value.value)) return code == numerics::encode(type, value.value);
  if (std::isinf(value.value)) return code == numerics::encode(type, value.value);
  const bool isNan = std::isnan(numerics::decode(type, code));
  return !isNan && between(type, value.value - value.error, value.value + value.error, code);
}

std::string blockDifference(const numerics::BlockFormat& format, std::span<const Bounded> values, uint32_t scaleCode,
                            std::span<const uint32_t> codes) {
  // nvfp4 divides the maximum by 6 and the values by the factor with two roundings and an approximate reciprocal.
  const double slack = format.scale == NumberType::UE4M3 ? 5 * kUnit : 0;
  double lowest = 0, highest = 0;
  bool finite = true;
  for (const Bounded& v : values) {
    finite = finite && std::isfinite(v.value);
    lowest = std::max(lowest, std::fabs(v.value) - v.error);
    highest = std::max(highest, std::fabs(v.value) + v.error);
  }
  if (!finite) {
    lowest = highest = std::numeric_limits<double>::quiet_NaN();
  }
  const uint32_t low = numerics::blockScale(format, lowest * (1 - slack)),
                 high = numerics::blockScale(format, highest * (1 + slack));
  if (scaleCode < low || scaleCode > high) return fmt::format("factor {:#x} instead of {:#x} to {:#x}", scaleCode, low, high);
  const double factor = numerics::decode(format.scale, scaleCode);
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(factor > 0)) {
      if (codes[i] != 0) return fmt::format("element {}: {:#x} in a block of zeros or NaN", i, codes[i]);
      continue;
    }
    const auto [value, error] = values[i];
    const double wide = error + slack * (std::fabs(value) + error);
    if (!between(format.element, (value - wide) / factor, (value + wide) / factor, codes[i]))
      return fmt::format("element {}: {:#x} ({}) for {} +- {} with factor {}", i, codes[i],
                         numerics::decode(format.element, codes[i]), value, error, factor);
  }
  return {};
}

}  // namespace shiftconv::gemm
