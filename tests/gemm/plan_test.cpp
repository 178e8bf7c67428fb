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
