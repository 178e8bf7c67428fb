// The search over all algorithms: an algorithm that accepts a problem has a plan for it, and none of them ends the search for the
// others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/device/registry.hpp"
#include "conv/planner/candidates.hpp"
#include "conv/planner/correction.hpp"
#include "conv/planner/refusals.hpp"
#include "conv/planner/registry.hpp"
#include "conv/problem/text.hpp"
#include "tests/conv/fuzz_part.hpp"
#include "tests/conv/planned_problem.hpp"
#include "tests/conv/random_problem.hpp"
#include "tests/conv/shape_files.hpp"

namespace shiftconv::plan {
namespace {

using tests::FuzzPart;
using tests::fuzzParts;

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
      if (!refusalOf(*algorithm, problem, properties).empty()) continue;
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
  std::optional<Accumulation> accumulation() const override { return {}; }
  std::span<const OptionDescription> options() const override { return {}; }
  bool isBuiltFor(const device::Properties&) const override { return true; }
  std::string refusal(const Problem&, const device::Properties&) const override { return {}; }
  Status candidates(const Problem&, const device::Properties&, std::string_view,
                    std::vector<Candidate>& candidates) const override {
    if (lie_ == Lie::NoCandidate) return {};
    candidates.push_back({this, {}, {}});  // in no time at all: the best one
    const auto complete = [](int, const Problem&, const device::Properties&, Plan&) {
      return Status(StatusCode::InvalidArgument, "not this one");
    };
    setPlans(candidates, candidates.size() - 1,
             std::make_shared<TypedPlans<int>>(std::vector<int>{1}, complete, [](int) { return std::string(); }));
    return lie_ == Lie::Failure ? Status(StatusCode::InvalidArgument, "not today") : Status();
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

/// Extents, pads, filters and dilations with which counting tile by tile, plane by plane or tap by tap would take minutes to years,
/// in the search and with every algorithm that takes them, in all its candidates.
TEST(PlanSearchOfExtremeProblems, CountsNothingOneByOne) {
  constexpr const char* kProblems[] = {"32x16x128x128x256 s8 * 192x3x1x1x256 pad 1,1,0,0,0,0 -> s8",
                                       "1x1x8x8x16 bf16 * 16x65535x3x3x16 pad 131070,0,1,1,1,1 -> bf16",
                                       "1x1x1x1x16 bf16 * 8x1000000x1x1x16 pad 2000000,0,0,0,0,0 -> bf16",
                                       "1x100000000x3x2x16 f16 * 16x3x3x2x16 pad 2,1,1,1,0,0 stride 2,1,1 -> f16",
                                       "1x2x1000x100000x16 f16 * 16x2x3x3x16 pad 500000,500000,1,1,1,1 dilation 1000000,1,1 -> f16",
                                       "400000000x1x1x16 f16 * 16x3x3x16 pad 1,1,1,1 -> f16",
                                       "1x1x300000000x16 f16 * 16x1x3x16 pad 0,0,1,1 -> f16",
                                       "1x300000000x1x16 f16 * 16x3x1x16 pad 1,1,0,0 -> f16",
                                       "1x300000000x1x16 f16 * 16x3x1x16 pad 1,1,0,0 stride 3,1 -> f16",
                                       "1x8x7x16 f16 * 16x3x3x16 pad 100000000,7,1,1 -> f16",
                                       "1x8x7x16 f16 * 16x3x3x16 pad 1,1,100000000,7 -> f16",
                                       "1x20000x7x16 f16 * 16x3x3x16 pad 30000,30000,1,1 dilation 30000,1 -> f16",
                                       "1x1000000x4x16 f16 * 16x3x3x16 pad 0,0,1,1 dilation 1000,1 -> f16",
                                       "1x1x1x16 f16 * 1000000000x1x1x16 -> f16",
                                       "1x3x3x16777216 f16 * 268435456x1x1x1 groups 16777216 -> f16",
                                       "1x3x3x400000000 f16 * 16x3x3x400000000 -> f16"};
  for (const char* text : kProblems)
    for (const char* device : {"B200", "H200"}) {
      SCOPED_TRACE(std::string(text) + " on " + device);
      const Problem problem = problemOf(text);
      std::mt19937_64 generator(1);
      for (const Algorithm* algorithm : algorithms())
        if (refusalOf(*algorithm, problem, preset(device)).empty())
          plansWhatItAccepts(*algorithm, problem, preset(device), generator);
      std::shared_ptr<const Plan> plan;
      const Status status = makePlan(problem, preset(device), {}, plan);
      EXPECT_TRUE(status.ok() || status.code() == StatusCode::Unsupported) << status.message();
    }
  for (const auto& [text, algorithm, options] :
       {std::tuple{kProblems[7], "shift_stream", "block_rows=1"},
        {kProblems[7], "halo_sm100", "collector=yes"},
        {"1x1000000x4x16 f16 * 16x3x3x16 pad 1000,1,1,1 dilation 1000,1 -> f16", "shift_stream", "block_rows=1,map=flat_refill"},
        {"1x1000000x7x16 f16 * 16x3x3x16 pad 1000,1,1,1 dilation 1000,1 -> f16", "shift_stream", "block_rows=1,map=flat_masked"}}) {
    std::shared_ptr<const Plan> plan;
    const Status status = makePlan(problemOf(text), preset("B200"), {algorithm, options}, plan);
    EXPECT_TRUE(status.ok()) << text << " " << options << ": " << status.message();
  }
}

/// Rows end to end rest on the refill of windows (U4), as others do that lose more lanes: they win by time, and only where it is
/// shorter by more than a tie.
TEST(PlanSearch, TakesRowsEndToEndWhereTheyAreFaster) {
  for (const auto& [text, taken] : {std::pair{"32x28x28x128 f16 * 128x3x3x128 pad 1,1,1,1 -> f16", true},
                                    {"64x14x14x256 s8 * 256x3x3x256 pad 1,1,1,1 -> s8", true},
                                    {"32x14x14x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", false},
                                    {"32x28x28x128 e4m3 scale ue8m0/32 * 128x3x3x128 pad 1,1,1,1 scale ue8m0/32 -> f16", false}}) {
    Candidates candidates;
    ASSERT_TRUE(findCandidates(problemOf(text), preset("B200"), {}, candidates).ok());
    const Candidate& best = candidates.all[candidates.best];
    EXPECT_EQ(best.options().find("map=flat_masked") != std::string::npos, taken) << text << ": " << best.options();
    const bool asks = std::find(best.unproven.begin(), best.unproven.end(), "U4") != best.unproven.end();
    EXPECT_EQ(asks, taken) << text;
    if (!taken) continue;
    for (const Candidate& other : candidates.all)
      if (std::find(other.unproven.begin(), other.unproven.end(), "U4") == other.unproven.end()) {
        EXPECT_GT(other.estimate.seconds, best.estimate.seconds * 1.01) << text << ": " << other.options();
      }
  }
}

void expectNamesOfWarps(const PlannedLaunch& launch) {
  const std::set<std::string> names(launch.warpRoles.begin(), launch.warpRoles.end());
  const auto& block = launch.config.block;
  EXPECT_EQ(launch.warpRoles.size(), (block.x * block.y * block.z + 31) / 32) << launch.kernel;
  EXPECT_FALSE(names.contains("")) << launch.kernel;
  // Warps that do the same may share a name, but those of scale factors and epilogues have numbers.
  for (const std::string& name : names)
    if (std::isdigit(static_cast<unsigned char>(name.back())) != 0) {
      EXPECT_EQ(std::count(launch.warpRoles.begin(), launch.warpRoles.end(), name), 1) << launch.kernel << " " << name;
    }
}

/// Reports and counters call warps by these names: each has one, and no two of a launch have the same.
TEST(PlanSearch, NamesEveryWarp) {
  std::set<std::string> seen;
  for (const auto& [architecture, device] : {std::pair{"sm_100a", "B200"}, {"sm_90a", "H200"}})
    for (const tests::ShapeFile& file : tests::shapeFiles(architecture)) {
      const Algorithm* algorithm = nullptr;
      ASSERT_TRUE(findAlgorithm(file.algorithm, algorithm).ok()) << file.algorithm;
      for (const tests::ShapeLine& line : tests::readShapes(file.path)) {
        const Problem problem = problemOf(line.problem());
        if (!refusalOf(*algorithm, problem, preset(device)).empty()) continue;
        SCOPED_TRACE(file.algorithm + ": " + line.problem());
        seen.insert(file.algorithm);
        std::vector<Candidate> candidates;
        ASSERT_TRUE(algorithm->candidates(problem, preset(device), {}, candidates).ok());
        for (size_t i = 0; i < candidates.size(); i += std::max<size_t>(1, candidates.size() / 4)) {
          std::shared_ptr<const Plan> plan;
          ASSERT_TRUE(makePlan(problem, preset(device), candidates[i], "", plan).ok());
          for (const PlannedLaunch& launch : plan->launches) expectNamesOfWarps(launch);
        }
      }
    }
  EXPECT_EQ(seen.size(), algorithms().size());
}

/// One multiprocessor has nobody to share rows with, and rows between blocks are loaded twice: a block is the whole column of
/// outputs, with a dilation of those that share input rows.
TEST(PlanSearch, StreamsAreWholeColumnsOnOneMultiprocessor) {
  device::Properties one = preset("B200");
  one.multiprocessors = 1;
  for (const auto& [text, rows] : {std::pair{"1x57x120x64 f16 * 64x3x3x64 pad 1,1,1,1 -> f16", "block_rows=57,"},
                                   {"1x57x120x64 f16 * 64x3x3x64 pad 1,1,1,1 stride 2,1 -> f16", "block_rows=29,"},
                                   {"1x57x120x64 f16 * 64x3x3x64 pad 1,1,1,1 stride 3,1 -> f16", "block_rows=19,"},
                                   {"1x57x120x64 f16 * 64x3x3x64 pad 2,2,1,1 dilation 2,1 -> f16", "block_rows=29,"}}) {
    std::shared_ptr<const Plan> plan;
    ASSERT_TRUE(makePlan(problemOf(text), one, {"shift_stream", "map=strips,group=single,tile_n=64"}, plan).ok()) << text;
    EXPECT_NE(plan->options.find(rows), std::string::npos) << text << ": " << plan->options;
  }
}

/// Streams of halo_sm100 have no more rows than the image, nor than the option can say.
TEST(PlanSearch, StreamsHaveTheRowsOfTheImageAtMost) {
  for (const auto& [text, options, words] :
       {std::tuple{"2x9x7x16 f16 * 16x3x3x16 pad 1,1,1,1 -> f16", "block_rows=100", "block_rows=9,"},
        {"2x9x7x16 f16 * 16x3x3x16 pad 1,1,1,1 -> f16", "block_rows=8", "block_rows=8,"},
        {"1x1024x7x16 f16 * 16x3x3x16 pad 1,1,1,1 -> f16", "block_rows=1024", "block_rows=1024,"}}) {
    std::shared_ptr<const Plan> plan;
    const Status status = makePlan(problemOf(text), preset("B200"), {"halo_sm100", options}, plan);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_NE(plan->options.find(words), std::string::npos) << plan->options;
  }
  std::vector<Candidate> candidates;
  const Problem tall = problemOf("1x5000x7x16 f16 * 16x3x3x16 pad 1,1,1,1 -> f16");
  const Algorithm* algorithm = nullptr;
  ASSERT_TRUE(findAlgorithm("halo_sm100", algorithm).ok());
  ASSERT_TRUE(algorithm->candidates(tall, preset("B200"), "collector=yes", candidates).ok());
  for (const Candidate& candidate : candidates) {
    std::shared_ptr<const Plan> plan;
    const Status status = makePlan(tall, preset("B200"), candidate, "", plan);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

/// Each case differs in one thing from one in which the other candidate wins.
TEST(PlanSearch, ChoosesByTimeThenByProofThenByClocks) {
  struct Offer {
    double seconds, clocks;
    size_t unproven;
    bool isUntimed;
  };
  const struct {
    const char* what;
    std::vector<Offer> offers;
    size_t best;
    std::vector<size_t> order;
  } cases[] = {
      {"the shorter time", {{3, 1, 0, false}, {2, 5, 2, false}, {4, 1, 0, false}}, 1, {1, 0, 2}},
      {"within a hundredth: fewer open questions", {{3, 1, 2, false}, {3.028, 5, 1, false}, {2.999, 9, 3, false}}, 1, {1, 2, 0}},
      {"further apart: the shorter time", {{3, 1, 2, false}, {3.031, 5, 1, false}}, 0, {0, 1}},
      {"as open: the shorter time", {{3.03, 1, 1, false}, {3, 5, 1, false}}, 1, {1, 0}},
      {"as fast: fewer clocks", {{3, 7, 1, false}, {3, 5, 1, false}, {3, 6, 1, false}}, 1, {1, 2, 0}},
      {"equals: the first", {{4, 5, 1, false}, {3, 5, 1, false}, {3, 5, 1, false}}, 1, {1, 2, 0}},
      {"times that nobody recorded come last", {{1, 1, 0, true}, {3, 5, 2, false}}, 1, {1, 0}},
      {"and are nobody's tie", {{2.98, 1, 0, true}, {3, 5, 2, false}, {3.02, 5, 1, false}}, 2, {2, 0, 1}},
      {"unless nothing was recorded", {{3, 1, 0, true}, {2, 5, 2, true}}, 1, {1, 0}},
  };
  for (const auto& [what, offers, best, order] : cases) {
    SCOPED_TRACE(what);
    Candidates candidates;
    for (const Offer& offer : offers) {
      Candidate& one = candidates.all.emplace_back();
      one.estimate.seconds = offer.seconds, one.estimate.clocks = offer.clocks;
      one.unproven.assign(offer.unproven, "U3");
      one.isUntimed = offer.isUntimed;
    }
    candidates.best = choose(candidates.all);
    EXPECT_EQ(candidates.best, best);
    EXPECT_EQ(candidates.byEstimate(), order);
  }
}

/// Halves on Hopper were timed; an algorithm that was not among them says so. Those that tell no tiling are not judged.
TEST(PlanSearch, SaysWhatNobodyHasTimed) {
  const Problem timed = problemOf("2x9x7x16 f16 * 24x3x5x16 pad 1,0,2,1 -> f16");
  const Problem other = problemOf("2x9x7x16 f32 * 24x3x5x16 pad 1,0,2,1 compute tf32 -> f32");
  const Liar liar(Liar::Lie::NoCandidate);
  const Algorithm* halo = nullptr;
  ASSERT_TRUE(findAlgorithm("halo", halo).ok());
  const Tiling tiling{64, 32, 1, {}};
  for (const auto& [problem, device, isTimed] :
       {std::tuple{&timed, "H200", true}, {&timed, "B200", false}, {&other, "H200", false}}) {
    SCOPED_TRACE(shiftconv::describe(*problem) + " on " + device);
    Candidate candidates[] = {{&liar, {}, {}}, {halo, {}, {}, tiling}, {halo, {}, {}, tiling}, {&liar, {}, {}, tiling}};
    for (Candidate& one : candidates) one.estimate.seconds = 1e-5, one.estimate.clocks = 3e4;
    correct(*problem, preset(device), candidates);
    for (size_t i = 0; i < std::size(candidates); ++i) {
      const Candidate& one = candidates[i];
      EXPECT_EQ(one.isUntimed, isTimed && i == 3) << i;
      EXPECT_EQ(describe(one).find(", not timed yet") != std::string::npos, isTimed && i == 3) << describe(one);
      EXPECT_EQ(one.correction != 1, isTimed && (i == 1 || i == 2)) << i;
      EXPECT_DOUBLE_EQ(one.estimate.seconds, 1e-5 * one.correction) << i;
      EXPECT_DOUBLE_EQ(one.estimate.clocks, 3e4 * one.correction) << i;
    }
  }
}

/// What most algorithms of the device refuse, then what the last resort does, and the others in a word.
TEST(PlanSearchRefusals, BeginWithTheDecisiveOnes) {
  constexpr bool kBuilt = true, kLast = true;
  Refusals refusals;
  refusals.add("slide", "slide needs C = 4, but it is 5", kBuilt, !kLast);
  refusals.add("old", "old needs compute capability 9.0", !kBuilt, !kLast);
  refusals.add("older", "older needs compute capability 9.0", !kBuilt, !kLast);
  EXPECT_EQ(refusals.sentence(), "slide needs C = 4, but it is 5; 2 are for other compute capabilities");
  refusals.add("copy", "copy: no room", kBuilt, !kLast);
  // A sentence that does not begin with the name stays whole.
  Refusals nameless;
  nameless.add("copy", ": no room", kBuilt, !kLast);
  EXPECT_EQ(nameless.lines(), "refused    copy: no room\n");
  refusals.add("any", "any takes no scales", kBuilt, kLast);
  EXPECT_EQ(refusals.sentence(),
            "any takes no scales; 2 others for reasons that shiftconv_support names; 2 are for other compute capabilities");
  refusals.add("fold", "fold needs C = 4, but it is 5", kBuilt, !kLast);
  refusals.add("turn", "turn needs C = 4, but it is 5", kBuilt, !kLast);
  EXPECT_EQ(refusals.sentence(),
            "turn needs C = 4, but it is 5 (likewise slide, fold); any takes no scales; 1 other for reasons that shiftconv_support "
            "names; 2 are for other compute capabilities");
  EXPECT_EQ(refusals.lines(),
            "refused    turn needs C = 4, but it is 5 (likewise slide, fold)\n"
            "refused    older needs compute capability 9.0 (likewise old)\n"
            "refused    copy: no room\n"
            "refused    any takes no scales\n");
}

TEST(PlanSearchRefusals, NameTheReasonOfMostAlgorithmsOrOfTheLastResort) {
  for (const auto& [text, device, words] :
       {std::tuple{"1x8x8x192 e3m2 scale ue8m0/32 * 64x3x3x192 scale ue8m0/32 -> f16", "B200",
                   "im2col needs C to be a multiple of 128 for e3m2 (tensor maps that unpack need it), but it is 192 (likewise"},
        {"1x8x8x64 e4m3 scale ue8m0/32 * 64x3x3x64 scale ue8m0/32 -> f16", "H200", "direct takes no block scales (likewise halo"},
        {"1x8x8x64 f16 * 64x3x3x64 compute f16 -> f16", "H200", "direct sums in f32, but compute is f16 (likewise channelwise"}}) {
    std::shared_ptr<const Plan> plan;
    const Problem problem = problemOf(text);
    const Status status = makePlan(problem, preset(device), {}, plan);
    EXPECT_EQ(status.code(), StatusCode::Unsupported);
    const std::string begin = "no algorithm can run " + shiftconv::describe(problem) + ": " + words;
    EXPECT_EQ(status.message().substr(0, begin.size()), begin);
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
