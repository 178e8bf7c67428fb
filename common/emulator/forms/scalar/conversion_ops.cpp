#include "common/emulator/forms/scalar/conversion_ops.hpp"

#include <algorithm>
#include <cmath>

namespace shiftconv::emulator::isa {
namespace {

uint64_t lowBits(uint64_t value, unsigned bits) { return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1); }
int64_t signExtend(uint64_t value, unsigned bits) { return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits); }

/// Largest value of an integer type; the smallest of a signed one is its complement.
uint64_t maximumOf(const NumberType& type) { return ~uint64_t{0} >> (64 - type.bits + (type.kind == NumberKind::Signed ? 1 : 0)); }

uint64_t integerResult(const NumberType& type, uint64_t value) {
  return type.kind == NumberKind::Signed ? static_cast<uint64_t>(signExtend(value, type.bits)) : lowBits(value, type.bits);
}

/// Clamps the integer -magnitude or +magnitude to the range of `type`.
uint64_t clampInteger(const NumberType& type, bool negative, uint64_t magnitude) {
  const uint64_t maximum = maximumOf(type);
  if (!negative) return std::min(magnitude, maximum);
  if (type.kind == NumberKind::Unsigned) return 0;
  return uint64_t{0} - std::min(magnitude, maximum + 1);
}

uint64_t fromInteger(const Conversion& conversion, uint64_t bits) {
  const NumberType& source = conversion.source;
  const uint64_t extended =
      source.kind == NumberKind::Signed ? static_cast<uint64_t>(signExtend(bits, source.bits)) : lowBits(bits, source.bits);
  const bool negative = source.kind == NumberKind::Signed && static_cast<int64_t>(extended) < 0;
  const uint64_t magnitude = negative ? uint64_t{0} - extended : extended;
  const NumberType& result = conversion.result;
  if (result.kind != NumberKind::Float) {
    return conversion.saturate ? clampInteger(result, negative, magnitude) : integerResult(result, extended);
  }
  if (conversion.saturate && (negative || magnitude > 1))
    return convertTo(*result.format, negative ? 0.0 : 1.0, Rounding::NearestEven);
  return roundTo(*result.format, {negative, 0, magnitude}, conversion.rounding);
}

uint64_t flushBits(uint64_t bits, const FloatFormat& format) {
  const uint64_t exponentMask = ((uint64_t{1} << format.exponentBits) - 1) << format.fractionBits;
  return (bits & exponentMask) == 0 ? bits & format.signBit() : bits;
}

uint64_t floatToInteger(const Conversion& conversion, double value) {
  const NumberType& result = conversion.result;
  if (std::isnan(value)) {
    // 0, except from f64 or to a 64-bit integer: then the top bit alone.
    if (conversion.source.bits != 64 && result.bits != 64) return 0;
    return integerResult(result, uint64_t{1} << (result.bits - 1));
  }
  const double integral = roundToIntegral(value, conversion.rounding);
  const double magnitude = std::fabs(integral);
  return clampInteger(result, integral < 0, magnitude < 0x1p64 ? static_cast<uint64_t>(magnitude) : ~uint64_t{0});
}

/// Fraction of a NaN at the top of another format's, with its sign and the quiet bit set.
uint64_t passNan(const FloatFormat& from, const FloatFormat& to, uint64_t bits) {
  const uint64_t exponent = ((uint64_t{1} << to.exponentBits) - 1) << to.fractionBits;
  const uint64_t fraction = bits & ((uint64_t{1} << from.fractionBits) - 1);
  const int shift = to.fractionBits - from.fractionBits;
  const uint64_t moved = shift >= 0 ? fraction << shift : fraction >> -shift;
  return ((bits & from.signBit()) != 0 ? to.signBit() : 0) | exponent | uint64_t{1} << (to.fractionBits - 1) | moved;
}

/// What conversions make of NaNs (observed on H200): to and from f64 they keep sign and payload, bf16 to f32 moves the bits
/// and does not even make them quiet, everything else gives the canonical NaN, and so does .ftz on the f32 side.
uint64_t convertNan(const Conversion& conversion, uint64_t bits) {
  const FloatFormat& from = *conversion.source.format;
  const FloatFormat& to = *conversion.result.format;
  if (conversion.saturate) return 0;
  if (&from == &kBf16 && &to == &kF32) return bits << 16;
  if (conversion.result.bits != 64 && conversion.source.bits != 64) return to.nan;
  if (&from == &kF32 && conversion.flush) bits = kF32.nan;
  return passNan(from, to, bits);
}

uint64_t fromFloat(const Conversion& conversion, uint64_t bits) {
  const FloatFormat& sourceFormat = *conversion.source.format;
  bits = lowBits(bits, conversion.source.bits);
  // .ftz does not reach a subnormal f32 that is rounded up or down to f16 (observed on H200).
  const bool flushSource = conversion.flush && conversion.source.bits == 32 && conversion.result.format != &kF16;
  if (flushSource) bits = flushBits(bits, sourceFormat);
  double value = decode(sourceFormat, bits);
  if (conversion.result.kind != NumberKind::Float) return floatToInteger(conversion, value);
  const FloatFormat& format = *conversion.result.format;
  const bool negative = (bits & sourceFormat.signBit()) != 0;
  if (std::isnan(value)) return convertNan(conversion, bits);
  if (conversion.roundsToInteger) value = std::copysign(roundToIntegral(value, conversion.rounding), negative ? -1.0 : 1.0);
  if (conversion.saturate) value = std::clamp(value > 0 ? value : 0.0, 0.0, 1.0);
  if (conversion.relu && negative) value = 0.0;
  uint64_t result = convertTo(format, value, conversion.rounding, conversion.saturateFinite);
  if (conversion.flush && conversion.result.bits == 32) result = flushBits(result, format);
  return result;
}

}  // namespace

std::optional<NumberType> numberType(ptx::ScalarType type) {
  using ptx::ScalarType;
  switch (type) {
    case ScalarType::U8:
      return NumberType{NumberKind::Unsigned, 8};
    case ScalarType::U16:
      return NumberType{NumberKind::Unsigned, 16};
    case ScalarType::U32:
      return NumberType{NumberKind::Unsigned, 32};
    case ScalarType::U64:
      return NumberType{NumberKind::Unsigned, 64};
    case ScalarType::S8:
      return NumberType{NumberKind::Signed, 8};
    case ScalarType::S16:
      return NumberType{NumberKind::Signed, 16};
    case ScalarType::S32:
      return NumberType{NumberKind::Signed, 32};
    case ScalarType::S64:
      return NumberType{NumberKind::Signed, 64};
    case ScalarType::F16:
      return NumberType{NumberKind::Float, 16, &kF16};
    case ScalarType::BF16:
      return NumberType{NumberKind::Float, 16, &kBf16};
    case ScalarType::F32:
      return NumberType{NumberKind::Float, 32, &kF32};
    case ScalarType::F64:
      return NumberType{NumberKind::Float, 64, &kF64};
    default:
      return std::nullopt;
  }
}

double roundToIntegral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::TowardZero:
      return std::trunc(value);
    case Rounding::Down:
      return std::floor(value);
    case Rounding::Up:
      return std::ceil(value);
    default:
      return std::nearbyint(value);
  }
}

uint64_t convert(const Conversion& conversion, uint64_t bits) {
  return conversion.source.kind == NumberKind::Float ? fromFloat(conversion, bits) : fromInteger(conversion, bits);
}

}  // namespace shiftconv::emulator::isa
