// The pointwise engine's plans: which kernel a problem gets, and that CTAs and warps share all pixels and channels.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "conv/algorithms/pointwise/plan.hpp"
#include "conv/planner/candidates.hpp"
#include "tests/conv/planned_problem.hpp"

namespace shiftconv::plan {
namespace {

std::set<std::string> kernelsOf(const std::string& text) {
  std::set<std::string> names;
  for (const PointwisePlan& plan : pointwiseCandidates(problemOf(text), deviceOf(9))) names.insert(plan.kernelName());
  return names;
}

TEST(PointwisePlans, TakeTheKernelsOfFewestStepsAndWidestLoads) {
  using Names = std::set<std::string>;
  // 24 channels: 2 steps of 16. Loads of 8 hold them in 2 steps, and nothing that has fewer.
  EXPECT_EQ(kernelsOf("1x7x7x24 f16 * 32x1x1x24 -> f16"), (Names{"pointwise_f16_v8_s2_16", "pointwise_f16_v8_s2_32"}));
  // 16 channels: loads of 4 need one step only.
  EXPECT_EQ(kernelsOf("1x7x7x16 f16 * 32x1x1x16 -> f16"),
            (Names{"pointwise_f16_v4_s1_16", "pointwise_f16_v4_s1_32", "pointwise_f16_v8_s2_16", "pointwise_f16_v8_s2_32"}));
  EXPECT_EQ(kernelsOf("1x7x7x40 bf16 * 8x1x1x40 -> f32"), (Names{"pointwise_bf16_v4_s3_16", "pointwise_bf16_v8_s4_16"}));
  EXPECT_EQ(kernelsOf("1x7x7x144 f16 * 24x1x1x144 -> f16"), Names{"pointwise_f16_v8_s10_16"});
  EXPECT_EQ(kernelsOf("1x7x7x116 f16 * 24x1x1x116 -> f16"), Names{"pointwise_f16_v4_s8_16"});
  EXPECT_EQ(kernelsOf("1x7x7x58 f16 * 24x1x1x58 -> f16"), Names{"pointwise_f16_v2_s4_16"});
  EXPECT_EQ(kernelsOf("1x7x7x64 f16 pitch 66 * 24x1x1x64 -> f16"), Names{"pointwise_f16_v2_s4_16"});
  EXPECT_EQ(kernelsOf("1x7x7x24 e4m3 * 32x1x1x24 -> e4m3"), (Names{"pointwise_bytes_v8_s2_16", "pointwise_bytes_v8_s2_32"}));
  EXPECT_EQ(kernelsOf("1x7x7x232 s8 * 32x1x1x232 -> s8"), Names{"pointwise_bytes_v8_s16_16"});
  EXPECT_EQ(kernelsOf("1x7x7x58 u8 * 24x1x1x58 s8 -> u8"), Names{"pointwise_bytes_v2_s4_16"});
}

/// Rows of whole pieces of 16 bytes leave from registers.
TEST(PointwisePlans, GatherRowsOfTornPieces) {
  for (const auto& [text, gathers] : {std::pair{"1x7x7x24 e4m3 * 40x1x1x24 -> e4m3", true},
                                      {"1x7x7x24 e4m3 * 48x1x1x24 -> e4m3", false},
                                      {"1x7x7x24 e4m3 * 40x1x1x24 -> f16", false},
                                      {"1x7x7x24 f16 * 40x1x1x24 -> f16", false},
                                      {"1x7x7x24 f16 * 42x1x1x24 -> f16", true}}) {
    const auto plans = pointwiseCandidates(problemOf(text), deviceOf(9));
    EXPECT_EQ(std::ranges::any_of(plans, [](const PointwisePlan& plan) { return plan.params.gathers; }), gathers) << text;
  }
}

TEST(PointwisePlans, ShareAllPixelsAndChannels) {
  for (const char* text :
       {"3x7x9x24 f16 * 70x1x1x24 -> f16", "32x56x56x144 f16 * 24x1x1x144 -> f16", "8x28x28x116 bf16 * 116x1x1x116 -> bf16 silu",
        "1x112x112x16 f16 * 96x1x1x16 stride 2,2 -> f16",
        // 49 times 32 channels, of which a CTA holds 11: eighths of seven would leave one empty.
        "1x9x9x160 f16 * 1568x1x1x160 -> f16", "2x7x9x24 e4m3 * 70x1x1x24 -> e4m3", "8x14x14x232 s8 * 232x1x1x232 -> s8"}) {
    const Problem p = problemOf(text);
    std::set<std::string> options;
    PointwiseChoices choices;
    choices.dependent = false;  // with the shared memory that they use
    for (const PointwisePlan& plan : pointwiseCandidates(p, deviceOf(9), choices)) {
      SCOPED_TRACE(std::string(text) + ": " + plan.describe());
      EXPECT_TRUE(options.insert(plan.options()).second);
      const int64_t pixelWarps = plan.warps / plan.channelWarps;
      EXPECT_EQ(plan.launch.block.x, static_cast<uint32_t>(plan.warps) * 32);
      EXPECT_EQ(plan.launch.grid.y, static_cast<uint32_t>(plan.parts));
      EXPECT_GE(int64_t{plan.params.tiles} * plan.instance.pixels, p.outputPixels());
      EXPECT_LT((int64_t{plan.params.tiles} - 1) * plan.instance.pixels, p.outputPixels());
      // No CTA is without a tile, and all are there at once.
      EXPECT_LT((int64_t{plan.launch.grid.x} - 1) * pixelWarps, plan.params.tiles);
      const auto elementBytes = static_cast<int32_t>(bytesOf(p.inputType));
      const int64_t together = 132 * kernels::pointwise::ctasPerMultiprocessor(elementBytes, plan.instance) * 8 / plan.warps;
      EXPECT_LE(int64_t{plan.launch.grid.x} * plan.parts, std::max<int64_t>(together, plan.parts));
      EXPECT_GE(int64_t{plan.params.channelGroups} * 32 * plan.parts, p.k);
      EXPECT_LT((int64_t{plan.params.channelGroups} - 1) * 32 * plan.parts, p.k);
      EXPECT_LE(plan.launch.dynamicSharedBytes * (together / 132) * plan.warps / 8, 232448u + 1024u);
    }
    EXPECT_GE(options.size(), 1u) << text;
  }
}

/// Rows of 48 bytes stay as they are; where a multiple of 128 would make lanes meet in a bank, there is a gap.
TEST(PointwisePlans, FilterRowsMeetAllBanks) {
  using kernels::pointwise::filterPitch;
  EXPECT_EQ(filterPitch(8, 2), 64);
  EXPECT_EQ(filterPitch(8, 4), 192);
  EXPECT_EQ(filterPitch(8, 6), 192);
  EXPECT_EQ(filterPitch(8, 8), 320);
  EXPECT_EQ(filterPitch(8, 10), 320);
  EXPECT_EQ(filterPitch(4, 1), 32);
  EXPECT_EQ(filterPitch(4, 3), 96);
  EXPECT_EQ(filterPitch(4, 8), 288);
  EXPECT_EQ(filterPitch(2, 4), 160);
  std::vector<kernels::pointwise::Instance> all(std::begin(kernels::pointwise::kInstances),
                                                std::end(kernels::pointwise::kInstances));
  all.insert(all.end(), std::begin(kernels::pointwise::kByteInstances), std::end(kernels::pointwise::kByteInstances));
  for (const kernels::pointwise::Instance& one : all) {
    // The 4-byte banks of the lanes that a load serves at once: 8 lanes of 16 bytes, 16 of 8 bytes.
    const int bytes = one.vector == 8 ? 16 : 8, together = 128 / bytes;
    std::set<int> banks;
    for (int lane = 0; lane < together; ++lane)
      for (int word = 0; word < bytes / 4; ++word)
        banks.insert(((lane / 4 * filterPitch(one.vector, one.steps) + lane % 4 * bytes) / 4 + word) % 32);
    EXPECT_EQ(banks.size(), 32u) << one.vector << " " << one.steps;
  }
}

TEST(PointwisePlans, AreCorrectedByRecordedTimes) {
  const Problem p = problemOf("32x56x56x24 f16 * 144x1x1x24 -> f16");
  for (const uint32_t major : {9u, 10u}) {
    Candidates asked;
    ASSERT_TRUE(findCandidates(p, deviceOf(major), {"pointwise", ""}, asked).ok());
    for (const Candidate& one : asked.all) {
      EXPECT_FALSE(one.isUntimed);
      EXPECT_EQ(one.correction != 1, major == 9) << describe(one) << ": only Hopper was recorded";
    }
  }
}

}  // namespace
}  // namespace shiftconv::plan
