// halo_sm100 below the public API: every kind, patches and row streams, one CTA and pairs, every schedule, resident and streamed
// filters, all geometry; and what the plan says of itself against what the emulator counts.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "common/device/embedded_ptx.hpp"
#include "conv/algorithms/halo_sm100/plan.hpp"
#include "halo_sm100_image.hpp"
#include "tests/conv/kernel/groups.hpp"
#include "tests/conv/kernel/judged_run.hpp"
#include "tests/support/one_kernel.hpp"

namespace shiftconv::tests::halo_sm100_test {
namespace {

using plan::sm100::HaloChoices;
using plan::sm100::HaloPlan;
using plan::sm100::haloRefusal;

struct HaloProblem {
  std::string name;
  Problem problem;
  HaloChoices choices;
};

using Add = std::function<void(std::string, Problem, HaloChoices)>;

/// Operands that the collector buffer keeps. Rows finish one by one where weights are resident, else chunk by chunk.
void addRowStreams(const Add& add) {
  const HaloChoices streams{.blockRows = 4}, streamed{.residentWeights = false, .blockRows = 6};
  add("rows_ragged", plain(2, 19, 21, 72, 64, 3, 3, 1), {.residentWeights = true, .collector = true, .blockRows = 5});
  add("rows_streamed_and_tail", plain(2, 17, 18, 200, 48, 3, 3, 1), {.residentWeights = false, .collector = true, .blockRows = 7});
  add("rows_longer_than_accumulators", plain(1, 37, 9, 40, 104, 3, 3, 1), {.tileN = 112, .blockRows = 37});
  add("rows_of_seven_by_seven", plain(1, 12, 15, 16, 16, 7, 7, 3), {.collector = true, .blockRows = 12});
  add("rows_one_filter_row", plain(2, 10, 14, 96, 40, 1, 3, 1), streams);
  Problem p = plain(2, 21, 22, 24, 32, 3, 5, 1);
  p.strideH = 2, p.strideW = 3, p.padLeft = 4, p.padRight = 1, p.padTop = 0, p.padBottom = 2;
  add("rows_strides_and_uneven_padding", p, streams);
  p = plain(1, 23, 19, 16, 32, 3, 2, 2);
  p.dilationH = 3, p.dilationW = 2, p.strideW = 2, p.strideH = 2;
  add("rows_dilation_and_stride", p, streamed);
  p = plain(1, 19, 9, 16, 32, 2, 1, 0);
  p.strideH = 3;  // rows that no tap reads
  add("rows_left_out", p, streams);
  p = plain(2, 5, 9, 32, 16, 3, 3, 1);
  p.d = 5, p.t = 3, p.padFront = 2, p.padBack = 1, p.strideD = 2, p.dilationD = 2;
  add("rows_three_dimensions", p, streams);
  for (const auto& [name, problem] : operandCases(plain(1, 17, 9, 96, 32, 3, 3, 1)))
    if (name == "tf32" || name == "e4m3_e5m2" || name == "s8_input_and_output_zero_points" || name == "f16_sums")
      add("rows_" + name, problem, streams);
  add("rows_f16_to_mxfp8", quantised(plain(2, 9, 11, 32, 72, 3, 3, 1), DataType::E4M3, 32, ScaleOrder::Interleaved),
      {.tileN = 32, .blockRows = 9});
}

void addBlockScales(const Add& add) {
  const DataType e4m3 = DataType::E4M3, e5m2 = DataType::E5M2, e3m2 = DataType::E3M2, e2m1 = DataType::E2M1,
                 ue8m0 = DataType::UE8M0;
  add("mxfp8_ragged", scaled(plain(2, 19, 21, 160, 64, 3, 3, 1), e4m3, e5m2, 32, ue8m0), {.residentWeights = true});
  Problem p = scaled(plain(1, 9, 17, 96, 104, 3, 3, 1), e5m2, e4m3, 32, ue8m0);
  p.inputScale.order = p.filterScale.order = ScaleOrder::Interleaved;
  add("mxfp8_interleaved_streamed_passes", p, {.tileN = 32, .residentWeights = false});
  add("mxfp6", scaled(plain(3, 7, 7, 128, 32, 3, 3, 1), e3m2, DataType::E2M3, 32, ue8m0), {});
  add("mxfp8_mxfp4", scaled(plain(1, 9, 9, 128, 40, 3, 3, 1), e4m3, e2m1, 32, ue8m0), {});
  add("mxfp4_wide", scaled(plain(1, 11, 9, 320, 160, 2, 3, 1), e2m1, e2m1, 32, ue8m0), {.tileN = 160});
  add("nvfp4_widest", scaled(plain(1, 9, 10, 96, 250, 3, 3, 1), e2m1, e2m1, 16, DataType::UE4M3), {.tileN = 256});
  p = scaled(plain(2, 11, 13, 64, 32, 3, 3, 1), e4m3, e4m3, 32, ue8m0);
  p.strideH = 2, p.strideW = 3, p.dilationW = 2, p.padLeft = 4, p.padRight = 3, p.padTop = 0, p.padBottom = 2;
  add("mxfp8_strides_dilation_padding", p, {});
  p = scaled(plain(2, 5, 9, 64, 32, 3, 3, 1), e2m1, e2m1, 16, DataType::UE4M3);
  p.d = 5, p.t = 3, p.padFront = 2, p.padBack = 1, p.strideD = 2, p.dilationD = 2;
  add("nvfp4_three_dimensions", p, {});
  add("mxfp8_to_mxfp8", quantised(scaled(plain(2, 9, 11, 64, 64, 3, 3, 1), e4m3, e4m3, 32, ue8m0), e4m3, 32, ScaleOrder::Plain),
      {});
}

/// One shape for each property.
std::vector<HaloProblem> makeHaloProblems() {
  std::vector<HaloProblem> all;
  const auto add = [&](std::string name, Problem p, HaloChoices choices = {}) { all.push_back({std::move(name), p, choices}); };
  const DataType f32 = DataType::F32, e4m3 = DataType::E4M3;
  add("ragged", plain(2, 19, 21, 64, 64, 3, 3, 1));
  add("streamed_and_tail", plain(1, 17, 18, 200, 48, 3, 3, 1), {.residentWeights = false});
  add("passes", plain(1, 9, 17, 40, 104, 3, 3, 1), {.tileN = 32});
  add("small_images", plain(5, 7, 7, 32, 32, 3, 3, 1));
  add("sixteen_images", plain(17, 1, 9, 16, 16, 1, 3, 0), {.tileImages = 16});
  add("one_by_one", plain(2, 10, 14, 96, 40, 1, 1, 0));
  add("seven_by_seven", plain(1, 12, 15, 16, 16, 7, 7, 3));
  add("one_pixel", plain(1, 1, 1, 8, 8, 3, 3, 1));
  Problem p = plain(3, 9, 13, 24, 40, 3, 3, 1);
  p.outputType = DataType::F16;
  add("two_images_to_f16", p, {.tileImages = 2});
  p = plain(11, 5, 11, 24, 48, 3, 3, 1);
  p.outputType = DataType::BF16;
  add("eight_images_to_bf16", p, {.tileImages = 8});
  add("passes_that_end_inside_of_a_box", plain(1, 9, 17, 40, 96, 3, 3, 1), {.tileN = 48});
  add("rows_of_no_whole_16_bytes", plain(1, 9, 17, 40, 29, 3, 3, 1));
  add("f16_to_mxfp6", quantised(plain(1, 9, 11, 32, 64, 3, 3, 1), DataType::E3M2, 32, ScaleOrder::Plain));
  p = plain(2, 21, 22, 24, 32, 3, 5, 1);
  p.strideH = 2, p.strideW = 3, p.padLeft = 4, p.padRight = 1, p.padTop = 0, p.padBottom = 2;
  add("strides_and_uneven_padding", p);
  p = plain(1, 20, 19, 16, 32, 3, 2, 2);
  p.dilationH = 3, p.dilationW = 2, p.strideW = 2, p.strideH = 2;
  add("dilation_and_stride", p, {.residentWeights = false});
  p = plain(1, 5, 6, 16, 16, 3, 3, 0);
  p.padTop = 4, p.padBottom = 3, p.padLeft = 5, p.padRight = 2;  // patches without any pixel
  add("padding_wider_than_the_filter", p);
  p = plain(2, 5, 9, 32, 16, 3, 3, 1);
  p.d = 5, p.t = 3, p.padFront = 2, p.padBack = 1, p.strideD = 2, p.dilationD = 2;
  add("three_dimensions", p);
  p = plain(2, 8, 9, 24, 24, 3, 3, 1);
  p.inputPixelPitch = 40, p.outputPixelPitch = 32, p.hasBias = true, p.activation = Activation::Relu, p.outputType = DataType::F16;
  add("pitches_bias_relu", p);
  const Problem small = plain(1, 17, 9, 96, 32, 3, 3, 1);
  for (const auto& [name, problem] : operandCases(small)) add(name, problem);
  p = typed(small, DataType::U8, DataType::U8, DataType::U8);
  p.inputZeroPoint = 130, p.filterZeroPoint = 3, p.outputZeroPoint = 128, p.outScale = 0.0009765625f, p.hasBias = true;
  p.padTop = 3, p.padRight = 2;
  p.strideW = 2;
  add("u8_zero_points_everywhere", p);
  add("f16_to_mxfp8", quantised(plain(2, 9, 11, 32, 72, 3, 3, 1), e4m3, 32, ScaleOrder::Interleaved), {.tileN = 32});
  add("e4m3_to_nvfp4", quantised(typed(plain(1, 9, 11, 32, 40, 3, 3, 1), e4m3, e4m3, f32), DataType::E2M1, 16, ScaleOrder::Plain));
  addRowStreams(add);
  addBlockScales(add);
  return all;
}

const std::vector<HaloProblem>& haloProblems() {
  static const std::vector<HaloProblem> problems = makeHaloProblems();
  return problems;
}

class HaloSm100 : public testing::TestWithParam<ProblemAndGroup> {};

TEST_P(HaloSm100, EqualsTheExactResultUnderEveryScheduleAndIsCounted) {
  static emulator::Emulator machine;
  HaloProblem what = haloProblems().at(std::get<0>(GetParam()));
  what.choices.pair = std::get<1>(GetParam());
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const device::Properties properties = fewMultiprocessors();
  ASSERT_EQ(haloRefusal(what.problem, properties), "");
  HaloPlan plan;
  ASSERT_EQ(planHalo(what.problem, properties, what.choices, plan), "");
  EXPECT_EQ(plan.cut.pair, *what.choices.pair);
  const auto module = loadOneKernel(machine, device::ptxFor(images::halo_sm100(), "sm_100a"), plan.kernelName);
  judgeUnderEverySchedule(machine, *module, plan, StreamCase(what.problem, seed), seed);
}

/// Every output leaves shared memory once, and threads store none.
TEST(HaloSm100Outputs, LeaveByTensorStoresWhereTheyAreStaged) {
  emulator::Emulator machine;
  Problem problem = plain(3, 9, 13, 24, 40, 3, 3, 1);
  problem.outputType = DataType::F16;
  HaloPlan plan;
  ASSERT_EQ(planHalo(problem, fewMultiprocessors(), {.pair = false, .tileImages = 2}, plan), "");
  ASSERT_NE(plan.params.stagingTileBytes, 0u);
  const auto module = loadOneKernel(machine, device::ptxFor(images::halo_sm100(), "sm_100a"), plan.kernelName);
  DeviceRun device(machine, *module, plan.kernelName);
  const Observation seen = StreamCase(problem, 1).run(device, plan.planned(), {});
  EXPECT_EQ(seen.difference, "");
  EXPECT_EQ(countedBytes(seen.counters, emulator::Engine::BulkCopy, emulator::Traffic::GlobalWrite),
            problem.outputPixels() * problem.k * 2);
  EXPECT_EQ(countedBytes(seen.counters, emulator::Engine::Threads, emulator::Traffic::GlobalWrite), 0);
}

INSTANTIATE_TEST_SUITE_P(Problems, HaloSm100, testing::ValuesIn(oneGroupEach(haloProblems().size())), nameOf<haloProblems>);
INSTANTIATE_TEST_SUITE_P(Nightly, HaloSm100, testing::ValuesIn(oneGroupEach(haloProblems().size(), true)), nameOf<haloProblems>);

TEST(HaloSm100Refusal, NamesTheFieldAndTheLimit) {
  const struct {
    std::function<void(Problem&)> change;
    const char* words;
  } cases[] = {
      {[](Problem& p) { p.groups = 2; }, "groups = 1"},
      {[](Problem& p) { p.r = p.s = 9, p.padTop = p.padBottom = 4, p.padLeft = p.padRight = 4; }, "at most 64 taps"},
      {[](Problem& p) { p.strideH = 9; }, "stride_h of at most 8"},
      {[](Problem& p) { p.dilationW = 128, p.padLeft = p.padRight = 128; }, "along w make them 264"},
      {[](Problem& p) { p.r = p.s = 5, p.strideH = p.strideW = 5; }, "phases"},
      {[](Problem& p) { p.dilationW = p.dilationH = 100, p.padTop = p.padBottom = 100, p.padLeft = p.padRight = 100; },
       "do not fit"},
  };
  for (const auto& one : cases) {
    Problem problem = plain(1, 56, 56, 64, 64, 3, 3, 1);
    one.change(problem);
    EXPECT_NE(haloRefusal(problem, fewMultiprocessors()).find(one.words), std::string::npos)
        << "expected \"" << one.words << "\" in: " << haloRefusal(problem, fewMultiprocessors());
  }
}

TEST(HaloSm100Plan, RefusesChoicesItCannotMeet) {
  const Problem problem = plain(1, 56, 56, 2048, 512, 3, 3, 1);
  HaloPlan plan;
  EXPECT_NE(planHalo(problem, fewMultiprocessors(), {.tileN = 24}, plan).find("multiple of 16"), std::string::npos);
  EXPECT_NE(planHalo(problem, fewMultiprocessors(), {.tileImages = 3}, plan).find("tile_images"), std::string::npos);
  EXPECT_NE(planHalo(problem, fewMultiprocessors(), {.clusters = 0}, plan).find("at least 1"), std::string::npos);
  EXPECT_NE(planHalo(problem, fewMultiprocessors(), {.residentWeights = true}, plan).find("do not fit"), std::string::npos);
  EXPECT_NE(planHalo(problem, fewMultiprocessors(), {.blockRows = 0}, plan).find("block_rows must be 1"), std::string::npos);
  EXPECT_NE(planHalo(problem, fewMultiprocessors(), {.collector = false, .blockRows = 2}, plan).find("block_rows"),
            std::string::npos);
  EXPECT_NE(planHalo(problem, fewMultiprocessors(), {.tileImages = 1, .collector = true}, plan).find("tile_images"),
            std::string::npos);
  EXPECT_NE(planHalo(problem, fewMultiprocessors(), {.tileN = 256, .collector = true, .blockRows = 3}, plan).find("accumulators"),
            std::string::npos);
  const Problem mx = scaled(problem, DataType::E4M3, DataType::E4M3, 32, DataType::UE8M0);
  EXPECT_NE(planHalo(mx, fewMultiprocessors(), {.collector = true}, plan).find("block scales"), std::string::npos);
}

/// Tensor stores move whole 16 bytes, boxes have 32 channels, and what is left of shared memory decides.
TEST(HaloSm100Plan, StagesOutputsThatTensorStoresCanWrite) {
  const auto stagingOf = [](Problem problem, DataType output, const HaloChoices& choices) {
    problem.outputType = output;
    HaloPlan plan;
    EXPECT_EQ(planHalo(problem, fewMultiprocessors(), choices, plan), "");
    EXPECT_EQ(plan.output.rank, plan.params.stagingTileBytes == 0 ? 0u : 5u);
    return plan.params.stagingTileBytes;
  };
  const Problem even = plain(2, 19, 21, 64, 64, 3, 3, 1), odd = plain(2, 19, 21, 64, 60, 3, 3, 1);
  EXPECT_EQ(stagingOf(even, DataType::F32, {}), 32u * 32 * 4);
  EXPECT_EQ(stagingOf(even, DataType::F16, {}), 32u * 32 * 2);
  EXPECT_EQ(stagingOf(odd, DataType::F32, {}), 32u * 32 * 4);
  EXPECT_EQ(stagingOf(odd, DataType::F16, {}), 0u);
  Problem pitched = even;
  pitched.outputPixelPitch = 68;
  EXPECT_EQ(stagingOf(pitched, DataType::F16, {}), 0u);
  EXPECT_EQ(stagingOf(even, DataType::F16, {.tileN = 48}), 0u);
  EXPECT_NE(stagingOf(even, DataType::F16, {.tileN = 32}), 0u);
  EXPECT_NE(stagingOf(plain(2, 19, 21, 64, 48, 3, 3, 1), DataType::F16, {.tileN = 48}), 0u);
  EXPECT_EQ(stagingOf(even, DataType::F16, {.collector = true}), 0u);
  EXPECT_EQ(stagingOf(quantised(even, DataType::E3M2, 32, ScaleOrder::Plain), DataType::E3M2, {}), 0u);
  // Nine taps of 144 channels and two patches of 180 pixels leave 17 KB.
  const Problem wide = plain(2, 19, 21, 64, 144, 3, 3, 1);
  const HaloChoices resident{.pair = false, .tileN = 144, .residentWeights = true};
  EXPECT_EQ(stagingOf(wide, DataType::F16, resident), 32u * 32 * 2);
  EXPECT_EQ(stagingOf(wide, DataType::F32, resident), 0u);
}

/// A row of three filter rows is read from shared memory once: of R rows of B outputs each, B + R - 1 instead of R * B.
TEST(HaloSm100Plan, CollectorSavesTheReadsOfOperandA) {
  const Problem problem = plain(2, 32, 32, 64, 64, 3, 3, 1);
  HaloPlan patches, rows;
  ASSERT_EQ(planHalo(problem, fewMultiprocessors(), {.pair = false, .tileN = 64, .collector = false}, patches), "");
  ASSERT_EQ(planHalo(problem, fewMultiprocessors(), {.pair = false, .tileN = 64, .blockRows = 16}, rows), "");
  ASSERT_TRUE(rows.params.streamsRows);
  ASSERT_FALSE(patches.params.streamsRows);
  const int64_t mmas = int64_t{2} * 32 * 32 / 128 * 9 * 4, ofA = 128 * 32, ofB = 64 * 32;
  EXPECT_EQ(patches.traffic.mmas, mmas);
  EXPECT_EQ(patches.traffic.multiplyReadBytes, mmas * (ofA + ofB));
  EXPECT_EQ(rows.traffic.mmas, mmas);
  EXPECT_EQ(rows.traffic.multiplyReadBytes, mmas / (16 * 3) * (16 + 2) * ofA + mmas * ofB);
}

}  // namespace
}  // namespace shiftconv::tests::halo_sm100_test
