#include "tests/emulator/forms/exact_real.hpp"

#include <algorithm>

namespace shiftconv::tests {

Unpacked unpack(Format format, uint64_t bits) {
  const uint64_t fraction = bits & ((uint64_t{1} << format.fractionBits) - 1);
  const auto field = static_cast<int>(bits >> format.fractionBits & ((1u << format.exponentBits) - 1));
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  Unpacked result;
  result.negative = (bits & signOf(format)) != 0;
  if (field == (1 << format.exponentBits) - 1) {
    result.nan = fraction != 0;
    result.infinite = fraction == 0;
    return result;
  }
  result.significand = field == 0 ? fraction : fraction + (uint64_t{1} << format.fractionBits);
  result.exponent = std::max(field, 1) - bias - format.fractionBits;
  return result;
}

uint64_t infinityOf(Format format) { return ((uint64_t{1} << format.exponentBits) - 1) << format.fractionBits; }
uint64_t signOf(Format format) { return uint64_t{1} << (format.exponentBits + format.fractionBits); }

void ExactReal::add(bool negative, Significand significand, int exponent) {
  const int shift = exponent - kScale;
  std::array<uint64_t, kWords> term{};
  const auto word = static_cast<size_t>(shift / 64);
  const int within = shift % 64;
  const uint64_t parts[2] = {static_cast<uint64_t>(significand), static_cast<uint64_t>(significand >> 64)};
  for (size_t i = 0; i < 2; ++i) {
    term[word + i] |= parts[i] << within;
    if (within != 0) term[word + i + 1] |= parts[i] >> (64 - within);
  }
  uint64_t carry = negative ? 1 : 0;
  for (size_t i = 0; i < kWords; ++i) {
    const Significand sum = Significand{words_[i]} + (negative ? ~term[i] : term[i]) + carry;
    words_[i] = static_cast<uint64_t>(sum);
    carry = static_cast<uint64_t>(sum >> 64);
  }
}

void ExactReal::addProduct(const Unpacked& a, const Unpacked& b, bool negate) {
  add((a.negative != b.negative) != negate, Significand{a.significand} * b.significand, a.exponent + b.exponent);
}

bool ExactReal::isZero() const {
  return std::all_of(words_.begin(), words_.end(), [](uint64_t word) { return word == 0; });
}

ExactReal ExactReal::magnitude() const {
  if (!isNegative()) return *this;
  ExactReal result;
  uint64_t carry = 1;
  for (size_t i = 0; i < kWords; ++i) {
    result.words_[i] = ~words_[i] + carry;
    carry = carry != 0 && result.words_[i] == 0 ? 1 : 0;
  }
  return result;
}

int ExactReal::compareMagnitude(const ExactReal& other) const {
  const ExactReal a = magnitude();
  const ExactReal b = other.magnitude();
  for (size_t i = kWords; i-- > 0;)
    if (a.words_[i] != b.words_[i]) return a.words_[i] < b.words_[i] ? -1 : 1;
  return 0;
}

uint64_t ExactReal::round(Format format, Round mode) const {
  const bool negative = isNegative();
  const ExactReal value = magnitude();
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  int top = 64 * kWords - 1;
  while (top > 0 && !value.bit(top)) --top;
  const int lowest = 1 - bias - format.fractionBits - kScale;  // bit index of the smallest subnormal
  const int last = std::max(top - format.fractionBits, lowest);
  uint64_t kept = 0;
  for (int i = top; i >= last; --i) kept = kept << 1 | (value.bit(i) ? 1 : 0);
  const bool half = value.bit(last - 1);
  bool below = false;
  for (int i = 0; i < last - 1; ++i) below = below || value.bit(i);
  bool up = false;
  if (mode == Round::NearestEven) up = half && (below || (kept & 1) != 0);
  if (mode == Round::NearestAway) up = half;
  if (mode == Round::Up) up = !negative && (half || below);
  if (mode == Round::Down) up = negative && (half || below);
  kept += up ? 1 : 0;
  // Field 0 and field 1 share the quantum of the smallest subnormal.
  uint64_t bits = kept;
  if (kept >> format.fractionBits != 0) bits = kept + (static_cast<uint64_t>(last - lowest) << format.fractionBits);
  if (bits >= infinityOf(format)) {
    const bool toInfinity = mode == Round::NearestEven || mode == Round::NearestAway || (mode == Round::Up && !negative) ||
                            (mode == Round::Down && negative);
    bits = toInfinity ? infinityOf(format) : infinityOf(format) - 1;
  }
  return bits | (negative ? signOf(format) : 0);
}

bool ExactReal::isTiny(Format format, Round mode) const {
  const Format wide{format.exponentBits + 3, format.fractionBits};
  const auto bias = [](Format f) { return (1 << (f.exponentBits - 1)) - 1; };
  const auto smallestNormal = static_cast<uint64_t>(1 - bias(format) + bias(wide)) << wide.fractionBits;
  return (round(wide, mode) & ~signOf(wide)) < smallestNormal;
}

}  // namespace shiftconv::tests
