// The bound of referenceProduct against a scalar statement of the tensor core's arithmetic that shares nothing with it: never
// exceeded, and not far from what does happen.
#include "common/gemm/reference/product_reference.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "common/numerics/codec.hpp"
#include "tests/support/oracle.hpp"

namespace shiftconv::gemm {
namespace {

constexpr uint32_t kSeed = 35;

struct Case {
  std::string name;
  numerics::BlockFormat a, b;  ///< blockSize 0: plain
  double closeness;            ///< how close to the bound the worst trial comes; narrow types add up exactly but for rare spreads
  NumberType accumulator = NumberType::F32;
};

numerics::BlockFormat plain(NumberType type) { return {numerics::name(type), type, 0, type}; }
numerics::BlockFormat block(const char* name) { return *numerics::blockFormatNamed(name); }

const tests::oracle::Format& oracleFormat(NumberType type) {
  switch (type) {
    case NumberType::F16:
      return tests::oracle::kF16;
    case NumberType::BF16:
      return tests::oracle::kBf16;
    case NumberType::TF32:
      return tests::oracle::kTf32;
    case NumberType::E4M3:
      return tests::oracle::kE4m3;
    case NumberType::E5M2:
      return tests::oracle::kE5m2;
    case NumberType::E2M3:
      return tests::oracle::kE2m3;
    case NumberType::E3M2:
      return tests::oracle::kE3m2;
    default:
      return tests::oracle::kE2m1;
  }
}

/// What a chain of instructions leaves for one row of each.
double oracleSum(const layout::QuantizedMatrix& a, const layout::QuantizedMatrix& b, NumberType accumulator) {
  const NumberType types[] = {a.format.element, b.format.element};
  const bool fourBit = a.format.blockSize != 0 && types[0] == NumberType::E2M1 && types[1] == NumberType::E2M1;
  const int bits = numerics::storageBits(types[0]);
  const int64_t depth = fourBit ? 64 : bits == 32 ? 8 : bits == 16 ? 16 : 32;
  uint32_t sum = 0;
  for (int64_t first = 0; first < a.columns; first += depth) {
    std::vector<uint32_t> x, y;
    for (int64_t k = first; k < first + depth; ++k) {
      const int shift = types[0] == NumberType::TF32 ? 13 : 0;
      x.push_back(k < a.columns ? a.code(0, k) >> shift : 0);
      y.push_back(k < b.columns ? b.code(0, k) >> shift : 0);
    }
    if (fourBit) {
      std::vector<tests::oracle::Number> scales[2];
      for (int i = 0; i < 2; ++i) {
        const layout::QuantizedMatrix& matrix = i == 0 ? a : b;
        for (int64_t k = first; k < first + depth; k += matrix.format.blockSize) {
          const int64_t offset =
              layout::scaleFactorOffset(matrix.scaleLayout, 0, k / matrix.format.blockSize, matrix.blocksPerRow());
          const uint32_t code = k < matrix.columns ? std::to_integer<uint32_t>(matrix.scales[static_cast<size_t>(offset)]) : 0;
          scales[i].push_back(tests::oracle::decodeScale(code, matrix.format.scale == NumberType::UE8M0));
        }
      }
      sum = tests::oracle::multiplyAccumulateFourBit(x, y, false, scales[0], scales[1], sum, first != 0);
    } else {
      tests::oracle::Accumulator options;
      options.half = accumulator == NumberType::F16;
      options.enabled = first != 0;
      if (a.format.blockSize != 0)
        options.productExponent = std::ilogb(a.blockFactor(0, first)) + std::ilogb(b.blockFactor(0, first));
      sum = tests::oracle::multiplyAccumulate(oracleFormat(types[0]), x, false, oracleFormat(types[1]), y, false, sum, options);
    }
  }
  return numerics::decode(accumulator, sum);
}

class ProductBound : public testing::TestWithParam<Case> {
 protected:
  layout::QuantizedMatrix quantized(const numerics::BlockFormat& format, const std::vector<float>& values) const {
    const auto columns = static_cast<int64_t>(values.size());
    return format.blockSize == 0 ? layout::convert(format.element, 1, columns, values)
                                 : layout::quantize(format, 1, columns, values);
  }
};

TEST_P(ProductBound, HoldsAndSaysSomething) {
  std::mt19937 generator(kSeed);
  std::normal_distribution<float> normal;
  double closest = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const auto k = static_cast<size_t>(1 + generator() % 320);
    // Sums without cancellation are truncated the most; wide spreads lose terms; tiny values are subnormal.
    const bool spread = trial % 3 != 0;
    const int shift = trial % 5 == 4 ? -14 : trial % 4 == 1 ? 6 : 0;
    const bool oneSign = trial % 2 == 0;
    std::vector<float> values[2];
    if (GetParam().accumulator == NumberType::F16 && shift > 0) continue;  // beyond the largest f16
    for (std::vector<float>& operand : values)
      for (size_t i = 0; i < k; ++i) {
        const float value = std::ldexp(normal(generator), shift - (!spread ? 0 : static_cast<int>(generator() % 12)));
        operand.push_back(oneSign ? std::fabs(value) : value);
      }
    const layout::QuantizedMatrix a = quantized(GetParam().a, values[0]), b = quantized(GetParam().b, values[1]);
    const Bounded bounded = referenceProduct(referenceOperand(a), referenceOperand(b), {.accumulator = GetParam().accumulator})[0];
    const double difference = std::fabs(oracleSum(a, b, GetParam().accumulator) - bounded.value);
    ASSERT_LE(difference, bounded.error) << "trial " << trial << ", K = " << k << ", seed " << kSeed;
    if (bounded.error > 0) closest = std::max(closest, difference / bounded.error);
  }
  EXPECT_GE(closest, GetParam().closeness);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ProductBound,
                         testing::ValuesIn(std::vector<Case>{
                             Case{"f16", plain(NumberType::F16), plain(NumberType::F16), 0.1},
                             Case{"f16_in_f16", plain(NumberType::F16), plain(NumberType::F16), 0.3, NumberType::F16},
                             Case{"bf16", plain(NumberType::BF16), plain(NumberType::BF16), 0.1},
                             Case{"tf32", plain(NumberType::TF32), plain(NumberType::TF32), 0.1},
                             Case{"e4m3", plain(NumberType::E4M3), plain(NumberType::E4M3), 0.005},
                             Case{"e5m2_e2m1", plain(NumberType::E5M2), plain(NumberType::E2M1), 0.0005},
                             Case{"e4m3_in_f16", plain(NumberType::E4M3), plain(NumberType::E4M3), 0.3, NumberType::F16},
                             Case{"mxfp8_e4m3", block("mxfp8_e4m3"), block("mxfp8_e4m3"), 0.02},
                             Case{"mxfp8_e5m2_mxfp4", block("mxfp8_e5m2"), block("mxfp4"), 0.003},
                             Case{"mxfp6", block("mxfp6_e3m2"), block("mxfp6_e2m3"), 0.003},
                             Case{"mxfp4", block("mxfp4"), block("mxfp4"), 0.05},
                             Case{"nvfp4", block("nvfp4"), block("nvfp4"), 0.05}}),
                         [](const auto& info) { return info.param.name; });

TEST(ReferenceProduct, IsTheExactSum) {
  const std::vector<float> x = {1, -2, 0.5f, 3, 100, 0.25f}, y = {4, 8, -16, 0.125f, 2, 2};
  const auto a = layout::convert(NumberType::F16, 2, 3, x), b = layout::convert(NumberType::F16, 2, 3, y);
  const std::vector<Bounded> d = referenceProduct(referenceOperand(a), referenceOperand(b));
  ASSERT_EQ(d.size(), 4u);
  EXPECT_EQ(d[0].value, 1 * 4 - 2 * 8 - 0.5 * 16);
  EXPECT_EQ(d[1].value, 1 * 0.125 - 2 * 2 + 0.5 * 2);
  EXPECT_EQ(d[2].value, 3 * 4 + 100 * 8 - 0.25 * 16);
  EXPECT_EQ(d[3].value, 3 * 0.125 + 100 * 2 + 0.25 * 2);
}

TEST(ReferenceProduct, OfIntegersHasNoError) {
  const std::vector<float> x(100, 127), y(100, -128);
  const auto a = layout::convert(NumberType::S8, 1, 100, x), b = layout::convert(NumberType::S8, 1, 100, y);
  const Bounded d = referenceProduct(referenceOperand(a), referenceOperand(b), {.accumulator = NumberType::S32})[0];
  EXPECT_EQ(d.value, -127.0 * 128 * 100);
  EXPECT_EQ(d.error, 0);
}

TEST(ReferenceProduct, OfNumbersThatFitIsExact) {
  const std::vector<float> x(256, 1.25f);
  const ReferenceOperand operand = referenceOperand(layout::convert(NumberType::F16, 1, 256, x));
  EXPECT_EQ(referenceProduct(operand, operand)[0].error, 0);
  EXPECT_EQ(referenceProduct(operand, operand, {.accumulator = NumberType::F16})[0].error > 0, true) << "400 has no 16ths in f16";
}

TEST(ReferenceProduct, SplittingCostsAnAdditionAPart) {
  const std::vector<float> x(256, 1.1f);
  const auto a = layout::convert(NumberType::F16, 1, 256, x);
  const ReferenceOperand operand = referenceOperand(a);
  const double whole = referenceProduct(operand, operand)[0].error,
               parts = referenceProduct(operand, operand, {.splits = 3})[0].error;
  EXPECT_GT(parts, whole + 2 * 0x1p-24 * 256 * 1.1 * 1.1);
  EXPECT_LT(parts, 1.3 * whole);
}

}  // namespace
}  // namespace shiftconv::gemm
