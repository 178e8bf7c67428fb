// im2col below the public API: every kind, one CTA and pairs, every schedule, resident and streamed filters, all geometry; and what
// the plan says of itself against what the emulator counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include "common/device/embedded_ptx.hpp"
#include "conv/algorithms/im2col/plan.hpp"
#include "conv/problem/text.hpp"
#include "gemm_sm100_image.hpp"
#include "tests/conv/kernel/groups.hpp"
#include "tests/conv/kernel/judged_run.hpp"
#include "tests/support/one_kernel.hpp"

namespace shiftconv::tests::im2col_test {
namespace {

using plan::Im2colChoices;
using plan::Im2colPlan;

struct Im2colProblem {
  std::string name;
  Problem problem;
  Im2colChoices choices;
};

Problem grouped(Problem p, int64_t groups) {
  p.groups = groups;
  return p;
}

/// Groups: slices and chunks of channels, tiles that end with a group's columns and after them, and every way out for outputs.
void addGrouped(std::vector<Im2colProblem>& all) {
  const auto add = [&](std::string name, Problem p, Im2colChoices choices = {}) { all.push_back({std::move(name), p, choices}); };
  Problem p = grouped(plain(2, 9, 11, 32, 32, 3, 3, 1), 2);  // a slice of a chunk; the chunk holds both groups
  p.padTop = 2, p.padRight = 0, p.strideH = 2, p.outputType = DataType::F16, p.hasBias = true, p.activation = Activation::Relu;
  add("two_groups_of_16", p);
  p = grouped(plain(2, 7, 9, 144, 120, 3, 2, 1), 3);  // 40 columns end inside of a tile
  p.padLeft = 0, p.strideW = 2, p.outputType = DataType::F16, p.outputPixelPitch = 128;
  add("three_groups_of_48", p, {.tileN = 32});
  p = grouped(plain(1, 9, 15, 320, 544, 1, 2, 1), 4);  // two chunks, of which the second has one slice
  add("four_groups_of_80", p, {.tileN = 96, .residentWeights = false});
  add("four_groups_that_are_resident", p, {.tileN = 64, .residentWeights = true});
  p = typed(grouped(plain(1, 9, 15, 216, 48, 3, 3, 1), 3), DataType::F32, DataType::F32, DataType::F32);
  add("tf32_groups_of_72", p);
  p = grouped(plain(2, 7, 9, 216, 96, 3, 3, 1), 3);  // half a slice after a chunk
  p.strideH = 2, p.padRight = 0, p.outputType = DataType::F16;
  add("groups_of_72", p);
  add("groups_of_8_with_fewer_rows_than_a_tile", grouped(plain(3, 3, 5, 40, 80, 3, 3, 1), 5));
  p = grouped(plain(1, 17, 9, 96, 48, 3, 3, 1), 3);  // padding that five dimensions do not reach
  p.padTop = 17, p.strideH = 2;
  add("groups_as_channels", p);
  p = typed(grouped(plain(2, 5, 9, 96, 15, 3, 3, 1), 3), DataType::BF16, DataType::BF16, DataType::BF16);
  p.inputPixelPitch = 104, p.outputPixelPitch = 21;  // outputs byte by byte
  add("groups_of_five_columns", p);
  p = typed(grouped(plain(1, 9, 17, 128, 96, 3, 3, 1), 4), DataType::E4M3, DataType::E5M2, DataType::F32);
  add("fp8_groups_of_32", p);
  p = typed(grouped(plain(2, 7, 8, 64, 96, 3, 3, 1), 2), DataType::S8, DataType::S8, DataType::S8);
  p.inputZeroPoint = -7, p.outputZeroPoint = 5, p.outScale = 0.0625f, p.hasAmax = true, p.padTop = 2;
  add("s8_groups_with_zero_points_and_amax", p);
  p = grouped(plain(2, 4, 5, 96, 48, 3, 3, 1), 3);
  p.d = 3, p.t = 2, p.padFront = 1, p.padBack = 0, p.strideD = 2, p.outputType = DataType::F16;
  add("groups_in_three_dimensions", p);
  p = scaled(grouped(plain(1, 9, 15, 256, 80, 3, 3, 1), 2), DataType::E4M3, DataType::E4M3, 32, DataType::UE8M0);
  p.inputScale.order = ScaleOrder::Interleaved;
  add("mxfp8_groups", p, {.tileN = 32});
  p = scaled(grouped(plain(1, 7, 9, 512, 192, 1, 3, 1), 2), DataType::E2M1, DataType::E2M1, 16, DataType::UE4M3);
  add("nvfp4_groups", quantised(p, DataType::E2M1, 16, ScaleOrder::Interleaved));
  add("groups_to_mxfp8", quantised(grouped(plain(2, 9, 11, 64, 192, 3, 3, 1), 2), DataType::E4M3, 32, ScaleOrder::Plain),
      {.tileN = 64});
  p = typed(grouped(plain(1, 5, 9, 256, 48, 3, 3, 1), 2), DataType::E3M2, DataType::E4M3, DataType::F32);
  add("groups_of_six_bits", p);
}

/// One shape for each property.
std::vector<Im2colProblem> makeIm2colProblems() {
  std::vector<Im2colProblem> all;
  const auto add = [&](std::string name, Problem p, Im2colChoices choices = {}) { all.push_back({std::move(name), p, choices}); };
  const DataType e4m3 = DataType::E4M3, e2m1 = DataType::E2M1, ue8m0 = DataType::UE8M0;
  add("images", plain(3, 11, 13, 64, 64, 3, 3, 1));
  add("resident", plain(1, 17, 19, 64, 32, 3, 3, 1), {.residentWeights = true});
  add("channel_tail", plain(1, 9, 18, 200, 48, 3, 3, 1));
  add("columns_of_tiles", plain(1, 9, 17, 40, 104, 3, 3, 1), {.tileN = 32, .residentWeights = false});
  add("columns_of_resident_tiles", plain(1, 9, 17, 40, 104, 3, 3, 1), {.tileN = 64, .residentWeights = true});
  add("one_by_one", plain(2, 10, 14, 96, 40, 1, 1, 0));
  add("seven_by_seven", plain(1, 12, 15, 16, 16, 7, 7, 3));
  add("one_pixel", plain(1, 1, 1, 8, 8, 3, 3, 1));
  Problem p = plain(2, 15, 16, 24, 32, 3, 5, 1);
  p.strideH = 2, p.strideW = 3, p.padLeft = 4, p.padRight = 1, p.padTop = 0, p.padBottom = 2;
  add("strides_and_uneven_padding", p);
  p = plain(1, 16, 15, 16, 32, 3, 2, 2);
  p.dilationH = 3, p.dilationW = 2, p.strideW = 2;
  add("dilation_and_stride", p);
  p = plain(1, 5, 6, 16, 16, 3, 3, 0);
  p.padTop = 4, p.padBottom = 3, p.padLeft = 5, p.padRight = 2;  // positions without any pixel
  add("padding_wider_than_the_filter", p);
  p = plain(1, 1, 200, 32, 16, 1, 5, 2);
  p.padTop = p.padBottom = 0, p.strideW = 2;
  add("one_dimension", p);
  p = plain(2, 5, 7, 32, 16, 3, 3, 1);
  p.d = 5, p.t = 3, p.padFront = 2, p.padBack = 0, p.strideD = 2, p.dilationD = 2, p.padFront = 2, p.padBack = 1;
  add("three_dimensions", p);
  p = plain(2, 8, 9, 24, 24, 3, 3, 1);
  p.inputPixelPitch = 40, p.outputPixelPitch = 32, p.hasBias = true, p.activation = Activation::Relu, p.outputType = DataType::F16;
  add("pitches_bias_relu", p);
  const Problem small = plain(1, 9, 17, 96, 32, 3, 3, 1);
  for (const auto& [name, problem] : operandCases(small)) add(name, problem);
  p = typed(small, DataType::U8, DataType::U8, DataType::U8);
  p.inputZeroPoint = 130, p.filterZeroPoint = 3, p.outputZeroPoint = 128, p.outScale = 0.0009765625f, p.hasBias = true;
  p.padTop = 3, p.padRight = 2;
  p.strideH = 2, p.strideW = 3, p.dilationW = 2;
  add("u8_zero_points_everywhere", p);
  p = typed(plain(2, 4, 5, 16, 24, 3, 3, 1), DataType::S8, DataType::S8, DataType::F32);
  p.d = 3, p.t = 2, p.padFront = 1, p.strideD = 2, p.inputZeroPoint = 3, p.filterZeroPoint = -4;
  add("zero_points_in_three_dimensions", p);
  add("mxfp8", scaled(plain(2, 9, 11, 128, 64, 3, 3, 1), e4m3, e4m3, 32, ue8m0));
  p = scaled(plain(1, 13, 14, 96, 48, 3, 3, 1), e4m3, DataType::E5M2, 32, ue8m0);
  p.strideH = p.strideW = 2, p.padLeft = 2;
  add("mxfp8_stride_and_tail", p, {.residentWeights = true});
  add("mxfp6", scaled(plain(1, 9, 15, 128, 32, 3, 3, 1), DataType::E3M2, DataType::E2M3, 32, ue8m0));
  add("mxfp8_mxfp4", scaled(plain(1, 9, 15, 256, 32, 3, 3, 1), e4m3, e2m1, 32, ue8m0));
  add("mxfp4", scaled(plain(1, 9, 15, 320, 32, 3, 3, 1), e2m1, e2m1, 32, ue8m0));
  add("nvfp4", scaled(plain(1, 9, 15, 96, 72, 3, 3, 1), e2m1, e2m1, 16, DataType::UE4M3));
  const ScaleOrder rows = ScaleOrder::Plain, tiles = ScaleOrder::Interleaved;
  add("f16_to_mxfp8", quantised(plain(2, 9, 11, 32, 72, 3, 3, 1), e4m3, 32, tiles));
  add("mxfp8_to_mxfp8", quantised(scaled(plain(1, 9, 15, 128, 96, 3, 3, 1), e4m3, e4m3, 32, ue8m0), DataType::E5M2, 32, rows),
      {.tileN = 32});
  p = quantised(scaled(plain(1, 9, 15, 64, 40, 3, 3, 1), e2m1, e2m1, 16, DataType::UE4M3), e2m1, 16, rows);
  p.hasBias = true, p.activation = Activation::Relu, p.outScale = 0.25f, p.outputPixelPitch = 64;
  add("nvfp4_to_nvfp4", p);
  p = scaled(plain(2, 9, 11, 160, 136, 2, 3, 1), e4m3, e4m3, 32, ue8m0);
  p.inputScale.order = p.filterScale.order = tiles;
  add("mxfp8_interleaved_scales", p);
  p = scaled(plain(1, 4, 9, 96, 32, 3, 3, 1), e4m3, e4m3, 32, ue8m0);
  p.d = 4, p.t = 3, p.padFront = p.padBack = 1;
  add("mxfp8_three_dimensions", p);
  addGrouped(all);
  return all;
}

const std::vector<Im2colProblem>& im2colProblems() {
  static const std::vector<Im2colProblem> problems = makeIm2colProblems();
  return problems;
}

class Im2col : public testing::TestWithParam<ProblemAndGroup> {};

TEST_P(Im2col, EqualsTheExactResultUnderEveryScheduleAndIsCounted) {
  static emulator::Emulator machine;
  Im2colProblem what = im2colProblems().at(std::get<0>(GetParam()));
  what.choices.pair = std::get<1>(GetParam());
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const device::Properties properties = fewMultiprocessors();
  ASSERT_EQ(plan::im2colRefusal(what.problem, properties), "");
  Im2colPlan plan;
  ASSERT_EQ(plan::planIm2col(what.problem, properties, what.choices, plan), "");
  EXPECT_EQ(plan.pair(), *what.choices.pair);
  const auto module = loadOneKernel(machine, device::ptxFor(images::gemm_sm100(), "sm_100a"), plan.planned().kernel);
  judgeUnderEverySchedule(machine, *module, plan, StreamCase(what.problem, seed), seed);
}

INSTANTIATE_TEST_SUITE_P(Problems, Im2col, testing::ValuesIn(oneGroupEach(im2colProblems().size())), nameOf<im2colProblems>);
INSTANTIATE_TEST_SUITE_P(Nightly, Im2col, testing::ValuesIn(oneGroupEach(im2colProblems().size(), true)), nameOf<im2colProblems>);

TEST(Im2colGroups, InfinityStaysInItsGroup) {
  emulator::Emulator machine;
  Problem problem = grouped(plain(2, 5, 7, 48, 120, 3, 3, 1), 3);  // a tile holds two groups' filters
  for (const bool pair : {false, true}) {
    problem.padTop = pair ? 1 : 17;  // of five dimensions and of four, where a chunk holds all groups
    for (const int64_t group : {0, 1, 2}) {
      const uint64_t seed = std::random_device{}();
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", group " << group);
      Im2colPlan plan;
      ASSERT_EQ(plan::planIm2col(problem, fewMultiprocessors(), {.pair = pair, .tileN = 64}, plan), "");
      const auto module = loadOneKernel(machine, device::ptxFor(images::gemm_sm100(), "sm_100a"), plan.planned().kernel);
      StreamCase one(problem, seed);
      one.fillWithInfinity(group);
      emulator::Options options;
      options.seed = seed;
      judge(machine, *module, plan, one, options);
    }
  }
}

TEST(Im2colGroups, ProductsAcrossGroupsReachNeitherOutputsNorAmax) {
  emulator::Emulator machine;
  Problem problem = grouped(plain(2, 5, 7, 96, 48, 3, 3, 1), 3);  // a tile of 32 columns has 16 of the next group
  problem.hasAmax = true;
  for (const bool pair : {false, true}) {
    const uint64_t seed = std::random_device{}();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Im2colPlan plan;
    ASSERT_EQ(plan::planIm2col(problem, fewMultiprocessors(), {.pair = pair, .tileN = 32}, plan), "");
    const auto module = loadOneKernel(machine, device::ptxFor(images::gemm_sm100(), "sm_100a"), plan.planned().kernel);
    StreamCase one(problem, seed);
    one.keepProductsAcrossGroups();
    emulator::Options options;
    options.seed = seed;
    judge(machine, *module, plan, one, options);
  }
}

// Three groups of 48 channels, f16, 40 outputs each, in tiles of 64 columns, 1x3 taps, 9 x 15 pixels padded by one on the left
// and right: 9 x (14 + 15 + 14) = 387 taps inside, 135 outputs, two tiles of 128 rows.
TEST(Im2colGroups, CountTheirTraffic) {
  Problem problem = grouped(plain(1, 9, 15, 144, 120, 1, 3, 0), 3);
  problem.padLeft = problem.padRight = 1;
  problem.outputType = DataType::F16;
  Im2colPlan plan;
  ASSERT_EQ(plan::planIm2col(problem, fewMultiprocessors(), {.pair = false, .tileN = 64, .residentWeights = false}, plan), "");
  const plan::Traffic& t = plan.traffic;
  EXPECT_EQ(t.mmas, 2 * 3 * 3 * 3);  // tiles, groups, taps, slices of 16 channels
  EXPECT_EQ(t.products, t.mmas * 128 * 64 * 16);
  EXPECT_EQ(t.multiplyReadBytes, t.mmas * (128 + 64) * 32);
  // The last tile's 121 rows after the 135 go on with the next group, if there is one: 8 rows of pixels and 2 taps of another.
  EXPECT_EQ(t.activationBytes, (387 * 3 + (8 * 43 + 2) * 2) * 48 * 2);
  // So do the 64 rows of a tile of filters end with the filter: 64, 64 and 40; of each the group's 48 channels.
  EXPECT_EQ(t.filterBytes, 2 * (64 + 64 + 40) * 3 * 48 * 2);
  EXPECT_EQ(t.writtenBytes, 2 * 3 * 3 * (128 + 64) * 128);
  EXPECT_EQ(t.multipliedRows, 2 * 3 * 128);
  EXPECT_EQ(t.storedRows, 3 * 135);
}

/// No tile, be it wider than a group, is modelled to be faster than the one that is taken: what the search leaves out loses.
TEST(Im2colSearch, TakesTheFastestOfAllTiles) {
  const Problem wide = plain(2, 14, 14, 64, 288, 3, 3, 1), deep = plain(4, 28, 28, 64, 64, 3, 3, 1);
  for (const Problem& problem : {wide, deep, grouped(wide, 4), grouped(deep, 4), grouped(plain(1, 9, 15, 320, 160, 1, 1, 0), 4)})
    for (const uint32_t multiprocessors : {4u, 148u}) {
      device::Properties properties = fewMultiprocessors();
      properties.multiprocessors = multiprocessors;
      SCOPED_TRACE(testing::Message() << describe(problem) << " on " << multiprocessors << " multiprocessors");
      Im2colPlan taken;
      ASSERT_EQ(plan::planIm2col(problem, properties, {}, taken), "");
      double fewest = std::numeric_limits<double>::infinity();
      for (uint32_t width = 32; width <= 256; width += 32)
        for (const bool pair : {false, true})
          for (const bool resident : {false, true})
            if (Im2colPlan plan;
                planIm2col(problem, properties, {.pair = pair, .tileN = width, .residentWeights = resident}, plan).empty())
              fewest = std::min(fewest, plan.estimate.clocks);
      EXPECT_EQ(taken.estimate.clocks, fewest) << taken.describe();
    }
}

TEST(Im2colRefusal, NamesTheFieldAndTheLimit) {
  const struct {
    std::function<void(Problem&)> change;
    const char* words;
  } cases[] = {
      {[](Problem& p) { p.c = 48, p.groups = 2, p.padTop = 17; },
       "C / groups must be a multiple of 16 (32-byte slices), but are 24"},
      {[](Problem& p) { p.groups = 2, p.k = 24, p.hasAmax = true; }, "K / groups to be a multiple of 16 with amax, but it is 12"},
      {[](Problem& p) { p.groups = 2, p.splitC = 32; }, "groups = 1 with inputs in two tensors"},
      {[](Problem& p) { p.c = 12; }, "C to be a multiple of 8"},
      {[](Problem& p) { p.strideW = 9; }, "stride along W is 9"},
      {[](Problem& p) { p.dilationW = 128, p.padLeft = p.padRight = 128; }, "reach 256 pixels along W"},
      {[](Problem& p) { p.padTop = 129; }, "-pad_top is -129"},
      {[](Problem& p) { p.d = 3, p.dilationH = 16, p.padTop = p.padBottom = 16; }, "reach 32 pixels along H"},
      {[](Problem& p) {
         p.inputScale = p.filterScale = {32, DataType::UE8M0, ScaleOrder::Plain};
       },
       "f16"},
      {[](Problem& p) {
         p = typed(p, DataType::S8, DataType::S8, DataType::F32);
         p.inputZeroPoint = 1, p.r = 40, p.s = 40, p.padTop = 39;
       },
       "at most 1024 taps"},
      {[](Problem& p) {
         p = typed(p, DataType::S8, DataType::S8, DataType::F32);
         p.inputZeroPoint = 1, p.padTop = p.padBottom = p.padLeft = p.padRight = 64;
       },
       "at most 4096 kinds of borders"},
      {[](Problem& p) { p.outputType = DataType::E2M1; }, "e2m1 needs an output_block_scale"},
      {[](Problem& p) { p = quantised(p, DataType::E4M3, 64, ScaleOrder::Plain); },
       "in blocks of 64 channels (output_block_scale)"},
      {[](Problem& p) { p = quantised(p, DataType::E4M3, 32, ScaleOrder::Plain), p.outputScale.type = DataType::UE4M3; },
       "blocks of 32 with ue8m0"},
      {[](Problem& p) { p.h = p.w = 1 << 15, p.n = 2; }, "below 2^30"},
  };
  for (const auto& one : cases) {
    Problem problem = plain(1, 56, 56, 64, 64, 3, 3, 1);
    one.change(problem);
    EXPECT_NE(plan::im2colRefusal(problem, fewMultiprocessors()).find(one.words), std::string::npos)
        << "expected \"" << one.words << "\" in: " << plan::im2colRefusal(problem, fewMultiprocessors());
  }
}

TEST(Im2colPlan, RefusesChoicesItCannotMeet) {
  const Problem problem = plain(1, 56, 56, 1024, 512, 3, 3, 1);
  Im2colPlan plan;
  EXPECT_NE(planIm2col(problem, fewMultiprocessors(), {.tileN = 48}, plan).find("multiple of 32"), std::string::npos);
  EXPECT_NE(planIm2col(problem, fewMultiprocessors(), {.residentWeights = true}, plan).find("do not fit"), std::string::npos);
  EXPECT_NE(planIm2col(problem, fewMultiprocessors(), {.clusters = 0}, plan).find("at least 1"), std::string::npos);
}

}  // namespace
}  // namespace shiftconv::tests::im2col_test
