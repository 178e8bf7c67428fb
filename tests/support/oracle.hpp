// A slow, scalar statement of the tensor core's arithmetic, written from its description and sharing nothing with the
// emulator: every quantity is a double that holds it exactly.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace shiftconv::tests::oracle {

/// A floating-point format: exponent and mantissa widths, bias; `ieee` has infinities and NaNs, `nanOnly` one NaN code.
struct Format {
  std::string name;
  int exponentBits, mantissaBits, bias;
  bool ieee, nanOnly;
};
inline const Format kF16{"f16", 5, 10, 15, true, false};
inline const Format kBf16{"bf16", 8, 7, 127, true, false};
inline const Format kTf32{"tf32", 8, 10, 127, true, false};
inline const Format kE4m3{"e4m3", 4, 3, 7, false, true};
inline const Format kE5m2{"e5m2", 5, 2, 15, true, false};
inline const Format kE2m3{"e2m3", 2, 3, 1, false, false};
inline const Format kE3m2{"e3m2", 3, 2, 3, false, false};
inline const Format kE2m1{"e2m1", 2, 1, 1, false, false};
inline const Format kF32{"f32", 8, 23, 127, true, false};

inline int width(const Format& format) { return 1 + format.exponentBits + format.mantissaBits; }

/// significand * 2^exponent, 1 <= |significand| < 2 for normal numbers; sub-normals keep the smallest exponent.
struct Number {
  double significand = 0;
  int exponent = 0;
  bool nan = false, infinite = false;
  double value() const { return std::ldexp(significand, exponent); }
};

inline Number decode(const Format& format, uint32_t bits) {
  const int mantissa = static_cast<int>(bits & ((1u << format.mantissaBits) - 1));
  const int field = static_cast<int>(bits >> format.mantissaBits & ((1u << format.exponentBits) - 1));
  const double sign = bits >> (format.mantissaBits + format.exponentBits) & 1 ? -1.0 : 1.0;
  const int top = (1 << format.exponentBits) - 1;
  Number number;
  if (format.ieee && field == top) {
    number.nan = mantissa != 0;
    number.infinite = mantissa == 0;
    number.significand = sign;
    return number;
  }
  if (format.nanOnly && field == top && mantissa == (1 << format.mantissaBits) - 1) {
    number.nan = true;
    return number;
  }
  const double fraction = mantissa * std::ldexp(1.0, -format.mantissaBits);
  number.significand = sign * (field == 0 ? fraction : 1.0 + fraction);
  number.exponent = (field == 0 ? 1 : field) - format.bias;
  // An exact zero carries the exponent of f32's smallest normal number, whatever its format.
  if (number.significand == 0) number.exponent = -126;
  return number;
}

/// Cuts `value` toward zero to 24 significant bits, f32 sub-normals included.
inline uint32_t truncateToF32(double value) {
  if (value == 0) return 0;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int ulp = std::max(exponent - 1, -126) - 23;
  const double cut = std::ldexp(std::trunc(std::ldexp(value, -ulp)), ulp);
  if (std::fabs(cut) >= std::ldexp(1.0, 128)) return cut < 0 ? 0xff800000u : 0x7f800000u;
  const float result = static_cast<float>(cut) + 0.0f;
  uint32_t bits;
  std::memcpy(&bits, &result, sizeof bits);
  return cut == 0 ? 0u : bits;
}

/// Rounds to nearest even to f16.
inline uint32_t roundToF16(double value) {
  // The 63488 finite codes of each sign are in order: find the nearest by bisection on the decoded values.
  const double magnitude = std::fabs(value);
  const uint32_t sign = value < 0 ? 0x8000u : 0u;
  uint32_t low = 0, high = 0x7c00;  // 0x7c00 stands for 65536
  const auto at = [](uint32_t code) { return code == 0x7c00 ? 65536.0 : decode(kF16, code).value(); };
  if (magnitude >= 65536.0) return sign | 0x7c00u;
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    (at(middle) <= magnitude ? low : high) = middle;
  }
  const double down = magnitude - at(low), up = at(high) - magnitude;
  const uint32_t code = down < up || (down == up && low % 2 == 0) ? low : high;
  return code == 0 ? 0u : sign | code;
}

struct Accumulator {
  bool half = false;
  bool enabled = true;
  int scale = 0;  ///< the old value is multiplied by 2^-scale
  /// Block scaling with one block: the exponents of both ue8m0 factors together, added to every product's.
  int productExponent = 0;
  bool nanScale = false;
};

/// D = C * 2^-scale + sum of a[k] * b[k]. `negate*`: the operand's sign is flipped first.
inline uint32_t multiplyAccumulate(const Format& formatA, const std::vector<uint32_t>& a, bool negateA, const Format& formatB,
                                   const std::vector<uint32_t>& b, bool negateB, uint32_t c, const Accumulator& accumulator) {
  const Format& formatC = accumulator.half ? kF16 : kF32;
  const uint32_t nanBits = accumulator.half ? 0x7fffu : 0x7fffffffu;
  const uint32_t infinityBits = accumulator.half ? 0x7c00u : 0x7f800000u;
  const uint32_t signBit = accumulator.half ? 0x8000u : 0x80000000u;

  struct Term {
    double significand;
    int exponent;
  };
  std::vector<Term> terms;
  bool nan = accumulator.nanScale, plus = false, minus = false;
  for (size_t k = 0; k < a.size(); ++k) {
    Number x = decode(formatA, a[k]), y = decode(formatB, b[k]);
    if (negateA) x.significand = -x.significand;
    if (negateB) y.significand = -y.significand;
    if (x.nan || y.nan || (x.infinite && y.significand == 0) || (y.infinite && x.significand == 0)) {
      nan = true;
    } else if (x.infinite || y.infinite) {
      (x.significand * y.significand < 0 ? minus : plus) = true;
    } else {
      terms.push_back({x.significand * y.significand, x.exponent + y.exponent + accumulator.productExponent});
    }
  }
  Number old{0, -126, false, false};
  if (accumulator.enabled) old = decode(formatC, c);
  if (old.nan) nan = true;
  if (old.infinite) (old.significand < 0 ? minus : plus) = true;
  if (!old.nan && !old.infinite) {
    const bool zero = old.significand == 0;
    terms.push_back({old.significand, zero ? -126 : old.exponent - accumulator.scale});
  }
  if (nan || (plus && minus)) return nanBits;
  if (plus) return infinityBits;
  if (minus) return infinityBits | signBit;

  int largest = std::numeric_limits<int>::min();
  for (const Term& term : terms) largest = std::max(largest, term.exponent);
  double sum = 0;
  for (const Term& term : terms) sum += std::trunc(std::ldexp(term.significand, 25 + term.exponent - largest));
  const double result = std::ldexp(sum, largest - 25);
  return accumulator.half ? roundToF16(result) : truncateToF32(result);
}

/// A scale factor: ue8m0 is 2^(bits - 127); ue4m3 is e4m3 without its sign.
inline Number decodeScale(uint32_t bits, bool isUe8m0) {
  if (!isUe8m0) return decode(kE4m3, bits & 0x7f);
  Number number;
  number.significand = 1;
  number.exponent = static_cast<int>(bits) - 127;
  number.nan = bits == 0xff;
  return number;
}

/// The 4-bit kinds: 64 products in four groups; block j of the scales covers 64 / blocks products.
inline uint32_t multiplyAccumulateFourBit(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b, bool negate,
                                          const std::vector<Number>& scaleA, const std::vector<Number>& scaleB, uint32_t c,
                                          bool enabled) {
  Number old{0, -126, false, false};
  if (enabled) old = decode(kF32, c);
  bool nan = old.nan;
  struct Term {
    double significand;
    int exponent;
  };
  std::vector<Term> terms{{old.significand, old.exponent}};
  for (size_t group = 0; group < 4; ++group) {
    double sum = 0;
    for (size_t k = 16 * group; k < 16 * group + 16; ++k) sum += decode(kE2m1, a[k]).value() * decode(kE2m1, b[k]).value();
    const size_t block = group * scaleA.size() / 4;
    nan = nan || scaleA[block].nan || scaleB[block].nan;
    terms.push_back({(negate ? -sum : sum) * scaleA[block].significand * scaleB[block].significand,
                     scaleA[block].exponent + scaleB[block].exponent});
  }
  if (nan) return 0x7fffffffu;
  if (old.infinite) return c;
  int largest = std::numeric_limits<int>::min();
  for (const Term& term : terms) largest = std::max(largest, term.exponent);
  double sum = 0;
  for (const Term& term : terms) sum += std::trunc(std::ldexp(term.significand, 35 + term.exponent - largest));
  return truncateToF32(std::ldexp(sum, largest - 35));
}

}  // namespace shiftconv::tests::oracle
