// The thin engine's plans: what it refuses, by both sides of every limit, and what its candidates are made of.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "conv/algorithms/thin/algorithm.hpp"
#include "conv/algorithms/thin/plan.hpp"
#include "conv/planner/candidates.hpp"
#include "tests/conv/planned_problem.hpp"

namespace shiftconv::plan {
namespace {

ThinPlan bestOf(const std::string& text, const ThinChoices& choices = {}) {
  const auto plans = thinCandidates(problemOf(text), deviceOf(9), choices);
  EXPECT_FALSE(plans.empty()) << text;
  return plans.empty() ? ThinPlan() : plans.front();
}

TEST(ThinRefusals, HaveBothSides) {
  for (const auto& [accepted, refused, part] :
       {std::tuple{"1x8x8x12 f16 * 5x1x1x12 -> f16", "1x8x8x12 f32 * 5x1x1x12 -> f16",
                   "input_type and filter_type are f32 and f32"},
        {"1x8x8x12 bf16 * 5x1x1x12 -> f16", "1x8x8x12 bf16 * 5x1x1x12 f16 -> f16", "input_type and filter_type are bf16 and f16"},
        {"1x8x8x12 f16 * 5x1x1x12 -> f16", "1x8x8x12 f16 * 5x1x1x12 compute f16 -> f16", "compute is f16"},
        {"1x8x8x8 f16 * 4x1x1x4 groups 2 -> f16", "1x8x8x6 f16 * 4x1x1x3 groups 2 -> f16", "4 input channels a group"},
        {"1x40x9x8 f16 * 4x25x5x8 -> f16", "1x40x9x8 f16 * 4x25x6x8 -> f16", "T + R + S up to 31"},
        {"1x8192x8191x16 f16 * 8x1x1x16 -> f16", "1x8192x8192x16 f16 * 8x1x1x16 -> f16", "below 2^31 bytes"},
        {"1x8191x8191x16 f16 * 8x1x1x16 pad 0,2,0,0 -> f16", "1x8191x8191x16 f16 * 8x1x1x16 pad 0,3,0,0 -> f16", "with its pads"},
        {"1x1x1x4096 f16 * 262143x1x1x4096 -> f16", "1x1x1x4096 f16 * 262144x1x1x4096 -> f16", "below 2^31 bytes"},
        {"1x1x1x8 f16 * 524280x1x1x8 -> f16", "1x1x1x8 f16 * 524281x1x1x8 -> f16", "K up to 524280"},
        {"1x8x8x8 f16 * 6x1x1x4 groups 2 -> f16 bias silu", "1x8x8x8 f16 * 6x1x1x4 groups 2 -> f16 amax", "K / groups"},
        {"1x8x8x8 f16 * 5x1x1x8 -> f16 bias", "1x8x8x8 f16 * 5x1x1x8 -> f16 residual 1 residual_type s32", "s32"}}) {
    EXPECT_EQ(thinRefusal(problemOf(accepted), deviceOf(9)), "") << accepted;
    EXPECT_NE(thinRefusal(problemOf(refused), deviceOf(9)).find(part), std::string::npos)
        << refused << ": " << thinRefusal(problemOf(refused), deviceOf(9));
  }
  const Problem problem = problemOf("1x8x8x12 f16 * 5x1x1x12 -> f16");
  for (const auto& [major, minor] : {std::pair{9, 0}, {10, 0}, {10, 3}, {11, 0}})
    EXPECT_EQ(thinRefusal(problem, deviceOf(major, minor)), "") << major << "." << minor;
  for (const auto& [major, minor] : {std::pair{8, 9}, {12, 0}})
    EXPECT_NE(thinRefusal(problem, deviceOf(major, minor)).find("compute capability"), std::string::npos) << major << "." << minor;
}

TEST(ThinPlans, LoadAsManyElementsAsChannelsAndPitchAllow) {
  for (const auto& [text, vector, stored] : {std::tuple{"1x7x7x24 f16 * 32x1x1x24 -> f16", 8, 8},
                                             {"1x7x7x24 f16 pitch 28 * 32x1x1x24 -> f16", 4, 8},
                                             {"1x7x7x24 f16 pitch 26 * 32x1x1x24 -> f16 pitch 36", 2, 4},
                                             {"1x7x7x24 f16 pitch 25 * 32x1x1x24 -> f16 pitch 34", 1, 2},
                                             {"1x7x7x116 f16 * 58x1x1x116 -> f16", 4, 2},
                                             {"1x7x7x230 f16 * 8x1x1x230 -> f16 residual 1 residual_pitch 9", 2, 1},
                                             {"1x7x7x24 f16 * 24x1x1x12 groups 2 -> f16", 4, 4}}) {
    const ThinPlan plan = bestOf(text);
    EXPECT_EQ(plan.vector, vector) << plan.describe();
    EXPECT_EQ(plan.params.storeElements, stored) << plan.describe();
  }
}

TEST(ThinPlans, FillTheirGridsWithWarps) {
  for (const char* text : {"3x7x9x200 f16 * 70x1x1x200 -> f16", "1x7x9x160 f16 * 80x3x3x32 groups 5 pad 1,1,1,1 -> f16 silu",
                           "1x1x1x672 bf16 * 28x1x1x672 -> bf16"}) {
    const Problem p = problemOf(text);
    std::set<std::string> options;
    ThinChoices choices;
    choices.dependent = false;  // with the shared memory that they use
    for (const ThinPlan& plan : thinCandidates(p, deviceOf(9), choices)) {
      SCOPED_TRACE(std::string(text) + ": " + plan.describe());
      EXPECT_TRUE(options.insert(plan.options()).second);
      const int64_t warps = int64_t{plan.split} * plan.pixelWarps * plan.channelWarps;
      EXPECT_LE(warps, kernels::thin::kMostWarps);
      EXPECT_EQ(plan.launch.block.x, warps * 32);
      EXPECT_GE(int64_t{plan.launch.grid.x} * plan.pixelWarps * plan.tile.pixels, p.outputPixels());
      EXPECT_LT((int64_t{plan.launch.grid.x} - 1) * plan.pixelWarps * plan.tile.pixels, p.outputPixels());
      EXPECT_GE(int64_t{plan.launch.grid.y} * plan.channelWarps, plan.params.channelTiles);
      EXPECT_LT((int64_t{plan.launch.grid.y} - 1) * plan.channelWarps, plan.params.channelTiles);
      EXPECT_LE(plan.launch.dynamicSharedBytes, 48u << 10);  // what a kernel may have without asking for more
    }
  }
}

/// 65536 registers and 2048 threads of a multiprocessor, for at most 32 CTAs; 96 registers of a thread for tiles of 16x8, 128 for
/// 16x16 and 16x32, 192 for 32x32. Kernels let the next one start early where all CTAs run at once.
TEST(ThinPlans, KnowWhenAllTheirCtasRunAtOnce) {
  const std::map<std::string, int64_t> registers{{"16x8", 96}, {"16x16", 128}, {"16x32", 128}, {"32x32", 192}};
  std::map<std::string, std::set<bool>> seen;
  for (const char* text :
       {"1x40x41x64 f16 * 64x1x1x64 -> f16", "1x90x91x64 f16 * 64x1x1x64 -> f16", "1x120x121x64 f16 * 128x1x1x64 -> f16"})
    for (uint32_t multiprocessors = 4; multiprocessors < 140; ++multiprocessors) {
      device::Properties properties = deviceOf(9);
      properties.multiprocessors = multiprocessors;
      for (const ThinPlan& plan : thinCandidates(problemOf(text), properties)) {
        const std::string tile(nameOf(plan.tile));
        ASSERT_TRUE(registers.contains(tile)) << tile;
        const int64_t threads = plan.launch.block.x;
        const int64_t resident = std::min<int64_t>({65536 / (registers.at(tile) * threads), 2048 / threads, 32});
        const bool atOnce = plan.launch.grid.count() <= static_cast<uint64_t>(resident) * multiprocessors;
        EXPECT_EQ(plan.params.launchEarly, atOnce) << plan.describe() << " on " << multiprocessors;
        seen[tile].insert(atOnce);
      }
    }
  EXPECT_EQ(seen.size(), registers.size());
  for (const auto& [tile, both] : seen) EXPECT_EQ(both.size(), 2u) << tile;
}

TEST(ThinPlans, OptionsMakeACandidateAgain) {
  const Problem p = problemOf("2x9x7x200 f16 * 70x1x1x200 -> f16 bias relu");
  Candidates all;
  ASSERT_TRUE(findCandidates(p, deviceOf(9), {"thin", ""}, all).ok());
  ASSERT_GT(all.all.size(), 4u);
  for (const Candidate& candidate : all.all)
    for (const std::string& options : {candidate.options(), candidate.options() + ",dependent=no"}) {
      Candidates again;
      ASSERT_TRUE(findCandidates(p, deviceOf(9), {"thin", options}, again).ok()) << options;
      ASSERT_EQ(again.all.size(), 1u) << options;
      EXPECT_EQ(again.all[0].options(), options);
      // Recorded times may correct a candidate otherwise that is asked for alone (kTreesOfAll).
      EXPECT_DOUBLE_EQ(again.all[0].estimate.clocks / again.all[0].correction, candidate.estimate.clocks / candidate.correction);
      std::shared_ptr<const Plan> plan;
      ASSERT_TRUE(makePlan(p, deviceOf(9), {"thin", options}, plan).ok());
      EXPECT_EQ(plan->launches.at(0).config.programmaticDependent, options == candidate.options());
    }
  for (const auto& [options, part] : {std::pair{"tile=64x8", "16x32"},
                                      {"split=3", "no plan"},
                                      {"split=16", "split"},
                                      {"split=4,pixel_warps=4", "no plan"},
                                      {"cut=flat", "cut"}}) {
    Candidates none;
    const Status status = findCandidates(p, deviceOf(9), {"thin", options}, none);
    EXPECT_FALSE(status.ok()) << options;
    EXPECT_NE(status.message().find(part), std::string::npos) << options << ": " << status.message();
  }
}

/// Tiles measured to be the fastest on an H200.
TEST(ThinPlans, TakeSmallTilesForFewPixels) {
  EXPECT_EQ(nameOf(bestOf("1x7x7x832 f16 * 192x1x1x832 -> f16").tile), "16x8");
  EXPECT_EQ(nameOf(bestOf("32x28x28x116 f16 * 116x1x1x116 -> f16").tile), "32x32");
  EXPECT_GT(bestOf("1x7x7x832 f16 * 192x1x1x832 -> f16").split, 1);
  EXPECT_EQ(bestOf("1x56x56x24 f16 * 58x1x1x24 -> f16").split, 1);
}

}  // namespace
}  // namespace shiftconv::plan
