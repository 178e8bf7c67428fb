// The vectorised arithmetic against the scalar oracle, bit for bit, and the fast arithmetic against double precision.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "common/emulator/tensor/numerics_fast.hpp"
#include "common/emulator/tensor/numerics_hardware.hpp"
#include "common/emulator/tensor/vector_types.hpp"
#include "tests/support/oracle.hpp"

namespace shiftconv::tests {
namespace {

using namespace emulator::tensor;

struct TypePair {
  ElementType type;
  const oracle::Format* format;
  uint32_t depth;
};
const std::vector<TypePair> kTypes{
    {ElementType::F16, &oracle::kF16, 16},   {ElementType::BF16, &oracle::kBf16, 16}, {ElementType::TF32, &oracle::kTf32, 8},
    {ElementType::E4M3, &oracle::kE4m3, 32}, {ElementType::E5M2, &oracle::kE5m2, 32}, {ElementType::E2M3, &oracle::kE2m3, 32},
    {ElementType::E3M2, &oracle::kE3m2, 32}, {ElementType::E2M1, &oracle::kE2m1, 32},
};

/// What the random bits look like.
enum class Mix { Uniform, CloseExponents, Subnormal, WithSpecials, Largest };

uint32_t randomElement(const oracle::Format& format, Mix mix, std::mt19937& random) {
  const uint32_t all = (1u << oracle::width(format)) - 1;
  const uint32_t mantissaMask = (1u << format.mantissaBits) - 1;
  const int top = (1 << format.exponentBits) - 1;
  uint32_t bits = random() & all;
  if (mix == Mix::CloseExponents) {
    const uint32_t field = static_cast<uint32_t>(format.bias + static_cast<int>(random() % 6) - 3) & static_cast<uint32_t>(top);
    bits = (bits & ~(static_cast<uint32_t>(top) << format.mantissaBits)) | field << format.mantissaBits;
  }
  if (mix == Mix::Subnormal && random() % 2) bits &= ~(static_cast<uint32_t>(top) << format.mantissaBits);
  if (mix == Mix::Largest) {
    const uint32_t field = static_cast<uint32_t>(format.ieee ? top - 1 : top);
    bits =
        (bits & ~(mantissaMask | static_cast<uint32_t>(top) << format.mantissaBits)) | field << format.mantissaBits | mantissaMask;
    if (format.nanOnly) --bits;
  }
  if (random() % 9 == 0) bits &= 1u << (oracle::width(format) - 1);  // zeros of both signs
  const oracle::Number number = oracle::decode(format, bits);
  if (mix != Mix::WithSpecials && (number.nan || number.infinite)) return randomElement(format, mix, random);
  return bits;
}

uint32_t randomAccumulator(bool half, Mix mix, std::mt19937& random) {
  const oracle::Format& format = half ? oracle::kF16 : oracle::kF32;
  if (mix == Mix::WithSpecials || mix == Mix::Uniform) {
    const uint32_t bits = half ? random() & 0xffffu : random();
    const oracle::Number number = oracle::decode(format, bits);
    if (mix == Mix::Uniform && (number.nan || number.infinite)) return 0;
    return bits;
  }
  if (mix == Mix::Subnormal) return half ? random() & 0x83ffu : random() & 0x807fffffu;
  const float value = std::ldexp(static_cast<float>(static_cast<int32_t>(random())), -20 - static_cast<int>(random() % 24));
  return half ? oracle::roundToF16(value / 256) : std::bit_cast<uint32_t>(value);
}

/// rows x 24 columns, so that both the wide and the narrow column loops run.
constexpr uint32_t kRows = 5, kColumns = 24;

struct Tiles {
  OperandTile a, b;
  std::vector<uint32_t> d;
  std::vector<LaneWork> work;
};

Tiles randomTiles(const TypePair& a, const TypePair& b, bool half, Mix mix, std::mt19937& random) {
  Tiles tiles;
  tiles.a.type = a.type;
  tiles.b.type = b.type;
  tiles.a.negate = random() % 2;
  tiles.b.negate = random() % 2;
  tiles.a.resize(kRows, a.depth);
  tiles.b.resize(a.depth, kColumns);
  for (uint32_t& bits : tiles.a.raw) bits = randomElement(*a.format, mix, random);
  for (uint32_t& bits : tiles.b.raw) bits = randomElement(*b.format, mix, random);
  for (uint32_t i = 0; i < kRows * kColumns; ++i) {
    tiles.d.push_back(randomAccumulator(half, mix, random) | (half ? random() << 16 : 0u));
  }
  for (uint32_t row = 0; row < kRows; ++row) tiles.work.push_back({row, 0, tiles.d.data() + row * kColumns});
  return tiles;
}

uint32_t expected(const Tiles& tiles, const TypePair& a, const TypePair& b, uint32_t row, uint32_t column, uint32_t old,
                  const oracle::Accumulator& accumulator) {
  std::vector<uint32_t> x, y;
  for (uint32_t k = 0; k < a.depth; ++k) {
    x.push_back(tiles.a.raw[row * a.depth + k]);
    y.push_back(tiles.b.raw[k * kColumns + column]);
  }
  return oracle::multiplyAccumulate(*a.format, x, tiles.a.negate, *b.format, y, tiles.b.negate,
                                    accumulator.half ? old & 0xffff : old, accumulator);
}

void compareWithOracle(const TypePair& a, const TypePair& b, Mix mix, uint32_t seed) {
  std::mt19937 random(seed);
  for (int trial = 0; trial < 6; ++trial) {
    oracle::Accumulator accumulator;
    accumulator.half = a.type != ElementType::BF16 && a.type != ElementType::TF32 && trial % 2;
    accumulator.enabled = trial % 3 != 2;
    accumulator.scale = trial % 4 == 1 ? static_cast<int>(random() % 16) : 0;
    Tiles tiles = randomTiles(a, b, accumulator.half, mix, random);
    const std::vector<uint32_t> old = tiles.d;
    decodeForHardware(tiles.a, kRows, a.depth, true);
    decodeForHardware(tiles.b, a.depth, kColumns, false);
    const AccumulatorInput input{accumulator.half ? AccumulatorType::F16 : AccumulatorType::F32, accumulator.enabled,
                                 static_cast<uint32_t>(accumulator.scale), false};
    accumulateHardware(tiles.a, tiles.b, kColumns, a.depth, input, tiles.work);
    for (uint32_t row = 0; row < kRows; ++row) {
      for (uint32_t column = 0; column < kColumns; ++column) {
        const uint32_t i = row * kColumns + column;
        ASSERT_EQ(tiles.d[i], expected(tiles, a, b, row, column, old[i], accumulator))
            << fmt::format("{} x {}, mix {}, seed {}, trial {}, row {}, column {}, old {:#x}", a.format->name, b.format->name,
                           static_cast<int>(mix), seed, trial, row, column, old[i]);
      }
    }
  }
}

TEST(HardwareNumerics, EveryTypeEqualsTheOracleBitForBit) {
  for (const TypePair& type : kTypes) {
    for (const Mix mix : {Mix::Uniform, Mix::CloseExponents, Mix::Subnormal, Mix::WithSpecials, Mix::Largest}) {
      for (uint32_t seed = 1; seed <= 8; ++seed) compareWithOracle(type, type, mix, seed);
    }
  }
}

TEST(HardwareNumerics, HostsWithoutAvx2ComputeTheSame) {
  allowAvx2 = false;
  for (const TypePair& type : kTypes) {
    compareWithOracle(type, type, Mix::WithSpecials, 3);
  }
  allowAvx2 = true;
}

TEST(HardwareNumerics, MixedEightBitTypes) {
  for (const TypePair& a : kTypes) {
    for (const TypePair& b : kTypes) {
      if (a.depth == 32 && b.depth == 32) compareWithOracle(a, b, Mix::WithSpecials, 77);
    }
  }
}

/// One row and column with explicit values.
uint32_t single(ElementType type, std::vector<uint32_t> a, std::vector<uint32_t> b, uint32_t c) {
  OperandTile x, y;
  x.type = y.type = type;
  x.resize(1, static_cast<uint32_t>(a.size()));
  y.resize(static_cast<uint32_t>(b.size()), 8);
  std::copy(a.begin(), a.end(), x.raw.begin());
  for (size_t k = 0; k < b.size(); ++k) y.raw[k * 8 + 3] = b[k];
  std::vector<uint32_t> d(8, 0);
  d[3] = c;
  decodeForHardware(x, 1, x.stride, true);
  decodeForHardware(y, static_cast<uint32_t>(b.size()), 8, false);
  const LaneWork work{0, 0, d.data()};
  accumulateHardware(x, y, 8, x.stride, {}, {&work, 1});
  return d[3];
}

std::vector<uint32_t> padded(std::vector<uint32_t> values) {
  values.resize(16, 0);
  return values;
}

TEST(HardwareNumerics, ValuesWorkedOutByHand) {
  const uint32_t one = 0x3c00, minusOne = 0xbc00;  // f16
  // 1 * 1 + 2 = 3.
  EXPECT_EQ(single(ElementType::F16, padded({one}), padded({one}), 0x40000000u), 0x40400000u);
  // The accumulator 2^-25 survives beside a term of exponent 0, 2^-26 is cut off; the f32 result then loses both:
  // 1 + 2^-25 truncates to 1, and 1 - 2^-25 to the largest number below 1.
  EXPECT_EQ(single(ElementType::F16, padded({one}), padded({one}), std::bit_cast<uint32_t>(0x1p-25f)), 0x3f800000u);
  EXPECT_EQ(single(ElementType::F16, padded({one}), padded({one}), std::bit_cast<uint32_t>(-0x1p-25f)), 0x3f7fffffu);
  EXPECT_EQ(single(ElementType::F16, padded({one}), padded({one}), std::bit_cast<uint32_t>(-0x1p-26f)), 0x3f800000u);
  // x - x is +0.
  EXPECT_EQ(single(ElementType::F16, padded({one, minusOne}), padded({one, one}), 0), 0u);
  // Sub-normal f16 inputs are exact: 2^-24 * 2^-24 = 2^-48.
  EXPECT_EQ(single(ElementType::F16, padded({1}), padded({1}), 0), std::bit_cast<uint32_t>(0x1p-48f));
  // Infinity times zero.
  EXPECT_EQ(single(ElementType::F16, padded({0x7c00}), padded({0}), 0), 0x7fffffffu);
  EXPECT_EQ(single(ElementType::F16, padded({0x7c00}), padded({minusOne}), 0), 0xff800000u);
  // A zero operand keeps exponent -126: 0 * 2^127 (bf16) has exponent 1, so 2^-25 is cut to 2^-24 steps beside it.
  EXPECT_EQ(single(ElementType::BF16, padded({0, 0x3300 /* 2^-25 */}), padded({0x7f00 /* 2^127 */, 0x3f80}), 0), 0u);
  EXPECT_EQ(single(ElementType::BF16, padded({0, 0x3380 /* 2^-24 */}), padded({0x7f00, 0x3f80}), 0),
            std::bit_cast<uint32_t>(0x1p-24f));
}

TEST(FastNumerics, WithinFmaRoundingOfDouble) {
  for (const TypePair& type : kTypes) {
    std::mt19937 random(5);
    Tiles tiles = randomTiles(type, type, false, Mix::CloseExponents, random);
    const std::vector<uint32_t> old = tiles.d;
    decodeForFast(tiles.a, kRows, type.depth);
    decodeForFast(tiles.b, type.depth, kColumns);
    accumulateFast(tiles.a, tiles.b, kColumns, type.depth, {}, tiles.work);
    for (uint32_t i = 0; i < tiles.d.size(); ++i) {
      double sum = std::bit_cast<float>(old[i]), magnitude = std::fabs(sum);
      for (uint32_t k = 0; k < type.depth; ++k) {
        const double x =
            oracle::decode(*type.format, tiles.a.raw[i / kColumns * type.depth + k]).value() * (tiles.a.negate ? -1 : 1);
        const double y = oracle::decode(*type.format, tiles.b.raw[k * kColumns + i % kColumns]).value() * (tiles.b.negate ? -1 : 1);
        sum += x * y;
        magnitude += std::fabs(x * y);
      }
      ASSERT_NEAR(std::bit_cast<float>(tiles.d[i]), sum, magnitude * type.depth * 0x1p-23) << type.format->name << " element " << i;
    }
  }
}

TEST(FastNumerics, DecodesEveryCodeExactly) {
  for (const TypePair& type : kTypes) {
    OperandTile tile;
    tile.type = type.type;
    const uint32_t codes = std::min(1u << oracle::width(*type.format), 1u << 16);
    const uint32_t step = (1u << oracle::width(*type.format)) / codes;
    tile.resize(1, codes);
    for (uint32_t i = 0; i < codes; ++i) tile.raw[i] = i * step + (step > 1 ? i % step : 0);
    decodeForFast(tile, 1, codes);
    for (uint32_t i = 0; i < codes; ++i) {
      const oracle::Number number = oracle::decode(*type.format, tile.raw[i]);
      if (number.nan) {
        ASSERT_TRUE(std::isnan(tile.value[i])) << type.format->name << " code " << tile.raw[i];
      } else if (number.infinite) {
        ASSERT_EQ(tile.value[i], number.significand * std::numeric_limits<float>::infinity());
      } else {
        ASSERT_EQ(tile.value[i], number.value()) << type.format->name << " code " << tile.raw[i];
      }
    }
  }
}

TEST(FastNumerics, HalfAccumulatorsRoundToNearestEven) {
  for (uint32_t code = 0; code < 0x7c00; ++code) {
    const double value = oracle::decode(oracle::kF16, code).value();
    const double next = code + 1 == 0x7c00 ? 65536.0 : oracle::decode(oracle::kF16, code + 1).value();
    ASSERT_EQ(halfToFloat(code), value);
    ASSERT_EQ(halfToFloat(code | 0x8000), -value);
    for (const double between : {value, (3 * value + next) / 4, (value + next) / 2, (value + 3 * next) / 4}) {
      ASSERT_EQ(floatToHalf(static_cast<float>(between)), oracle::roundToF16(between)) << between;
    }
  }
}

TEST(IntegerNumerics, WrapsOrSaturates) {
  std::mt19937 random(9);
  for (const bool aSigned : {false, true}) {
    for (const bool saturate : {false, true}) {
      OperandTile a, b;
      a.type = aSigned ? ElementType::S8 : ElementType::U8;
      b.type = ElementType::U8;
      a.resize(kRows, 32);
      b.resize(32, kColumns);
      for (uint32_t& bits : a.raw) bits = random() & 0xff;
      for (uint32_t& bits : b.raw) bits = random() & 0xff;
      std::vector<uint32_t> d(kRows * kColumns);
      for (uint32_t& word : d) word = random() % 2 ? 0x7fffffffu - random() % 1000 : 0x80000000u + random() % 1000;
      const std::vector<uint32_t> old = d;
      std::vector<LaneWork> work;
      for (uint32_t row = 0; row < kRows; ++row) work.push_back({row, 0, d.data() + row * kColumns});
      decodeIntegers(a, kRows, 32);
      decodeIntegers(b, 32, kColumns);
      accumulateIntegers(a, b, kColumns, 32, true, saturate, work);
      for (uint32_t i = 0; i < d.size(); ++i) {
        int64_t sum = static_cast<int32_t>(old[i]);
        for (uint32_t k = 0; k < 32; ++k) {
          const int64_t x = a.raw[i / kColumns * 32 + k];
          sum += (aSigned && x > 127 ? x - 256 : x) * int64_t{b.raw[k * kColumns + i % kColumns]};
        }
        if (saturate) sum = std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX);
        ASSERT_EQ(d[i], static_cast<uint32_t>(sum)) << "element " << i << " saturate " << saturate;
      }
    }
  }
}

}  // namespace
}  // namespace shiftconv::tests
