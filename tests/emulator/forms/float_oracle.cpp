#include "tests/emulator/forms/float_oracle.hpp"

#include <functional>

namespace shiftconv::tests {
namespace {

uint64_t oneOf(Format format) { return ((uint64_t{1} << (format.exponentBits - 1)) - 1) << format.fractionBits; }

/// Zero of a sum that cancels exactly: positive, except towards minus infinity, and except when all terms agree.
uint64_t zeroSum(const FloatRules& rules, bool firstNegative, bool secondNegative, bool bothZero) {
  const bool agree = bothZero && firstNegative == secondNegative;
  const bool negative = agree ? firstNegative : rules.round == Round::Down;
  return negative ? signOf(rules.format) : 0;
}

/// The largest magnitude r for which `notAbove(r)` holds, by bisection over the bit patterns of finite numbers.
uint64_t largest(Format format, const std::function<bool(uint64_t)>& notAbove) {
  uint64_t low = 0;
  uint64_t high = infinityOf(format) - 1;
  while (low < high) {
    const uint64_t middle = low + (high - low + 1) / 2;
    if (notAbove(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// Rounds a positive value that lies at or above `low` (the largest number not above it). `exact`: it is `low`;
/// `versusHalf`: the sign of value - (middle between low and its successor).
uint64_t roundBetween(const FloatRules& rules, uint64_t low, bool exact, int versusHalf, bool negative) {
  bool up = false;
  if (rules.round == Round::NearestEven) up = versusHalf > 0 || (versusHalf == 0 && (low & 1) != 0);
  if (rules.round == Round::Up) up = !exact && !negative;
  if (rules.round == Round::Down) up = !exact && negative;
  return (low + (up && !exact ? 1 : 0)) | (negative ? signOf(rules.format) : 0);
}

/// Middle between a number and its successor (or between the largest number and the next power of two).
Unpacked middleAbove(Format format, uint64_t bits) {
  Unpacked value = unpack(format, bits);
  value.significand = 2 * value.significand + 1;
  value.exponent -= 1;
  return value;
}

/// A sum or product that is not zero. Whether .ftz applies to one that rounds to the smallest normal number is not in the PTX
/// ISA; an H200 flushes those that an unlimited exponent would have left smaller.
uint64_t rounded(const FloatRules& rules, const ExactReal& exact) {
  const uint64_t bits = exact.round(rules.format, rules.round);
  return finish(rules, rules.flush && exact.isTiny(rules.format, rules.round) ? bits & signOf(rules.format) : bits);
}

}  // namespace

uint64_t nanOf(Format format) { return (uint64_t{1} << (format.exponentBits + format.fractionBits)) - 1; }
bool isNan(Format format, uint64_t bits) { return unpack(format, bits).nan; }
bool sameFloat(Format format, uint64_t a, uint64_t b) {
  return a == b || (format == kDouble && isNan(format, a) && isNan(format, b));
}
uint64_t flushed(Format format, uint64_t bits) { return (bits & infinityOf(format)) == 0 ? bits & signOf(format) : bits; }

Round roundOf(std::string_view modifier) {
  if (modifier == "rz") return Round::TowardZero;
  if (modifier == "rm") return Round::Down;
  if (modifier == "rp") return Round::Up;
  if (modifier == "rna") return Round::NearestAway;
  return Round::NearestEven;
}

uint64_t finish(const FloatRules& rules, uint64_t bits) {
  if (rules.flush) bits = flushed(rules.format, bits);
  const bool nan = isNan(rules.format, bits);
  const bool negative = (bits & signOf(rules.format)) != 0;
  if (rules.saturate) {
    if (nan || negative) return 0;
    return bits > oneOf(rules.format) ? oneOf(rules.format) : bits;
  }
  if (nan) return nanOf(rules.format);
  return rules.relu && negative ? 0 : bits;
}

uint64_t expectedFma(const FloatRules& rules, uint64_t a, uint64_t b, uint64_t c, Format factors) {
  if (rules.flush) a = flushed(factors, a), b = flushed(factors, b), c = flushed(rules.format, c);
  const Unpacked x = unpack(factors, a);
  const Unpacked y = unpack(factors, b);
  const Unpacked z = unpack(rules.format, c);
  const bool negative = x.negative != y.negative;
  const uint64_t sign = signOf(rules.format);
  if (x.nan || y.nan || z.nan || (x.infinite && y.zero()) || (y.infinite && x.zero())) return finish(rules, nanOf(rules.format));
  if (x.infinite || y.infinite) {
    if (z.infinite && z.negative != negative) return finish(rules, nanOf(rules.format));
    return finish(rules, infinityOf(rules.format) | (negative ? sign : 0));
  }
  if (z.infinite) return finish(rules, c);
  ExactReal sum;
  sum.addProduct(x, y);
  const bool zeroProduct = sum.isZero();
  sum.add(z);
  if (sum.isZero()) return finish(rules, zeroSum(rules, negative, z.negative, zeroProduct && z.zero()));
  return rounded(rules, sum);
}

uint64_t expectedSum(const FloatRules& rules, uint64_t a, uint64_t b, bool subtract, Format first) {
  if (rules.flush) a = flushed(first, a), b = flushed(rules.format, b);
  Unpacked x = unpack(first, a);
  Unpacked y = unpack(rules.format, b);
  y.negative = y.negative != subtract;
  if (x.nan || y.nan || (x.infinite && y.infinite && x.negative != y.negative)) return finish(rules, nanOf(rules.format));
  const uint64_t sign = signOf(rules.format);
  if (x.infinite || y.infinite)
    return finish(rules, infinityOf(rules.format) | ((x.infinite ? x.negative : y.negative) ? sign : 0));
  ExactReal sum;
  sum.add(x);
  sum.add(y);
  if (sum.isZero()) return finish(rules, zeroSum(rules, x.negative, y.negative, x.zero() && y.zero()));
  return rounded(rules, sum);
}

uint64_t expectedProduct(const FloatRules& rules, uint64_t a, uint64_t b) {
  if (rules.flush) a = flushed(rules.format, a), b = flushed(rules.format, b);
  const Unpacked x = unpack(rules.format, a);
  const Unpacked y = unpack(rules.format, b);
  if (x.nan || y.nan || (x.infinite && y.zero()) || (y.infinite && x.zero())) return finish(rules, nanOf(rules.format));
  const uint64_t sign = x.negative != y.negative ? signOf(rules.format) : 0;
  if (x.infinite || y.infinite) return finish(rules, infinityOf(rules.format) | sign);
  ExactReal product;
  product.addProduct(x, y);
  return product.isZero() ? finish(rules, sign) : rounded(rules, product);
}

uint64_t expectedQuotient(const FloatRules& rules, uint64_t a, uint64_t b) {
  const Format format = rules.format;
  if (rules.flush) a = flushed(format, a), b = flushed(format, b);
  Unpacked x = unpack(format, a);
  Unpacked y = unpack(format, b);
  const bool negative = x.negative != y.negative;
  const uint64_t sign = negative ? signOf(format) : 0;
  if (x.nan || y.nan || (x.infinite && y.infinite) || (x.zero() && y.zero())) return finish(rules, nanOf(format));
  if (x.infinite || y.zero()) return finish(rules, infinityOf(format) | sign);
  if (x.zero() || y.infinite) return finish(rules, sign);
  x.negative = y.negative = false;
  // Sign of |a| - r * |b|.
  const auto versus = [&](const Unpacked& r) {
    ExactReal difference;
    difference.add(x);
    difference.addProduct(r, y, true);
    return difference.sign();
  };
  const uint64_t low = largest(format, [&](uint64_t r) { return versus(unpack(format, r)) >= 0; });
  return finish(rules, roundBetween(rules, low, versus(unpack(format, low)) == 0, versus(middleAbove(format, low)), negative));
}

uint64_t expectedRoot(const FloatRules& rules, uint64_t a) {
  const Format format = rules.format;
  if (rules.flush) a = flushed(format, a);
  const Unpacked x = unpack(format, a);
  if (x.nan) return finish(rules, nanOf(format));
  if (x.zero()) return finish(rules, a);
  if (x.negative) return finish(rules, nanOf(format));
  if (x.infinite) return finish(rules, a);
  const auto versus = [&](const Unpacked& r) {
    ExactReal difference;
    difference.add(x);
    difference.addProduct(r, r, true);
    return difference.sign();
  };
  const uint64_t low = largest(format, [&](uint64_t r) { return versus(unpack(format, r)) >= 0; });
  return finish(rules, roundBetween(rules, low, versus(unpack(format, low)) == 0, versus(middleAbove(format, low)), false));
}

}  // namespace shiftconv::tests
