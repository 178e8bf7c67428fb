// Which kernels `direct`, `gathered`, `im2col_sm90` and `channelwise` take: the widest vectors that channels, pitches, groups and
// inputs in two tensors allow.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "conv/algorithms/channelwise/plan.hpp"
#include "conv/algorithms/direct/algorithm.hpp"
#include "conv/algorithms/gathered/plan.hpp"
#include "conv/algorithms/im2col_sm90/plan.hpp"
#include "tests/conv/planned_problem.hpp"

namespace shiftconv::plan {
namespace {

/// Vectors have 16 bytes, of 8-bit floats 8; a thread has 4 output channels, which are of one group.
TEST(DirectPlans, LoadVectorsWhereAllIsMadeOfThem) {
  for (const auto& [text, kernel] : {std::pair{"1x7x5x16 f16 * 4x3x3x16 -> f16", "direct_f16_f16_vector"},
                                     {"1x7x5x12 f16 * 4x3x3x12 -> f16", "direct_f16_f16_scalar"},
                                     {"1x7x5x12 f32 * 4x3x3x12 -> f32", "direct_f32_f32_vector"},
                                     {"1x7x5x14 f32 * 4x3x3x14 -> f32", "direct_f32_f32_scalar"},
                                     {"1x7x5x24 e4m3 * 4x3x3x24 e5m2 -> f16", "direct_e4m3_e5m2_vector"},
                                     {"1x7x5x20 e4m3 * 4x3x3x20 e5m2 -> f16", "direct_e4m3_e5m2_scalar"},
                                     {"1x7x5x48 u8 * 4x3x3x48 s8 -> s32", "direct_u8_s8_vector"},
                                     {"1x7x5x40 u8 * 4x3x3x40 s8 -> s32", "direct_u8_s8_scalar"},
                                     // Pixels further apart.
                                     {"1x7x5x16 bf16 pitch 24 * 4x3x3x16 f16 -> f16", "direct_bf16_f16_vector"},
                                     {"1x7x5x16 bf16 pitch 20 * 4x3x3x16 f16 -> f16", "direct_bf16_f16_scalar"},
                                     // Groups: their input channels, and their outputs.
                                     {"1x7x5x48 f16 * 8x3x3x24 groups 2 -> f16", "direct_f16_f16_vector"},
                                     {"1x7x5x24 f16 * 8x3x3x12 groups 2 -> f16", "direct_f16_f16_scalar"},
                                     {"1x7x5x48 f16 * 12x3x3x24 groups 2 -> f16", "direct_f16_f16_scalar"},
                                     {"1x7x5x48 f16 * 6x3x3x48 -> f16", "direct_f16_f16_vector"},
                                     // Two tensors: where the second begins, and its pitch.
                                     {"1x7x5x40 f16 split_c 24 * 4x3x3x40 -> f16", "direct_f16_f16_vector"},
                                     {"1x7x5x40 f16 split_c 20 * 4x3x3x40 -> f16", "direct_f16_f16_scalar"},
                                     {"1x7x5x40 f16 split_c 25 * 4x3x3x40 -> f16", "direct_f16_f16_scalar"},
                                     {"1x7x5x40 f16 split_c 24 second_pitch 32 * 4x3x3x40 -> f16", "direct_f16_f16_vector"},
                                     {"1x7x5x40 f16 split_c 24 second_pitch 20 * 4x3x3x40 -> f16", "direct_f16_f16_scalar"},
                                     {"1x7x5x40 f16 split_c 24 second_pitch 25 * 4x3x3x40 -> f16", "direct_f16_f16_scalar"}}) {
    ASSERT_EQ(directRefusal(problemOf(text), deviceOf(9)), "") << text;
    const DirectPlan plan = planDirect(problemOf(text), deviceOf(9));
    EXPECT_EQ(plan.kernelName, kernel) << text;
    EXPECT_EQ(plan.params.partCount, problemOf(text).isSplit() ? 2 : 1) << text;
  }
}

/// 128 threads with 4 pixels and 4 channels each; most of them along the channels where groups are small.
TEST(DirectPlans, ShareTheirThreadsBetweenPixelsAndChannels) {
  for (const auto& [text, threads, gridX, gridY] : {std::tuple{"3x7x50x16 f16 * 3x1x1x16 -> f16", 1u, 3u, 1u},
                                                    {"3x7x50x16 f16 * 8x1x1x16 -> f16", 2u, 5u, 1u},
                                                    {"3x7x50x16 f16 * 100x1x1x16 -> f16", 2u, 5u, 13u},
                                                    {"3x7x50x16 f16 * 100x1x1x8 groups 2 -> f16", 2u, 5u, 13u},
                                                    {"3x7x50x14 f16 * 36x1x1x7 groups 2 -> f16", 16u, 33u, 1u},
                                                    {"3x7x50x96 f16 * 96x1x1x1 groups 96 -> f16", 32u, 66u, 1u},
                                                    {"3x7x50x160 f16 * 160x1x1x1 groups 160 -> f16", 32u, 66u, 2u}}) {
    const DirectPlan plan = planDirect(problemOf(text), deviceOf(9));
    EXPECT_EQ(plan.params.channelThreads, threads) << text;
    EXPECT_EQ(plan.launch.grid.x, gridX) << text;
    EXPECT_EQ(plan.launch.grid.y, gridY) << text;
    EXPECT_EQ(plan.launch.block.x, 128u);
  }
}

/// Vectors of 16 bytes, of 8 with 16-bit elements, of 4, or of one element; of a tap's channels, or of a filter row's where pixels
/// lie end to end and all of its begins are multiples of them.
TEST(GatheredPlans, GatherTheWidestVectors) {
  for (const auto& [text, bytes, runs] : {std::tuple{"1x7x9x24 f16 * 8x3x3x24 pad 1,1,1,1 -> f16", 16, false},
                                          {"1x7x9x12 f16 * 8x3x3x12 pad 1,1,1,1 -> f16", 8, false},
                                          {"1x7x9x6 f16 * 8x3x3x6 pad 1,1,1,1 -> f16", 4, false},
                                          {"1x7x9x5 f16 * 8x3x3x5 pad 1,1,1,1 -> f16", 2, false},
                                          {"1x7x9x24 e4m3 * 8x3x3x24 -> f16", 4, false},
                                          {"1x7x9x32 e4m3 * 8x3x3x32 -> f16", 16, false},
                                          {"1x7x9x5 s8 * 8x3x3x5 -> s32", 1, false},
                                          {"1x7x9x6 f32 * 8x3x3x6 compute tf32 -> f32", 4, false},
                                          {"1x7x9x12 f32 * 8x3x3x12 compute tf32 -> f32", 16, false},
                                          {"1x7x9x24 f16 pitch 28 * 8x3x3x24 -> f16", 8, false},
                                          {"1x7x9x48 f16 * 8x3x3x24 groups 2 -> f16", 16, false},
                                          {"1x7x9x24 f16 * 8x3x3x12 groups 2 -> f16", 8, false},
                                          {"1x7x9x40 f16 split_c 24 * 8x3x3x40 -> f16", 16, false},
                                          {"1x7x9x40 f16 split_c 20 * 8x3x3x40 -> f16", 8, false},
                                          {"1x7x9x40 f16 split_c 24 second_pitch 18 * 8x3x3x40 -> f16", 4, false},
                                          // Rows of 4 taps of 3 channels: 24 bytes.
                                          {"1x7x16x3 f16 * 8x3x4x3 stride 1,4 -> f16", 8, true},
                                          {"1x7x16x3 f16 * 8x3x4x3 stride 3,4 pad 1,1,4,0 -> f16", 8, true},
                                          {"1x7x16x3 f16 * 8x3x4x3 stride 1,4 pad 0,0,2,0 -> f16", 4, true},
                                          {"1x7x16x3 f16 * 8x3x4x3 stride 1,4 pad 0,0,1,0 -> f16", 2, false},
                                          {"1x7x16x3 f16 * 8x3x4x3 stride 1,2 -> f16", 4, true},
                                          {"1x7x16x3 f16 * 8x3x4x3 stride 1,1 -> f16", 2, false},
                                          {"1x7x18x3 f16 * 8x3x4x3 stride 1,4 -> f16", 4, true},
                                          {"1x7x17x3 f16 * 8x3x4x3 stride 1,4 -> f16", 2, false},
                                          {"1x7x16x3 f16 * 8x3x2x3 stride 1,4 -> f16", 4, true},
                                          {"1x7x16x3 f16 * 8x3x4x3 stride 1,4 dilation 1,2 -> f16", 2, false},
                                          {"1x7x16x3 f16 pitch 5 * 8x3x4x3 stride 1,4 -> f16", 2, false},
                                          {"1x7x16x3 f16 upsample 1,2 * 8x3x4x3 stride 1,4 -> f16", 2, false},
                                          {"1x7x16x6 f16 * 8x3x4x3 groups 2 stride 1,4 -> f16", 2, false},
                                          {"1x7x16x4 f16 * 8x3x4x4 stride 1,4 -> f16", 16, true},
                                          {"1x7x16x8 f16 * 8x3x4x8 stride 1,4 -> f16", 16, false},
                                          {"1x7x16x4 f16 * 8x3x1x4 stride 1,4 -> f16", 8, false}}) {
    SCOPED_TRACE(text);
    const Problem problem = problemOf(text);
    ASSERT_EQ(gatheredRefusal(problem, deviceOf(9)), "");
    const auto plans = gatheredCandidates(problem, deviceOf(9));
    std::set<std::string_view> tiles;
    for (const GatheredPlan& plan : plans) {
      tiles.insert(gatheredTileNames()[plan.tile]);
      EXPECT_EQ(plan.vectorBytes, bytes);
      EXPECT_EQ(plan.params.runs, runs);
      EXPECT_TRUE(plan.kernelName.ends_with("_v" + std::to_string(bytes))) << plan.kernelName;
      const int64_t row = problem.t * problem.r * problem.s * problem.groupChannels() * bytesOf(problem.inputType);
      EXPECT_EQ(int64_t{plan.params.taps} * plan.params.tapVectors.divisor * bytes, row) << "every weight once";
    }
    // Narrow vectors have one tile, and the largest is of 16-bit elements.
    std::set<std::string_view> expected{"128x64"};
    if (bytes == 16) expected.insert({"64x64", "128x32"});
    if (bytes == 16 && bytesOf(problem.inputType) == 2) expected.insert("128x128");
    EXPECT_EQ(tiles, expected);
  }
}

/// Taps outside of the image are left out: what they leave takes as long as a filter of one tap with as many channels. 64 channels
/// are a step.
TEST(GatheredPlans, CountTheTapsThatReachTheImage) {
  for (const auto& [text, same] :
       {// Tap 0 reaches one row of four, tap 1 all: 8 * 5/4 steps.
        std::pair{"1x4x40x512 f16 * 32x2x1x512 pad 3,0,0,0 dilation 3,1 -> f16", "1x4x40x640 f16 * 32x1x1x640 -> f16"},
        {"1x4x40x512 f16 * 32x2x1x512 pad 0,3,0,0 dilation 3,1 -> f16", "1x4x40x640 f16 * 32x1x1x640 -> f16"},
        {"1x4x1x40x512 f16 * 32x2x1x1x512 pad 3,0,0,0,0,0 dilation 3,1,1 -> f16", "1x4x40x640 f16 * 32x1x1x640 -> f16"},
        {"1x4x1x40x512 f16 * 32x2x1x1x512 pad 0,3,0,0,0,0 dilation 3,1,1 -> f16", "1x4x40x640 f16 * 32x1x1x640 -> f16"},
        // Of every other row tap 0 reaches none.
        {"1x4x40x512 f16 * 32x2x1x512 pad 3,0,0,0 stride 2,1 dilation 3,1 -> f16", "1x2x40x512 f16 * 32x1x1x512 -> f16"},
        // All taps of both rows.
        {"1x3x40x512 f16 * 32x2x1x512 -> f16", "1x2x40x1024 f16 * 32x1x1x1024 -> f16"},
        // One tap of four.
        {"1x1x40x512 f16 * 32x4x1x512 pad 3,0,0,0 -> f16", "1x1x40x512 f16 * 32x1x1x512 -> f16"},
        {"1x1x40x512 f16 * 32x4x1x512 pad 0,3,0,0 -> f16", "1x1x40x512 f16 * 32x1x1x512 -> f16"},
        // Repeated rows: of four, tap 0 reaches one.
        {"1x2x40x512 f16 upsample 2,1 * 32x2x1x512 pad 3,0,0,0 dilation 3,1 -> f16", "1x4x40x640 f16 * 32x1x1x640 -> f16"}}) {
    SCOPED_TRACE(text);
    std::map<size_t, double> clocks;
    for (const GatheredPlan& plan : gatheredCandidates(problemOf(same), deviceOf(9))) clocks[plan.tile] = plan.modelledClocks;
    ASSERT_EQ(clocks.size(), 4u);
    for (const GatheredPlan& plan : gatheredCandidates(problemOf(text), deviceOf(9)))
      EXPECT_NEAR(plan.modelledClocks, clocks[plan.tile], 1e-9 * clocks[plan.tile]) << plan.describe();
  }
}

/// Rows of outputs and residuals are whole 16 bytes, or stored and read in smaller pieces.
TEST(Im2colPlans, HavePiecesThatDivideAllRows) {
  for (const auto& [text, bytes] : {std::pair{"1x9x9x64 f16 * 40x3x3x64 -> f16", 16},
                                    {"1x9x9x64 f16 * 36x3x3x64 -> f16", 8},
                                    {"1x9x9x64 f16 * 38x3x3x64 -> f16", 4},
                                    {"1x9x9x64 f16 * 36x3x3x64 -> f16 pitch 40", 8},
                                    {"1x9x9x64 f16 * 40x3x3x64 -> f16 pitch 44", 8},
                                    {"1x9x9x64 f16 * 40x3x3x64 -> f16 pitch 48", 16},
                                    {"1x9x9x64 f16 * 40x3x3x64 -> f16 residual 1", 16},
                                    {"1x9x9x64 f16 * 40x3x3x64 -> f16 residual 1 residual_pitch 42", 4},
                                    {"1x9x9x64 f16 * 40x3x3x64 -> f16 residual 1 residual_pitch 48", 16},
                                    {"1x9x9x64 e4m3 * 48x3x3x64 -> e4m3", 16},
                                    {"1x9x9x64 e4m3 * 40x3x3x64 -> e4m3", 8},
                                    {"1x9x9x64 e4m3 * 48x3x3x64 -> e4m3 pitch 52", 4}}) {
    const auto plans = sm90::im2colCandidates(problemOf(text), deviceOf(9));
    ASSERT_FALSE(plans.empty()) << text;
    for (const sm90::Im2colPlan& plan : plans) EXPECT_EQ(plan.params.pieceBytes, bytes) << text << ": " << plan.describe();
  }
}

/// Weights that a CTA stages have room in what every kernel may have, and are those of its channels.
TEST(ChannelwisePlans, StageNoMoreWeightsThanThereIsRoomFor) {
  for (const auto& [text, staged] : {std::pair{"1x9x70x256 f16 * 256x3x3x1 groups 256 pad 1,1,1,1 -> f16", true},
                                     {"1x9x70x256 f16 * 256x15x13x1 groups 256 pad 7,7,6,6 -> f16", true},
                                     {"1x40x70x8 f32 * 8x33x41x1 groups 8 pad 16,16,20,20 -> f32", true},
                                     {"1x40x70x256 f32 * 256x33x41x1 groups 256 pad 16,16,20,20 -> f32", false},
                                     {"1x40x70x3 f16 * 3x151x163x1 groups 3 pad 75,75,81,81 -> f16", false}}) {
    const Problem p = problemOf(text);
    const auto plans = channelwiseCandidates(p, deviceOf(9), {});
    ASSERT_FALSE(plans.empty()) << text;
    bool any = false;
    for (const ChannelwisePlan& plan : plans) {
      any |= plan.staged();
      EXPECT_LE(plan.params.weightBytes, 48u * 1024) << text << ": " << plan.describe();
      if (plan.kind->form == kernels::channelwise::Form::Long) continue;  // words of some filter rows
      EXPECT_EQ(plan.params.weightBytes % static_cast<uint32_t>(p.t * p.r * p.s * bytesOf(p.inputType)), 0u) << plan.describe();
    }
    EXPECT_EQ(any, staged) << text;
  }
}

/// The form long stages some filter rows at a time, as many as a CTA has room for beside others, in pieces of nearly one size.
/// Worked out by hand: a word of 32 channels is 36 words (four channels a thread) or 34 (two) from the next.
TEST(ChannelwisePlans, StageLongFiltersInPieces) {
  struct Pieces {
    const char* text;
    int32_t channels, ctaChannels, rows;
    uint32_t rowWords, bytes;
  };
  for (const auto& [text, channels, ctaChannels, rows, rowWords, bytes] :
       {Pieces{"1x9x70x256 f16 * 256x15x13x1 groups 256 pad 7,7,6,6 -> f16", 4, 32, 8, 13, 8 * 13 * 36 * 4},
        Pieces{"1x9x70x256 f16 * 256x15x13x1 groups 256 pad 7,7,6,6 -> f16", 2, 32, 8, 13, 8 * 13 * 34 * 4},
        Pieces{"1x40x70x64 s8 * 64x31x30x1 s8 groups 64 pad 15,15,15,15 -> s8", 4, 64, 11, 8, 11 * 8 * 68 * 4},
        Pieces{"1x60x9x32 f16 * 32x9x1x1 groups 32 pad 4,4,0,0 -> f16", 4, 32, 1, 9, 9 * 36 * 4}}) {
    ChannelwiseChoices choices;
    choices.form = kernels::channelwise::Form::Long, choices.channels = channels, choices.threads = 128;
    choices.dependent = false;  // with the shared memory that it uses
    const auto plans = channelwiseCandidates(problemOf(text), deviceOf(9), choices);
    ASSERT_EQ(plans.size(), 1u) << text;
    EXPECT_EQ(plans[0].params.channelThreads.divisor * static_cast<uint32_t>(channels), static_cast<uint32_t>(ctaChannels)) << text;
    EXPECT_EQ(plans[0].params.stagedRows, rows) << text;
    EXPECT_EQ(plans[0].params.rowWords.divisor, rowWords) << text;
    EXPECT_EQ(plans[0].params.weightBytes, bytes) << text;
    EXPECT_EQ(plans[0].launch.dynamicSharedBytes, bytes) << text;
  }
}

/// Rows of fewer than eight taps, and pixels that no window slides along, have no plan of the form long; neither has the whole
/// epilogue.
TEST(ChannelwisePlans, AreLongForLongRowsAlone) {
  ChannelwiseChoices choices;
  choices.form = kernels::channelwise::Form::Long;
  for (const auto& [text, isLong] : {std::pair{"1x9x70x64 f16 * 64x1x8x1 groups 64 pad 0,0,4,3 -> f16", true},
                                     {"1x9x70x64 f16 * 64x1x7x1 groups 64 pad 0,0,3,3 -> f16", false},
                                     {"1x9x70x64 f16 * 64x9x7x1 groups 64 pad 4,4,3,3 -> f16", false},
                                     {"1x9x70x64 f16 * 64x9x1x1 groups 64 pad 4,4,0,0 -> f16", true},
                                     {"1x9x70x64 f16 * 64x1x9x1 groups 64 pad 0,0,4,4 stride 1,2 -> f16", false},
                                     {"1x9x70x63 f16 * 63x1x9x1 groups 63 pad 0,0,4,4 -> f16", false},
                                     {"1x9x70x64 f16 * 64x1x9x1 groups 64 pad 0,0,4,4 -> f32", false},
                                     {"1x21x9x7x64 f16 * 64x8x1x1x1 groups 64 pad 3,4,0,0,0,0 -> f16", true}})
    EXPECT_EQ(!channelwiseCandidates(problemOf(text), deviceOf(9), choices).empty(), isLong) << text;
}

/// Filters of one tap have plans of the form few where outputs lie as pixels do; a plane is one row to them then.
TEST(ChannelwisePlans, TakePlanesAsRowsWhereFiltersHaveOneTap) {
  ChannelwiseChoices choices;
  choices.form = kernels::channelwise::Form::Few;
  for (const auto& [text, isOneRow] : {std::pair{"2x9x7x64 f16 * 64x1x1x1 groups 64 -> f16", true},
                                       {"2x9x7x64 s8 * 64x1x1x1 s8 groups 64 -> s8 alpha 0.01", true},
                                       {"2x5x9x7x64 e4m3 * 64x1x1x1x1 e4m3 groups 64 stride 2,1,1 -> e4m3", true},
                                       {"2x9x7x64 f16 * 64x1x1x1 groups 64 stride 1,2 -> f16", false},
                                       {"2x9x7x64 f16 * 64x1x1x1 groups 64 pad 1,0,0,0 -> f16", false},
                                       {"2x9x7x64 f16 * 64x1x1x1 groups 64 pad 0,1,0,0 -> f16", false},
                                       {"2x9x7x63 f16 * 63x1x1x1 groups 63 -> f16", false},
                                       {"2x9x7x64 f16 * 64x1x1x1 groups 64 -> f32", false}}) {
    const auto plans = channelwiseCandidates(problemOf(text), deviceOf(9), choices);
    EXPECT_EQ(!plans.empty(), isOneRow) << text;
    for (const ChannelwisePlan& plan : plans) {
      EXPECT_EQ(plan.params.outputsAcross, 63) << text;
      EXPECT_EQ(plan.params.outputsDown, 1) << text;
    }
  }
}

}  // namespace
}  // namespace shiftconv::plan
