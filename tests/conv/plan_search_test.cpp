// The search over all algorithms: an algorithm that accepts a problem has a plan for it, and none of them ends the search for the
// others.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "common/device/registry.hpp"
#include "conv/algorithms/registry.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/problem/text.hpp"
#include "tests/conv/fuzz_part.hpp"
#include "tests/conv/random_problem.hpp"

namespace shiftconv::plan {
namespace {

using tests::FuzzPart;
using tests::fuzzParts;

device::Properties preset(std::string_view name) {
  for (const device::Preset& one : device::presets())
    if (name == one.name) return one.properties;
  ADD_FAILURE() << "no preset " << name;
  return {};
}

Problem problemOf(std::string_view text) {
  Problem problem;
  const Status status = parse(text, problem);
  EXPECT_TRUE(status.ok()) << status.message();
  return problem;
}

class PlanSearch : public testing::TestWithParam<FuzzPart> {};

/// What candidates() offers without an option, plan() makes.
void plansWhatItAccepts(const Algorithm& algorithm, const Problem& problem, const device::Properties& properties,
                        std::mt19937_64& generator) {
  std::vector<Candidate> candidates;
  const Status offered = algorithm.candidates(problem, properties, {}, candidates);
  ASSERT_TRUE(offered.ok()) << algorithm.name() << ": " << offered.message();
  ASSERT_FALSE(candidates.empty()) << algorithm.name();
  const Candidate& one = candidates[generator() % candidates.size()];
  std::shared_ptr<const Plan> plan;
  const Status made = makePlan(problem, properties, one, "", plan);
  EXPECT_TRUE(made.ok()) << describe(one) << ": " << made.message();
}

TEST_P(PlanSearch, AlgorithmsPlanWhatTheyAccept) {
  std::map<std::string_view, int> accepted;
  for (int i = 0; i < GetParam().problems; ++i) {
    const uint64_t seed = GetParam().seed + static_cast<uint64_t>(i);
    std::mt19937_64 generator(seed);
    const Problem problem = tests::randomProblem(generator);
    const device::Properties properties = tests::randomProperties(generator);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + shiftconv::describe(problem) + " on " + properties.name + " with " +
                 std::to_string(properties.multiprocessors) + " multiprocessors and " +
                 std::to_string(properties.sharedBytesPerBlock) + " bytes");
    for (const Algorithm* algorithm : algorithms()) {
      if (!algorithm->refusal(problem, properties).empty()) continue;
      ++accepted[algorithm->name()];
      plansWhatItAccepts(*algorithm, problem, properties, generator);
    }
    if (HasFailure()) return;
  }
  for (const Algorithm* algorithm : algorithms()) EXPECT_GE(accepted[algorithm->name()], 5) << algorithm->name();
}

const auto nameOfPart = [](const auto& info) { return "part_" + std::to_string(info.index); };
INSTANTIATE_TEST_SUITE_P(Parts, PlanSearch, testing::ValuesIn(fuzzParts(1, 1, 1000)), nameOfPart);
INSTANTIATE_TEST_SUITE_P(Nightly, PlanSearch, testing::ValuesIn(fuzzParts(100'000, 4, 5000)), nameOfPart);

/// Accepts everything, and breaks its word as it is told.
class Liar final : public Algorithm {
 public:
  enum class Lie { NoCandidate, Failure, NoPlan };
  explicit Liar(Lie lie) : lie_(lie) {}
  std::string_view name() const override { return "liar"; }
  std::span<const OptionDescription> options() const override { return {}; }
  bool isBuiltFor(const device::Properties&) const override { return true; }
  std::string refusal(const Problem&, const device::Properties&) const override { return {}; }
  Status candidates(const Problem&, const device::Properties&, std::string_view,
                    std::vector<Candidate>& candidates) const override {
    if (lie_ == Lie::NoCandidate) return {};
    candidates.push_back({this, "", {}, {}});  // in no time at all: the best one
    return lie_ == Lie::Failure ? Status(StatusCode::InvalidArgument, "not today") : Status();
  }
  Status plan(const Problem&, const device::Properties&, std::string_view, Plan&) const override {
    return {StatusCode::InvalidArgument, "not this one"};
  }

 private:
  Lie lie_;
};

TEST(PlanSearchAmongLiars, GoesOnWithTheOthers) {
  const Problem problem = problemOf("2x9x7x16 f16 * 24x3x5x16 pad 1,0,2,1 -> f16");
  for (const auto& [lie, words] : {std::pair{Liar::Lie::NoCandidate, "liar finds no plan"},
                                   {Liar::Lie::Failure, "liar finds no plan: not today"},
                                   {Liar::Lie::NoPlan, ""}}) {
    SCOPED_TRACE(words);
    const Liar liar(lie);
    std::vector<const Algorithm*> table{&liar};
    table.insert(table.end(), algorithms().begin(), algorithms().end());
    Candidates candidates;
    std::shared_ptr<const Plan> plan;
    ASSERT_TRUE(collect(table, problem, preset("B200"), candidates).ok());
    candidates.best = choose(candidates.all);
    ASSERT_TRUE(planBest(problem, preset("B200"), candidates, plan).ok());
    EXPECT_NE(plan->algorithm, "liar");
    EXPECT_EQ(plan->algorithm, candidates.all[candidates.best].algorithm->name());
    EXPECT_NE(candidates.refusals.find(words), std::string::npos) << candidates.refusals;
    ASSERT_EQ(candidates.defects.size(), 1u);
    EXPECT_EQ(candidates.defects[0].substr(0, 4), "liar");
  }
}

TEST(PlanSearchAmongLiars, EndsWithARefusalWhenThereIsNobodyElse) {
  const Problem problem = problemOf("2x9x7x16 f16 * 24x3x5x16 pad 1,0,2,1 -> f16");
  const Liar failing(Liar::Lie::Failure), planless(Liar::Lie::NoPlan);
  const Algorithm* const first[] = {&failing};
  const Algorithm* const second[] = {&planless};
  Candidates candidates;
  const Status none = collect(first, problem, preset("B200"), candidates);
  EXPECT_EQ(none.code(), StatusCode::Unsupported);
  EXPECT_NE(none.message().find("not today"), std::string::npos) << none.message();
  candidates = {};
  ASSERT_TRUE(collect(second, problem, preset("B200"), candidates).ok());
  std::shared_ptr<const Plan> plan;
  const Status unplanned = planBest(problem, preset("B200"), candidates, plan);
  EXPECT_EQ(unplanned.code(), StatusCode::Unsupported);
  EXPECT_EQ(unplanned.message(), "not this one");
  EXPECT_EQ(plan, nullptr);
}

/// What most algorithms of the device refuse, then what the last resort does, and the others in a word.
TEST(PlanSearchRefusals, BeginWithTheDecisiveOnes) {
  for (const auto& [text, device, sentence] :
       {std::tuple{
            "1x8x8x192 e3m2 scale ue8m0/32 * 64x3x3x192 scale ue8m0/32 -> f16", "B200",
            "im2col needs C to be a multiple of 128 for e3m2 (16-byte rows), but it is 192 (likewise shift_stream, shift_window, "
            "halo_sm100); direct takes no block scales; 5 are for other compute capabilities"},
        {"1x8x8x64 e4m3 scale ue8m0/32 * 64x3x3x64 scale ue8m0/32 -> f16", "H200",
         "direct takes no block scales (likewise halo, grouped, depthwise, stem, resident); 4 are for other compute capabilities"},
        {"1x8x8x64 f16 * 64x3x3x64 compute f16 -> f16", "H200",
         "direct sums in f32, but compute is f16 (likewise grouped, depthwise, stem, resident); 1 other for reasons that "
         "shiftconv_support names; 4 are for other compute capabilities"}}) {
    std::shared_ptr<const Plan> plan;
    const Problem problem = problemOf(text);
    const Status status = makePlan(problem, preset(device), {}, plan);
    EXPECT_EQ(status.code(), StatusCode::Unsupported);
    EXPECT_EQ(status.message(), "no algorithm can run " + shiftconv::describe(problem) + ": " + sentence);
  }
}

/// Tensor Memory does not hold what shift_stream needs for these; others plan them.
TEST(PlanSearchOfScaledProblems, FindsThePlanOfAnotherAlgorithm) {
  for (const char* text : {"1x28x28x128 e2m1 scale ue4m3/16 * 64x7x7x128 pad 3,3,3,3 scale ue4m3/16 -> f16",
                           "1x28x28x1024 e4m3 scale ue8m0/32 * 64x7x7x1024 pad 3,3,3,3 scale ue8m0/32 -> f16",
                           "1x28x28x2048 e4m3 scale ue8m0/32 * 64x5x5x2048 pad 2,2,2,2 scale ue8m0/32 -> f16",
                           "1x28x28x4096 e4m3 scale ue8m0/32 * 64x3x4x4096 scale ue8m0/32 -> f16",
                           "1x28x28x128 e3m2 scale ue8m0/32 * 64x7x7x128 pad 3,3,3,3 scale ue8m0/32 -> f16",
                           "1x28x28x128 e2m1 scale ue8m0/32 * 64x7x7x128 pad 3,3,3,3 scale ue8m0/32 -> f16"}) {
    std::shared_ptr<const Plan> plan;
    std::vector<std::string> notes;
    const Status status = makePlan(problemOf(text), preset("B200"), {}, plan, &notes);
    EXPECT_TRUE(status.ok()) << text << ": " << status.message();
    EXPECT_TRUE(notes.empty()) << notes[0];
  }
}

}  // namespace
}  // namespace shiftconv::plan
