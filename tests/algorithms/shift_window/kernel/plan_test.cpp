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
      {[](Problem& p) { p.d = 9, p.t = 8; }, "T of at most 7"},
      {[](Problem& p) { p.d = 3, p.t = 2, p.padFront = p.padBack = 1; }, "pad_front + pad_back = 2"},
      {[](Problem& p) { p.d = 3, p.strideD = 2; }, "stride_d = 1"},
      {[](Problem& p) { p.inputType = DataType::F32; }, "multiplies f32 by f16"},
      {[](Problem& p) { p.inputType = p.filterType = DataType::E2M3, p.c = 128; }, "input_type is e2m3"},
      {[](Problem& p) { p.inputType = DataType::E4M3, p.filterType = DataType::E2M1, p.c = 128; }, "filter_type is e2m1"},
      {[](Problem& p) {
         p.inputType = p.filterType = DataType::E4M3, p.inputScale = p.filterScale = {32, DataType::UE8M0, ScaleOrder::Plain};
       },
       "block scales"},
      {[](Problem& p) { p.groups = 2; }, "groups = 1"},
      {[](Problem& p) { p.c = 60; }, "C to be a multiple of 8"},
      {[](Problem& p) { p.inputPixelPitch = 68; }, "input_pixel_pitch"},
      {[](Problem& p) { p.h = p.w = 1 << 15, p.n = 2; }, "N*D*H*W"},
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
  choices.clusters = 0;
  EXPECT_NE(planShiftWindow(plain(), smallBlackwell(), choices, plan).find("ctas"), std::string::npos);
  choices = {};
  choices.residentWeights = true;  // 7*7*16 tiles of the filter: more than a CTA has stages for
  EXPECT_NE(planShiftWindow(makeProblem(1, 56, 56, 1024, 64, 7, 7, {3, 3, 3, 3}), smallBlackwell(), choices, plan).find("resident"),
            std::string::npos);
}

/// Weights that do not stay take four operand stages and two of the filter: a byte less than these need, and there is no plan.
TEST(ShiftWindowPlan, TakesTheLeastSharedMemoryThatItsStagesNeed) {
  const Problem problem = makeProblem(1, 56, 56, 1024, 192, 3, 3, {1, 1, 1, 1});
  for (const bool pair : {false, true})
    for (const int32_t tileN : {32, 96, 192}) {
      SCOPED_TRACE(testing::Message() << tileN << (pair ? " in pairs" : ""));
      const int32_t ctas = pair ? 2 : 1;
      ShiftWindowChoices choices;
      choices.tileN = tileN, choices.pair = pair, choices.residentWeights = false;
      device::Properties properties = smallBlackwell();
      properties.sharedBytesPerBlock = static_cast<uint32_t>(kernels::sharedBytes(4, 2, tileN, ctas));
      ShiftWindowPlan plan;
      ASSERT_EQ(planShiftWindow(problem, properties, choices, plan), "");
      EXPECT_EQ(plan.params.filter.stages, 2);
      EXPECT_EQ(plan.params.operandStages, 4);
      EXPECT_EQ(plan.launch.dynamicSharedBytes, properties.sharedBytesPerBlock);
      --properties.sharedBytesPerBlock;
      EXPECT_NE(planShiftWindow(problem, properties, choices, plan).find("leaves no room: 2 filter stages"), std::string::npos)
          << planShiftWindow(problem, properties, choices, plan);
    }
}

TEST(ShiftWindowPlan, EveryPlanFitsTheHardwareAndCoversTheProblem) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  int stagedPlans = 0;
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
    const ShiftWindowChoices choices{.pair = between(0, 1) == 1};
    ASSERT_EQ(planShiftWindow(p, properties, choices, plan), "");
    ASSERT_EQ(planShiftWindow(p, properties, choices, again), "");
    EXPECT_EQ(plan.describe(), again.describe()) << "not deterministic";

    const kernels::ShiftWindowParams& k = plan.params;
    const int32_t ctas = *choices.pair ? 2 : 1;
    EXPECT_EQ(plan.launch.cluster.x, static_cast<uint32_t>(ctas));
    EXPECT_LE(plan.launch.dynamicSharedBytes, properties.sharedBytesPerBlock);
    EXPECT_LE(kernels::kAccumulators * kernels::accumulatorColumns(k.tileN) + kernels::kOperandSlots * kernels::kSlotColumns,
              kernels::kTensorColumns);
    EXPECT_EQ(k.tileN % 16, 0);
    EXPECT_GE(int64_t{plan.launch.grid.y} * k.tileN, p.k);
    EXPECT_LT(int64_t{plan.launch.grid.y - 1} * k.tileN, p.k) << "a pass without output channels";
    const int64_t anchors = int64_t{ctas} * kernels::kWindows * kernels::usefulLanes(k.filterWidth);
    EXPECT_GE(k.tiles * anchors, p.n * p.h * p.w);
    EXPECT_LT((k.tiles - 1) * anchors, p.n * p.h * p.w) << "a tile without pixels";
    EXPECT_GE(plan.launch.grid.x, 1u);
    EXPECT_LE(plan.launch.grid.x, static_cast<uint32_t>(k.tiles * ctas));
    // Neither a stage too many nor one too few: what is left holds no further one.
    const auto sharedWith = [&](int32_t operandStages, int32_t filterStages) {
      return kernels::sharedBytes(operandStages, filterStages, k.tileN, ctas, k.stagingTileBytes);
    };
    EXPECT_EQ(plan.launch.dynamicSharedBytes, sharedWith(k.operandStages, k.filter.stages));
    // Two tiles of 32 rows of 32 columns for each of four warps, where rows leave no gaps and a pass begins with a box of its own.
    EXPECT_TRUE(k.stagingTileBytes == 0 || k.stagingTileBytes == 32u * 32 * bytesOf(p.outputType));
    EXPECT_EQ(plan.output.rank, k.stagingTileBytes == 0 ? 0u : 3u);
    const bool mayStage = p.q() == p.w && (p.k <= k.tileN || k.tileN % 32 == 0);
    EXPECT_TRUE(mayStage || k.stagingTileBytes == 0);
    stagedPlans += k.stagingTileBytes != 0;
    EXPECT_LE(k.operandStages, kernels::kMaximumOperandStages);
    EXPECT_LE(k.filter.stages, kernels::kMaximumFilterStages);
    if (k.filter.resident) {
      EXPECT_EQ(k.filter.stages, p.r * p.s * k.channelChunks);
      EXPECT_GE(k.operandStages, 3);
      EXPECT_TRUE(k.operandStages == kernels::kMaximumOperandStages ||
                  sharedWith(k.operandStages + 1, k.filter.stages) > properties.sharedBytesPerBlock);
    } else {
      EXPECT_EQ(k.operandStages, 4);
      EXPECT_GE(k.filter.stages, 2);
      EXPECT_TRUE(k.filter.stages == kernels::kMaximumFilterStages ||
                  sharedWith(k.operandStages, k.filter.stages + 1) > properties.sharedBytesPerBlock);
    }
    if (plan.tiles() <= 40) {
      plan::Traffic sum = plan.ofCluster() * plan.clusters();
      for (int64_t tile = 0; tile < plan.tiles(); ++tile) sum += plan.ofTile(tile);
      EXPECT_EQ(sum, plan.traffic) << describe(sum) << "\n" << describe(plan.traffic);
    }
    constexpr int32_t kChunk = 64, kSlice = 16;  // elements of 16 bits in 128 and in 32 bytes
    EXPECT_GE((k.channelChunks - 1) * kChunk + k.lastChunkSlices * kSlice, p.c);
    EXPECT_LT((k.channelChunks - 1) * kChunk + (k.lastChunkSlices - 1) * kSlice, p.c);
  }
  EXPECT_GT(stagedPlans, 20);
}

/// The only cut with these choices, of single CTAs unless they say otherwise.
plan::ShiftWindowCut cutOf(const Problem& p, uint32_t multiprocessors, ShiftWindowChoices choices) {
  choices.pair = choices.pair.value_or(false);
  std::vector<plan::ShiftWindowCut> cuts;
  EXPECT_EQ(shiftWindowCuts(p, smallBlackwell(multiprocessors), choices, cuts), "");
  EXPECT_EQ(cuts.size(), 1u);
  return cuts.at(0);
}

// 3x3 over 64 channels: 9 taps of 4 slices are 36 MMAs. With the rates of a B200 (rates.cpp):
//   tensor core 36*64/2 = 1152 clocks; L2 3*128 rows of 128 bytes at 70 = 702; writes at 120 = 410; copies 3*4*4096 bytes at 64 =
//   768; reads of the copies and of 36*64 filter rows of 32 bytes at 128 = 960.
// 3136 pixels are 27 tiles of 120, one for each of 27 CTAs. The filter stays: 9*64 rows of 128 bytes at 120 = 614.4 clocks, once.
TEST(ShiftWindowModel, IsWhatTheRatesSayByHand) {
  const auto cut = cutOf(plain(), 148, {.tileN = 64, .clusters = {}, .residentWeights = true});
  EXPECT_DOUBLE_EQ(cut.clocksPerTile, 1152);
  EXPECT_EQ(cut.bound, plan::Resource::TensorCore);
  EXPECT_EQ(cut.clusters, 27);
  EXPECT_DOUBLE_EQ(cut.clocks, 1152 + 614.4);
  EXPECT_EQ(cut.stagingTileBytes, 4096);
  // 32 KiB of staged outputs and 9 filter stages of 8 KiB leave (224 - 32 - 72) / 16 = 7.5.
  EXPECT_EQ(cut.operandStages, 7);
  EXPECT_EQ(cut.filterStages, 9);
  // Twice the channels: 18 filter stages leave (224 - 32 - 144) / 16 = 3 operand stages, the fewest.
  EXPECT_EQ(cutOf(makeProblem(1, 56, 56, 128, 64, 3, 3, {1, 1, 1, 1}), 148, {.tileN = 64, .clusters = {}, .residentWeights = {}})
                .operandStages,
            3);
}

// A pair has the same products in each CTA, but each reads half of the filter's columns: 36*32 rows of 32 bytes. 3136 pixels are 14
// tiles of 240. The filter is 307.2 clocks of writes in each CTA.
TEST(ShiftWindowModel, HalvesTheFilterInPairs) {
  const auto cut = cutOf(plain(), 148, {.tileN = 64, .residentWeights = true, .pair = true});
  EXPECT_DOUBLE_EQ(cut.clocksPerTile, 1152);
  EXPECT_EQ(cut.clusters, 14);
  EXPECT_DOUBLE_EQ(cut.clocks, 1152 + 307.2);
  // 16 columns: reads of 3*4*4096 bytes and of 36*8 rows of 32 bytes at 128 take 456, the copies 768.
  EXPECT_DOUBLE_EQ(cutOf(plain(), 148, {.tileN = 16, .residentWeights = true, .pair = true}).clocksPerTile, 768);
}

// 56 channels are rows of 112 bytes, which are 128 in sectors. Streamed weights: 3*128 + 9*192 = 2112 rows a tile from L2.
// Without the rounding the tensor core would bind: 36*192/2 = 3456 clocks against 2112*112/70 = 3379.
TEST(ShiftWindowModel, CountsWholeSectors) {
  const auto cut =
      cutOf(makeProblem(1, 56, 56, 56, 192, 3, 3, {1, 1, 1, 1}), 27, {.tileN = 192, .clusters = {}, .residentWeights = false});
  EXPECT_DOUBLE_EQ(cut.clocksPerTile, 2112.0 * 128 / 70);
  EXPECT_EQ(cut.bound, plan::Resource::L2ToShared);
  EXPECT_DOUBLE_EQ(cut.clocks, cut.clocksPerTile) << "27 CTAs of one tile, no filter to load once";
}

// The same on 148 multiprocessors, of which 121 have nothing to load: 27 get 70*148/27 bytes a clock each, but at most 122. So
// 2112*128/122 = 2216 clocks of loads hide behind the products.
TEST(ShiftWindowModel, LeavesL2ToThoseThatLoad) {
  const auto cut =
      cutOf(makeProblem(1, 56, 56, 56, 192, 3, 3, {1, 1, 1, 1}), 148, {.tileN = 192, .clusters = {}, .residentWeights = false});
  EXPECT_DOUBLE_EQ(cut.clocksPerTile, 3456);
  EXPECT_EQ(cut.bound, plan::Resource::TensorCore);
}

// One channel and one tap: 4 MMAs of 192 columns are 384 clocks, but 128*192 f32 outputs at 31.8 bytes a clock are 3091.
TEST(ShiftWindowModel, CountsStores) {
  Problem p = makeProblem(1, 56, 56, 8, 192, 1, 3, {0, 0, 1, 1});
  p.outputType = DataType::F32;
  const auto cut = cutOf(p, 148, {.tileN = 192, .clusters = {}, .residentWeights = true});
  EXPECT_NEAR(cut.clocksPerTile, 128 * 192 * 4 / 31.8, 1e-9);
  EXPECT_EQ(cut.bound, plan::Resource::BulkStores);
  // Launch, start and end, and the outputs once more.
  EXPECT_NEAR(cut.clocksAround, 2405 + 1900 + 128 * 192 * 4 / 31.8, 1e-9);
}

// Three passes on two multiprocessors take two waves; 27 CTAs of one tile on two take 14.
TEST(ShiftWindowModel, CountsWaves) {
  const auto passes =
      cutOf(makeProblem(1, 56, 56, 64, 48, 3, 3, {1, 1, 1, 1}), 2, {.tileN = 16, .clusters = {}, .residentWeights = true});
  EXPECT_EQ(passes.passes, 3);
  EXPECT_EQ(passes.clusters, 1);
  // A tile of 16 output channels is bound by the copies, 768 clocks; the filter's 9*16 rows take 153.6.
  EXPECT_DOUBLE_EQ(passes.clocksPerTile, 768);
  EXPECT_DOUBLE_EQ(passes.clocks, 2 * (27 * 768 + 153.6));
  const auto many = cutOf(plain(), 2, {.tileN = 64, .clusters = 27, .residentWeights = true});
  EXPECT_DOUBLE_EQ(many.clocks, 14 * (1152 + 614.4));
}

// 3x2 taps over 10 x 30 pixels of 72 channels: 144 bytes, which are a chunk of 64 channels and one with a single slice, 5 slices in
// all. 40 outputs take two passes of 32. Windows lie 31 pixels apart, so that 4 of them make a tile of 124, and 300 pixels 3 tiles.
TEST(ShiftWindowTraffic, IsCountedByHand) {
  const Problem p = makeProblem(1, 10, 30, 72, 40, 3, 2, {1, 1, 0, 1});
  ShiftWindowPlan streamed, resident;
  const ShiftWindowChoices choices{.tileN = 32, .clusters = 2, .residentWeights = false, .pair = false};
  ASSERT_EQ(planShiftWindow(p, smallBlackwell(4), choices, streamed), "");
  const int64_t tiles = 3, passes = 2, taps = 6, slices = 5, chunks = 2;
  const plan::Traffic& t = streamed.traffic;
  EXPECT_EQ(t.mmas, tiles * passes * taps * slices);
  EXPECT_EQ(t.shifts, 0) << "taps come by .ashift";
  EXPECT_EQ(t.products, t.mmas * 128 * 32 * 16);
  EXPECT_EQ(t.multiplyReadBytes, t.mmas * 32 * 32) << "the filter; activations come from Tensor Memory";
  EXPECT_EQ(t.copyReadBytes, tiles * passes * 3 * slices * 128 * 32) << "once for each filter row";
  EXPECT_EQ(t.writtenBytes, tiles * passes * (3 * chunks * 128 * 128 + taps * chunks * 32 * 128));
  EXPECT_EQ(t.filterBytes, tiles * taps * 40 * 144) << "columns past K are filled with zeros";
  // The row above begins 30 pixels before the tensor: of its windows of 32 pixels the first holds 2 of it, nine are inside, one
  // has 20, one none. The row itself: nine, and 21. The row below: eight, and 22.
  EXPECT_EQ(t.activationBytes, passes * (2 + 9 * 32 + 20 + 9 * 32 + 21 + 8 * 32 + 22) * 144);
  EXPECT_EQ(t.multipliedRows, tiles * passes * 128);
  EXPECT_EQ(t.storedRows, passes * 300);
  EXPECT_EQ(t.scaleBytes, 0);

  // Resident weights are loaded by each of two CTAs once, in both passes together.
  ShiftWindowChoices other = choices;
  other.residentWeights = true;
  ASSERT_EQ(planShiftWindow(p, smallBlackwell(4), other, resident), "");
  plan::Traffic expected = t;
  expected.filterBytes = 2 * taps * 40 * 144;
  expected.writtenBytes = tiles * passes * 3 * chunks * 128 * 128 + 2 * passes * taps * chunks * 32 * 128;
  EXPECT_EQ(resident.traffic, expected) << describe(resident.traffic);
}

// A pair's tile is 248 pixels, of which 300 are two; its CTAs multiply together and have half of the filter's columns each.
TEST(ShiftWindowTraffic, OfPairsIsCountedByHand) {
  const Problem p = makeProblem(1, 10, 30, 72, 40, 3, 2, {1, 1, 0, 1});
  ShiftWindowPlan plan;
  ASSERT_EQ(planShiftWindow(p, smallBlackwell(4), {.tileN = 32, .clusters = 2, .residentWeights = true, .pair = true}, plan), "");
  const plan::Traffic& t = plan.traffic;
  EXPECT_EQ(t.mmas, 2 * 2 * 6 * 5);
  EXPECT_EQ(t.products, t.mmas * 256 * 32 * 16);
  EXPECT_EQ(t.multiplyReadBytes, t.mmas * 32 * 32);
  EXPECT_EQ(t.copyReadBytes, 2 * 2 * 3 * 5 * 256 * 32);
  EXPECT_EQ(t.writtenBytes, 2 * 2 * 3 * 2 * 256 * 128 + 2 * 2 * 6 * 2 * 32 * 128) << "each CTA has half of the filter's columns";
  EXPECT_EQ(t.filterBytes, 2 * 6 * 40 * 144);
  EXPECT_EQ(t.multipliedRows, 2 * 2 * 256);
  EXPECT_EQ(t.storedRows, 2 * 300);
}

// The tail of a stream of weights costs L2 traffic for every tile, so the planner cuts K until the weights fit.
TEST(ShiftWindowPlan, KeepsWeightsResidentWhereThatIsCheaper) {
  ShiftWindowPlan plan;
  ASSERT_EQ(planShiftWindow(makeProblem(128, 28, 28, 128, 128, 3, 3, {1, 1, 1, 1}), smallBlackwell(148), {.pair = false}, plan),
            "");
  EXPECT_TRUE(plan.params.filter.resident);
  EXPECT_EQ(plan.params.tileN, 64);
  EXPECT_EQ(plan.launch.grid.y, 2u);
}

}  // namespace
}  // namespace shiftconv::tests
