// Narrow types against ml_dtypes: every code, every f16 and bf16 value, and both sides of every rounding boundary.
#include "common/numerics/codec.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "common/numerics/float16.hpp"
#include "tests/numerics/ml_dtypes_table.hpp"

namespace shiftconv::numerics {
namespace {

using tests::EncodedRange;
using tests::TypeTable;

const tests::MlDtypesTable& table() {
  static const tests::MlDtypesTable read = tests::readMlDtypesTable(ML_DTYPES_TABLE);
  return read;
}

/// Where ml_dtypes and this library mean the same. Its e8m0fnu makes 0 a NaN and rounds up everything between 2^-127 and 2^-126;
/// the test of ue8m0 below says what holds there.
uint32_t firstComparable(const TypeTable& type) { return type.type == "ue8m0" ? 0x0080'0000u : 0u; }
bool hasSign(NumberType type) { return type != NumberType::UE8M0; }
uint32_t signBit(NumberType type) { return 1u << (storageBits(type) - 1); }

class Codec : public testing::TestWithParam<const char*> {
 protected:
  const NumberType type_ = *numberTypeNamed(GetParam());
  const TypeTable& expected() const {
    for (const TypeTable& entry : table().types)
      if (entry.type == GetParam()) return entry;
    throw std::runtime_error("not in the table");
  }
  /// The code of a non-negative pattern, from the table.
  uint32_t expectedCode(uint32_t pattern, Overflow overflow) const {
    const TypeTable& entry = expected();
    if (pattern >= entry.overflow.first)
      return overflow == Overflow::Special || std::isfinite(valueOf(entry, entry.overflow.code)) ? entry.overflow.code
                                                                                                 : entry.ranges.back().code;
    const auto found = std::upper_bound(entry.ranges.begin(), entry.ranges.end(), pattern,
                                        [](uint32_t value, const EncodedRange& range) { return value < range.first; });
    return std::prev(found)->code;
  }
  static float valueOf(const TypeTable& entry, uint32_t code) {
    for (const auto& decoded : entry.decoded)
      if (decoded.code == code) return decoded.value;
    throw std::runtime_error("not in the table");
  }
  void expectEncodes(uint32_t pattern) const {
    if (pattern < firstComparable(expected()) || pattern > 0x7f80'0000u) return;
    const float value = std::bit_cast<float>(pattern);
    for (const Overflow overflow : {Overflow::Saturate, Overflow::Special}) {
      const uint32_t code = expectedCode(pattern, overflow);
      ASSERT_EQ(encode(type_, double{value}, overflow), code) << value;
      if (!hasSign(type_)) continue;
      ASSERT_EQ(encode(type_, -double{value}, overflow), code | signBit(type_)) << -value;
    }
  }
};

TEST_P(Codec, DecodesEveryCode) {
  std::set<uint32_t> seen;
  for (const auto& entry : expected().decoded) {
    seen.insert(entry.code);
    const double value = decode(type_, entry.code);
    if (entry.isNan)
      ASSERT_TRUE(std::isnan(value)) << entry.code;
    else
      ASSERT_EQ(value, double{entry.value}) << entry.code;
    ASSERT_EQ(std::signbit(value), std::signbit(entry.value)) << entry.code;
  }
  EXPECT_EQ(seen.size(), size_t{1} << storageBits(type_));
}

TEST_P(Codec, EncodesBothSidesOfEveryBoundary) {
  uint32_t next = 0;
  for (const EncodedRange& range : expected().ranges) {
    ASSERT_EQ(range.first, next) << "the table has a gap";
    next = range.last + 1;
    for (const uint32_t pattern : {range.first, range.first + 1, range.last - 1, range.last, range.last + 1})
      expectEncodes(pattern);
  }
  ASSERT_EQ(expected().overflow.first, next) << "the table has a gap";
  expectEncodes(0x7f80'0000u);
}

TEST_P(Codec, EncodesEveryHalfPrecisionValue) {
  for (uint32_t bits = 0; bits <= 0x7c00; ++bits) expectEncodes(std::bit_cast<uint32_t>(decodeF16(static_cast<uint16_t>(bits))));
  for (uint32_t bits = 0; bits <= 0x7f80; ++bits) expectEncodes(bits << 16);
}

TEST_P(Codec, GivesNanAsCvtDoes) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const uint32_t code = encode(type_, nan);
  // PTX ISA 9.7.9.21: 0x7f for e4m3 and e5m2, 0xff for ue8m0, the largest value where the format has no NaN.
  const uint32_t canonical = type_ == NumberType::E4M3 || type_ == NumberType::E5M2 ? 0x7f : type_ == NumberType::UE8M0 ? 0xff : 0;
  if (canonical != 0)
    EXPECT_EQ(code, canonical);
  else
    EXPECT_EQ(decode(type_, code), largestValue(type_));
}

TEST_P(Codec, KnowsItsLimits) {
  double largest = 0;
  for (const auto& entry : expected().decoded)
    if (std::isfinite(entry.value)) largest = std::max(largest, double{entry.value});
  EXPECT_EQ(largestValue(type_), largest);
  EXPECT_EQ(largestExponent(type_), std::ilogb(largest));
  EXPECT_EQ(name(type_), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Types, Codec, testing::Values("e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "ue8m0"),
                         [](const auto& info) { return std::string(info.param); });

TEST(CodecOfUe8m0, HasNeitherZeroNorSign) {
  EXPECT_EQ(encode(NumberType::UE8M0, 0.0), 0u);
  EXPECT_EQ(encode(NumberType::UE8M0, 0x1p-149), 0u);
  EXPECT_EQ(encode(NumberType::UE8M0, std::nextafter(0x1.8p-127, 0.0)), 0u);
  EXPECT_EQ(encode(NumberType::UE8M0, 0x1.8p-127), 1u);
  EXPECT_EQ(encode(NumberType::UE8M0, -1.0), 0xffu);
}

TEST(CodecOfUe4m3, IsE4m3WithoutItsSign) {
  for (uint32_t code = 0; code < 256; ++code) {
    const double value = decode(NumberType::UE4M3, code), reference = decode(NumberType::E4M3, code & 0x7f);
    ASSERT_TRUE(value == reference || (std::isnan(value) && std::isnan(reference))) << code;
    ASSERT_EQ(encode(NumberType::UE4M3, value), code & 0x7f);
  }
  EXPECT_EQ(encode(NumberType::UE4M3, -0.5), 0x7fu);
  EXPECT_EQ(encode(NumberType::UE4M3, -0.0), 0u);
  EXPECT_EQ(encode(NumberType::UE4M3, 1e9), 0x7eu);
}

TEST(CodecOfHalves, AgreesWithFloat16) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto code = static_cast<uint16_t>(bits);
    const double f16 = decode(NumberType::F16, bits), bf16 = decode(NumberType::BF16, bits);
    ASSERT_TRUE(f16 == double{decodeF16(code)} || std::isnan(f16)) << bits;
    ASSERT_TRUE(bf16 == double{decodeBf16(code)} || std::isnan(bf16)) << bits;
    for (const float value : {std::bit_cast<float>(bits << 16 | 0x8000u), std::bit_cast<float>(bits << 16 | 0x1001u),
                              std::bit_cast<float>(bits << 15 | 0x3fffu)}) {
      ASSERT_EQ(encode(NumberType::F16, double{value}), encodeF16(value)) << value;
      ASSERT_EQ(encode(NumberType::BF16, double{value}), encodeBf16(value)) << value;
    }
  }
}

TEST(CodecOfTf32, KeepsTheUpper19BitsOfAnF32) {
  for (uint32_t upper = 0; upper < 1u << 19; upper += 37) {
    const float value = std::bit_cast<float>(upper << 13);
    if (std::isnan(value)) continue;
    ASSERT_EQ(decode(NumberType::TF32, upper << 13 | 0x1fffu), double{value});
    ASSERT_EQ(encode(NumberType::TF32, double{value}), upper << 13);
    if ((upper & 0x3ffff) >= 0x3fbff) continue;
    // The middle goes to the even code, everything beyond it up.
    const auto at = [&](uint32_t lower) {
      return encode(NumberType::TF32, double{std::bit_cast<float>(upper << 13 | lower)}) >> 13;
    };
    ASSERT_EQ(at(0x0fff), upper);
    ASSERT_EQ(at(0x1000), upper + (upper & 1));
    ASSERT_EQ(at(0x1001), upper + 1);
  }
  EXPECT_EQ(encode(NumberType::TF32, std::nan("")), 0x7fff'e000u);
}

TEST(CodecOfF32, RoundsDoubles) {
  EXPECT_EQ(encode(NumberType::F32, 1 + 0x1p-24), 0x3f80'0000u);
  EXPECT_EQ(encode(NumberType::F32, 1 + 0x1.8p-23), 0x3f80'0002u);
  EXPECT_EQ(encode(NumberType::F32, 1e300), 0x7f80'0000u);
  EXPECT_EQ(decode(NumberType::F32, 0xc020'0000u), -2.5);
}

TEST(CodecOfIntegers, RoundsToEvenAndSaturates) {
  for (int code = -128; code < 128; ++code) {
    const auto bits = static_cast<uint32_t>(code) & 0xffu;
    ASSERT_EQ(decode(NumberType::S8, bits), code);
    ASSERT_EQ(decode(NumberType::U8, bits), code & 0xff);
    ASSERT_EQ(encode(NumberType::S8, code), bits);
    const auto half = static_cast<uint32_t>(std::min(code + (code % 2 != 0 ? 1 : 0), 127)) & 0xffu;
    ASSERT_EQ(encode(NumberType::S8, code + 0.5), half) << code;
    ASSERT_EQ(encode(NumberType::S8, code + 0.4999), bits) << code;
  }
  for (uint32_t code = 0; code < 256; ++code)
    ASSERT_EQ(encode(NumberType::U8, code + 0.5), std::min(code + code % 2, 255u)) << code;
  EXPECT_EQ(encode(NumberType::S8, 1e30), 127u);
  EXPECT_EQ(encode(NumberType::S8, -INFINITY), 0x80u);
  EXPECT_EQ(encode(NumberType::U8, -3), 0u);
  EXPECT_EQ(encode(NumberType::S8, std::nan("")), 0u);
  EXPECT_EQ(encode(NumberType::S32, -2147483648.5), 0x8000'0000u);
  EXPECT_EQ(encode(NumberType::S32, 3e9), 0x7fff'ffffu);
}

TEST(CodecNames, AreFoundAgain) {
  for (int i = 0; i < kNumberTypes; ++i) EXPECT_EQ(numberTypeNamed(name(static_cast<NumberType>(i))), static_cast<NumberType>(i));
  EXPECT_FALSE(numberTypeNamed("f8").has_value());
}

}  // namespace
}  // namespace shiftconv::numerics
