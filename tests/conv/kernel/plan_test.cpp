// The planner of shift_window: what it refuses and in which words, and what every plan must satisfy.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tests/conv/kernel/kernel_case.hpp"

namespace shiftconv::tests {
namespace {

using plan::planShiftWindow;
using plan::ShiftWindowChoices;
using plan::ShiftWindowPlan;
using plan::shiftWindowRefusal;

Problem plain() { return makeProblem(1, 56, 56, 64, 64, 3, 3, {1, 1, 1, 1}); }

TEST(ShiftWindowRefusal, AcceptsWhatTheKernelComputes) {
  EXPECT_EQ(shiftWindowRefusal(plain(), smallBlackwell()), "");
  for (const Problem& problem : kernelFixture()) EXPECT_EQ(shiftWindowRefusal(problem, smallBlackwell()), "");
}

TEST(ShiftWindowRefusal, NamesTheFieldAndTheLimit) {
  const struct {
    std::function<void(Problem&)> change;
    const char* words;
  } cases[] = {
      {[](Problem& p) { p.strideW = 2; }, "stride is 1x2"},
      {[](Problem& p) { p.strideH = 2; }, "stride is 2x1"},
      {[](Problem& p) { p.dilationW = 2; }, "dilation_w = 1"},
      {[](Problem& p) { p.s = 1, p.padLeft = p.padRight = 0; }, "S of 2 to 7"},
      {[](Problem& p) { p.s = 8; }, "S of 2 to 7"},
      {[](Problem& p) { p.r = 8; }, "R of at most 7"},
      {[](Problem& p) { p.padTop = 2; }, "pad_top + pad_bottom = 3"},
      {[](Problem& p) { p.padRight = 2; }, "pad_left + pad_right = 3"},
      {[](Problem& p) { p.inputType = DataType::F32; }, "input type is f32"},
      {[](Problem& p) { p.c = 60; }, "C is 60"},
      {[](Problem& p) { p.k = 12; }, "K is 12"},
      {[](Problem& p) { p.inputPixelPitch = 68; }, "input pixel pitch"},
      {[](Problem& p) { p.outputPixelPitch = 68; }, "output pixel pitch"},
      {[](Problem& p) { p.h = p.w = 1 << 15, p.n = 2; }, "N*H*W"},
  };
  for (const auto& one : cases) {
    Problem problem = plain();
    one.change(problem);
    EXPECT_NE(shiftWindowRefusal(problem, smallBlackwell()).find(one.words), std::string::npos)
        << "expected \"" << one.words << "\" in: " << shiftWindowRefusal(problem, smallBlackwell());
  }
}

TEST(ShiftWindowRefusal, AsksForADeviceWithTcgen05) {
  device::Properties hopper = smallBlackwell();
  hopper.computeMajor = 9;
  EXPECT_NE(shiftWindowRefusal(plain(), hopper).find("compute capability"), std::string::npos);
  device::Properties small = smallBlackwell();
  small.sharedBytesPerBlock = 48 * 1024;
  EXPECT_NE(shiftWindowRefusal(plain(), small).find("49152 bytes"), std::string::npos);
}

TEST(ShiftWindowPlan, RefusesChoicesItCannotMeet) {
  ShiftWindowPlan plan;
  ShiftWindowChoices choices;
  choices.tileN = 24;
  EXPECT_NE(planShiftWindow(plain(), smallBlackwell(), choices, plan).find("multiple of 16"), std::string::npos);
  choices.tileN = 208;
  EXPECT_NE(planShiftWindow(plain(), smallBlackwell(), choices, plan).find("192"), std::string::npos);
  choices = {};
  choices.ctas = 0;
  EXPECT_NE(planShiftWindow(plain(), smallBlackwell(), choices, plan).find("ctas"), std::string::npos);
  choices = {};
  choices.residentWeights = true;  // 7*7*16 tiles of the filter: more than a CTA has stages for
  EXPECT_NE(planShiftWindow(makeProblem(1, 56, 56, 1024, 64, 7, 7, {3, 3, 3, 3}), smallBlackwell(), choices, plan).find("resident"),
            std::string::npos);
}

TEST(ShiftWindowPlan, EveryPlanFitsTheHardwareAndCoversTheProblem) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (int i = 0; i < 2000; ++i) {
    const int64_t r = between(1, 7), s = between(2, 7);
    Problem p =
        makeProblem(between(1, 8), between(1, 300), between(1, 300), 8 * between(1, 200), 8 * between(1, 200), r, s, {0, 0, 0, 0});
    p.padTop = between(0, r - 1);
    p.padBottom = between(0, r - 1 - p.padTop);
    p.padLeft = between(0, s - 1);
    p.padRight = between(0, s - 1 - p.padLeft);
    if (p.p() < 1 || p.q() < 1) continue;
    const device::Properties properties = smallBlackwell(static_cast<uint32_t>(between(1, 160)));
    ASSERT_EQ(shiftWindowRefusal(p, properties), "");
    ShiftWindowPlan plan, again;
    ASSERT_EQ(planShiftWindow(p, properties, {}, plan), "");
    ASSERT_EQ(planShiftWindow(p, properties, {}, again), "");
    EXPECT_EQ(plan.describe(), again.describe()) << "not deterministic";

    const kernels::ShiftWindowParams& k = plan.params;
    EXPECT_LE(plan.launch.dynamicSharedBytes, properties.sharedBytesPerBlock);
    EXPECT_LE(kernels::kAccumulators * kernels::accumulatorColumns(k.tileN) + kernels::kOperandSlots * kernels::kSlotColumns,
              kernels::kTensorColumns);
    EXPECT_EQ(k.tileN % 16, 0);
    EXPECT_GE(int64_t{plan.launch.grid.y} * k.tileN, p.k);
    EXPECT_LT(int64_t{plan.launch.grid.y - 1} * k.tileN, p.k) << "a pass without output channels";
    EXPECT_GE(int64_t{k.tiles} * kernels::kWindows * kernels::usefulLanes(k.filterWidth), p.n * p.h * p.w);
    EXPECT_GE(plan.launch.grid.x, 1u);
    EXPECT_LE(plan.launch.grid.x, static_cast<uint32_t>(k.tiles));
    EXPECT_GE(k.operandStages, 2);
    EXPECT_LE(k.operandStages, kernels::kMaximumOperandStages);
    EXPECT_LE(k.filterStages, kernels::kMaximumFilterStages);
    if (k.filterResident) {
      EXPECT_EQ(k.filterStages, p.r * p.s * k.channelChunks);
    }
    EXPECT_GE((k.channelChunks - 1) * kernels::kChunkChannels + k.lastChunkSlices * kernels::kSliceChannels, p.c);
    EXPECT_LT((k.channelChunks - 1) * kernels::kChunkChannels + (k.lastChunkSlices - 1) * kernels::kSliceChannels, p.c);
  }
}

// The tail of a stream of weights costs L2 traffic for every tile, so the planner cuts K until the weights fit.
TEST(ShiftWindowPlan, KeepsWeightsResidentWhereThatIsCheaper) {
  ShiftWindowPlan plan;
  ASSERT_EQ(planShiftWindow(makeProblem(128, 28, 28, 128, 128, 3, 3, {1, 1, 1, 1}), smallBlackwell(148), {}, plan), "");
  EXPECT_TRUE(plan.params.filterResident);
  EXPECT_EQ(plan.params.tileN, 64);
  EXPECT_EQ(plan.launch.grid.y, 2u);
}

}  // namespace
}  // namespace shiftconv::tests
