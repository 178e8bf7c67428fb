// What the trees of measuredCorrection() are shown, worked out by hand, and the bounds of what they answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/device/registry.hpp"
#include "conv/plan/correction_trees.hpp"
#include "conv/plan/measured_correction.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/correction.hpp"
#include "conv/planner/registry.hpp"
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
// split by 2. Of two bytes: 2 x 27 x 17 x 120 inputs, 270 x 3 x 5 x 40 weights, 252 x 270 outputs and as many residuals; of four:
// 270 biases.
TEST(MeasuredCorrection, SeesProblemAndTiling) {
  auto seen = featuresOf("2x27x17x120 f16 * 270x3x5x40 groups 3 pad 1,1,2,2 stride 2,2 -> f16 bias residual 1",
                         {64, 64, 2, {7, 8, 9}, {0.5f, 1.5f, 2.5f, 3.5f}}, 8);
  EXPECT_FLOAT_EQ(seen["microseconds"], 3);
  EXPECT_FLOAT_EQ(seen["tile_pixels"], 64);
  EXPECT_FLOAT_EQ(seen["tile_channels"], 64);
  EXPECT_FLOAT_EQ(seen["split"], 2);
  EXPECT_FLOAT_EQ(seen["choice_0"], 7);
  EXPECT_FLOAT_EQ(seen["choice_1"], 8);
  EXPECT_FLOAT_EQ(seen["choice_2"], 9);
  EXPECT_FLOAT_EQ(seen["model_part_0"], 0.5f);
  EXPECT_FLOAT_EQ(seen["model_part_1"], 1.5f);
  EXPECT_FLOAT_EQ(seen["model_part_2"], 2.5f);
  EXPECT_FLOAT_EQ(seen["model_part_3"], 3.5f);
  EXPECT_FLOAT_EQ(seen["bytes"], std::log2(2.0f * (2 * 27 * 17 * 120 + 270 * 3 * 5 * 40 + 2 * 252 * 270) + 4 * 270));
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
                                       {"1x8x8x64 f16 * 64x3x3x64 -> f16 bias f16", 0},
                                       {"1x8x8x64 f16 * 64x3x3x64 -> f16 alpha 2 channel_scale", 1},
                                       {"1x8x8x64 f16 * 64x3x3x64 -> f16 tanh", 1},
                                       {"1x8x8x64 f16 * 64x3x3x64 -> f16 relu amax", 2},
                                       {"1x8x8x64 f16 * 64x3x3x64 -> f32 relu", 2},
                                       {"1x8x8x64 f16 * 64x3x3x64 -> bf16", 2},
                                       {"1x8x8x64 f16 * 64x3x3x64 -> f16 residual 1 residual_type f32", 2},
                                       {"1x8x8x64 e4m3 * 64x3x3x64 -> f32", 2},
                                       {"1x8x8x64 e4m3 * 64x3x3x64 -> e4m3 bias relu out_scale 0.25", 0},
                                       {"1x8x8x64 s8 * 64x3x3x64 -> s8 zero 3 silu", 1},
                                       {"1x8x8x64 e4m3 * 64x3x3x64 -> e4m3 bias relu amax", 2},
                                       {"1x8x8x64 f16 * 64x3x3x64 -> f16 out_scale 0.25", 2},
                                       {"1x8x8x64 e4m3 * 64x3x3x64 -> f16 bias", 0},
                                       {"1x8x8x64 f16 split_c 32 * 64x3x3x64 -> f16 relu", 2}})
    EXPECT_FLOAT_EQ(featuresOf(text, {64, 64, 1, {}}, 8)["epilogue"], static_cast<float>(epilogue)) << text;
}

// Weights of 512 channels for 128 outputs are 128 KiB. Beside them and a staged tile four boxes of 112 pixels fit, 14 KiB each.
// With tiles of 144 pixels weights come again: five stages of 16 KiB, and six boxes of 18 KiB.
TEST(MeasuredCorrection, SeesWhatRingsOfHaloHold) {
  for (const auto& [shape, choice, ring] : {std::tuple{"k128_n112", 2, 4 * 14.0f}, {"k128_n144", 0, 5 * 16 + 6 * 18.0f}}) {
    Candidates candidates;
    ASSERT_TRUE(findCandidates(parsed("32x64x64x512 f16 * 512x1x1x512 -> f16"), properties("H200"),
                               {"halo", std::string("cut=dense,shape=") + shape}, candidates)
                    .ok());
    ASSERT_EQ(candidates.all.size(), 1u) << shape;
    EXPECT_EQ(candidates.all[0].tiling.choices[2], choice) << shape;
    EXPECT_FLOAT_EQ(candidates.all[0].tiling.modelParts[3], ring) << shape;
  }
}

TEST(MeasuredCorrection, ModelsSayWhatBindsACandidate) {
  std::map<std::string_view, std::set<std::array<float, 4>>> parts;
  for (const char* text : {"8x56x55x64 f16 * 64x1x1x64 -> f16", "8x28x27x64 f16 * 64x3x3x1 groups 64 pad 1,1,1,1 -> f16"}) {
    Candidates candidates;
    ASSERT_TRUE(findCandidates(parsed(text), properties("H200"), {}, candidates).ok());
    for (const Candidate& one : candidates.all) parts[one.algorithm->name()].insert(one.tiling.modelParts);
  }
  for (const char* algorithm : {"halo", "im2col_sm90", "thin", "pointwise", "channelwise"}) {
    EXPECT_GT(parts[algorithm].size(), 4u) << algorithm;
    for (const auto& some : parts[algorithm]) {
      EXPECT_GT(*std::max_element(some.begin(), some.end()), 0) << algorithm;
      for (const float part : some) EXPECT_TRUE(part >= 0 && std::isfinite(part)) << algorithm << " " << part;
    }
  }
}

TEST(MeasuredCorrection, IsForHalvesOnHopper) {
  const device::Properties h200 = properties("H200"), b200 = properties("B200");
  EXPECT_TRUE(hasMeasuredCorrection(parsed("1x8x8x64 f16 * 64x3x3x64 -> f16"), h200));
  EXPECT_TRUE(hasMeasuredCorrection(parsed("1x8x8x64 bf16 * 64x3x3x64 -> bf16"), h200));
  EXPECT_TRUE(hasMeasuredCorrection(parsed("1x8x8x64 f16 * 64x3x3x64 -> f32"), h200));
  EXPECT_TRUE(hasMeasuredCorrection(parsed("1x8x8x64 bf16 * 64x3x3x64 -> s8"), h200));
  EXPECT_FALSE(hasMeasuredCorrection(parsed("1x8x8x64 f16 * 64x3x3x64 -> e4m3 scale ue8m0/32"), h200));
  EXPECT_TRUE(hasMeasuredCorrection(parsed("1x8x8x64 s8 * 64x3x3x64 -> s8"), h200));
  EXPECT_TRUE(hasMeasuredCorrection(parsed("1x8x8x64 e4m3 * 64x3x3x64 e5m2 -> f16"), h200));
  EXPECT_FALSE(hasMeasuredCorrection(parsed("1x8x8x64 e4m3 scale ue8m0/32 * 64x3x3x64 scale ue8m0/32 -> f16"), h200));
  EXPECT_FALSE(hasMeasuredCorrection(parsed("1x8x8x64 f32 * 64x3x3x64 -> f32"), h200));
  EXPECT_FALSE(hasMeasuredCorrection(parsed("1x8x8x64 f16 * 64x3x3x64 -> f16"), b200));
}

constexpr size_t kNodes = 127;  // of a tree in which every path asks seven questions

/// Of the same trees, asked node by node.
struct PlainTree {
  std::array<uint8_t, kNodes> features;
  std::array<float, kNodes> thresholds;
  std::array<float, kNodes + 1> leaves;
};
constexpr float kNever = std::numeric_limits<float>::max();
constexpr size_t kTrees = 100;  // of an algorithm, beside those for whole epilogues, which come first

/// What the first trees for whole epilogues, as many as go with them, and the first `asked` others say of a candidate: the
/// logarithm of a factor.
double plainSum(std::string_view algorithm, bool hasGroups, const CorrectionFeatures& features, size_t asked) {
  static const std::vector<PlainTree> trees{
#define SHIFTCONV_TREE(...) PlainTree{__VA_ARGS__},
#define SHIFTCONV_TREES_OF(NAME, BYTES, GROUPS, FIRST, COUNT)
#include "conv/plan/correction_trees.inc"
#undef SHIFTCONV_TREES_OF
#undef SHIFTCONV_TREE
  };
  size_t first = 0, count = 0;
  const auto operands = std::find(kCorrectionFeatures.begin(), kCorrectionFeatures.end(), "operands");
  const bool areBytes = features.at(static_cast<size_t>(operands - kCorrectionFeatures.begin())) > 0;
#define SHIFTCONV_TREE(...)
#define SHIFTCONV_TREES_OF(NAME, BYTES, GROUPS, FIRST, COUNT) \
  if (count == 0 && algorithm == NAME && areBytes == BYTES && (GROUPS || !hasGroups)) first = FIRST, count = COUNT;
#include "conv/plan/correction_trees.inc"
#undef SHIFTCONV_TREES_OF
#undef SHIFTCONV_TREE
  if (count == 0) return 0;
  double sum = 0;
  const size_t ofWhole = count - kTrees, wholeAsked = std::min(ofWhole, wholeTreesAskedWith(asked));
  for (size_t tree = first; tree < first + ofWhole + asked; ++tree) {
    if (tree >= first + wholeAsked && tree < first + ofWhole) continue;
    size_t i = 0;
    while (i < kNodes) i = 2 * i + (features[trees[tree].features[i]] > trees[tree].thresholds[i] ? 2 : 1);
    sum += static_cast<double>(trees[tree].leaves[i - kNodes]);
  }
  return sum;
}
double factorOf(double sum) { return std::clamp(std::exp(sum), 1.0 / 3, 3.0); }

struct PlainCandidate {
  std::string_view algorithm;  ///< or the form of one that has trees of its own
  CorrectionFeatures features;
  bool isAsked = true;
  double behind = 0;  ///< how many times as long as the fastest of its algorithm, when it was left behind
  bool hasGroups = false;

  double modelled() const { return std::exp2(static_cast<double>(features[0])); }
  double time(size_t trees) const {
    return modelled() * factorOf(trees == 0 ? 0 : plainSum(algorithm, hasGroups, features, trees));
  }
};

/// What every candidate should get, worked out round by round.
std::vector<double> plainCorrections(std::vector<PlainCandidate> all) {
  std::map<std::string_view, double> fastestOf, lost;  // lost: how many times as long as the fastest, when none of them was left
  const auto fastest = [&](std::string_view algorithm, size_t trees) {
    double time = std::numeric_limits<double>::infinity();
    for (const PlainCandidate& one : all)
      if (one.isAsked && (algorithm.empty() || one.algorithm == algorithm)) time = std::min(time, one.time(trees));
    return time;
  };
  for (const auto& [trees, behindItsOwn, behindAll] : kCorrectionRounds) {
    const double ofAll = fastest("", trees);
    for (const PlainCandidate& one : all) fastestOf[one.algorithm] = fastest(one.algorithm, trees);
    for (PlainCandidate& one : all) {
      const double time = one.time(trees), own = fastestOf[one.algorithm];
      if (!one.isAsked || (time <= own * std::exp(behindItsOwn) && time <= ofAll * std::exp(behindAll))) continue;
      one.isAsked = false;
      one.behind = time / own;
      if (time == own) lost[one.algorithm] = time / ofAll;
    }
  }
  std::vector<double> factors;
  for (const PlainCandidate& one : all) {
    const double own = lost.contains(one.algorithm) ? lost[one.algorithm] * fastest("", kTrees) : fastest(one.algorithm, kTrees);
    factors.push_back((one.isAsked ? one.time(kTrees) : own * one.behind) / one.modelled());
  }
  return factors;
}
/// A logarithm of microseconds, below 16 to base 2, is kept as a float: off by 2^-21, and where it is worked out again here, by as
/// much once more. A factor is made of four times: of a candidate then, of the fastest then and in the end, and the model's.
constexpr double kError = 4 * 2 * 0x1p-21 * std::numbers::ln2;

// Of algorithms with few and with many candidates, whose tiles differ in all ways.
TEST(MeasuredCorrection, IsPartOfTheEstimate) {
  for (const char* text :
       {"8x56x56x64 f16 * 256x1x1x64 -> f16 residual 1", "1x14x14x256 bf16 * 256x3x3x256 pad 1,1,1,1 -> bf16",
        "32x112x112x32 f16 * 32x3x3x1 groups 32 pad 1,1,1,1 -> f16 silu",
        "1x224x224x3 f16 * 64x7x7x3 pad 3,3,3,3 stride 2,2 -> f16 bias relu",
        "8x28x28x128 e4m3 * 128x3x3x128 pad 1,1,1,1 -> e4m3 bias relu",
        "32x28x28x192 s8 * 192x3x3x64 groups 3 pad 1,1,1,1 -> s8 alpha 0.01",
        "32x56x56x64 s8 * 64x3x3x1 groups 64 pad 1,1,1,1 -> s8 alpha 0.01", "1x28x28x256 f16 * 512x1x1x256 -> f16 bias relu amax",
        "8x28x28x128 e4m3 * 128x3x3x128 pad 1,1,1,1 -> f32 bias relu"}) {
    const Problem problem = parsed(text);
    Candidates candidates;
    ASSERT_TRUE(findCandidates(problem, properties("H200"), {}, candidates).ok());
    std::vector<PlainCandidate> corrected;
    std::vector<double> found;
    for (const Candidate& candidate : candidates.all) {
      if (candidate.correction == 1) continue;
      const double modelled = candidate.estimate.seconds / candidate.correction * 1e6;
      const std::string_view trees = candidate.tiling.trees.empty() ? candidate.algorithm->name() : candidate.tiling.trees;
      corrected.push_back({trees, CorrectionView(problem).of(candidate.tiling, modelled)});
      corrected.back().hasGroups = problem.groups > 1;
      found.push_back(candidate.correction);
    }
    EXPECT_GT(corrected.size(), 5u) << text;
    const std::vector<double> expected = plainCorrections(corrected);
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], kError * expected[i]) << text << ": " << corrected[i].algorithm << " " << i;
    for (const Candidate& candidate : candidates.all) {
      EXPECT_GE(candidate.correction, 1.0 / 3) << text;
      EXPECT_LE(candidate.correction, 3) << text;
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
  int with = 0, without = 0, apart = 0;
  for (const auto& [trees, areBytes, sawGroups] : kTreesOf) {
    ++(sawGroups ? with : without);
    // Candidates of one form of an algorithm may have trees of their own.
    const std::string_view algorithm = trees == "channelwise_long" || trees == "channelwise_stream" ? "channelwise"
                                       : trees == "im2col_unaligned" || trees == "im2col_phases"    ? "im2col_sm90"
                                                                                                    : trees;
    const bool areApart = algorithm != trees;
    apart += areApart ? 1 : 0;
    const std::string type = areBytes ? "s8" : "f16";
    for (const bool isGrouped : {false, true}) {
      const Problem problem = parsed("2x9x7x64 " + type + " * 96x3x3x" + (isGrouped ? "32 groups 2" : "64") + " -> " + type);
      EXPECT_EQ(correctionTrees(trees, areBytes, isGrouped) != nullptr, sawGroups || !isGrouped) << trees;
      const Algorithm* found = nullptr;
      ASSERT_TRUE(findAlgorithm(algorithm, found).ok());
      Candidate candidate{found, {}, {}, {64, 64, 1, {}}};
      if (areApart) candidate.tiling.trees = trees;
      candidate.estimate.seconds = 8e-6;
      correct(problem, properties("H200"), std::span(&candidate, 1));
      EXPECT_EQ(candidate.isUntimed, isGrouped && !sawGroups) << trees;
      EXPECT_EQ(candidate.correction == 1, isGrouped && !sawGroups) << trees;
    }
  }
  EXPECT_GT(with, 3);
  EXPECT_GT(without, 3);
  EXPECT_EQ(apart, 7) << "three forms, in f16 and in 8 bits, and phases in f16";
}

// Where candidates of one algorithm have different trees, each is asked its own, whatever lies beside it; one without trees stays.
TEST(MeasuredCorrection, AsksEachCandidateItsOwnTrees) {
  const Problem problem = parsed("8x1x750x256 f16 * 256x1x31x1 groups 256 pad 0,0,15,15 -> f16");
  const Algorithm* algorithm = nullptr;
  ASSERT_TRUE(findAlgorithm("channelwise", algorithm).ok());
  const auto candidateOf = [&](std::string_view trees) {
    Candidate candidate{algorithm, {}, {}, {8, 4, 1, {2, 128, 1}}};
    candidate.estimate.seconds = 8e-6, candidate.tiling.trees = trees;
    return candidate;
  };
  const auto corrected = [&](std::vector<Candidate> candidates) {
    correct(problem, properties("H200"), candidates);
    return candidates;
  };
  const double general = corrected({candidateOf("")})[0].correction;
  const double longRows = corrected({candidateOf("channelwise_long")})[0].correction;
  ASSERT_NE(general, longRows);
  const std::vector<Candidate> mixed = corrected({candidateOf("channelwise_long"), candidateOf(""), candidateOf("none")});
  const bool longWins = longRows < general;
  EXPECT_EQ(mixed[longWins ? 0 : 1].correction, longWins ? longRows : general);
  EXPECT_GT(mixed[longWins ? 1 : 0].estimate.seconds, mixed[longWins ? 0 : 1].estimate.seconds);
  EXPECT_TRUE(mixed[2].isUntimed);
  EXPECT_EQ(mixed[2].correction, 1);
  EXPECT_FALSE(mixed[0].isUntimed || mixed[1].isUntimed);
}

// Candidates that the trees tell more and less of, of algorithms that are near each other, and of one that is far behind.
TEST(MeasuredCorrection, LeavesBehindWhoIsFar) {
  const Problem problem = parsed("8x56x56x64 f16 * 256x3x3x64 pad 1,1,1,1 -> f16");
  std::vector<Candidate> candidates;
  std::vector<PlainCandidate> plain;
  for (const auto& [name, slowness] : {std::pair{"halo", 1.0}, {"thin", 1.05}, {"gathered", 3.0}, {"im2col_sm90", 0.9}}) {
    const Algorithm* algorithm = nullptr;
    ASSERT_TRUE(findAlgorithm(name, algorithm).ok());
    for (int32_t i = 0; i < 60; ++i) {
      Candidate one{algorithm, {}, {}, {8 << i % 6, 8 << i % 5, 1 << i % 3, {i % 4, i % 7, i % 2}}};
      one.estimate.seconds = slowness * (20 + 0.5 * i) * 1e-6;
      plain.push_back({name, CorrectionView(problem).of(one.tiling, one.estimate.seconds * 1e6)});
      candidates.push_back(one);
    }
  }
  correct(problem, properties("H200"), candidates);
  const std::vector<double> expected = plainCorrections(plain);
  size_t asAll = 0;
  double fastest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < candidates.size(); ++i) {
    EXPECT_NEAR(candidates[i].correction, expected[i], kError * expected[i]) << plain[i].algorithm << " " << i;
    asAll += expected[i] == plain[i].time(kTrees) / plain[i].modelled();
    fastest = std::min(fastest, candidates[i].estimate.seconds);
  }
  EXPECT_GE(asAll, 1u);
  EXPECT_LE(asAll, candidates.size() / 4);
  EXPECT_NEAR(candidates[choose(candidates)].estimate.seconds, fastest, 1e-12);
  Candidate untimed{candidates[0]};
  const Algorithm* direct = nullptr;
  ASSERT_TRUE(findAlgorithm("direct", direct).ok());
  untimed.algorithm = direct;
  correct(problem, properties("H200"), std::span(&untimed, 1));
  EXPECT_TRUE(untimed.isUntimed);
}

}  // namespace
}  // namespace shiftconv::plan
