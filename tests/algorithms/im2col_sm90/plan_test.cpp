// Stages, splits and shared operands of im2col_sm90.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "conv/algorithms/im2col_sm90/phased_window.hpp"
#include "conv/algorithms/im2col_sm90/plan.hpp"
#include "conv/planner/registry.hpp"
#include "conv/problem/text.hpp"
#include "tests/conv/sm90/hopper_plan.hpp"

namespace shiftconv::plan::im2col_sm90_plan_test {
namespace {

/// Loads run ahead of products: three stages at least, or four of tiles of 64 pixels, where a multiprocessor has room for them.
TEST(HopperPlans, Im2colHasStagesEnoughForLongReductions) {
  const Algorithm* algorithm = nullptr;
  ASSERT_TRUE(findAlgorithm("im2col_sm90", algorithm).ok());
  int judged = 0;
  for (const char* epilogue :
       {"f16", "f32", "f16 bias residual 1 silu", "f16 residual 1 gelu_erf", "f32 residual 1 residual_type f32 gelu_erf"}) {
    Problem problem;
    ASSERT_TRUE(parse(std::string("32x28x28x512 f16 * 256x3x3x512 pad 1,1,1,1 -> ") + epilogue, problem).ok());
    std::vector<Candidate> all;
    ASSERT_TRUE(algorithm->candidates(problem, h200(), {}, all).ok());
    for (const Candidate& one : all) {
      const std::string options = one.options();
      const size_t at = options.find("stages=");
      ASSERT_NE(at, std::string::npos) << options;
      // Beside 65 KiB of a residual of f32, and 40 KiB a stage, there is room for three.
      const bool isTight =
          options.rfind("tile=64x256", 0) == 0 && std::string(epilogue).find("residual_type f32") != std::string::npos;
      const int least = options.rfind("tile=64x", 0) == 0 && !isTight ? 4 : 3;
      EXPECT_GE(std::stoi(options.substr(at + 7)), least) << options << ", " << epilogue;
      ++judged;
    }
  }
  EXPECT_GT(judged, 40);
}

/// 100 tiles of 64 x 128: a multiprocessor has one, and either room for another one's or 9 stages, the most, for it.
TEST(HopperPlans, Im2colMayGiveALongReductionAllSharedMemory) {
  const auto stagesOf = [](const char* text) {
    Problem problem;
    EXPECT_TRUE(parse(text, problem).ok());
    std::vector<int32_t> stages;
    for (const sm90::Im2colPlan& plan : sm90::im2colCandidates(problem, h200()))
      if (plan.kernelName() == "im2col_sm90_f16_64x128_lean") stages.push_back(plan.params.stages);
    std::sort(stages.begin(), stages.end());
    return stages;
  };
  using Stages = std::vector<int32_t>;
  EXPECT_EQ(stagesOf("32x7x7x2048 f16 * 512x1x1x2048 -> f16"), (Stages{4, 9}));
  EXPECT_EQ(stagesOf("32x7x7x1024 f16 * 512x1x1x1024 -> f16"), (Stages{4, 9}));
  EXPECT_EQ(stagesOf("32x7x7x960 f16 * 512x1x1x960 -> f16"), (Stages{4})) << "15 steps";
  EXPECT_EQ(stagesOf("64x7x7x2048 f16 * 512x1x1x2048 -> f16"), (Stages{4})) << "two tiles a multiprocessor";
}

/// Threads copy rows that are no whole 16 bytes: in the largest pieces that they consist of, or in shifted words, whose plans have
/// correction trees of their own. A chunk is 128 bytes.
TEST(HopperPlans, Im2colCopiesRowsThatBeginAnywhereInWords) {
  struct Case {
    const char* text;
    int32_t pitch, rowBytes, pieceBytes, chunks;
    const char* trees;
  };
  for (const Case& one : {Case{"2x9x7x75 f16 * 40x1x1x75 -> f16", 150, 150, 2, 2, "im2col_unaligned"},
                          Case{"2x9x7x75 f16 pitch 77 * 40x1x1x75 -> f16", 154, 150, 2, 2, "im2col_unaligned"},
                          Case{"2x9x7x77 e4m3 pitch 82 * 40x1x1x77 -> e4m3", 82, 77, 1, 1, "im2col_unaligned"},
                          Case{"2x9x7x74 f16 * 40x1x1x74 -> f16", 148, 148, 4, 2, ""},
                          Case{"2x9x7x76 f16 pitch 78 * 40x1x1x76 -> f16", 156, 152, 4, 2, ""},
                          Case{"2x9x7x76 f16 * 40x1x1x76 -> f16", 152, 152, 8, 2, ""}}) {
    SCOPED_TRACE(one.text);
    Problem problem;
    ASSERT_TRUE(parse(one.text, problem).ok());
    const std::vector<sm90::Im2colPlan> plans = sm90::im2colCandidates(problem, h200());
    ASSERT_FALSE(plans.empty());
    for (const sm90::Im2colPlan& plan : plans) {
      EXPECT_EQ(plan.params.pieces.inputPitch, one.pitch);
      EXPECT_EQ(plan.params.pieces.rowBytes, one.rowBytes);
      EXPECT_EQ(plan.params.pieces.bytes, one.pieceBytes);
      EXPECT_EQ(plan.params.chunks, one.chunks);
      EXPECT_EQ(plan.tiling().trees, one.trees);
    }
  }
}

TEST(HopperPlans, Im2colReadsNoFilterAheadOfLongRuns) {
  const char* const text = "8x64x64x512 f16 * 512x3x3x512 pad 4,4,4,4 dilation 4,4 -> f16";
  const auto plan = planOnH200(text, {"im2col_sm90", "dependent=filter"});
  ASSERT_NE(plan, nullptr);
  EXPECT_FALSE(plan->launches.at(0).config.programmaticDependent);
  EXPECT_EQ(planOnH200(text, {"im2col_sm90", plan->options})->options, plan->options);
}

/// Long runs gain nothing by it and lose the order in which their CTAs lie next to each other.
TEST(HopperPlans, Im2colStartsEarlyWhereTheRunIsShort) {
  for (const auto& [text, isShort] : {std::pair{"8x14x14x256 f16 * 64x1x1x256 -> f16", true},
                                      {"8x64x64x512 f16 * 512x3x3x512 pad 4,4,4,4 dilation 4,4 -> f16", false}}) {
    for (const char* const asked : {"", "dependent=yes", "dependent=no"}) {
      SCOPED_TRACE(testing::Message() << text << " " << asked);
      const auto plan = planOnH200(text, {"im2col_sm90", asked});
      ASSERT_NE(plan, nullptr);
      const bool expected = *asked == 0 ? isShort : std::string_view(asked) == "dependent=yes";
      EXPECT_EQ(plan->launches.at(0).config.programmaticDependent, expected);
      const auto again = planOnH200(text, {"im2col_sm90", plan->options});
      ASSERT_NE(again, nullptr);
      EXPECT_EQ(again->launches.at(0).config.programmaticDependent, expected) << plan->options;
    }
  }
}

/// 13 x 4 tiles of 128 x 128 leave most of 132 multiprocessors idle. Layers that fill them are left whole.
TEST(HopperPlans, Im2colSplitsTheReductionOfFewTiles) {
  const char* const few = "32x7x7x2048 f16 * 512x1x1x2048 -> f16";
  for (const auto& [options, ctas, cluster] :
       {std::tuple{"tile=128x128,split=1", 52u, 1u}, {"tile=128x128,split=2", 104u, 2u}, {"tile=128x128,split=4", 208u, 4u}}) {
    const auto plan = planOnH200(few, {"im2col_sm90", options});
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->launches.at(0).config.grid.x, ctas) << options;
    EXPECT_EQ(plan->launches.at(0).config.cluster.x, cluster) << options;
    EXPECT_NE(plan->options.find(std::string_view(options).substr(13)), std::string::npos) << plan->options;
    EXPECT_LE(plan->launches.at(0).config.dynamicSharedBytes, h200().sharedBytesPerBlock);
  }
  const auto splitsOf = [](const char* text) {
    Problem problem;
    EXPECT_TRUE(parse(text, problem).ok());
    std::vector<int> counts(5);
    for (const sm90::Im2colPlan& plan : sm90::im2colCandidates(problem, h200()))
      ++counts.at(static_cast<size_t>(plan.tiling().split));
    return counts;
  };
  const std::vector<int> splits = splitsOf(few);
  EXPECT_GT(splits[1], 10);
  EXPECT_GT(splits[2], 2);
  EXPECT_GT(splits[4], 0);
  const std::vector<int> whole = splitsOf("32x28x28x512 f16 * 512x1x1x512 -> f16");
  EXPECT_GT(whole[1], 10);
  EXPECT_EQ(whole[2] + whole[4], 0);
}

/// The longest part of an odd number of chunks has as many stages as steps, if no more fit.
TEST(HopperPlans, Im2colRefusesSplitsWithoutWorkForEveryCta) {
  const auto refused = [](const char* text, const char* options) {
    Problem problem;
    EXPECT_TRUE(parse(text, problem).ok());
    std::shared_ptr<const Plan> plan;
    return makePlan(problem, h200(), {"im2col_sm90", options}, plan).message();
  };
  const char* const three = "1x9x9x136 f16 * 64x1x1x136 -> f16";
  EXPECT_EQ(refused(three, "tile=64x64,split=2"), "");
  EXPECT_EQ(planOnH200(three, {"im2col_sm90", "tile=64x64,split=2"})->options, "tile=64x64,stages=2,split=2");
  EXPECT_NE(refused(three, "tile=64x64,split=4").find("im2col_sm90 has no kernel for the options"), std::string::npos);
  for (const char* const without : {"tile=192x64,split=4", "tile=64x32,split=2"})
    EXPECT_NE(refused("1x9x9x512 f16 * 64x1x1x512 -> f16", without).find("im2col_sm90 has no kernel for the options"),
              std::string::npos);
  EXPECT_NE(refused("1x9x9x512 s8 * 64x1x1x512 -> s32", "tile=64x64,split=2").find("f16 or bf16"), std::string::npos);
  EXPECT_NE(refused(three, "split=3").find("split"), std::string::npos);
}

/// 6 tiles of pixels and 2 of a group's 72 channels, for each of 3 groups; a pair of CTAs of one group shares pixels.
TEST(HopperPlans, Im2colHasGroupsAlongY) {
  for (const auto& [options, x, cluster] : {std::tuple{"tile=64x48,split=1", 12u, 1u},
                                            {"tile=64x64,split=2", 24u, 2u},
                                            {"tile=64x80,share=none", 6u, 1u},
                                            {"tile=64x80,share=pixels", 12u, 2u}}) {
    SCOPED_TRACE(options);
    const auto plan = planOnH200("2x13x14x384 f16 * 216x3x3x128 groups 3 pad 1,1,1,1 -> f16", {"im2col_sm90", options});
    ASSERT_NE(plan, nullptr);
    const auto& config = plan->launches.at(0).config;
    EXPECT_EQ(config.grid.x, x);
    EXPECT_EQ(config.grid.y, 3u);
    EXPECT_EQ(config.cluster.x, cluster);
  }
}

/// Whole chunks lie side by side in the map, and matrices stay matrices; else the map ends with a group.
TEST(HopperPlans, Im2colEndsChunksWithTheirGroup) {
  const auto planned = [](const char* text) {
    Problem problem;
    EXPECT_TRUE(parse(text, problem).ok());
    return sm90::im2colCandidates(problem, h200()).at(0);
  };
  const auto walked = [](const sm90::Im2colPlan& plan) { return std::get<layout::Im2colMap>(plan.input).tensor; };
  using Extents = std::array<uint64_t, 5>;
  const sm90::Im2colPlan whole = planned("2x13x14x384 f16 * 216x3x3x128 groups 3 pad 1,1,1,1 -> f16");
  EXPECT_EQ(walked(whole).rank, 4u);
  EXPECT_EQ(walked(whole).dims, (Extents{384, 14, 13, 2}));
  EXPECT_EQ(std::tuple(whole.params.groupChannels, whole.params.groupImages, whole.params.chunks), std::tuple(128, 0, 2));
  EXPECT_EQ(whole.filter.dims, (Extents{128, 9, 216}));
  const sm90::Im2colPlan matrix = planned("2x13x14x384 f16 * 216x1x1x128 groups 3 -> f16");
  EXPECT_EQ(std::get<layout::TiledMap>(matrix.input).dims, (Extents{384, 364}));
  EXPECT_EQ(std::tuple(matrix.params.groupChannels, matrix.params.window.isUsed), std::tuple(128, false));
  for (const auto& [text, taps] : {std::pair{"2x13x14x216 bf16 pitch 224 * 216x3x3x72 groups 3 pad 1,1,1,1 -> bf16", 9u},
                                   {"2x13x14x216 bf16 pitch 224 * 216x1x1x72 groups 3 -> bf16", 1u}}) {
    SCOPED_TRACE(text);
    const sm90::Im2colPlan part = planned(text);
    EXPECT_EQ(walked(part).rank, 5u);
    EXPECT_EQ(walked(part).dims, (Extents{72, 14, 13, 2, 3}));
    EXPECT_EQ(walked(part).strides[2], 13u * 14 * 224 * 2);
    EXPECT_EQ(walked(part).strides[3], 144u);
    EXPECT_EQ(std::tuple(part.params.groupChannels, part.params.groupImages, part.params.chunks), std::tuple(0, 1, 2));
    EXPECT_EQ(part.filter.dims, (Extents{72, taps, 216}));
  }
}

/// Half of a tile without channels of its group is never worth it.
TEST(HopperPlans, Im2colOffersTilesOfAGroup) {
  Problem problem;
  ASSERT_TRUE(parse("8x28x28x512 f16 * 512x3x3x64 groups 8 pad 1,1,1,1 -> f16", problem).ok());
  const auto plans = sm90::im2colCandidates(problem, h200());
  EXPECT_GT(plans.size(), 8u);
  for (const sm90::Im2colPlan& plan : plans) EXPECT_LT(plan.tiling().channels, 128) << plan.describe();
}

/// 25 tiles of pixels and 4 of channels, so that pairs of the former are 26, and fours 28.
TEST(HopperPlans, Im2colSharesOperands) {
  const char* const text = "32x7x7x2048 f16 * 512x1x1x2048 -> f16";
  for (const auto& [share, ctas, cluster, pixels, channels] : {std::tuple{"none", 100u, 1u, 64u, 128u},
                                                               {"pixels", 100u, 2u, 32u, 128u},
                                                               {"filter", 104u, 2u, 64u, 64u},
                                                               {"both", 104u, 4u, 32u, 64u},
                                                               {"4x1", 100u, 4u, 16u, 128u},
                                                               {"1x4", 112u, 4u, 64u, 32u},
                                                               {"4x2", 104u, 8u, 16u, 64u},
                                                               {"2x4", 112u, 8u, 32u, 32u}}) {
    SCOPED_TRACE(share);
    const auto plan = planOnH200(text, {"im2col_sm90", std::string("tile=64x128,share=") + share});
    ASSERT_NE(plan, nullptr);
    const auto& config = plan->launches.at(0).config;
    EXPECT_EQ(config.grid.x, ctas);
    EXPECT_EQ(config.cluster.x, cluster);
    EXPECT_EQ(plan->kernelName() == "im2col_sm90_f16_64x128_shared_lean", cluster > 1) << plan->kernelName();
    const auto made = sm90::im2colCandidates(plan->problem, h200(), [&] {
      sm90::Im2colChoices choices;
      EXPECT_TRUE(sm90::im2colSharedNames().size() == 8);
      choices.tile = 6;
      choices.split = 1;
      for (size_t i = 0; i < 8; ++i)
        if (sm90::im2colSharedNames()[i] == share) choices.shared = static_cast<sm90::Shared>(i);
      return choices;
    }());
    ASSERT_EQ(made.size(), 2u) << "with room for another CTA, and with all shared memory";
    ASSERT_EQ(sm90::im2colTileNames()[made[0].tile], "64x128");
    EXPECT_EQ(std::get<layout::TiledMap>(made[0].input).box[1], pixels);
    EXPECT_EQ(made[0].filter.box[2], channels);
    EXPECT_EQ(planOnH200(text, {"im2col_sm90", plan->options})->options, plan->options);
  }
  // Where a cluster is described without, it shares nothing: recordings name plans so.
  EXPECT_EQ(planOnH200(text, {"im2col_sm90", "tile=64x128,split=1"})->launches.at(0).config.cluster.x, 1u);
}

TEST(HopperPlans, Im2colSharesOnlyWhatCtasReadAlike) {
  const auto refused = [](const char* text, const char* options) {
    Problem problem;
    EXPECT_TRUE(parse(text, problem).ok());
    std::shared_ptr<const Plan> plan;
    return makePlan(problem, h200(), {"im2col_sm90", options}, plan).message();
  };
  const char* const taps = "32x17x17x512 f16 * 256x3x3x512 pad 1,1,1,1 -> f16";
  EXPECT_EQ(refused(taps, "tile=64x128,share=pixels"), "");
  EXPECT_EQ(refused(taps, "tile=64x128,share=2x4"), "");
  const char* const depth = "1x5x9x11x72 f16 split_d 2 * 72x3x3x2x72 pad 2,0,1,0,0,1 -> f16";  // tiles of slices in either tensor
  EXPECT_EQ(refused(depth, "tile=64x64,share=pixels"), "");
  EXPECT_NE(refused(depth, "tile=64x64,share=filter").find("im2col_sm90 has no kernel for the options"), std::string::npos);
  for (const char* const options : {"tile=64x16,share=pixels", "tile=64x128,split=2,share=pixels", "tile=64x48,share=1x4"})
    EXPECT_NE(refused(taps, options).find("im2col_sm90 has no kernel for the options"), std::string::npos) << options;
  EXPECT_NE(refused("4x9x9x512 s8 * 256x1x1x512 -> s32", "tile=64x128,share=pixels").find("f16 or bf16"), std::string::npos);
  const auto sharesOf = [](const char* text) {
    Problem problem;
    EXPECT_TRUE(parse(text, problem).ok());
    std::map<sm90::Shared, int> counts;
    for (const sm90::Im2colPlan& plan : sm90::im2colCandidates(problem, h200())) ++counts[plan.shared];
    return counts;
  };
  auto counts = sharesOf(taps);
  EXPECT_GT(counts[sm90::Shared::Pixels], 4);
  EXPECT_GT(counts[sm90::Shared::Filter], 4);
  counts = sharesOf("16x32x32x512 f16 * 32x1x1x512 -> f16");  // one tile of channels
  EXPECT_EQ(counts[sm90::Shared::Pixels] + counts[sm90::Shared::Both], 0);
  EXPECT_GT(counts[sm90::Shared::Filter], 2);
  counts = sharesOf("16x32x32x128 f16 * 512x1x1x128 -> f16");  // two steps
  EXPECT_EQ(counts.size(), 1u);
  counts = sharesOf("1x14x14x1024 f16 * 256x1x1x1024 -> f16");  // most multiprocessors idle
  EXPECT_EQ(counts.size(), 1u);
  // 120 CTAs wait for their operands, and 300 of a large tile for the tensor cores: there clusters of four are not offered.
  EXPECT_GT(sharesOf("30x8x8x2048 f16 * 320x1x1x2048 -> f16")[sm90::Shared::Both], 2);
  // Long reductions in one wave: 28 tiles of 128 pixels by 4 of 96 channels. In 7 steps it would not pay.
  const auto foursOf = [](const char* text) {
    Problem problem;
    EXPECT_TRUE(parse(text, problem).ok());
    int count = 0;
    for (const sm90::Im2colPlan& plan : sm90::im2colCandidates(problem, h200()))
      if (plan.shared == sm90::Shared::BothFourFilter && sm90::im2colTileNames()[plan.tile] == "128x96") ++count;
    return count;
  };
  EXPECT_EQ(foursOf("8x21x21x2016 f16 * 336x1x1x2016 -> f16"), 2) << "with room for another CTA, and with all shared memory";
  EXPECT_EQ(foursOf("8x21x21x448 f16 * 336x1x1x448 -> f16"), 0);
  EXPECT_EQ(foursOf("16x21x21x2016 f16 * 336x1x1x2016 -> f16"), 0) << "224 CTAs";
  // 7 tiles of 96 channels are no pairs, and one CTA in 8 would have nothing to do; asked for, they share.
  const char* const odd = "8x11x11x2688 f16 * 672x1x1x2688 -> f16";
  Problem oddProblem;
  ASSERT_TRUE(parse(odd, oddProblem).ok());
  bool any = false;
  for (const sm90::Im2colPlan& plan : sm90::im2colCandidates(oddProblem, h200())) {
    if (plan.shared == sm90::Shared::None) continue;
    any = true;
    const bool sharesPixels = plan.shared != sm90::Shared::Filter && plan.shared != sm90::Shared::FilterOfFour;
    EXPECT_FALSE(sharesPixels && sm90::im2colTileNames()[plan.tile] == "64x96") << plan.describe();
  }
  EXPECT_TRUE(any);
  EXPECT_EQ(refused(odd, "tile=64x96,share=pixels"), "");
  Problem large;
  ASSERT_TRUE(parse("8x40x40x1152 f16 * 384x1x1x1152 -> f16", large).ok());
  for (const sm90::Im2colPlan& plan : sm90::im2colCandidates(large, h200()))
    EXPECT_FALSE(plan.shared == sm90::Shared::Both && sm90::im2colTileNames()[plan.tile] == "128x128");
  // Tiles without a kernel of their own take one that could share.
  const auto alone = planOnH200("4x32x32x128 f16 * 160x1x1x128 -> f16", {"im2col_sm90", "tile=128x160,split=1"});
  ASSERT_NE(alone, nullptr);
  EXPECT_EQ(alone->kernelName(), "im2col_sm90_f16_128x160_shared_lean");
  EXPECT_EQ(alone->launches.at(0).config.cluster.x, 1u);
}

/// 30 clusters of four have a multiprocessor for each CTA, and a 31st and 32nd wait: that is a second round of CTAs. Tiles of 64 x
/// 128 make 15 or 16 pairs of tiles of pixels by two of channels.
TEST(HopperPlans, Im2colKnowsHowManyClustersOfFourThereIsRoomFor) {
  const auto modelled = [](const char* text, sm90::Shared shared) {
    Problem problem;
    EXPECT_TRUE(parse(text, problem).ok());
    sm90::Im2colChoices choices;
    const auto names = sm90::im2colTileNames();
    choices.tile = static_cast<size_t>(std::find(names.begin(), names.end(), "64x128") - names.begin());
    choices.shared = shared;
    choices.stages = 9;
    const auto plans = sm90::im2colCandidates(problem, h200(), choices);
    EXPECT_EQ(plans.size(), 1u) << text;
    return plans.empty() ? 0.0 : plans[0].modelledClocks;
  };
  const char* const fits = "30x8x8x2048 f16 * 512x1x1x2048 -> f16";
  const char* const waits = "32x8x8x2048 f16 * 512x1x1x2048 -> f16";
  EXPECT_LT(modelled(fits, sm90::Shared::Both), 1.2 * modelled(fits, sm90::Shared::Pixels));
  EXPECT_GT(modelled(waits, sm90::Shared::Both), 1.3 * modelled(waits, sm90::Shared::Pixels));
  EXPECT_LT(modelled(waits, sm90::Shared::Pixels), 1.1 * modelled(fits, sm90::Shared::Pixels));
}

/// By the definition, input i adds tap s of the filter to output i * stride + s * dilation - padLeft. Of a window of all phases
/// each reads its own.
TEST(HopperPlans, Im2colFindsEveryInputAndTapOfATransposedRowOnce) {
  const uint32_t seed = 20261130;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto in = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random); };
  using InputsAndTaps = std::set<std::pair<int64_t, int64_t>>;
  int judged = 0, dilated = 0, few = 0;
  for (int round = 0; round < 4000; ++round) {
    Problem p;
    ASSERT_TRUE(parse("1x1x5x16 f16 * 8x1x3x16 transposed -> f16", p).ok());
    p.w = in(1, 7), p.s = in(1, 9), p.strideW = in(1, 4), p.dilationW = in(1, 3), p.padLeft = in(0, 6), p.padRight = in(0, 6);
    p.outputPaddingW = in(0, std::max(p.strideW, p.dilationW) - 1);
    if (p.q() < 1 || !sm90::im2col::phasedWindowRefusal(p).empty()) continue;
    std::vector<InputsAndTaps> expected(static_cast<size_t>(p.q())), found(expected.size());
    for (int64_t i = 0; i < p.w; ++i)
      for (int64_t s = 0; s < p.s; ++s)
        if (const int64_t at = i * p.strideW + s * p.dilationW - p.padLeft; at >= 0 && at < p.q())
          expected[static_cast<size_t>(at)].emplace(i, s);
    const sm90::im2col::PhasedWindow made = sm90::im2col::phasedWindowOf(p);
    const gemm::Window::Axis& axis = made.window.axes[0];
    const auto& phases = made.phases.x;
    for (int64_t o = 0; o < p.q(); ++o) {
      const auto& phase = phases.phases[o % p.strideW];
      ASSERT_LT(o / p.strideW, axis.positions);
      for (int64_t i = 0; i < phase.taps; ++i) {
        const int64_t inWindow = phase.before + i * made.stepX, input = o / p.strideW + inWindow - axis.before;
        ASSERT_TRUE(inWindow >= 0 && inWindow < axis.taps) << describe(p);
        const int64_t tap = phase.firstTap + i * phases.tapStep;
        ASSERT_TRUE(tap >= 0 && tap < p.s) << describe(p);
        if (input < 0 || input >= p.w) continue;  // in the padding
        const bool isNew = found[static_cast<size_t>(o)].emplace(input, tap).second;
        ASSERT_TRUE(isNew) << describe(p);
      }
    }
    ASSERT_EQ(found, expected) << describe(p);
    EXPECT_EQ(made.count, p.strideW);
    ++judged, dilated += made.stepX > 1, few += p.q() < p.strideW;
  }
  EXPECT_GT(judged, 1000);
  EXPECT_GT(dilated, 100);
  EXPECT_GT(few, 10);
}

}  // namespace
}  // namespace shiftconv::plan::im2col_sm90_plan_test
