// Correct rounding of exact values to binary floating-point formats, by their bits: the one place where rounding is spelled out.
// The emulator and the codecs of number_types.hpp both use it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace shiftconv::numerics {

enum class Rounding : uint8_t {
  NearestEven,  ///< .rn .rni
  TowardZero,   ///< .rz .rzi
  Down,         ///< .rm .rmi
  Up,           ///< .rp .rpi
  NearestAway,  ///< .rna
  Stochastic,   ///< .rs
};

/// A binary floating-point format. Values are sign, biased exponent, fraction.
struct FloatFormat {
  int exponentBits;
  int fractionBits;
  uint64_t maximumFinite;  ///< largest finite magnitude
  uint64_t infinity;       ///< 0 when the format has none
  uint64_t nan;            ///< canonical NaN; 0 when the format has none

  int bias() const { return (1 << (exponentBits - 1)) - 1; }
  uint64_t signBit() const { return uint64_t{1} << (exponentBits + fractionBits); }
};

inline constexpr FloatFormat kF16{5, 10, 0x7bff, 0x7c00, 0x7fff};
inline constexpr FloatFormat kBf16{8, 7, 0x7f7f, 0x7f80, 0x7fff};
/// tf32 as a 19-bit format; in a register its fraction is followed by 13 zero bits.
inline constexpr FloatFormat kTf32{8, 10, 0x3fbff, 0x3fc00, 0x3ffff};
inline constexpr FloatFormat kF32{8, 23, 0x7f7f'ffff, 0x7f80'0000, 0x7fff'ffff};
inline constexpr FloatFormat kF64{11, 52, 0x7fef'ffff'ffff'ffff, 0x7ff0'0000'0000'0000, 0x7fff'ffff'ffff'ffff};
inline constexpr FloatFormat kE4m3{4, 3, 0x7e, 0, 0x7f};
inline constexpr FloatFormat kE5m2{5, 2, 0x7b, 0x7c, 0x7f};
inline constexpr FloatFormat kE2m3{2, 3, 0x1f, 0, 0};
inline constexpr FloatFormat kE3m2{3, 2, 0x1f, 0, 0};
inline constexpr FloatFormat kE2m1{2, 1, 0x07, 0, 0};

/// A finite value: (-1)^negative * magnitude * 2^exponent.
struct ExactValue {
  bool negative = false;
  int exponent = 0;
  uint64_t magnitude = 0;
};

inline ExactValue exactValue(double finite) {
  const auto bits = std::bit_cast<uint64_t>(finite);
  const auto biased = static_cast<int>(bits >> 52 & 0x7ff);
  const uint64_t fraction = bits & 0xf'ffff'ffff'ffffull;
  return {bits >> 63 != 0, (biased == 0 ? 1 : biased) - 1075, biased == 0 ? fraction : fraction | 1ull << 52};
}

inline ExactValue exactValue(int64_t value) {
  return {value < 0, 0, value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value)};
}
inline ExactValue exactValue(uint64_t value) { return {false, 0, value}; }

/// What happens to the random bits of .rs: they are added below the last kept bit, `count` bits wide.
struct RandomBits {
  uint32_t value = 0;
  unsigned count = 0;
};

/// Magnitude bits of the rounded value, or one more than maximumFinite (or larger) on overflow.
inline uint64_t roundMagnitude(const ExactValue& value, const FloatFormat& format, Rounding rounding, RandomBits random = {}) {
  if (value.magnitude == 0) return 0;
  // Bring the leading one to bit 62, so that there is room to round whatever the format.
  const int normal = std::countl_zero(value.magnitude) - 1;
  const uint64_t magnitude = normal >= 0 ? value.magnitude << normal : value.magnitude >> 1;
  bool sticky = normal < 0 && (value.magnitude & 1) != 0;
  const int exponent = value.exponent - normal;  // of bit 0 of magnitude
  const int leading = exponent + 62;             // of the leading one
  const int minimum = 1 - format.bias();         // exponent of the smallest normal value
  const int quantum = (leading > minimum ? leading : minimum) - format.fractionBits;
  const int drop = quantum - exponent;  // low bits that do not fit: at least 62 - 52
  const uint64_t kept = drop >= 63 ? 0 : magnitude >> drop;
  uint64_t rest = 0;  // the dropped bits; half a unit of the last kept place is kHalf
  if (drop <= 63) {
    rest = drop == 63 ? magnitude : (magnitude & ((uint64_t{1} << drop) - 1)) << (63 - drop);
  } else {
    rest = drop < 127 ? magnitude >> (drop - 63) : 0;
    sticky = true;
  }
  constexpr uint64_t kHalf = uint64_t{1} << 62;
  bool up = false;
  switch (rounding) {
    case Rounding::NearestEven:
      up = rest > kHalf || (rest == kHalf && (sticky || (kept & 1) != 0));
      break;
    case Rounding::NearestAway:
      up = rest >= kHalf;
      break;
    case Rounding::TowardZero:
      break;
    case Rounding::Down:
      up = value.negative && (rest != 0 || sticky);
      break;
    case Rounding::Up:
      up = !value.negative && (rest != 0 || sticky);
      break;
    case Rounding::Stochastic:
      up = (rest >> (63 - random.count)) + random.value >= (uint64_t{1} << random.count);
      break;
  }
  // The biased exponent minus one counts quanta above the subnormal one; the leading one of `kept` adds the last.
  return (static_cast<uint64_t>(quantum - (minimum - format.fractionBits)) << format.fractionBits) + kept + (up ? 1 : 0);
}

/// Bits of the rounded value with its sign. Overflow gives what the rounding mode says, or the largest finite value
/// when `saturateFinite` or the format has no infinity.
inline uint64_t roundTo(const FloatFormat& format, const ExactValue& value, Rounding rounding, bool saturateFinite = false,
                        RandomBits random = {}) {
  const uint64_t sign = value.negative ? format.signBit() : 0;
  const uint64_t magnitude = roundMagnitude(value, format, rounding, random);
  if (magnitude <= format.maximumFinite) return sign | magnitude;
  const bool towardInfinity = rounding == Rounding::NearestEven || rounding == Rounding::NearestAway ||
                              rounding == Rounding::Stochastic || (rounding == Rounding::Up && !value.negative) ||
                              (rounding == Rounding::Down && value.negative);
  return sign | (saturateFinite || format.infinity == 0 || !towardInfinity ? format.maximumFinite : format.infinity);
}

/// As roundTo, for any double. NaN becomes the canonical NaN.
inline uint64_t convertTo(const FloatFormat& format, double value, Rounding rounding, bool saturateFinite = false,
                          RandomBits random = {}) {
  if (std::isnan(value)) return format.nan;
  if (!std::isinf(value)) return roundTo(format, exactValue(value), rounding, saturateFinite, random);
  const uint64_t sign = std::signbit(value) ? format.signBit() : 0;
  return sign | (saturateFinite || format.infinity == 0 ? format.maximumFinite : format.infinity);
}

/// Value of a number in a format of at most 52 fraction bits; exact.
inline double decode(const FloatFormat& format, uint64_t bits) {
  const uint64_t magnitude = bits & (format.signBit() - 1);
  const double sign = (bits & format.signBit()) != 0 ? -1.0 : 1.0;
  if (format.nan != 0 && magnitude > (format.infinity != 0 ? format.infinity : format.maximumFinite))
    return std::numeric_limits<double>::quiet_NaN();
  if (format.infinity != 0 && magnitude == format.infinity) return sign * std::numeric_limits<double>::infinity();
  const auto biased = static_cast<int>(magnitude >> format.fractionBits);
  const uint64_t fraction = magnitude & ((uint64_t{1} << format.fractionBits) - 1);
  const uint64_t significand = biased == 0 ? fraction : fraction | uint64_t{1} << format.fractionBits;
  return sign * std::ldexp(static_cast<double>(significand), (biased == 0 ? 1 : biased) - format.bias() - format.fractionBits);
}

/// a + b rounded to odd: rounding the result once more to at most 51 bits gives the correctly rounded sum.
inline double addToOdd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double bPart = sum - a;
  const double error = (a - (sum - bPart)) + (b - bPart);
  const auto bits = std::bit_cast<uint64_t>(sum);
  if (error == 0 || (bits & 1) != 0) return sum;
  return std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

}  // namespace shiftconv::numerics
