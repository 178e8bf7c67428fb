// Exact sums and products of floating-point numbers, and their correct rounding: the yardstick for arithmetic tests.
// Slow and simple on purpose: a fixed-point number wide enough for any product of two f64.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace shiftconv::tests {

enum class Round : uint8_t { NearestEven, TowardZero, Down, Up, NearestAway };

/// Precision and exponent range of a binary format.
struct Format {
  int exponentBits;
  int fractionBits;
  bool operator==(const Format&) const = default;
};
inline constexpr Format kHalf{5, 10};
inline constexpr Format kBfloat{8, 7};
inline constexpr Format kTf32Format{8, 10};
inline constexpr Format kSingle{8, 23};
inline constexpr Format kDouble{11, 52};

struct Unpacked {
  bool negative = false;
  bool nan = false;
  bool infinite = false;
  uint64_t significand = 0;
  int exponent = 0;  ///< value = significand * 2^exponent
  bool zero() const { return !nan && !infinite && significand == 0; }
};
Unpacked unpack(Format format, uint64_t bits);
/// Magnitude bits of infinity, and the sign bit.
uint64_t infinityOf(Format format);
uint64_t signOf(Format format);

__extension__ typedef unsigned __int128 Significand;

class ExactReal {
 public:
  /// Adds (-1)^negative * significand * 2^exponent.
  void add(bool negative, Significand significand, int exponent);
  void add(const Unpacked& value) { add(value.negative, value.significand, value.exponent); }
  void addProduct(const Unpacked& a, const Unpacked& b, bool negate = false);
  bool isZero() const;
  bool isNegative() const { return (words_.back() >> 63) != 0; }
  /// -1, 0 or 1
  int sign() const { return isZero() ? 0 : isNegative() ? -1 : 1; }
  /// Compares |*this| with |other|: -1, 0 or 1.
  int compareMagnitude(const ExactReal& other) const;
  /// Bits in `format`, infinity on overflow where the mode says so. Not for zero: its sign is the caller's business.
  uint64_t round(Format format, Round mode) const;
  /// Whether the value, rounded to the format's precision without a limit to the exponent, is below its smallest normal number.
  bool isTiny(Format format, Round mode) const;

 private:
  static constexpr int kWords = 80;
  static constexpr int kScale = -2400;  ///< exponent of bit 0
  ExactReal magnitude() const;
  bool bit(int index) const { return index >= 0 && (words_[static_cast<size_t>(index / 64)] >> (index % 64) & 1) != 0; }
  std::array<uint64_t, kWords> words_{};  ///< two's complement, least significant first
};

}  // namespace shiftconv::tests
