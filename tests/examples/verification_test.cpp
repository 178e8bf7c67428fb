// The program's verdict: right results pass, one wrong element does not.
#include "examples/feature_maps/verification.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "common/numerics/float16.hpp"

namespace feature_maps {
namespace {

using shiftconv::numerics::decodeF16;
using shiftconv::numerics::encodeF16;

constexpr int kHeight = 5, kWidth = 7, kChannels = 8, kFilters = 8, kSize = 3, kPitch = 24;
constexpr float kPoison = -1234.0f;

struct Case {
  Layer layer;
  std::vector<uint16_t> input;
  std::vector<double> expected;  ///< dense
};

/// Random operands, and the convolution by its definition.
Case makeCase(bool relu) {
  std::mt19937 random(20240607);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Case c;
  c.layer.problem = samePadding(kHeight, kWidth, kChannels, kFilters, kSize);
  c.layer.problem.output_pixel_pitch = kPitch;
  c.input.resize(kHeight * kWidth * kChannels);
  c.layer.filter.resize(kFilters * kSize * kSize * kChannels);
  for (uint16_t& value : c.input) value = encodeF16(uniform(random));
  for (uint16_t& value : c.layer.filter) value = encodeF16(uniform(random));
  if (relu) {
    c.layer.problem.has_bias = 1;
    c.layer.problem.activation = SHIFTCONV_ACTIVATION_RELU;
    for (int k = 0; k < kFilters; ++k) c.layer.bias.push_back(uniform(random));
  }
  for (int p = 0; p < kHeight; ++p) {
    for (int q = 0; q < kWidth; ++q) {
      for (int k = 0; k < kFilters; ++k) {
        double sum = relu ? c.layer.bias[static_cast<size_t>(k)] : 0.0;
        for (int i = 0; i < kSize * kSize * kChannels; ++i) {
          const int channel = i % kChannels, s = i / kChannels % kSize, r = i / kChannels / kSize;
          const int y = p + r - kSize / 2, x = q + s - kSize / 2;
          if (y < 0 || y >= kHeight || x < 0 || x >= kWidth) continue;
          sum += static_cast<double>(decodeF16(c.input[static_cast<size_t>((y * kWidth + x) * kChannels + channel)])) *
                 decodeF16(c.layer.filter[static_cast<size_t>(k * kSize * kSize * kChannels + i)]);
        }
        c.expected.push_back(relu && sum < 0 ? 0 : sum);
      }
    }
  }
  return c;
}

template <typename T>
std::vector<T> pitched(const std::vector<double>& dense, T (*encode)(float)) {
  std::vector<T> output(kHeight * kWidth * kPitch, encode(kPoison));
  for (size_t i = 0; i < dense.size(); ++i) output[i / kFilters * kPitch + i % kFilters] = encode(static_cast<float>(dense[i]));
  return output;
}

float same(float value) { return value; }

TEST(Verification, AcceptsTheDefinition) {
  const Case c = makeCase(false);
  const std::vector<uint16_t> output = pitched<uint16_t>(c.expected, encodeF16);
  const Verification result = verify(c.layer, c.input, output.data(), false);
  EXPECT_EQ(result.elements, kHeight * kWidth * kFilters);
  EXPECT_EQ(result.exceeded, 0) << result.firstExceeded;
  EXPECT_GT(result.worstRatio, 0);
  EXPECT_LE(result.worstRatio, 1);
}

TEST(Verification, AcceptsBiasReluAndF32Output) {
  Case c = makeCase(true);
  c.layer.problem.output_type = SHIFTCONV_TYPE_F32;
  const std::vector<float> output = pitched<float>(c.expected, same);
  const Verification result = verify(c.layer, c.input, output.data(), false);
  EXPECT_EQ(result.exceeded, 0) << result.firstExceeded;
}

TEST(Verification, FindsOneWrongElement) {
  const Case c = makeCase(false);
  for (size_t wrong = 0; wrong < c.expected.size(); wrong += 37) {
    std::vector<uint16_t> output = pitched<uint16_t>(c.expected, encodeF16);
    output[wrong / kFilters * kPitch + wrong % kFilters] = encodeF16(static_cast<float>(c.expected[wrong] + 0.02));
    const Verification result = verify(c.layer, c.input, output.data(), false);
    EXPECT_EQ(result.exceeded, 1);
    const auto pixel = static_cast<int>(wrong) / kFilters;
    const std::string place = "row " + std::to_string(pixel / kWidth) + ", column " + std::to_string(pixel % kWidth) +
                              ", channel " + std::to_string(wrong % kFilters);
    EXPECT_EQ(result.firstExceeded.rfind(place, 0), 0u) << result.firstExceeded;
    EXPECT_GT(result.worstRatio, 1);
  }
}

TEST(Verification, UnwrittenElementsFail) {
  const Case c = makeCase(false);
  std::vector<uint16_t> output = pitched<uint16_t>(c.expected, encodeF16);
  output[3 * kPitch + 2] = 0xffff;  // what the poisoned buffer holds
  EXPECT_EQ(verify(c.layer, c.input, output.data(), false).exceeded, 1);
}

TEST(Verification, SumsUp) {
  Verification total;
  total += {10, 0, 0.5, 1e-3, ""};
  total += {20, 2, 3.0, 1e-4, "second"};
  total += {5, 1, 0.1, 1e-5, "third"};
  EXPECT_EQ(total.elements, 35);
  EXPECT_EQ(total.exceeded, 3);
  EXPECT_EQ(total.worstRatio, 3.0);
  EXPECT_EQ(total.worstError, 1e-3);
  EXPECT_EQ(total.firstExceeded, "second");
}

}  // namespace
}  // namespace feature_maps
