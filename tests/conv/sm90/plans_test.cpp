// The engines of sm_90a through the planner: every engine wins what it is for, with launches whose parameters are complete.
#include <gtest/gtest.h>

#include "conv/plan/option_conflict.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/registry.hpp"
#include "conv/problem/text.hpp"
#include "tests/conv/sm90/hopper_plan.hpp"

namespace shiftconv::plan::plans_test {
namespace {

/// By recorded times clear winners, where there are such: bench/results.
TEST(HopperPlans, EachEngineWinsWhatItIsFor) {
  for (const auto& [text, algorithm, kernel] :
       {std::tuple{"128x56x56x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", "halo", "halo_sm90_f16_k64x2_n224_over"},
        {"1x14x14x512 f16 * 512x3x3x512 pad 1,1,1,1 -> f16", "resident", "resident_sm90_f16"},
        {"1x56x56x128 f16 * 128x3x3x128 pad 1,1,1,1 stride 2,2 -> f16", "halo", "halo_sm90_f16_k64_n32"},
        {"64x28x28x256 f16 * 256x3x3x8 groups 32 pad 1,1,1,1 -> f16", "grouped", "grouped_f16_r3s3"},
        {"64x56x56x96 bf16 * 96x7x7x1 groups 96 pad 3,3,3,3 -> bf16", "depthwise", "depthwise_bf16"},
        {"128x224x224x4 f16 * 64x7x7x4 pad 3,3,3,3 stride 2,2 -> f16", "stem", "stem_sm90_f16_r7"},
        {"1x64x64x2048 f16 * 256x3x3x2048 pad 24,24,24,24 dilation 24,24 -> f16", "im2col_sm90",
         "im2col_sm90_f16_128x128_split_lean"},
        {"32x224x224x3 f16 * 64x7x7x3 pad 3,3,3,3 stride 2,2 -> f16", "raw_rows", "raw_rows_f16_even_64_lean"},
        {"1x7x7x832 f16 * 192x1x1x832 -> f16", "thin", "thin_f16_v8_16x8_lean"},
        {"32x14x14x576 f16 * 576x3x3x1 groups 576 pad 1,1,1,1 -> f16", "channelwise", "channelwise_few_3_s1_c2_q7"}}) {
    const auto plan = planOnH200(text);
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

TEST(HopperPlans, OptionsOfAPlanMakeItAgain) {
  for (const char* text :
       {"2x16x16x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16 bias relu", "1x14x14x256 f16 * 256x3x3x256 pad 1,1,1,1 -> f16"}) {
    const auto first = planOnH200(text);
    ASSERT_NE(first, nullptr);
    const auto again = planOnH200(text, {std::string(first->algorithm), first->options});
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
    const auto plan = planOnH200(text, options);
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
    const auto plain = planOnH200(text, {algorithm, ""});
    ASSERT_NE(plain, nullptr);
    EXPECT_TRUE(plain->launches.at(0).config.programmaticDependent);
    EXPECT_EQ(plain->options.find("dependent"), std::string::npos);
    const auto waiting = planOnH200(text, {std::string(plain->algorithm), "dependent=no"});
    ASSERT_NE(waiting, nullptr);
    EXPECT_FALSE(waiting->launches.at(0).config.programmaticDependent);
    const auto again = planOnH200(text, {std::string(waiting->algorithm), waiting->options});
    ASSERT_NE(again, nullptr);
    EXPECT_FALSE(again->launches.at(0).config.programmaticDependent) << waiting->options;
  }
}

/// Where an engine can read it ahead, and nothing is said otherwise. Wrappers pack filters and read them back: not ahead.
TEST(HopperPlans, ReadAConstantFilterAhead) {
  const auto constant = [](const char* text, const char* algorithm, const char* options, bool batchInvariant = false) {
    return planOnH200(text, {algorithm, options, 0, true, batchInvariant});
  };
  const char* const text = "1x14x14x256 f16 * 256x3x3x256 pad 1,1,1,1 -> f16";
  for (const char* const algorithm : {"", "halo", "resident", "im2col_sm90"}) {
    SCOPED_TRACE(algorithm);
    const auto usual = planOnH200(text, {algorithm, ""}), ahead = constant(text, algorithm, "");
    ASSERT_TRUE(usual && ahead);
    EXPECT_EQ(usual->options.find("dependent"), std::string::npos);
    EXPECT_EQ(ahead->options, usual->options + ",dependent=filter");
    EXPECT_TRUE(ahead->launches.at(0).config.programmaticDependent);
    const auto again = planOnH200(text, {std::string(ahead->algorithm), ahead->options});
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(describe(*again), describe(*ahead));
  }
  EXPECT_NE(constant(text, "halo", "", true)->options.find("dependent=filter"), std::string::npos);
  EXPECT_EQ(constant(text, "halo", "dependent=no")->options, planOnH200(text, {"halo", "dependent=no"})->options);
  EXPECT_NE(constant("1x32x30x3 f16 * 32x3x3x3 -> f16", "raw_rows", "")->options.find("dependent=filter"), std::string::npos);
  const char* const few = "1x7x7x832 f16 * 192x1x1x832 -> f16";
  for (const char* const algorithm : {"thin", "direct"})
    EXPECT_EQ(constant(few, algorithm, "")->options, planOnH200(few, {algorithm, ""})->options) << algorithm;
  const auto reversed = constant("1x9x9x64 f16 * 64x3x3x64 pad 1,1,1,1 flipped -> f16", "", "");
  ASSERT_NE(reversed, nullptr);
  EXPECT_EQ(reversed->algorithm, "reversed");
  EXPECT_EQ(reversed->options.find("filter"), std::string::npos) << reversed->options;
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
                             {"5x2x7x7x136 f16 * 136x1x3x3x136 pad 0,0,1,1,1,1 stride 2,1,1 -> f16", "halo", tail},
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
  EXPECT_NE(planOnH200("5x7x7x136 f16 * 136x3x3x136 pad 1,1,1,1 -> f16", {"halo", tail}), nullptr);
}

TEST(HopperPlans, DirectTakesOnlyWhatAllOthersRefuse) {
  for (const char* text : {"1x8x8x64 s8 * 64x3x3x32 s8 groups 2 zero 3 -> s32", "1x8x8x12 f32 * 12x3x3x3 groups 4 -> f16",
                           "1x8x8x8 f16 * 64x3x3x8 bf16 -> f32", "1x8x8x64 f32 * 64x3x3x32 groups 2 stride 3,3 -> f16",
                           "1x8x8x3 f32 * 64x3x3x3 -> f32"}) {
    const auto plan = planOnH200(text);
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
    const auto plan = planOnH200(text);
    ASSERT_NE(plan, nullptr);
    EXPECT_NE(plan->algorithm, "direct") << describe(*plan);
  }
  // Small enough for the model to prefer it.
  const auto plan = planOnH200("1x1x1x8 f16 * 8x1x1x8 -> f16");
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->algorithm, "thin") << describe(*plan);
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
