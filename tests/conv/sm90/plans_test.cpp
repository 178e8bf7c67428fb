// The engines of sm_90a through the planner: every engine wins what it is for, with launches whose parameters are complete.
#include <gtest/gtest.h>

#include <map>

#include "common/device/registry.hpp"
#include "conv/algorithms/halo/plan.hpp"
#include "conv/algorithms/im2col_sm90/plan.hpp"
#include "conv/plan/option_conflict.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/registry.hpp"
#include "conv/problem/text.hpp"

namespace shiftconv::plan::plans_test {
namespace {

device::Properties h200() {
  device::Properties p;
  p.kind = device::Kind::Cuda;
  p.name = "H200";
  p.computeMajor = 9;
  p.multiprocessors = 132;
  p.sharedBytesPerBlock = 232448;
  return p;
}

std::shared_ptr<const Plan> planOf(const char* text, const PlanOptions& options = {}) {
  Problem problem;
  const Status parsed = parse(text, problem);
  EXPECT_TRUE(parsed.ok()) << parsed.message();
  std::shared_ptr<const Plan> plan;
  const Status status = makePlan(problem, h200(), options, plan);
  EXPECT_TRUE(status.ok()) << text << ": " << status.message();
  return plan;
}

/// By recorded times clear winners, where there are such: bench/results.
TEST(HopperPlans, EachEngineWinsWhatItIsFor) {
  for (const auto& [text, algorithm, kernel] :
       {std::tuple{"128x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", "halo", "halo_sm90_f16_k64x2_n224_over"},
        {"1x14x14x512 f16 * 512x3x3x512 pad 1,1,1,1 -> f16", "resident", "resident_sm90_f16"},
        {"1x56x56x128 f16 * 128x3x3x128 pad 1,1,1,1 stride 2,2 -> f16", "halo", "halo_sm90_f16_k64_n32"},
        {"64x28x28x256 f16 * 256x3x3x8 groups 32 pad 1,1,1,1 -> f16", "grouped", "grouped_sm90_f16_g8_r3s3"},
        {"64x56x56x96 bf16 * 96x7x7x1 groups 96 pad 3,3,3,3 -> bf16", "depthwise", "depthwise_sm90_bf16"},
        {"128x224x224x4 f16 * 64x7x7x4 pad 3,3,3,3 stride 2,2 -> f16", "stem", "stem_sm90_f16_r7"},
        {"1x64x64x2048 f16 * 256x3x3x2048 pad 12,12,12,12 dilation 12,12 -> f16", "im2col_sm90", "im2col_sm90_f16_128x128_split"},
        {"32x224x224x3 f16 * 64x7x7x3 pad 3,3,3,3 stride 2,2 -> f16", "raw_rows", "raw_rows_f16_even_64"},
        {"1x7x7x832 f16 * 192x1x1x832 -> f16", "thin", "thin_f16_v8_16x8"},
        {"32x56x56x144 f16 * 144x3x3x1 groups 144 pad 1,1,1,1 stride 2,2 -> f16", "channelwise", "channelwise_batch_3_s2_c4_q4"}}) {
    const auto plan = planOf(text);
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->algorithm, algorithm) << describe(*plan);
    EXPECT_EQ(plan->kernelName(), kernel) << describe(*plan);
    EXPECT_GT(plan->estimate.seconds, 1e-6);
    const PlannedLaunch& launch = plan->launches.at(0);
    EXPECT_EQ(launch.warpRoles.size() * 32, launch.config.block.x);
    EXPECT_LE(launch.config.dynamicSharedBytes, h200().sharedBytesPerBlock);
    EXPECT_EQ(plan->workspaceBytes, 0u);
  }
}

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
      const int least = options.rfind("tile=64x", 0) == 0 ? 4 : 3;
      EXPECT_GE(std::stoi(options.substr(at + 7)), least) << options << ", " << epilogue;
      ++judged;
    }
  }
  EXPECT_GT(judged, 40);
}

/// Four warps load or do nothing; of each four others that multiply, one of these brings the residual where a kernel stages it.
TEST(HopperPlans, EveryWarpgroupOfHaloHasAWarpForItsResidual) {
  const Algorithm* algorithm = nullptr;
  ASSERT_TRUE(findAlgorithm("halo", algorithm).ok());
  std::map<std::ptrdiff_t, int> seen;
  for (const char* text :
       {"8x28x28x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 bias", "8x28x28x64 f16 * 128x3x3x64 pad 1,1,1,1 -> f16 residual 1"}) {
    Problem problem;
    ASSERT_TRUE(parse(text, problem).ok());
    std::vector<Candidate> all;
    ASSERT_TRUE(algorithm->candidates(problem, h200(), {}, all).ok());
    for (const Candidate& one : all) {
      std::shared_ptr<const Plan> plan;
      ASSERT_TRUE(makePlan(problem, h200(), one, "", plan).ok());
      const std::vector<std::string>& roles = plan->launches.at(0).warpRoles;
      const auto count = [&](const char* role) { return std::count(roles.begin(), roles.end(), role); };
      EXPECT_EQ(count("load boxes"), 1);
      EXPECT_EQ(count("load weights"), 1);
      EXPECT_EQ(count("load boxes") + count("load weights") + count("load residual") + count("idle"), 4) << plan->kernelName();
      EXPECT_EQ(count("multiply"), static_cast<std::ptrdiff_t>(roles.size()) - 4);
      const std::ptrdiff_t residual = count("load residual");
      EXPECT_TRUE(residual == 0 || residual == count("multiply") / 4) << plan->kernelName();
      ++seen[residual];
    }
  }
  EXPECT_GT(seen.size(), 1u) << "with and without";
}

/// The first warpgroup may be as many taps ahead as weights and boxes are kept for: two stages fewer than the ring of weights has,
/// the taps of all boxes but one (and one tap fewer where each box has but one), and fewer than a tile has taps.
TEST(HopperPlans, ALagIsAsLongAsTheRingsHold) {
  for (const auto& [text, options, lag] :
       {std::tuple{"1x16x16x512 f16 * 128x1x1x512 -> f16", "shape=k128_n256,cut=flat,split=1", 1},        // 3 boxes of a tap
        {"1x16x16x72 f16 * 128x3x3x72 pad 1,1,1,1 -> f16", "shape=k128_n64,cut=columns,split=2", 7},      // 9 stages of weights
        {"1x16x16x64 f16 * 128x3x3x64 pad 1,1,1,1 -> f16", "shape=k128_n64,cut=columns,split=1", 8},      // 9 taps, which stay
        {"1x30x24x16 f16 * 64x1x3x16 pad 0,0,1,1 -> f16", "shape=k64x2_n128,cut=columns,split=1", 2},     // 3 taps
        {"64x28x28x256 f16 * 256x3x3x256 pad 1,1,1,1 -> f16", "shape=k128_n256,cut=columns,split=1", 2},  // 4 stages
        {"1x16x16x64 f16 * 128x1x1x64 -> f16", "shape=k128_n256,cut=flat,split=1", 0}}) {                 // one tap
    const auto plan = planOf(text, {"halo", std::string(options) + ",lag=64"});
    ASSERT_NE(plan, nullptr);
    EXPECT_TRUE(plan->options.ends_with(",lag=" + std::to_string(lag))) << text << ": " << plan->options;
  }
}

TEST(HopperPlans, OptionsOfAPlanMakeItAgain) {
  for (const char* text :
       {"2x16x16x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 bias relu", "1x14x14x256 f16 * 256x3x3x256 pad 1,1,1,1 -> f16"}) {
    const auto first = planOf(text);
    ASSERT_NE(first, nullptr);
    const auto again = planOf(text, {std::string(first->algorithm), first->options});
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(first->details, again->details);
    EXPECT_EQ(first->options, again->options);
  }
}

// Launches for zero points run in front of the kernel that has the plan's name.
TEST(HopperPlans, KernelsAreNamedAfterTheirAlgorithmBehindAPreparation) {
  for (const auto& [text, algorithm] :
       {std::pair{"1x6x7x12 u8 zero 9 * 18x3x3x2 s8 groups 6 pad 1,1,0,1 stride 1,2 -> s32", "gathered"},
        {"1x9x7x40 u8 zero 131 * 36x3x3x40 s8 pad 1,0,2,1 stride 2,1 -> u8 zero 120 alpha 0.01 channel_scale", "thin"},
        {"1x15x19x3 u8 zero 131 * 24x7x5x3 s8 pad 3,3,2,2 stride 2,2 -> u8 zero 120 alpha 0.01 channel_scale", "raw_rows"},
        {"1x9x8x24 u8 zero 131 * 24x3x3x1 s8 groups 24 pad 1,1,0,1 stride 2,2 -> u8 zero 120 alpha 0.01 channel_scale",
         "channelwise"}}) {
    PlanOptions options;
    options.algorithm = algorithm;
    const auto plan = planOf(text, options);
    ASSERT_NE(plan, nullptr);
    EXPECT_GT(plan->launches.size(), 1u) << algorithm;
    EXPECT_EQ(plan->kernelName().rfind(algorithm, 0), 0u) << plan->kernelName();
  }
}

TEST(HopperPlans, StartWhileTheKernelBeforeEndsUnlessTheyAreAskedNotTo) {
  const char* const halo = "1x14x14x256 f16 * 256x3x3x256 pad 1,1,1,1 -> f16";
  for (const auto& [text, algorithm] : {std::pair{halo, ""},
                                        {halo, "resident"},
                                        {halo, "direct"},
                                        {"64x56x56x96 bf16 * 96x7x7x1 groups 96 pad 3,3,3,3 -> bf16", ""}}) {
    SCOPED_TRACE(algorithm);
    const auto plain = planOf(text, {algorithm, ""});
    ASSERT_NE(plain, nullptr);
    EXPECT_TRUE(plain->launches.at(0).config.programmaticDependent);
    EXPECT_EQ(plain->options.find("dependent"), std::string::npos);
    const auto waiting = planOf(text, {std::string(plain->algorithm), "dependent=no"});
    ASSERT_NE(waiting, nullptr);
    EXPECT_FALSE(waiting->launches.at(0).config.programmaticDependent);
    const auto again = planOf(text, {std::string(waiting->algorithm), waiting->options});
    ASSERT_NE(again, nullptr);
    EXPECT_FALSE(again->launches.at(0).config.programmaticDependent) << waiting->options;
  }
}

/// Where an engine can read it ahead, and nothing is said otherwise. Wrappers pack filters and read them back: not ahead.
TEST(HopperPlans, ReadAConstantFilterAhead) {
  const auto constant = [](const char* text, const char* algorithm, const char* options, bool batchInvariant = false) {
    return planOf(text, {algorithm, options, 0, true, batchInvariant});
  };
  const char* const text = "1x14x14x256 f16 * 256x3x3x256 pad 1,1,1,1 -> f16";
  for (const char* const algorithm : {"", "halo", "resident", "im2col_sm90"}) {
    SCOPED_TRACE(algorithm);
    const auto usual = planOf(text, {algorithm, ""}), ahead = constant(text, algorithm, "");
    ASSERT_TRUE(usual && ahead);
    EXPECT_EQ(usual->options.find("dependent"), std::string::npos);
    EXPECT_EQ(ahead->options, usual->options + ",dependent=filter");
    EXPECT_TRUE(ahead->launches.at(0).config.programmaticDependent);
    const auto again = planOf(text, {std::string(ahead->algorithm), ahead->options});
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(describe(*again), describe(*ahead));
  }
  EXPECT_NE(constant(text, "halo", "", true)->options.find("dependent=filter"), std::string::npos);
  EXPECT_EQ(constant(text, "halo", "dependent=no")->options, planOf(text, {"halo", "dependent=no"})->options);
  const char* const few = "1x7x7x832 f16 * 192x1x1x832 -> f16";
  for (const char* const algorithm : {"thin", "direct"})
    EXPECT_EQ(constant(few, algorithm, "")->options, planOf(few, {algorithm, ""})->options) << algorithm;
  const auto reversed = constant("1x9x9x64 f16 * 64x3x3x64 pad 1,1,1,1 flipped -> f16", "", "");
  ASSERT_NE(reversed, nullptr);
  EXPECT_EQ(reversed->algorithm, "reversed");
  EXPECT_EQ(reversed->options.find("filter"), std::string::npos) << reversed->options;
}

TEST(HopperPlans, Im2colReadsNoFilterAheadOfLongRuns) {
  const char* const text = "8x64x64x512 f16 * 512x3x3x512 pad 4,4,4,4 dilation 4,4 -> f16";
  const auto plan = planOf(text, {"im2col_sm90", "dependent=filter"});
  ASSERT_NE(plan, nullptr);
  EXPECT_FALSE(plan->launches.at(0).config.programmaticDependent);
  EXPECT_EQ(planOf(text, {"im2col_sm90", plan->options})->options, plan->options);
}

/// Long runs gain nothing by it and lose the order in which their CTAs lie next to each other.
TEST(HopperPlans, Im2colStartsEarlyWhereTheRunIsShort) {
  for (const auto& [text, isShort] : {std::pair{"8x14x14x256 f16 * 64x1x1x256 -> f16", true},
                                      {"8x64x64x512 f16 * 512x3x3x512 pad 4,4,4,4 dilation 4,4 -> f16", false}}) {
    for (const char* const asked : {"", "dependent=yes", "dependent=no"}) {
      SCOPED_TRACE(testing::Message() << text << " " << asked);
      const auto plan = planOf(text, {"im2col_sm90", asked});
      ASSERT_NE(plan, nullptr);
      const bool expected = *asked == 0 ? isShort : std::string_view(asked) == "dependent=yes";
      EXPECT_EQ(plan->launches.at(0).config.programmaticDependent, expected);
      const auto again = planOf(text, {"im2col_sm90", plan->options});
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
    const auto plan = planOf(few, {"im2col_sm90", options});
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
  EXPECT_EQ(planOf(three, {"im2col_sm90", "tile=64x64,split=2"})->options, "tile=64x64,stages=2,split=2");
  EXPECT_NE(refused(three, "tile=64x64,split=4").find("im2col_sm90 has no kernel for the options"), std::string::npos);
  for (const char* const without : {"tile=192x64,split=4", "tile=64x32,split=2"})
    EXPECT_NE(refused("1x9x9x512 f16 * 64x1x1x512 -> f16", without).find("im2col_sm90 has no kernel for the options"),
              std::string::npos);
  EXPECT_NE(refused("1x9x9x512 s8 * 64x1x1x512 -> s32", "tile=64x64,split=2").find("f16 or bf16"), std::string::npos);
  EXPECT_NE(refused(three, "split=3").find("split"), std::string::npos);
}

/// 25 tiles of pixels and 4 of channels, so that pairs of the former are 26.
TEST(HopperPlans, Im2colSharesOperandsInPairs) {
  const char* const text = "32x7x7x2048 f16 * 512x1x1x2048 -> f16";
  for (const auto& [share, ctas, cluster, pixels, channels] : {std::tuple{"none", 100u, 1u, 64u, 128u},
                                                               {"pixels", 100u, 2u, 32u, 128u},
                                                               {"filter", 104u, 2u, 64u, 64u},
                                                               {"both", 104u, 4u, 32u, 64u}}) {
    SCOPED_TRACE(share);
    const auto plan = planOf(text, {"im2col_sm90", std::string("tile=64x128,share=") + share});
    ASSERT_NE(plan, nullptr);
    const auto& config = plan->launches.at(0).config;
    EXPECT_EQ(config.grid.x, ctas);
    EXPECT_EQ(config.cluster.x, cluster);
    EXPECT_EQ(plan->kernelName() == "im2col_sm90_f16_64x128_shared", cluster > 1) << plan->kernelName();
    const auto made = sm90::im2colCandidates(plan->problem, h200(), [&] {
      sm90::Im2colChoices choices;
      EXPECT_TRUE(sm90::im2colSharedNames().size() == 4);
      choices.tile = 6;
      choices.split = 1;
      for (size_t i = 0; i < 4; ++i)
        if (sm90::im2colSharedNames()[i] == share) choices.shared = static_cast<sm90::Shared>(i);
      return choices;
    }());
    ASSERT_EQ(made.size(), 1u);
    ASSERT_EQ(sm90::im2colTileNames()[made[0].tile], "64x128");
    EXPECT_EQ(std::get<layout::TiledMap>(made[0].input).box[1], pixels);
    EXPECT_EQ(made[0].filter.box[2], channels);
    EXPECT_EQ(planOf(text, {"im2col_sm90", plan->options})->options, plan->options);
  }
  // Where a cluster is described without, it shares nothing: recordings name plans so.
  EXPECT_EQ(planOf(text, {"im2col_sm90", "tile=64x128,split=1"})->launches.at(0).config.cluster.x, 1u);
}

TEST(HopperPlans, Im2colSharesOnlyWhatPairsReadAlike) {
  const auto refused = [](const char* text, const char* options) {
    Problem problem;
    EXPECT_TRUE(parse(text, problem).ok());
    std::shared_ptr<const Plan> plan;
    return makePlan(problem, h200(), {"im2col_sm90", options}, plan).message();
  };
  const char* const taps = "4x9x9x512 f16 * 256x3x3x512 pad 1,1,1,1 -> f16";
  EXPECT_EQ(refused(taps, "tile=64x128,share=pixels"), "");
  for (const char* const options :
       {"tile=64x128,share=filter", "tile=64x128,share=both", "tile=64x16,share=pixels", "tile=64x128,split=2,share=pixels"})
    EXPECT_NE(refused(taps, options).find("im2col_sm90 has no kernel for the options"), std::string::npos) << options;
  EXPECT_NE(refused("4x9x9x512 s8 * 256x1x1x512 -> s32", "tile=64x128,share=pixels").find("f16 or bf16"), std::string::npos);
  const auto sharesOf = [](const char* text) {
    Problem problem;
    EXPECT_TRUE(parse(text, problem).ok());
    std::map<sm90::Shared, int> counts;
    for (const sm90::Im2colPlan& plan : sm90::im2colCandidates(problem, h200())) ++counts[plan.shared()];
    return counts;
  };
  auto counts = sharesOf(taps);
  EXPECT_GT(counts[sm90::Shared::Pixels], 4);
  EXPECT_EQ(counts[sm90::Shared::Filter] + counts[sm90::Shared::Both], 0);
  counts = sharesOf("4x32x32x512 f16 * 64x1x1x512 -> f16");  // one tile of channels
  EXPECT_EQ(counts[sm90::Shared::Pixels] + counts[sm90::Shared::Both], 0);
  EXPECT_GT(counts[sm90::Shared::Filter], 2);
  counts = sharesOf("4x32x32x128 f16 * 512x1x1x128 -> f16");  // two steps
  EXPECT_EQ(counts.size(), 1u);
}

/// Halves are of an even number of rows of one image, and then what the output's map stores at a time.
TEST(HopperPlans, TwoRanksFinishHalfOfATileWhereItCanBeHalved) {
  for (const auto& [text, halves] : {std::pair{"1x16x16x1280 f16 * 1280x3x3x1280 pad 1,1,1,1 -> f16", true},
                                     {"1x15x16x1280 f16 * 1280x3x3x1280 pad 1,1,1,1 -> f16", false},
                                     {"1x16x16x1280 f16 * 1280x3x3x1280 pad 1,1,1,1 -> f16 silu", true},
                                     {"1x16x16x1280 f16 * 1280x3x3x1280 pad 1,1,1,1 -> f16 tanh", false}}) {
    Problem problem;
    ASSERT_TRUE(parse(text, problem).ok()) << text;
    HaloChoices choices;
    choices.cut = HaloCut::Columns;
    choices.split = 2;
    choices.shape = "k128_n128";
    const auto plans = haloCandidates(problem, h200(), choices);
    ASSERT_FALSE(plans.empty()) << text;
    const HaloPlan& plan = plans.front();
    EXPECT_EQ(plan.params.halves, halves) << plan.describe();
    EXPECT_EQ(plan.output.box[3], static_cast<uint32_t>(plan.params.tileRows / (halves ? 2 : 1))) << plan.describe();
  }
}

/// Kernels of their own take a short activation, alpha, channel scales and a bias of any type, but nothing else.
TEST(HopperPlans, AShortActivationStaysInRegistersWhereItCan) {
  for (const auto& [epilogue, kernel] : {std::pair{"f16 bias silu", "halo_sm90_f16_activated_"},
                                         {"f16 bias bf16", "halo_sm90_f16_activated_"},
                                         {"f16 alpha 0.5 relu", "halo_sm90_f16_activated_"},
                                         {"f16 channel_scale", "halo_sm90_f16_activated_"},
                                         {"f16 clamp 0,6", "halo_sm90_f16_activated_"},
                                         {"f16 pitch 264 sigmoid", "halo_sm90_f16_activated_"},
                                         {"f16 bias relu", "halo_sm90_f16_k"},
                                         {"f16 bias tanh", "halo_sm90_f16_f16_full_"},
                                         {"f16 gelu_erf", "halo_sm90_f16_f16_full_"},
                                         {"f16 gelu_tanh", "halo_sm90_f16_f16_full_"},
                                         {"f16 silu out_scale 2", "halo_sm90_f16_f16_full_"},
                                         {"f16 silu amax", "halo_sm90_f16_f16_full_"},
                                         {"f32 silu", "halo_sm90_f16_f16_full_"},
                                         {"f16 silu rounding separate", "halo_sm90_f16_f16_full_"},
                                         {"f16 residual 1 silu", "halo_sm90_f16_f16_full_"}}) {
    const auto plan = planOf((std::string("128x14x14x256 f16 * 256x3x3x256 pad 1,1,1,1 -> ") + epilogue).c_str(), {"halo", ""});
    ASSERT_NE(plan, nullptr);
    EXPECT_TRUE(plan->kernelName().starts_with(kernel)) << epilogue << ": " << describe(*plan);
  }
  // They also take what the plain kernels do not: planes, and inputs in two tensors.
  for (const char* text : {"1x8x28x28x128 f16 * 128x3x3x3x128 pad 1,1,1,1,1,1 -> f16 bias relu",
                           "1x14x14x256 f16 split_c 64 * 256x3x3x256 pad 1,1,1,1 -> f16",
                           "1x8x28x28x128 f16 split_d 3 * 128x3x3x3x128 pad 1,1,1,1,1,1 -> f16 silu"}) {
    const auto plan = planOf(text, {"halo", "shape=k128_n128"});
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->kernelName(), "halo_sm90_f16_activated_k128_n128") << describe(*plan);
  }
}

/// Kernels of their own add a residual of the output's type, with nothing but a bias and ReLU beside it.
TEST(HopperPlans, AResidualTakesTheShortEpilogueWhereItCan) {
  for (const auto& [text, kernel] :
       {std::pair{"128x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 bias residual 1 relu", "halo_sm90_f16_residual_"},
        {"128x14x14x256 bf16 * 256x3x3x256 pad 1,1,1,1 -> bf16 residual -0.5 residual_type bf16 residual_pitch 264",
         "halo_sm90_bf16_residual_"},
        {"8x32x32x640 f16 * 640x3x3x640 pad 1,1,1,1 -> f16 residual 1", "halo_sm90_f16_residual_"},
        {"64x28x28x256 f16 * 256x3x3x8 groups 32 pad 1,1,1,1 -> f16 bias residual 1 relu", "halo_sm90_f16_residual_"},
        {"128x56x56x64 f16 * 256x1x1x64 -> f16 bias residual 1 relu", "halo_sm90_f16_residual_"},
        {"1x8x28x28x128 f16 * 128x3x3x3x128 pad 1,1,1,1,1,1 -> f16 bias residual 1 relu", "halo_sm90_f16_residual_"},
        {"8x28x28x256 f16 split_c 64 * 256x3x3x256 pad 1,1,1,1 -> f16 residual 1", "halo_sm90_f16_residual_"},
        {"1x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 bias residual 1 relu", "resident_sm90_f16_residual"},
        {"64x56x56x96 f16 * 96x7x7x1 groups 96 pad 3,3,3,3 -> f16 residual 1", "depthwise_sm90_f16_residual"},
        {"128x224x224x4 f16 * 64x7x7x4 pad 3,3,3,3 stride 2,2 -> f16 bias residual 1 relu", "stem_sm90_f16_r7_residual"}}) {
    const std::string name = kernel;
    const auto plan = planOf(text, {name.substr(0, name.find("_sm90")), ""});
    ASSERT_NE(plan, nullptr);
    EXPECT_TRUE(plan->kernelName().starts_with(kernel)) << describe(*plan);
    size_t places = 0;
    for (const Parameter& parameter : plan->launches.at(0).parameters) {
      for (const auto& field : parameter.addresses()) places += field.place.tensor == TensorName::Residual;
      for (const auto& field : parameter.maps()) places += field.place.tensor == TensorName::Residual;
    }
    EXPECT_EQ(places, 1u) << describe(*plan);
  }
  for (const char* epilogue : {"f16 residual 1 residual_type f32", "f16 residual 1 residual_type bf16", "f16 residual 1 alpha 0.5",
                               "f16 residual 1 silu", "f16 residual 1 amax", "f16 residual 1 residual_pitch 260",
                               "f16 pitch 260 residual 1", "f16 residual 1 channel_scale", "f32 residual 1 residual_type f32"}) {
    const auto plan = planOf((std::string("128x14x14x256 f16 * 256x3x3x256 pad 1,1,1,1 -> ") + epilogue).c_str(), {"halo", ""});
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->kernelName().substr(0, 22), "halo_sm90_f16_f16_full") << epilogue << ": " << describe(*plan);
  }
}

/// The residual is cut as the output, from rows of its own pitch; a name of a tile means one kernel; and there are as many buffers
/// as wanted where few products would leave one waiting, if they fit.
TEST(HopperPlans, ResidualsComeInTilesOfTheOutput) {
  for (const char* text : {"8x64x64x320 f16 * 320x3x3x320 pad 1,1,1,1 -> f16 residual 1 residual_pitch 328",
                           "1x16x16x1280 f16 * 1280x3x3x1280 pad 1,1,1,1 -> f16 pitch 1288 residual 1",
                           "128x56x56x64 f16 * 256x1x1x64 -> f16 residual 1"}) {
    Problem problem;
    ASSERT_TRUE(parse(text, problem).ok()) << text;
    std::map<std::string_view, HaloModule> modules;
    bool hasHalves = false;
    for (const HaloPlan& plan : haloCandidates(problem, h200())) {
      SCOPED_TRACE(std::string(text) + ": " + plan.describe());
      EXPECT_EQ(modules.try_emplace(plan.shape, plan.module).first->second, plan.module);
      EXPECT_LE(plan.launch.dynamicSharedBytes, h200().sharedBytesPerBlock);
      if (plan.module != HaloModule::Residual) continue;
      ASSERT_EQ(layout::refusal(plan.residual), "");
      EXPECT_EQ(plan.residual.dims, plan.output.dims);
      EXPECT_EQ(plan.residual.box, plan.output.box);
      for (size_t i = 0; i < 3; ++i)
        EXPECT_EQ(plan.residual.strides[i] * static_cast<uint64_t>(problem.outputPitch()),
                  plan.output.strides[i] * static_cast<uint64_t>(problem.residualPitch()));
      const auto& box = plan.residual.box;
      const kernels::halo::ResidualTiles& tiles = plan.params.residual;
      EXPECT_EQ(tiles.bytes, box[0] * box[1] * box[2] * box[3] * 2);
      EXPECT_EQ(tiles.beta, problem.beta);
      if (plan.shape.ends_with("_over")) continue;
      EXPECT_LE(tiles.bytes, tiles.stagingBytes);
      EXPECT_LE(tiles.stagings, kernels::halo::kMaximumStagings);
      hasHalves |= plan.params.halves;
      if (plan.params.halves) {
        EXPECT_EQ(tiles.stagings % 2, 0);
      }
      if (problem.r == 1 && plan.shape == "k64x2_n128") {
        EXPECT_EQ(tiles.stagings, 2);
      }
    }
    EXPECT_EQ(hasHalves, problem.c == 1280);
  }
}

TEST(HopperPlans, WrongOptionsAreNamed) {
  Problem problem;
  ASSERT_TRUE(parse("2x16x16x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", problem).ok());
  for (const auto& [options, part] :
       {std::pair{"shape=k96_n32", "k64_n32"},
        {"cut=diagonal", "columns"},
        {"split=9", "split"},
        {"tile=3", "tile"},
        {"shape=k320_n128,split=4",
         "halo has no plan of this problem with shape=k320_n128,split=4: split must be 1 with shape=k320_n128"}}) {
    std::shared_ptr<const Plan> plan;
    const Status status = makePlan(problem, h200(), {"halo", options}, plan);
    EXPECT_FALSE(status.ok()) << options;
    EXPECT_NE(status.message().find(part), std::string::npos) << options << ": " << status.message();
  }
}

TEST(HopperPlans, ListsAllShapesOfHalo) {
  const plan::Algorithm* halo = nullptr;
  ASSERT_TRUE(findAlgorithm("halo", halo).ok());
  const std::string text = describe(halo->options());
  EXPECT_NE(text.find("k64_n32, k64_n64, k64x2_n128, "), std::string::npos) << text;
  EXPECT_NE(text.find(", k320_n128, m128x2_k8, "), std::string::npos) << text;
  EXPECT_NE(text.find(", m64x2_k256  output channels"), std::string::npos) << text;
  EXPECT_EQ(text.find("..."), std::string::npos) << text;
  EXPECT_EQ(text.find(".hpp"), std::string::npos) << text;
  EXPECT_NE(text.find("\ncut        columns, flat, dense  8-column"), std::string::npos) << "a long list widens no column\n"
                                                                                         << text;
}

TEST(OptionConflict, NamesTheOptionAndWhatItCouldBe) {
  const std::vector<std::string> plans{"cut=flat,split=1", "cut=flat,split=2", "cut=flat,split=4", "cut=columns,split=1"};
  const auto plansWith = [&](std::string_view options) {
    std::vector<std::string> found;
    for (const std::string& plan : plans) {
      bool agrees = true;
      for (size_t at = 0; at < options.size();) {
        const std::string_view item = options.substr(at, options.find(',', at) - at);
        agrees = agrees && ("," + plan + ",").find("," + std::string(item) + ",") != std::string::npos;
        at += item.size() + 1;
      }
      if (agrees) found.push_back(plan);
    }
    return found;
  };
  EXPECT_EQ(noPlanWith("halo", "cut=columns,split=4", plansWith),
            "halo has no plan of this problem with cut=columns,split=4: cut must be flat with split=4");
  EXPECT_EQ(noPlanWith("halo", " split = 8 , cut = flat", plansWith),
            "halo has no plan of this problem with split=8,cut=flat: split must be 1, 2 or 4 with cut=flat");
  EXPECT_EQ(noPlanWith("halo", "cut=dense", plansWith),
            "halo has no plan of this problem with cut=dense: cut must be flat or columns");
  EXPECT_EQ(noPlanWith("halo", "cut=dense,split=8", plansWith),
            "halo has no plan of this problem with cut=dense,split=8, nor without one of them; it has cut=flat,split=1");
}

// Cuts and shapes that would compute something else, or nothing.
TEST(HopperPlans, OptionsThatDoNotFitTheProblemHaveNoPlan) {
  struct Asked {
    const char *text, *algorithm, *options;
  };
  const char* const tail = "shape=k128_n200_tail32";
  for (const Asked& asked : {// a rank of the cluster would have no chunk of 64 channels: 3 and 6 of them
                             Asked{"1x7x7x192 f16 * 64x3x3x192 pad 1,1,1,1 -> f16", "halo", "split=4"},
                             {"1x7x7x384 f16 * 64x3x3x384 pad 1,1,1,1 -> f16", "halo", "split=4"},
                             {"1x7x7x192 f16 * 64x3x3x192 pad 1,1,1,1 -> f16", "resident", "split=4"},
                             {"1x7x7x384 f16 * 64x3x3x384 pad 1,1,1,1 -> f16", "resident", "split=4"},
                             // the last filter row finds something in the tile's tail, or is not the last one
                             {"5x14x7x136 f16 * 136x3x3x136 pad 1,1,1,1 stride 2,1 -> f16", "halo", tail},
                             {"5x7x14x136 f16 * 136x3x3x136 pad 1,1,1,1 stride 1,2 -> f16", "halo", tail},
                             {"5x7x7x136 f16 * 136x3x5x136 pad 1,1,2,2 -> f16", "halo", tail},
                             {"5x7x7x136 f16 * 136x5x3x136 pad 2,2,1,1 -> f16", "halo", tail},
                             {"5x2x7x7x136 f16 * 136x1x3x3x136 pad 0,0,1,1,1,1 -> f16", "halo", tail},
                             {"5x2x7x7x24 f16 * 136x2x3x3x24 pad 1,0,1,1,1,1 -> f16", "halo", tail},
                             {"5x8x7x136 f16 * 136x3x3x136 pad 1,0,1,1 -> f16", "halo", tail},
                             {"5x7x7x136 f16 * 136x3x3x136 pad 1,1,1,1 -> f16", "halo", "shape=k128_n200_tail32,cut=flat"}}) {
    Problem problem;
    ASSERT_TRUE(parse(asked.text, problem).ok()) << asked.text;
    std::shared_ptr<const Plan> plan;
    const Status status = makePlan(problem, h200(), {asked.algorithm, asked.options}, plan);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << asked.text << ", " << asked.options;
    EXPECT_NE(status.message().find("no plan"), std::string::npos) << asked.text << ": " << status.message();
  }
  EXPECT_NE(planOf("5x7x7x136 f16 * 136x3x3x136 pad 1,1,1,1 -> f16", {"halo", tail}), nullptr);
}

TEST(HopperPlans, DirectTakesOnlyWhatAllOthersRefuse) {
  for (const char* text : {"1x8x8x64 s8 * 64x3x3x32 s8 groups 2 zero 3 -> s32", "1x8x8x12 f32 * 12x3x3x3 groups 4 -> f16",
                           "1x8x8x8 f16 * 64x3x3x8 bf16 -> f32", "1x8x8x64 f32 * 64x3x3x32 groups 2 stride 3,3 -> f16",
                           "1x8x8x3 f32 * 64x3x3x3 -> f32"}) {
    const auto plan = planOf(text);
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->algorithm, "direct") << describe(*plan);
  }
  for (const char* text :
       {"128x28x28x64 f16 * 64x3x3x64 -> f16 silu", "1x8x8x64 s8 * 64x3x3x64 u8 -> s8 alpha 0.01 silu amax",
        "1x8x8x4 f32 * 5x3x3x4 compute tf32 -> f32 residual 1", "1x8x8x16 e4m3 * 64x3x3x16 e5m2 -> e4m3",
        "8x16x28x28x64 bf16 * 64x3x3x3x64 -> bf16", "1x8x8x12 f16 * 12x3x3x3 groups 4 -> f16",
        "1x31x29x5 bf16 * 7x3x3x5 dilation 9,3 stride 3,5 -> f32 tanh", "1x8x8x64 s8 * 64x3x3x64 s8 zero 3 -> s32",
        "1x8x8x8 s8 * 64x3x3x8 s8 -> s32", "1x8x8x12 e4m3 * 12x3x3x3 groups 4 -> f16",
        "1x8x8x12 u8 zero 3 * 12x3x3x1 s8 groups 12 -> s8", "1x8x8x12 f32 * 12x3x3x1 groups 12 -> f32"}) {
    const auto plan = planOf(text);
    ASSERT_NE(plan, nullptr);
    EXPECT_NE(plan->algorithm, "direct") << describe(*plan);
  }
  // Small enough for the model to prefer it.
  const auto plan = planOf("1x1x1x8 f16 * 8x1x1x8 -> f16");
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->algorithm, "thin") << describe(*plan);
}

/// An image of one row has none of the odd rows that a stride of 2 would read beside it, flat or deep.
TEST(HopperPlans, HaloMapsNoTensorWithoutPixels) {
  for (const char* text : {"1x1x7x16 f16 * 24x3x3x16 pad 1,1,1,1 stride 2,1 -> f16",
                           "1x3x1x7x16 f16 * 24x1x3x3x16 pad 0,0,1,1,1,1 stride 1,2,1 -> f16"}) {
    Problem problem;
    ASSERT_TRUE(parse(text, problem).ok()) << text;
    for (const HaloPlan& plan : haloCandidates(problem, h200()))
      for (const layout::TiledMap& map : plan.inputs)
        for (uint32_t i = 0; i < map.rank; ++i)
          EXPECT_GT(map.dims[i], 0u) << text << ": " << plan.describe() << ", dimension " << i;
    EXPECT_EQ(planOf(text)->algorithm, "thin");
    EXPECT_NE(haloRefusal(problem, h200()).find("in at most 12 boxes"), std::string::npos) << haloRefusal(problem, h200());
  }
}

TEST(HopperRefusals, NameWhatIsAskedFor) {
  for (const auto& [text, part] : {std::pair{"1x8x8x64 f16 * 64x3x3x64 compute f16 -> f16", "direct sums in f32"},
                                   {"1x8x8x64 f16 * 64x3x3x64 e4m3 -> f16", "input_type and filter_type are f16 and e4m3"},
                                   {"1x8x8x64 e2m1 * 64x3x3x64 e2m1 -> f16", "input_type and filter_type are e2m1 and e2m1"},
                                   {"1x8x8x64 s8 * 64x3x3x64 s8 -> s8 residual 1 residual_type s32", "s32"},
                                   {"1x8x8x64 s8 * 64x3x3x64 s8 -> s32 bias", "s32 stores accumulators"},
                                   {"1x8x8x64 f16 * 64x3x3x64 -> s32", "s32 is for s32"},
                                   {"1x8x8x12 f16 * 64x3x3x12 pad 0,0,600000000,0 stride 1,1000000 -> f16", "W + pad_left"}}) {
    Problem problem;
    ASSERT_TRUE(parse(text, problem).ok()) << text;
    std::shared_ptr<const Plan> plan;
    const Status status = makePlan(problem, h200(), {}, plan);
    EXPECT_EQ(status.code(), StatusCode::Unsupported) << text;
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace shiftconv::plan::plans_test
