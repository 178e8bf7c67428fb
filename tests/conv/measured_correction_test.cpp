// What the trees of measuredCorrection() are shown, worked out by hand, and the bounds of what they answer.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include "common/device/registry.hpp"
#include "conv/plan/measured_correction.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/problem/text.hpp"

namespace shiftconv::plan {
namespace {

Problem parsed(const std::string& text) {
  Problem problem;
  EXPECT_TRUE(parse(text, problem).ok()) << text;
  return problem;
}

std::map<std::string_view, float> featuresOf(const std::string& text, const Tiling& tiling, double microseconds) {
  const CorrectionFeatures values = CorrectionView(parsed(text)).of(tiling, microseconds);
  std::map<std::string_view, float> named;
  for (size_t i = 0; i < values.size(); ++i) named[kCorrectionFeatures[i]] = values[i];
  return named;
}

device::Properties properties(const char* preset) {
  for (const device::Preset& one : device::presets())
    if (std::string_view(one.name) == preset) return one.properties;
  ADD_FAILURE() << preset;
  return {};
}

// 2 images of 14 x 9 pixels (27 x 17, padded, stride 2): 252 pixels are 4 tiles of 64, a group's 90 channels 2 of 64; 3 groups,
// split by 2.
TEST(MeasuredCorrection, SeesProblemAndTiling) {
  auto seen =
      featuresOf("2x27x17x120 f16 * 270x3x5x40 groups 3 pad 1,1,2,2 stride 2,2 -> f16 bias residual 1", {64, 64, 2, {7, 8, 9}}, 8);
  EXPECT_FLOAT_EQ(seen["microseconds"], 3);
  EXPECT_FLOAT_EQ(seen["tile_pixels"], 64);
  EXPECT_FLOAT_EQ(seen["tile_channels"], 64);
  EXPECT_FLOAT_EQ(seen["split"], 2);
  EXPECT_FLOAT_EQ(seen["choice_0"], 7);
  EXPECT_FLOAT_EQ(seen["choice_1"], 8);
  EXPECT_FLOAT_EQ(seen["choice_2"], 9);
  EXPECT_FLOAT_EQ(seen["tiles"], std::log2(4.0f * 2 * 3 * 2));
  EXPECT_FLOAT_EQ(seen["waves"], 48 / 132.0f);
  EXPECT_FLOAT_EQ(seen["tail"], 132 / 48.0f);
  EXPECT_FLOAT_EQ(seen["channel_fill"], 90 / 128.0f);
  EXPECT_FLOAT_EQ(seen["pixel_fill"], 2 * 14 * 9 / 256.0f);
  EXPECT_FLOAT_EQ(seen["pixels"], std::log2(252.0f));
  EXPECT_FLOAT_EQ(seen["input_channels"], std::log2(120.0f));
  EXPECT_FLOAT_EQ(seen["output_channels"], std::log2(90.0f));
  EXPECT_FLOAT_EQ(seen["reduction"], std::log2(600.0f));
  EXPECT_FLOAT_EQ(seen["taps"], 15);
  EXPECT_FLOAT_EQ(seen["filter_width"], 5);
  EXPECT_FLOAT_EQ(seen["stride_h"], 2);
  EXPECT_FLOAT_EQ(seen["stride_w"], 2);
  EXPECT_FLOAT_EQ(seen["dilation_w"], 1);
  EXPECT_FLOAT_EQ(seen["volume"], 0);
  EXPECT_FLOAT_EQ(seen["c_modulo_64"], 40);
  EXPECT_FLOAT_EQ(seen["c_modulo_8"], 0);
  EXPECT_FLOAT_EQ(seen["k_modulo_8"], 6);
  EXPECT_FLOAT_EQ(seen["in_group"], std::log2(40.0f));
  EXPECT_FLOAT_EQ(seen["residual"], 1);
}

TEST(MeasuredCorrection, IsForHalvesOnHopper) {
  const device::Properties h200 = properties("H200"), b200 = properties("B200");
  EXPECT_TRUE(hasMeasuredCorrection(parsed("1x8x8x64 f16 * 64x3x3x64 -> f16"), h200));
  EXPECT_TRUE(hasMeasuredCorrection(parsed("1x8x8x64 bf16 * 64x3x3x64 -> bf16"), h200));
  EXPECT_FALSE(hasMeasuredCorrection(parsed("1x8x8x64 f16 * 64x3x3x64 -> f32"), h200));
  EXPECT_FALSE(hasMeasuredCorrection(parsed("1x8x8x64 s8 * 64x3x3x64 -> s8"), h200));
  EXPECT_FALSE(hasMeasuredCorrection(parsed("1x8x8x64 f16 * 64x3x3x64 -> f16"), b200));
}

TEST(MeasuredCorrection, IsPartOfTheEstimate) {
  const Problem problem = parsed("8x56x56x64 f16 * 256x1x1x64 -> f16 residual 1");
  Candidates candidates;
  ASSERT_TRUE(findCandidates(problem, properties("H200"), {}, candidates).ok());
  int corrected = 0;
  for (const Candidate& candidate : candidates.all) {
    EXPECT_GE(candidate.correction, 0.5);
    EXPECT_LE(candidate.correction, 2);
    if (candidate.correction == 1) continue;
    ++corrected;
    const double modelled = candidate.estimate.seconds / candidate.correction * 1e6;
    EXPECT_DOUBLE_EQ(
        measuredCorrection(candidate.algorithm->name(), CorrectionView(problem).of(candidate.tiling, modelled)).value_or(0),
        candidate.correction)
        << candidate.options();
  }
  EXPECT_GT(corrected, 5);
  EXPECT_FALSE(measuredCorrection("direct", CorrectionView(problem).of({1, 1}, 8)));
}

}  // namespace
}  // namespace shiftconv::plan
