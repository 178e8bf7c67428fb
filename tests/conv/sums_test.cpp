// How plans say that they sum: as their kernels do.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/device/embedded_ptx.hpp"
#include "common/device/registry.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/registry.hpp"
#include "conv/problem/text.hpp"
#include "tests/conv/random_problem.hpp"

namespace shiftconv::plan {
namespace {

/// Kernels that builds for tests do without; that others have them is checked by left_out_test.py.
std::set<std::string> leftOutKernels() {
  std::set<std::string> names;
  for (const auto& folder : std::filesystem::directory_iterator(std::filesystem::path(SHIFTCONV_SOURCES) / "conv/algorithms")) {
    std::ifstream list(folder.path() / "left_out_of_quick_builds.txt");
    for (std::string line; std::getline(list, line);) names.insert(line);
  }
  return names;
}

/// Empty where the library has no such kernel, which has to be one of those.
std::string_view bodyOf(const PlannedLaunch& launch, const device::Properties& properties) {
  static const std::set<std::string> leftOut = leftOutKernels();
  const std::string target = properties.computeMajor == 9 ? "sm_90a" : "sm_100a";
  const std::string_view text = device::ptxFor(launch.image, target);
  const size_t start = text.find(".entry " + launch.kernel + "(");
  EXPECT_TRUE(start != std::string_view::npos || leftOut.contains(launch.kernel)) << launch.kernel << " for " << target;
  return start == std::string_view::npos ? std::string_view() : text.substr(start, text.find(".entry ", start + 1) - start);
}

Accumulation instructionOf(std::string_view body) {
  const auto has = [&](std::string_view instruction) { return body.find(instruction) != std::string_view::npos; };
  return has("tcgen05.mma.")        ? Accumulation::TensorCore
         : has("wgmma.mma_async.")  ? Accumulation::WgmmaTensorCore
         : has("mma.sync.aligned.") ? Accumulation::HalfTensorCore
                                    : Accumulation::FusedMultiplyAdd;
}

TEST(SumsOfPlans, AreTheInstructionsOfTheirKernels) {
  constexpr int kWanted = 3, kMostProblems = 3000;
  std::map<std::string_view, int> planned;
  size_t missing = algorithms().size();
  for (int seed = 1; seed <= kMostProblems && missing > 0; ++seed) {
    std::mt19937_64 generator(static_cast<uint64_t>(seed));
    const Problem problem = tests::randomProblem(generator);
    const device::Properties properties = tests::randomProperties(generator);
    for (const Algorithm* algorithm : algorithms()) {
      if (planned[algorithm->name()] == kWanted || !refusalOf(*algorithm, problem, properties).empty()) continue;
      std::shared_ptr<const Plan> plan;
      const Status status = makePlan(problem, properties, {std::string(algorithm->name()), ""}, plan);
      ASSERT_TRUE(status.ok()) << status.message();
      const std::string_view body = bodyOf(plan->launches[plan->mainLaunch], properties);
      if (body.empty()) continue;
      if (++planned[algorithm->name()] == kWanted) --missing;
      const std::string text = describe(*plan);
      SCOPED_TRACE(text);
      const Accumulation found = instructionOf(body);
      EXPECT_TRUE(plan->sums.contains(found)) << nameOf(found);
      EXPECT_TRUE(!algorithm->accumulation() || plan->sums == Accumulations{found}) << nameOf(found);
      EXPECT_EQ(accumulationsIn(text), plan->sums);
    }
  }
  for (const Algorithm* algorithm : algorithms()) EXPECT_EQ(planned[algorithm->name()], kWanted) << algorithm->name();
}

/// Those of every algorithm that computes a phase. Random problems, as the algorithms of phases depend on estimates.
TEST(SumsOfPlans, AreThoseOfEveryPhase) {
  constexpr int kProblems = 200;
  device::Properties properties = device::presets()[0].properties;
  properties.computeMajor = 9, properties.computeMinor = 0;
  std::mt19937_64 generator(20);
  const auto below = [&](int limit) { return std::to_string(1 + generator() % static_cast<uint64_t>(limit)); };
  int mixed = 0, compared = 0;
  for (int i = 0; i < kProblems; ++i) {
    const std::string channels = std::to_string(8 << generator() % 5);
    const std::string text = below(3) + "x" + below(30) + "x" + below(30) + "x" + channels + " f16 * " + below(96) + "x3x3x" +
                             channels + " pad 1,1,1,1 stride 2,2 transposed -> f16";
    SCOPED_TRACE(text);
    Problem problem;
    ASSERT_TRUE(parse(text, problem).ok());
    std::shared_ptr<const Plan> plan;
    const Status status = makePlan(problem, properties, {"phases", "form=apart"}, plan);
    ASSERT_TRUE(status.ok()) << status.message();
    Accumulations found;  // after the launch that gathers filters, in front of the one that merges outputs
    bool isWhole = true;
    for (size_t launch = 1; launch + 1 < plan->launches.size(); ++launch) {
      const std::string_view body = bodyOf(plan->launches[launch], properties);
      if (body.empty())
        isWhole = false;
      else
        found.insert(instructionOf(body));
    }
    if (!isWhole) continue;
    EXPECT_EQ(plan->sums, found) << describe(*plan);
    ++compared;
    mixed += found.size() > 1;
  }
  EXPECT_GT(compared, kProblems / 2) << "too few plans have kernels of this build alone";
  EXPECT_GT(mixed, 0) << "no phases sum differently";
  EXPECT_LT(mixed, compared) << "no phases sum alike";
}

TEST(SumsOfPlans, AreReadOnlyFromADescription) {
  EXPECT_EQ(
      accumulationsIn("problem x\n" + sumsLine({Accumulation::HalfTensorCore, Accumulation::FusedMultiplyAdd}) + "launch y\n"),
      (Accumulations{Accumulation::FusedMultiplyAdd, Accumulation::HalfTensorCore}));
  EXPECT_THROW(accumulationsIn("problem x\n"), std::invalid_argument);
  EXPECT_THROW(accumulationsIn("sums       guesses\n"), std::invalid_argument);
}

}  // namespace
}  // namespace shiftconv::plan
