#include "common/numerics/codec.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "common/numerics/rounding.hpp"

namespace shiftconv::numerics {
namespace {

constexpr std::array<std::string_view, kNumberTypes> kNames = {"f32",  "f16",  "bf16",  "tf32",  "e4m3", "e5m2", "e3m2",
                                                               "e2m3", "e2m1", "ue8m0", "ue4m3", "s8",   "u8",   "s32"};

/// tf32 as a 19-bit format; null for what is not sign, exponent and fraction.
const FloatFormat* floatFormat(NumberType type) {
  switch (type) {
    case NumberType::F32:
      return &kF32;
    case NumberType::F16:
      return &kF16;
    case NumberType::BF16:
      return &kBf16;
    case NumberType::TF32:
      return &kTf32;
    case NumberType::E4M3:
    case NumberType::UE4M3:
      return &kE4m3;
    case NumberType::E5M2:
      return &kE5m2;
    case NumberType::E3M2:
      return &kE3m2;
    case NumberType::E2M3:
      return &kE2m3;
    case NumberType::E2M1:
      return &kE2m1;
    default:
      return nullptr;
  }
}

/// cvt.rn.tf32.f32 pads with zeros.
constexpr int kTf32Padding = 13;
constexpr uint32_t kUe8m0Nan = 0xff;

double integerMinimum(NumberType type) { return type == NumberType::U8 ? 0.0 : type == NumberType::S8 ? -128.0 : -2147483648.0; }

uint32_t encodeInteger(NumberType type, double value) {
  if (std::isnan(value)) return 0;
  // rint follows the caller's rounding mode; exactValue and roundTo do not.
  const double clamped = std::clamp(value, integerMinimum(type), largestValue(type));
  const double below = std::floor(clamped), rest = clamped - below;
  const bool odd = std::fmod(below, 2.0) != 0;
  const auto integer = static_cast<int64_t>(below) + (rest > 0.5 || (rest == 0.5 && odd) ? 1 : 0);
  const uint32_t mask = type == NumberType::S32 ? 0xffff'ffffu : 0xffu;
  return static_cast<uint32_t>(integer) & mask;
}

/// To the nearest power of two; 1.5 times one lies in the middle and goes up: of the significands 1 and 2 that is the even one.
uint32_t encodeUe8m0(double value, Overflow overflow) {
  if (std::isnan(value) || value < 0) return kUe8m0Nan;
  if (value >= 1.5 * largestValue(NumberType::UE8M0)) return overflow == Overflow::Saturate ? kUe8m0Nan - 1 : kUe8m0Nan;
  if (value < 0x1p-127) return 0;
  int exponent = 0;
  const double fraction = 2 * std::frexp(value, &exponent);  // [1, 2)
  return static_cast<uint32_t>(exponent - 1 + 127 + (fraction >= 1.5 ? 1 : 0));
}

}  // namespace

std::string_view name(NumberType type) { return kNames[static_cast<size_t>(type)]; }

std::optional<NumberType> numberTypeNamed(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<NumberType>(found - kNames.begin());
}

double decode(NumberType type, uint32_t code) {
  switch (type) {
    case NumberType::UE8M0:
      code &= 0xff;
      return code == kUe8m0Nan ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(code) - 127);
    case NumberType::UE4M3:
      return decode(kE4m3, code & 0x7f);
    case NumberType::S8:
      return static_cast<int8_t>(code);
    case NumberType::U8:
      return static_cast<uint8_t>(code);
    case NumberType::S32:
      return static_cast<int32_t>(code);
    case NumberType::TF32:
      return decode(kTf32, code >> kTf32Padding);
    default: {
      const FloatFormat& format = *floatFormat(type);
      return decode(format, code & (2 * format.signBit() - 1));
    }
  }
}

uint32_t encode(NumberType type, double value, Overflow overflow) {
  if (type == NumberType::UE8M0) return encodeUe8m0(value, overflow);
  const FloatFormat* const format = floatFormat(type);
  if (format == nullptr) return encodeInteger(type, value);
  const bool invalid = std::isnan(value) || (type == NumberType::UE4M3 && value < 0);
  if (invalid) {
    const uint64_t nan = format->nan != 0 ? format->nan : format->maximumFinite;
    return static_cast<uint32_t>(nan << (type == NumberType::TF32 ? kTf32Padding : 0));
  }
  const uint64_t sign = std::signbit(value) && type != NumberType::UE4M3 ? format->signBit() : 0;
  uint64_t magnitude =
      std::isinf(value) ? format->maximumFinite + 1 : roundMagnitude(exactValue(value), *format, Rounding::NearestEven);
  if (magnitude > format->maximumFinite) {
    const uint64_t special = format->infinity != 0 ? format->infinity : format->nan;
    magnitude = overflow == Overflow::Saturate || special == 0 ? format->maximumFinite : special;
  }
  return static_cast<uint32_t>((sign | magnitude) << (type == NumberType::TF32 ? kTf32Padding : 0));
}

}  // namespace shiftconv::numerics
