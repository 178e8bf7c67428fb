// Block quantisers against blocks that ml_dtypes and numpy quantised, matrices against their blocks, packed rows against bit
// strings.
#include "common/numerics/block_format.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "common/layout/quantized_matrix.hpp"
#include "common/numerics/codec.hpp"
#include "common/numerics/packed.hpp"
#include "tests/numerics/ml_dtypes_table.hpp"

namespace shiftconv::numerics {
namespace {

constexpr uint32_t kSeed = 8;

class Block : public testing::TestWithParam<const char*> {
 protected:
  const BlockFormat format_ = *blockFormatNamed(GetParam());
  uint8_t quantized(std::span<const float> values, std::vector<uint8_t>& codes) const {
    codes.assign(values.size(), 0xcc);
    return quantizeBlock(format_, values, 1.0f, codes);
  }
};

TEST_P(Block, QuantisesAsMlDtypes) {
  int cases = 0;
  for (const auto& block : tests::readMlDtypesTable(ML_DTYPES_TABLE).blocks) {
    if (block.format != GetParam()) continue;
    ++cases;
    ASSERT_EQ(block.values.size(), static_cast<size_t>(format_.blockSize));
    std::vector<uint8_t> codes;
    EXPECT_EQ(quantized(block.values, codes), block.scale) << cases;
    EXPECT_EQ(codes, block.codes) << cases;
  }
  EXPECT_EQ(cases, 8);
}

TEST_P(Block, OfZerosIsZero) {
  std::vector<uint8_t> codes;
  EXPECT_EQ(quantized(std::vector<float>(static_cast<size_t>(format_.blockSize)), codes), 0);
  EXPECT_EQ(codes, std::vector<uint8_t>(static_cast<size_t>(format_.blockSize)));
}

TEST_P(Block, WithNanOrInfinityIsNan) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -INFINITY})
    for (const size_t position : {size_t{0}, size_t{7}, static_cast<size_t>(format_.blockSize - 1)}) {
      std::vector<float> values(static_cast<size_t>(format_.blockSize), 3.0f);
      values[position] = bad;
      std::vector<uint8_t> codes;
      EXPECT_TRUE(std::isnan(decode(format_.scale, quantized(values, codes)))) << bad << " at " << position;
    }
}

TEST_P(Block, SaturatesTheLargestOnly) {
  // Just below the next power of two: the MX scale does not grow, so elements beyond the largest value are cut off.
  const float value = std::nextafter(2.0f, 0.0f);
  std::vector<uint8_t> codes;
  const uint8_t scale = quantized(std::vector<float>{value, -value, 0.0f}, codes);
  EXPECT_EQ(decode(format_.element, codes[0]), largestValue(format_.element));
  EXPECT_EQ(decode(format_.element, codes[1]), -largestValue(format_.element));
  EXPECT_EQ(codes[2], 0);
  if (format_.scale != NumberType::UE8M0) return;
  EXPECT_EQ(decode(format_.scale, scale), std::ldexp(1.0, -largestExponent(format_.element)));
}

TEST_P(Block, MatrixHoldsEveryBlockInEitherLayout) {
  std::mt19937 generator(kSeed);
  std::normal_distribution<float> normal;
  const int64_t rows = 131, columns = 5 * format_.blockSize + 7;
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (float& value : values) value = normal(generator) * std::ldexp(1.0f, static_cast<int>(generator() % 9));
  const auto size = static_cast<size_t>(format_.blockSize);

  const layout::QuantizedMatrix plain = layout::quantize(format_, rows, columns, values);
  const layout::QuantizedMatrix tiled =
      layout::quantize(format_, rows, columns, values, {layout::ScaleFactorLayout::Interleaved128x4, 128});
  EXPECT_EQ(plain.pitch % 16, 0);
  EXPECT_EQ(tiled.pitch % 128, 0);
  EXPECT_EQ(plain.scales.size(), static_cast<size_t>(rows * 6));
  EXPECT_EQ(tiled.scales.size(), 2u * 2u * 512u);
  EXPECT_EQ(plain.tensorScale, tiled.tensorScale);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t first = 0; first < columns; first += format_.blockSize) {
      const auto block = std::span(values).subspan(static_cast<size_t>(row * columns + first),
                                                   std::min(size, static_cast<size_t>(columns - first)));
      std::vector<uint8_t> codes(block.size());
      const double factor = decode(format_.scale, quantizeBlock(format_, block, plain.tensorScale, codes));
      for (const layout::QuantizedMatrix* matrix : {&plain, &tiled}) {
        ASSERT_EQ(matrix->blockFactor(row, first), factor);
        for (size_t i = 0; i < block.size(); ++i) {
          const int64_t column = first + static_cast<int64_t>(i);
          ASSERT_EQ(matrix->code(row, column), codes[i]) << row << ", " << column << ", seed " << kSeed;
          ASSERT_EQ(matrix->value(row, column), decode(format_.element, codes[i]) * (factor * double{plain.tensorScale}));
          // Half a step of the element type, at worst that below its largest value, or what saturation cuts off.
          const double limit = std::fabs(block[i]) * 0.5 + factor * double{plain.tensorScale};
          ASSERT_LE(std::fabs(matrix->value(row, column) - double{block[i]}), limit);
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Formats, Block, testing::Values("mxfp8_e4m3", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4", "nvfp4"),
                         [](const auto& info) { return std::string(info.param); });

TEST(TensorScale, LetsTheLargestBlockFactorBe448) {
  const BlockFormat nvfp4 = *blockFormatNamed("nvfp4");
  const float scale = tensorScaleFor(nvfp4, 1000.0f);
  std::vector<uint8_t> codes(2);
  EXPECT_EQ(quantizeBlock(nvfp4, std::vector<float>{1000.0f, -250.0f}, scale, codes), 0x7e);
  EXPECT_EQ(codes[0], 0x7);
  EXPECT_EQ(codes[1], 0xb);  // -1.5 * 448 * scale = -250
  EXPECT_EQ(tensorScaleFor(nvfp4, 0.0f), 1.0f);
  EXPECT_EQ(tensorScaleFor(nvfp4, INFINITY), 1.0f);
  EXPECT_EQ(tensorScaleFor(*blockFormatNamed("mxfp4"), 1000.0f), 1.0f);
  EXPECT_FALSE(blockFormatNamed("mxfp5").has_value());
}

TEST(Packed, IsOneLittleEndianBitString) {
  std::mt19937 generator(kSeed);
  for (const NumberType type : {NumberType::E2M1, NumberType::E3M2, NumberType::E4M3, NumberType::F16, NumberType::F32}) {
    const int bits = storageBits(type);
    constexpr int kCount = 37;
    std::vector<uint32_t> codes(kCount);
    std::vector<bool> string;
    for (uint32_t& code : codes) {
      code = static_cast<uint32_t>(generator()) & static_cast<uint32_t>((uint64_t{1} << bits) - 1);
      for (int b = 0; b < bits; ++b) string.push_back((code >> b & 1) != 0);
    }
    std::vector<std::byte> row(static_cast<size_t>(packedBytes(type, kCount)), std::byte{0xa5});
    for (int i = kCount - 1; i >= 0; --i) storePacked(type, row.data(), i, codes[static_cast<size_t>(i)]);
    for (size_t b = 0; b < string.size(); ++b)
      ASSERT_EQ((std::to_integer<int>(row[b / 8]) >> (b % 8) & 1) != 0, string[b]) << bits << ", seed " << kSeed;
    for (int i = 0; i < kCount; ++i) ASSERT_EQ(loadPacked(type, row.data(), i), codes[static_cast<size_t>(i)]);
  }
}

TEST(ConvertedMatrix, RoundsEveryElement) {
  const std::vector<float> values = {1.0f, -449.0f, 0.07f, 3.3f, 1e9f, -0.0f};
  const layout::QuantizedMatrix matrix = layout::convert(NumberType::E4M3, 2, 3, values);
  EXPECT_EQ(matrix.blocksPerRow(), 0);
  EXPECT_TRUE(matrix.scales.empty());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(matrix.code(static_cast<int64_t>(i / 3), static_cast<int64_t>(i % 3)), encode(NumberType::E4M3, double{values[i]}));
}

}  // namespace
}  // namespace shiftconv::numerics
