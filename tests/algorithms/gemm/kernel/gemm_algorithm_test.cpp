// The algorithm `gemm` below the public API: every kind and every mode of the kernels, and what the plan says of itself against
// what the emulator counts. Splits of the reduction, whose counters a launch in front sets to zero, are among tests/conv/shapes.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "common/device/embedded_ptx.hpp"
#include "conv/algorithms/gemm/plan.hpp"
#include "gemm_sm100_image.hpp"
#include "tests/conv/kernel/judged_run.hpp"
#include "tests/support/one_kernel.hpp"

namespace shiftconv::tests::gemm_algorithm_test {
namespace {

using gemm::sm100::Engine;
using gemm::sm100::Grouping;
using gemm::sm100::Schedule;
using plan::MatrixChoices;
using plan::MatrixPlan;

struct MatrixCase {
  std::string name;
  Problem problem;
  MatrixChoices choices;
};

Problem matrix(int64_t m, int64_t n, int64_t k) { return plain(1, 1, m, k, n, 1, 1, 0); }

std::vector<MatrixCase> makeMatrixCases() {
  std::vector<MatrixCase> all;
  const auto add = [&](std::string name, Problem p, MatrixChoices choices = {}) { all.push_back({std::move(name), p, choices}); };
  const DataType e4m3 = DataType::E4M3, e2m1 = DataType::E2M1, ue8m0 = DataType::UE8M0, ue4m3 = DataType::UE4M3;
  add("single", matrix(200, 104, 72), {.group = Grouping::Single});
  add("sharing", matrix(300, 96, 64), {.group = Grouping::Sharing});
  add("pair", matrix(300, 160, 136), {.group = Grouping::Pair});
  add("columns_of_tiles", matrix(270, 104, 200), {.group = Grouping::Single, .tileN = 32, .residentWeights = false});
  add("resident", matrix(500, 104, 72), {.group = Grouping::Pair, .tileN = 64, .clusters = 1, .residentWeights = true});
  add("half_tiles", matrix(200, 72, 96), {.group = Grouping::Single, .tileRows = 64, .tileN = 64});
  add("half_tiles_of_a_pair", matrix(200, 72, 96), {.group = Grouping::Pair, .tileRows = 64, .tileN = 64});
  add("tensor_a", matrix(150, 72, 72), {.group = Grouping::Single, .engine = Engine::TensorA});
  add("tensor_a_of_a_pair", matrix(300, 72, 72), {.group = Grouping::Pair, .engine = Engine::TensorA});
  add("launch_control", matrix(300, 104, 72), {.group = Grouping::Sharing, .schedule = Schedule::LaunchControl, .tileN = 32});
  add("two_stages", matrix(140, 40, 320), {.group = Grouping::Single, .stages = 2});
  add("one_row", matrix(1, 8, 8));
  for (const auto& [name, problem] : operandCases(matrix(150, 72, 96))) add(name, problem);
  add("mxfp8", scaled(matrix(150, 64, 128), e4m3, e4m3, 32, ue8m0));
  add("mxfp6", scaled(matrix(150, 32, 128), DataType::E3M2, DataType::E2M3, 32, ue8m0), {.group = Grouping::Pair});
  add("mxfp4", scaled(matrix(150, 32, 320), e2m1, e2m1, 32, ue8m0), {.group = Grouping::Sharing});
  add("nvfp4", scaled(matrix(150, 72, 96), e2m1, e2m1, 16, ue4m3));
  for (const Grouping group : {Grouping::Single, Grouping::Sharing, Grouping::Pair}) {
    Problem p = scaled(matrix(150, 136, 160), e4m3, e4m3, 32, ue8m0);
    p.inputScale.order = p.filterScale.order = ScaleOrder::Interleaved;
    add("mxfp8_interleaved_" + std::to_string(static_cast<int>(group)), p, {.group = group});
    p = scaled(matrix(150, 40, 192), e2m1, e2m1, 16, ue4m3);
    p.inputScale.order = ScaleOrder::Interleaved;
    add("nvfp4_interleaved_a_" + std::to_string(static_cast<int>(group)), p, {.group = group});
  }
  add("nvfp4_half_tiles", scaled(matrix(200, 72, 96), e2m1, e2m1, 16, ue4m3),
      {.group = Grouping::Pair, .tileRows = 64, .tileN = 64});
  Problem p = quantised(scaled(matrix(150, 40, 64), e2m1, e2m1, 16, ue4m3), e2m1, 16, ScaleOrder::Plain);
  p.hasBias = true, p.activation = Activation::Relu, p.outScale = 0.25f, p.outputPixelPitch = 64;
  add("nvfp4_to_nvfp4", p);
  return all;
}

const std::vector<MatrixCase>& matrixCases() {
  static const std::vector<MatrixCase> cases = makeMatrixCases();
  return cases;
}

class GemmAlgorithm : public testing::TestWithParam<size_t> {};

TEST_P(GemmAlgorithm, EqualsTheExactResultUnderEveryScheduleAndIsCounted) {
  static emulator::Emulator machine;
  const MatrixCase& what = matrixCases().at(GetParam());
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const device::Properties properties = fewMultiprocessors();
  ASSERT_EQ(plan::matrixRefusal(what.problem, properties), "");
  MatrixPlan plan;
  ASSERT_EQ(plan::planMatrix(what.problem, properties, what.choices, plan), "");
  const auto module = loadOneKernel(machine, device::ptxFor(images::gemm_sm100(), "sm_100a"), plan.planned().kernel);
  for (const emulator::Options& options : schedulesOfKernels(seed))
    judge(machine, *module, plan, StreamCase(what.problem, seed), options);
}

INSTANTIATE_TEST_SUITE_P(Modes, GemmAlgorithm, testing::Range<size_t>(0, matrixCases().size()),
                         [](const auto& info) { return matrixCases()[info.param].name; });

TEST(GemmAlgorithmRefusal, NamesTheFieldAndTheLimit) {
  const struct {
    std::function<void(Problem&)> change;
    const char* words;
  } cases[] = {
      {[](Problem& p) { p.n = 2; }, "n must be 1, but it is 2"},
      {[](Problem& p) { p.h = 3; }, "h must be 1, but it is 3"},
      {[](Problem& p) { p.s = 2; }, "s must be 1, but it is 2"},
      {[](Problem& p) { p.strideW = 2; }, "stride_w must be 1"},
      {[](Problem& p) { p.padLeft = 1; }, "pad_left must be 0"},
      {[](Problem& p) { p.padTop = 1; }, "pad_top must be 0"},
      {[](Problem& p) { p.groups = 2; }, "groups = 1"},
      {[](Problem& p) { p.c = 12; }, "C to be a multiple of 8"},
      {[](Problem& p) { p.outputType = DataType::E2M1; }, "e2m1 needs an output_block_scale"},
  };
  EXPECT_EQ(plan::matrixRefusal(matrix(100, 64, 64), fewMultiprocessors()), "");
  for (const auto& one : cases) {
    Problem problem = matrix(100, 64, 64);
    one.change(problem);
    EXPECT_NE(plan::matrixRefusal(problem, fewMultiprocessors()).find(one.words), std::string::npos)
        << "expected \"" << one.words << "\" in: " << plan::matrixRefusal(problem, fewMultiprocessors());
  }
}

TEST(GemmAlgorithmPlan, RefusesChoicesItCannotMeet) {
  MatrixPlan plan;
  const auto refusalOf = [&](MatrixChoices choices) {
    return planMatrix(matrix(500, 256, 64), fewMultiprocessors(), choices, plan);
  };
  EXPECT_EQ(refusalOf({}), "");
  EXPECT_NE(refusalOf({.tileN = 48}).find("multiple of 32"), std::string::npos);
  EXPECT_NE(refusalOf({.splits = 2}).find("splits is 2, but the reduction has 1 chunk"), std::string::npos);
  EXPECT_NE(refusalOf({.engine = Engine::TensorA, .tileRows = 64}).find("tiles of 128 rows"), std::string::npos);
  EXPECT_NE(refusalOf({.schedule = Schedule::LaunchControl, .residentWeights = true}).find("stays in its columns"),
            std::string::npos);
}

}  // namespace
}  // namespace shiftconv::tests::gemm_algorithm_test
