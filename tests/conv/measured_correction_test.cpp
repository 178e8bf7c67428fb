// What the trees of measuredCorrection() are shown, worked out by hand, and the bounds of what they answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
  EXPECT_FLOAT_EQ(seen["epilogue"], 0);
  EXPECT_FLOAT_EQ(seen["operands"], 0);
  EXPECT_FLOAT_EQ(featuresOf("1x8x8x64 e4m3 * 64x3x3x64 e5m2 -> e4m3", {}, 8)["operands"], 1);
  EXPECT_FLOAT_EQ(featuresOf("1x8x8x64 u8 * 64x3x3x64 s8 -> s8", {}, 8)["operands"], 2);
}

TEST(MeasuredCorrection, SeesWhatThePlainEpilogueAndWhatTheShortOneLacks) {
  for (const auto& [text, epilogue] : {std::pair{"1x8x8x64 f16 * 64x3x3x64 -> f16 bias residual 0.5 relu", 0},
                                       {"1x8x8x64 f16 * 64x3x3x64 -> f16 silu", 1},
                                       {"1x8x8x64 f16 * 64x3x3x64 -> f16 bias f16", 1},
                                       {"1x8x8x64 f16 * 64x3x3x64 -> f16 alpha 2 channel_scale", 1},
                                       {"1x8x8x64 f16 * 64x3x3x64 -> f16 tanh", 2},
                                       {"1x8x8x64 f16 * 64x3x3x64 -> f16 relu amax", 2},
                                       {"1x8x8x64 f16 split_c 32 * 64x3x3x64 -> f16 relu", 2}})
    EXPECT_FLOAT_EQ(featuresOf(text, {64, 64, 1, {}}, 8)["epilogue"], static_cast<float>(epilogue)) << text;
}

TEST(MeasuredCorrection, IsForHalvesOnHopper) {
  const device::Properties h200 = properties("H200"), b200 = properties("B200");
  EXPECT_TRUE(hasMeasuredCorrection(parsed("1x8x8x64 f16 * 64x3x3x64 -> f16"), h200));
  EXPECT_TRUE(hasMeasuredCorrection(parsed("1x8x8x64 bf16 * 64x3x3x64 -> bf16"), h200));
  EXPECT_FALSE(hasMeasuredCorrection(parsed("1x8x8x64 f16 * 64x3x3x64 -> f32"), h200));
  EXPECT_TRUE(hasMeasuredCorrection(parsed("1x8x8x64 s8 * 64x3x3x64 -> s8"), h200));
  EXPECT_TRUE(hasMeasuredCorrection(parsed("1x8x8x64 e4m3 * 64x3x3x64 e5m2 -> f16"), h200));
  EXPECT_FALSE(hasMeasuredCorrection(parsed("1x8x8x64 e4m3 scale ue8m0/32 * 64x3x3x64 scale ue8m0/32 -> f16"), h200));
  EXPECT_FALSE(hasMeasuredCorrection(parsed("1x8x8x64 f32 * 64x3x3x64 -> f32"), h200));
  EXPECT_FALSE(hasMeasuredCorrection(parsed("1x8x8x64 f16 * 64x3x3x64 -> f16"), b200));
}

constexpr size_t kNodes = 127;  // of a tree in which every path asks seven questions

/// Of the same trees, asked node by node, of one candidate, the first kTreesOfAll or all.
struct PlainTree {
  std::array<uint8_t, kNodes> features;
  std::array<float, kNodes> thresholds;
  std::array<float, kNodes + 1> leaves;
};
constexpr float kNever = std::numeric_limits<float>::max();
enum class Asked { First, All };
/// The library sums up to 120 leaves in f32, each addition off by 2^-24 of a sum that is below kMostSum.
constexpr double kMostSum = 4, kSumError = 120 * 0x1p-24 * kMostSum;
double plainSum(std::string_view algorithm, const CorrectionFeatures& features, Asked asked = Asked::All) {
  static const std::vector<PlainTree> trees{
#define SHIFTCONV_TREE(...) PlainTree{__VA_ARGS__},
#define SHIFTCONV_TREES_OF(NAME, BYTES, GROUPS, FIRST, COUNT)
#include "conv/plan/correction_trees.inc"
#undef SHIFTCONV_TREES_OF
#undef SHIFTCONV_TREE
  };
  size_t first = 0, count = 0;
  const bool areBytes = features[29] > 0;
#define SHIFTCONV_TREE(...)
#define SHIFTCONV_TREES_OF(NAME, BYTES, GROUPS, FIRST, COUNT) \
  if (algorithm == NAME && areBytes == BYTES) first = FIRST, count = COUNT;
#include "conv/plan/correction_trees.inc"
#undef SHIFTCONV_TREES_OF
#undef SHIFTCONV_TREE
  if (count == 0) return 0;
  if (asked == Asked::First) count = std::min(count, kTreesOfAll);
  double sum = 0;
  for (size_t tree = first; tree < first + count; ++tree) {
    size_t i = 0;
    while (i < kNodes) i = 2 * i + (features[trees[tree].features[i]] > trees[tree].thresholds[i] ? 2 : 1);
    sum += static_cast<double>(trees[tree].leaves[i - kNodes]);
    EXPECT_LT(std::abs(sum), kMostSum);
  }
  return sum;
}
double factorOf(double sum) { return std::clamp(std::exp(sum), 1.0 / 3, 3.0); }

/// What every candidate of an algorithm should get: all trees where the first ones say that it is near the fastest, else those, and
/// of the rest what the fastest gets.
std::vector<double> plainCorrections(std::string_view algorithm, const std::vector<CorrectionFeatures>& candidates) {
  const auto firstTime = [&](const CorrectionFeatures& one) {
    return std::exp2(static_cast<double>(one[0])) * std::exp(plainSum(algorithm, one, Asked::First));
  };
  const CorrectionFeatures& fastest = *std::min_element(candidates.begin(), candidates.end(),
                                                        [&](const auto& a, const auto& b) { return firstTime(a) < firstTime(b); });
  const double rest = plainSum(algorithm, fastest) - plainSum(algorithm, fastest, Asked::First);
  std::vector<double> factors;
  for (const CorrectionFeatures& one : candidates)
    factors.push_back(factorOf(firstTime(one) <= firstTime(fastest) * std::exp(kNear)
                                   ? plainSum(algorithm, one)
                                   : plainSum(algorithm, one, Asked::First) + rest));
  return factors;
}

// Candidates are asked together, which must not show: algorithms with few and with many of them, whose tiles differ in all ways.
TEST(MeasuredCorrection, IsPartOfTheEstimate) {
  for (const char* text : {"8x56x56x64 f16 * 256x1x1x64 -> f16 residual 1", "1x14x14x256 bf16 * 256x3x3x256 pad 1,1,1,1 -> bf16",
                           "32x112x112x32 f16 * 32x3x3x1 groups 32 pad 1,1,1,1 -> f16 silu",
                           "1x224x224x3 f16 * 64x7x7x3 pad 3,3,3,3 stride 2,2 -> f16 bias relu",
                           "8x28x28x128 e4m3 * 128x3x3x128 pad 1,1,1,1 -> e4m3 bias relu",
                           "32x56x56x64 s8 * 64x3x3x1 groups 64 pad 1,1,1,1 -> s8 alpha 0.01"}) {
    const Problem problem = parsed(text);
    Candidates candidates;
    ASSERT_TRUE(findCandidates(problem, properties("H200"), {}, candidates).ok());
    std::map<const Algorithm*, std::vector<CorrectionFeatures>> features;
    std::map<const Algorithm*, std::vector<double>> found;
    size_t corrected = 0;
    for (const Candidate& candidate : candidates.all) {
      EXPECT_GE(candidate.correction, 1.0 / 3);
      EXPECT_LE(candidate.correction, 3);
      if (candidate.correction == 1) continue;
      ++corrected;
      const double modelled = candidate.estimate.seconds / candidate.correction * 1e6;
      features[candidate.algorithm].push_back(CorrectionView(problem).of(candidate.tiling, modelled));
      found[candidate.algorithm].push_back(candidate.correction);
    }
    EXPECT_GT(corrected, 5) << text;
    for (const auto& [algorithm, factors] : found) {
      const std::vector<double> expected = plainCorrections(algorithm->name(), features[algorithm]);
      for (size_t i = 0; i < factors.size(); ++i)
        EXPECT_NEAR(factors[i], expected[i], kSumError * expected[i]) << text << ": " << algorithm->name() << " " << i;
    }
  }
}

// Trees fitted to layers without groups are not asked for layers that have them.
TEST(MeasuredCorrection, IsForGroupsWhereTheyWereRecorded) {
  struct TreesOf {
    std::string_view algorithm;
    bool areBytes, sawGroups;
  };
  constexpr TreesOf kTreesOf[] = {
#define SHIFTCONV_TREE(...)
#define SHIFTCONV_TREES_OF(NAME, BYTES, GROUPS, FIRST, COUNT) {NAME, BYTES, GROUPS},
#include "conv/plan/correction_trees.inc"
#undef SHIFTCONV_TREES_OF
#undef SHIFTCONV_TREE
  };
  int with = 0, without = 0;
  for (const auto& [algorithm, areBytes, sawGroups] : kTreesOf) {
    ++(sawGroups ? with : without);
    const std::string type = areBytes ? "s8" : "f16";
    for (const bool isGrouped : {false, true}) {
      const Problem problem = parsed("2x9x7x64 " + type + " * 96x3x3x" + (isGrouped ? "32 groups 2" : "64") + " -> " + type);
      const CorrectionFeatures features[] = {CorrectionView(problem).of({64, 64, 1, {}}, 8)};
      double factor = 7;
      EXPECT_EQ(measuredCorrections(algorithm, features, std::span(&factor, 1)), sawGroups || !isGrouped) << algorithm;
      EXPECT_EQ(factor == 7, isGrouped && !sawGroups) << algorithm;
    }
  }
  EXPECT_GT(with, 3);
  EXPECT_GT(without, 3);
}

// More candidates than are asked at once, the first of which is not like the others.
TEST(MeasuredCorrection, AsksManyCandidatesAtOnce) {
  const CorrectionView view(parsed("8x56x56x64 f16 * 256x3x3x64 pad 1,1,1,1 -> f16"));
  std::vector<CorrectionFeatures> features;
  for (int32_t i = 0; i < 131; ++i)
    features.push_back(view.of({8 << i % 6, 8 << i % 5, 1 << i % 3, {i % 4, i % 7, i % 2}}, 1 + 0.7 * i));
  for (const std::string_view algorithm : {"halo", "thin", "gathered", "im2col_sm90"}) {
    std::vector<double> factors(features.size());
    EXPECT_TRUE(measuredCorrections(algorithm, features, factors));
    const std::vector<double> expected = plainCorrections(algorithm, features);
    size_t asAll = 0;
    for (size_t i = 0; i < features.size(); ++i) {
      EXPECT_NEAR(factors[i], expected[i], kSumError * expected[i]) << algorithm << " " << i;
      asAll += expected[i] == factorOf(plainSum(algorithm, features[i]));
    }
    EXPECT_GE(asAll, 1u) << algorithm;
    EXPECT_LE(asAll, features.size() / 2) << algorithm;
    EXPECT_NE(factors.front(), factors.back());
  }
  std::vector<double> none(2, 7);
  EXPECT_FALSE(measuredCorrections("direct", std::span(features).first(2), none));
  EXPECT_EQ(none, (std::vector<double>{7, 7}));
}

}  // namespace
}  // namespace shiftconv::plan
