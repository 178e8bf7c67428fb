// What the GEMM planner refuses, and by which rule.
#include <gtest/gtest.h>

#include "tests/gemm/gemm_runner.hpp"

namespace shiftconv::tests {
namespace {

using gemm::GemmProblem;
using gemm::sm100::GemmChoices;
using gemm::sm100::GemmPlan;
using enum numerics::NumberType;

GemmProblem sound() {
  GemmProblem problem;
  problem.m = 300, problem.n = 200, problem.k = 100;
  return withPitches(problem);
}

std::string refusal(const GemmProblem& problem, const GemmChoices& choices = {}, int computeMinor = 0) {
  device::Properties properties = fewMultiprocessors();
  properties.computeMinor = computeMinor;
  GemmPlan plan;
  return planGemm(problem, properties, choices, plan);
}

void expectRefused(const std::string& why, std::string_view part) {
  EXPECT_NE(why.find(part), std::string::npos) << "refusal: " << why << "\nexpected in it: " << part;
}

TEST(GemmPlan, TakesASoundProblem) { EXPECT_EQ(refusal(sound()), ""); }

TEST(GemmPlan, NamesTheExtentAndItsLimit) {
  for (int64_t GemmProblem::*extent : {&GemmProblem::m, &GemmProblem::n, &GemmProblem::k}) {
    GemmProblem problem = sound();
    problem.*extent = 0;
    expectRefused(refusal(problem), "is 0, but it must lie in [1, ");
  }
}

TEST(GemmPlan, NamesTypesThatNoInstructionTakes) {
  GemmProblem problem = sound();
  problem.b.type = BF16;
  expectRefused(refusal(problem), "no matrix instruction multiplies f16 by bf16 with no block scales");
  problem.b.type = F16, problem.blockSize = 32;
  expectRefused(refusal(problem), "f16 by f16 with ue8m0 scales for blocks of 32");
  problem.a.type = problem.b.type = E4M3, problem.blockSize = 16;
  expectRefused(refusal(problem), "blocks of 16");
  problem = sound();
  problem.accumulator = S32;
  expectRefused(refusal(problem), "kind::f16 does not accumulate in s32");
  problem.a.type = problem.b.type = TF32, problem.accumulator = F16;
  expectRefused(refusal(problem), "kind::tf32 does not accumulate in f16");
}

TEST(GemmPlan, RefusesIntegersOnSm103ByName) {
  GemmProblem problem = sound();
  problem.a.type = problem.b.type = S8, problem.accumulator = S32;
  problem = withPitches(problem);
  EXPECT_EQ(refusal(problem), "");
  expectRefused(refusal(problem, {}, 3), "has no kind::i8");
}

TEST(GemmPlan, NamesTheRuleOfMemoryLayouts) {
  GemmProblem problem = sound();
  problem.a.pitch -= 8;
  expectRefused(refusal(problem), "the pitch of A is 200 bytes, but tensor maps of its type need a multiple of 16");
  problem.a.pitch -= 8;
  expectRefused(refusal(problem), "the pitch of A is 192 bytes, but a line has 200");
  problem = sound();
  problem.outputPitch = 796;
  expectRefused(refusal(problem), "outputPitch: 796 bytes do not hold 200 columns of f32");
  problem.a.type = problem.b.type = E2M1;
  problem = withPitches(problem);
  problem.b.mnMajor = true;
  expectRefused(refusal(problem), "only types of 8, 16 and 32 bits can be transposed");
  problem.b.mnMajor = false, problem.b.pitch = 96;
  EXPECT_EQ(refusal(problem), "");
  problem.b.pitch = 32;
  expectRefused(refusal(problem), "the pitch of B is 32 bytes, but a line has 64");
  problem.blockSize = 32, problem.k = 99;
  expectRefused(refusal(problem), "K is 99, but kind::mxf4 packs two elements");
}

TEST(GemmPlan, NamesTheRuleOfAChoice) {
  const auto choose = [](auto&& set) {
    GemmChoices choices;
    set(choices);
    return choices;
  };
  using namespace gemm::sm100;
  expectRefused(refusal(sound(), choose([](auto& c) { c.tileN = 264; })), "tile_n is 264");
  expectRefused(refusal(sound(), choose([](auto& c) { c.tileN = 48; })), "has to be a multiple of 32");
  expectRefused(refusal(sound(), choose([](auto& c) { c.splits = 3; })), "splits is 3, but the reduction has 2 chunk(s)");
  expectRefused(refusal(sound(), choose([](auto& c) { c.stages = 12, c.tileN = 256; })), "12 stage(s) do not fit");
  expectRefused(refusal(sound(), choose([](auto& c) { c.residentWeights = true, c.splits = 2; })), "resident weights");
  expectRefused(refusal(sound(), choose([](auto& c) { c.clusters = 0; })), "clusters must be at least 1");
  GemmProblem problem = sound();
  problem.a.mnMajor = true;
  expectRefused(refusal(withPitches(problem), choose([](auto& c) { c.engine = Engine::TensorA; })), "always K-major");
  problem = sound();
  problem.a.type = problem.b.type = E4M3, problem.blockSize = 32;
  expectRefused(refusal(withPitches(problem), choose([](auto& c) { c.tileN = 96; })), "has to be 32, 64, 128 or 256");
  expectRefused(refusal(withPitches(problem), choose([](auto& c) { c.tileRows = 64, c.grouping = Grouping::Single; })),
                "kind::mxf8f6f4 multiplies 128 rows, or 64 in each CTA of a pair");
  EXPECT_EQ(refusal(withPitches(problem), choose([](auto& c) { c.tileRows = 64, c.grouping = Grouping::Pair; })), "");
  expectRefused(refusal(sound(), choose([](auto& c) { c.tileRows = 32; })), "a CTA has 64 or 128 rows of a tile");
  expectRefused(refusal(sound(), choose([](auto& c) { c.tileRows = 64, c.tileN = 96; })),
                "the epilogue handles 64 columns at once");
  expectRefused(refusal(sound(), choose([](auto& c) { c.tileRows = 64, c.engine = Engine::TensorA; })), "in tiles of 128 rows");
  problem = sound();
  problem.output = E4M3, problem.outputBlock = 32;
  expectRefused(refusal(withPitches(problem), choose([](auto& c) { c.tileRows = 64; })),
                "block-quantised outputs fill tiles of 128");
}

// Few rows are multiplied in a tile of 64: the same clocks of the tensor core, half the bytes of A.
/// 2 images of 3 planes of 8 x 16 pixels with 48 channels, under a window of 2 x 1 x 3 taps.
GemmProblem overPixels() {
  GemmProblem problem = sound();
  gemm::Window& window = problem.window.emplace();
  window.images = 2, window.channels = 48;
  window.axes = {{{16, 16, 3, 1, 1, 1}, {8, 8}, {3, 2, 2}}};
  problem.m = window.rows(), problem.k = window.taps() * window.channels;
  problem.a.pitch = problem.b.pitch = 48 * 2;
  return problem;
}

TEST(GemmPlan, TakesPixelsInTwoTensors) {
  EXPECT_EQ(refusal(overPixels()), "");
  GemmProblem channels = overPixels();
  channels.window->firstChannels = 40, channels.window->secondPitch = 16;
  EXPECT_EQ(refusal(channels), "");
  GemmPlan plan;
  ASSERT_EQ(planGemm(channels, fewMultiprocessors(), {}, plan), "");
  EXPECT_EQ(plan.params.lineChunks, 2) << "the first tensor's chunk ends with it";
  EXPECT_EQ(plan.params.lastChunkSlices, 1);
  EXPECT_EQ(plan.windowA.tensor.dims[0], 40u);
  EXPECT_EQ(plan.windowSecond.tensor.dims[0], 8u);
  EXPECT_EQ(plan.windowSecond.tensor.strides[0], 16u);
  GemmProblem planes = overPixels();
  planes.window->firstPlanes = 1, planes.window->secondPitch = 48 * 2;
  ASSERT_EQ(planGemm(planes, fewMultiprocessors(), {}, plan), "");
  EXPECT_EQ(plan.windowA.tensor.dims[3], 2u) << "a plane of each image";
  EXPECT_EQ(plan.windowSecond.tensor.dims[3], 4u);

  channels.blockSize = 32, channels.a.type = channels.b.type = E4M3;
  expectRefused(refusal(channels), "pixels in two tensors have no scale factors");
  channels.blockSize = 0, channels.b.type = E2M1;
  expectRefused(refusal(channels), "are of whole bytes, but A and B are e4m3 and e2m1");
  channels = overPixels();
  channels.window->firstChannels = 36, channels.window->secondPitch = 32;
  expectRefused(refusal(channels), "must fill whole 16 bytes, but there are 36 of f16");
  channels.window->firstChannels = 32, channels.window->secondPitch = 40;
  expectRefused(refusal(channels), "must be a multiple of 16 bytes and at least 32, but is 40");
  channels.window->secondPitch = 16;
  expectRefused(refusal(channels), "at least 32, but is 16");
  planes.window->axes[0] = {15, 15, 3, 1, 1, 1};
  planes.m = planes.window->rows();
  expectRefused(refusal(planes), "need planes of whole tiles where pixels are split by planes, but one has 120 positions");
}

TEST(WindowSplit, FindsTheTensorOfAChunk) {
  gemm::WindowSplit whole;
  EXPECT_EQ(whole.sourceOf(3, 64, 5, -7).channel, 192);
  EXPECT_EQ(whole.sourceOf(3, 64, 5, -7).image, 5);
  EXPECT_FALSE(whole.sourceOf(3, 64, 5, 100).isSecond);
  gemm::WindowSplit channels;
  channels.chunks = 2, channels.channels = 72;
  EXPECT_FALSE(channels.sourceOf(1, 64, 5, 0).isSecond);
  EXPECT_EQ(channels.sourceOf(1, 64, 5, 0).tapChannel, 64);
  EXPECT_TRUE(channels.sourceOf(2, 64, 5, 0).isSecond);
  EXPECT_EQ(channels.sourceOf(3, 64, 5, 0).channel, 64);
  EXPECT_EQ(channels.sourceOf(3, 64, 5, 0).tapChannel, 72 + 64);
  gemm::WindowSplit planes;
  planes.planes = 2, planes.secondPlanes = 3, planes.nowhere = 96;
  for (const int32_t outside : {-1, 5}) EXPECT_EQ(planes.sourceOf(1, 64, 4, outside).channel, 96);
  EXPECT_EQ(planes.sourceOf(1, 64, 4, 1).image, 9);
  EXPECT_FALSE(planes.sourceOf(1, 64, 4, 1).isSecond);
  EXPECT_EQ(planes.sourceOf(1, 64, 4, 2).image, 12);
  EXPECT_TRUE(planes.sourceOf(1, 64, 4, 4).isSecond);
  EXPECT_EQ(planes.sourceOf(1, 64, 4, 4).image, 14);
}

TEST(GemmPlan, TakesLowTilesForFewRows) {
  GemmProblem problem = sound();
  problem.m = 40, problem.n = 64, problem.k = 4096;
  GemmPlan plan;
  ASSERT_EQ(planGemm(withPitches(problem), fewMultiprocessors(), {}, plan), "");
  EXPECT_EQ(plan.params.tileRows, 64) << plan.describe();
  problem.m = 4096, problem.n = 4096;
  ASSERT_EQ(planGemm(withPitches(problem), fewMultiprocessors(), {}, plan), "");
  EXPECT_EQ(plan.params.tileRows, 128) << plan.describe();
}

// Nothing is stored in shared or Tensor Memory beyond what a launch asks for.
TEST(GemmPlan, BudgetsHoldForEveryTile) {
  for (const bool scaled : {false, true})
    for (int32_t tileN = 32; tileN <= 256; tileN *= 2)
      for (const auto engine : {gemm::sm100::Engine::SharedA, gemm::sm100::Engine::TensorA})
        for (const auto grouping : {gemm::sm100::Grouping::Single, gemm::sm100::Grouping::Pair}) {
          GemmProblem problem = sound();
          problem.k = 5000;
          if (scaled) problem.a.type = problem.b.type = E2M1, problem.blockSize = 16;
          GemmChoices choices;
          choices.tileN = tileN, choices.engine = engine, choices.grouping = grouping;
          GemmPlan plan;
          ASSERT_EQ(planGemm(withPitches(problem), fewMultiprocessors(), choices, plan), "");
          const auto& p = plan.params;
          EXPECT_LE(p.accumulators * p.accumulatorColumns + static_cast<uint32_t>(p.stages) * p.stageColumns, p.allocatedColumns);
          EXPECT_LE(p.allocatedColumns, 512u);
          EXPECT_LE(plan.launch.dynamicSharedBytes, 227u * 1024);
          EXPECT_GE(p.stages, 1);
          EXPECT_NE(plan.describe().find("Tensor Mem"), std::string::npos);
        }
}

}  // namespace
}  // namespace shiftconv::tests
