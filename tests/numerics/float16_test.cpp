// f16 and bf16 against their definitions: decode by sign, exponent and fraction; encode by searching the nearest value.
#include "common/numerics/float16.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace shiftconv::numerics {
namespace {

struct Format {
  const char* name;
  int exponentBits, fractionBits;
  float (*decode)(uint16_t);
  uint16_t (*encode)(float);
  bool (*isSubnormal)(uint16_t);
};

float decodedF16(uint16_t bits) { return decodeF16(bits); }
float decodedBf16(uint16_t bits) { return decodeBf16(bits); }
uint16_t encodedF16(float value) { return encodeF16(value); }
uint16_t encodedBf16(float value) { return encodeBf16(value); }
bool subnormalF16(uint16_t bits) { return isSubnormalF16(bits); }
bool subnormalBf16(uint16_t bits) { return isSubnormalBf16(bits); }

/// IEEE 754 interchange format with the given field widths, in double.
double definition(const Format& format, uint32_t bits) {
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  const uint32_t exponent = bits >> format.fractionBits & ((1u << format.exponentBits) - 1);
  const uint32_t fraction = bits & ((1u << format.fractionBits) - 1);
  double magnitude = 0;
  if (exponent == (1u << format.exponentBits) - 1)
    magnitude = fraction ? std::nan("") : INFINITY;
  else if (exponent == 0)
    magnitude = std::ldexp(fraction, 1 - bias - format.fractionBits);
  else
    magnitude = std::ldexp(fraction + (1u << format.fractionBits), static_cast<int>(exponent) - bias - format.fractionBits);
  return bits & 0x8000u ? -magnitude : magnitude;
}

class Float16 : public testing::TestWithParam<Format> {
 protected:
  /// Patterns 0 .. infinity of the format: their values rise with the pattern.
  uint16_t infinity() const { return static_cast<uint16_t>(((1u << GetParam().exponentBits) - 1) << GetParam().fractionBits); }
  /// Nearest even by search: the two neighbours and the tie rule. The step beyond the largest number stands for infinity.
  uint16_t nearest(double magnitude) const {
    const Format& format = GetParam();
    uint16_t low = 0, high = infinity();
    const auto value = [&](uint16_t bits) {
      return bits == infinity() ? 2 * definition(format, bits - 1u) - definition(format, bits - 2u) : definition(format, bits);
    };
    if (magnitude >= value(high)) return high;
    while (high - low > 1) {
      const auto middle = static_cast<uint16_t>((low + high) / 2);
      (value(middle) <= magnitude ? low : high) = middle;
    }
    const double below = magnitude - value(low), above = value(high) - magnitude;
    if (below == above) return low % 2 == 0 ? low : high;
    return below < above ? low : high;
  }
};

TEST_P(Float16, DecodesEveryPatternAsDefined) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double expected = definition(GetParam(), bits);
    const float decoded = GetParam().decode(static_cast<uint16_t>(bits));
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(decoded)) << bits;
    else
      ASSERT_EQ(static_cast<double>(decoded), expected) << bits;
    ASSERT_EQ(std::signbit(decoded), (bits & 0x8000) != 0) << bits;
  }
}

TEST_P(Float16, EncodesEveryValueAsItself) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = GetParam().decode(static_cast<uint16_t>(bits));
    ASSERT_EQ(GetParam().encode(value), std::isnan(value) ? kCanonicalNan16 : bits) << bits;
  }
}

TEST_P(Float16, RoundsToNearestEvenAroundEveryMidpoint) {
  for (uint16_t bits = 0; bits < infinity() - 1; ++bits) {
    const double middle = (definition(GetParam(), bits) + definition(GetParam(), bits + 1u)) / 2;
    const auto tie = static_cast<float>(middle);
    ASSERT_EQ(static_cast<double>(tie), middle);
    for (float value : {std::nextafter(tie, 0.0f), tie, std::nextafter(tie, INFINITY)}) {
      ASSERT_EQ(GetParam().encode(value), nearest(value)) << value;
      ASSERT_EQ(GetParam().encode(-value), nearest(value) | 0x8000) << value;
    }
  }
}

TEST_P(Float16, RoundsRandomFloats) {
  constexpr uint32_t kSeed = 20250101;
  RecordProperty("seed", static_cast<int>(kSeed));
  std::mt19937 generator(kSeed);
  for (int i = 0; i < 200000; ++i) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(generator()) & 0x7fffffffu);
    const uint16_t expected = std::isnan(value) ? kCanonicalNan16 : nearest(value);
    ASSERT_EQ(GetParam().encode(value), expected) << value << ", seed " << kSeed;
  }
}

TEST_P(Float16, OverflowsToInfinityHalfAStepBeyondTheLargest) {
  const double largest = definition(GetParam(), infinity() - 1u), step = largest - definition(GetParam(), infinity() - 2u);
  const auto limit = static_cast<float>(largest + step / 2);
  EXPECT_EQ(GetParam().encode(std::nextafter(limit, 0.0f)), infinity() - 1);
  EXPECT_EQ(GetParam().encode(limit), infinity());
  EXPECT_EQ(GetParam().encode(-limit), infinity() | 0x8000);
}

TEST_P(Float16, KnowsSubnormals) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double magnitude = std::abs(definition(GetParam(), bits));
    const double smallestNormal = definition(GetParam(), 1u << GetParam().fractionBits);
    ASSERT_EQ(GetParam().isSubnormal(static_cast<uint16_t>(bits)), magnitude > 0 && magnitude < smallestNormal) << bits;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Float16,
                         testing::Values(Format{"f16", 5, 10, decodedF16, encodedF16, subnormalF16},
                                         Format{"bf16", 8, 7, decodedBf16, encodedBf16, subnormalBf16}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace shiftconv::numerics
