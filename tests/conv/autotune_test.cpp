// Plans by measurement on the emulated device, under a clock that the tests wind: what wins, what a cache remembers and of what it
// takes no notice. Kernels run for real; only their times are made up.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/device/emulated_device.hpp"
#include "conv/planner/autotune.hpp"
#include "conv/planner/autotune_cache.hpp"
#include "conv/problem/text.hpp"
#include "tests/conv/counting_device.hpp"
#include "tests/temporary_folder.hpp"

namespace shiftconv::plan {
namespace {

using tests::fileContents;
using tests::TemporaryFolder;
using tests::writeFile;

constexpr double kUsual = 4e-3;  // seconds of a run: longer than a measurement should take, so each is one run

class Autotune : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(parse("1x6x8x16 f16 * 16x3x3x16 pad 1,1,1,1 -> f16", problem_).ok());
    options_.algorithm = "halo";
    ASSERT_TRUE(findCandidates(problem_, device_.properties(), options_, candidates_).ok());
    ASSERT_GE(candidates_.all.size(), 4u);
    order_ = candidates_.byEstimate();
  }

  /// Options of the candidate that the model puts at this place.
  std::string candidate(size_t place) const { return candidates_.all[order_[place]].options(); }

  AutotuneClock clock() {
    return {[this](const Plan& plan, const std::function<Status()>& enqueue, double& seconds) -> Status {
              const uint64_t before = launches();
              if (Status status = enqueue(); !status.ok()) return status;
              const auto runs = static_cast<double>(launches() - before) / static_cast<double>(plan.launches.size());
              runs_[plan.options].push_back(runs);
              if (failing_ == plan.options) return {StatusCode::DeviceError, "this one fails"};
              std::vector<double>& script = seconds_[plan.options];
              const double one = script.empty() ? kUsual : script.front();
              if (script.size() > 1) script.erase(script.begin());
              seconds = one * runs;
              now_ += seconds;
              return {};
            },
            [this] { return now_; }};
  }
  uint64_t launches() const {
    uint64_t all = 0;
    for (const auto& kernel : device_.counters()) all += kernel.launches;
    return all;
  }
  /// Tunes problem_, and expects success.
  std::shared_ptr<const Plan> tune() {
    notes_.clear();
    runs_.clear();
    std::shared_ptr<const Plan> plan;
    const Status status = autotune(problem_, kernels_, 0, options_, how_, clock(), plan, notes_);
    EXPECT_TRUE(status.ok()) << status.message();
    return plan;
  }

  device::EmulatedDevice device_{"sm_90a"};
  KernelCache kernels_{device_};
  Problem problem_;
  PlanOptions options_;
  AutotuneOptions how_{"", "0.2.0", 1e9, 4};
  Candidates candidates_;
  std::vector<size_t> order_;
  std::map<std::string, std::vector<double>> seconds_;  ///< of the runs of a plan's measurements, the last one for all others
  std::map<std::string, std::vector<double>> runs_;     ///< of each measurement
  std::string failing_;
  double now_ = 0;
  std::vector<std::string> notes_;
};

TEST_F(Autotune, TakesTheFastest) {
  seconds_[candidate(0)] = {2.1e-3};
  seconds_[candidate(2)] = {2e-3};
  const auto plan = tune();
  EXPECT_EQ(plan->options, candidate(2));
  EXPECT_EQ(plan->choice.rfind("chosen     2000.00 us measured; " + describe(candidates_.all[order_[2]]), 0), 0u) << plan->choice;
  EXPECT_NE(plan->choice.find("candidate  2100.00 us measured; " + describe(candidates_.all[order_[0]])), std::string::npos);
  EXPECT_NE(plan->choice.find("candidate  4000.00 us measured; " + describe(candidates_.all[order_[1]])), std::string::npos);
  EXPECT_TRUE(notes_.empty()) << notes_[0];
  // Each once to warm up and once to be timed; five times more those that are within 15 percent.
  const std::map<std::string, size_t> expected{{candidate(0), 7}, {candidate(1), 2}, {candidate(2), 7}, {candidate(3), 2}};
  ASSERT_EQ(runs_.size(), expected.size());
  for (const auto& [options, count] : expected) EXPECT_EQ(runs_[options], std::vector<double>(count, 1)) << options;

  std::shared_ptr<const Plan> again;
  ASSERT_TRUE(makePlan(problem_, device_.properties(), {"halo", plan->options}, again).ok());
  // But for the estimate, which among others may end after fewer rounds of corrections (docs/planner.md).
  const auto withoutEstimate = [](const std::string& description) { return description.substr(0, description.find("\nestimate")); };
  EXPECT_EQ(withoutEstimate(describe(*plan)), withoutEstimate(describe(*again)));
}

/// The winner first, then the measured ones from the fastest to the slowest, then the others by their estimates.
TEST_F(Autotune, ListsCandidatesInTheOrderOfTheirTimes) {
  ASSERT_GE(order_.size(), 6u);
  seconds_[candidate(0)] = {3.5e-3};
  seconds_[candidate(1)] = {3e-3};
  seconds_[candidate(2)] = {2e-3};
  seconds_[candidate(3)] = {2.5e-3};
  const std::string choice = tune()->choice;
  size_t before = 0;
  for (const size_t place : {2, 3, 1, 0, 4, 5}) {
    const size_t at = choice.find("; " + describe(candidates_.all[order_[place]]) + "\n");
    ASSERT_NE(at, std::string::npos) << place << "\n" << choice;
    EXPECT_GT(at, before) << place << "\n" << choice;
    before = at;
  }
  // The planner's choice wins against one that is hardly faster, and comes first all the same.
  seconds_[candidate(0)] = {2.01e-3};
  const std::string kept = tune()->choice;
  EXPECT_EQ(kept.rfind("chosen     2010.00 us measured; " + describe(candidates_.all[order_[0]]), 0), 0u) << kept;
}

TEST_F(Autotune, KeepsThePlannersChoiceUnlessAnotherIsClearlyFaster) {
  seconds_[candidate(0)] = {2e-3};
  seconds_[candidate(1)] = {1.99e-3};  // by half a percent
  EXPECT_EQ(tune()->options, candidate(0));
  seconds_[candidate(1)] = {1.97e-3};
  EXPECT_EQ(tune()->options, candidate(1));
}

TEST_F(Autotune, LetsTheMedianOfTheFinalDecide) {
  // Number 1 looks best at first, number 2 is best in three of five rounds, and number 3, which is out, is not asked again.
  seconds_[candidate(0)] = {2e-3};
  seconds_[candidate(1)] = {2e-3, 1.8e-3, 1.98e-3};
  seconds_[candidate(2)] = {2e-3, 1.9e-3, 1.6e-3, 5e-3, 1.6e-3, 5e-3, 1.6e-3};
  seconds_[candidate(3)] = {2e-3, 2.2e-3, 1e-3};
  EXPECT_EQ(tune()->options, candidate(2));
  EXPECT_EQ(runs_[candidate(3)].size(), 2u);

  // Where all of the final take longer than before, what was out does not win for that.
  seconds_[candidate(0)] = {2e-3, 2e-3, 3e-3};
  seconds_[candidate(1)] = {2e-3, 1.8e-3, 2.9e-3};
  seconds_[candidate(2)] = {kUsual};
  seconds_[candidate(3)] = {2e-3, 2.2e-3};
  EXPECT_EQ(tune()->options, candidate(1));
}

TEST_F(Autotune, RepeatsShortRunsUntilTheyCanBeTimed) {
  seconds_[candidate(0)] = {0.3e-3};  // 4 runs make a millisecond
  seconds_[candidate(1)] = {1e-6};    // more runs than it takes
  how_.candidates = 2;
  EXPECT_EQ(tune()->options, candidate(1));
  EXPECT_EQ(runs_[candidate(0)], (std::vector<double>{1, 1, 4, 4, 4, 4, 4, 4}));
  EXPECT_EQ(runs_[candidate(1)], (std::vector<double>{1, 1, 20, 20, 20, 20, 20, 20}));
  const std::string choice = tune()->choice;  // times of one run each
  EXPECT_EQ(choice.rfind("chosen     1.00 us measured; " + describe(candidates_.all[order_[1]]), 0), 0u) << choice;
  EXPECT_NE(choice.find("candidate  300.00 us measured; " + describe(candidates_.all[order_[0]])), std::string::npos) << choice;
}

TEST_F(Autotune, TakesTheMeanOfTheMiddleTwoOfAnEvenNumberOfRounds) {
  how_.candidates = 2;
  how_.seconds = 4 * 2e-3 + (2e-3 + 3e-3) + 1e-3;  // preliminaries, the first round, and the beginning of a second one
  seconds_[candidate(0)] = {2e-3, 2e-3, 2e-3, 6e-3};
  seconds_[candidate(1)] = {2e-3, 2e-3, 3e-3, 4e-3};
  const std::string choice = tune()->choice;
  EXPECT_EQ(runs_[candidate(0)].size(), 4u);
  EXPECT_EQ(runs_[candidate(1)].size(), 4u);
  EXPECT_EQ(choice.rfind("chosen     3500.00 us measured; " + describe(candidates_.all[order_[1]]), 0), 0u) << choice;
  EXPECT_NE(choice.find("candidate  4000.00 us measured; " + describe(candidates_.all[order_[0]])), std::string::npos) << choice;
}

TEST_F(Autotune, EndsWhenTimeIsUp) {
  how_.seconds = 3 * kUsual;  // the second candidate is begun within it
  const auto plan = tune();
  EXPECT_EQ(runs_.size(), 2u);
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("2 of 4 candidates were measured within 0.012 s"), std::string::npos) << notes_[0];
  EXPECT_NE(plan->choice.find("not measured"), std::string::npos);
  how_.seconds = 2 * kUsual;  // what the first one takes: none is left
  tune();
  EXPECT_EQ(runs_.size(), 1u);
  how_.seconds = 1e-9;  // less than anything takes: the planner's choice is measured all the same
  EXPECT_EQ(tune()->options, candidate(0));
  EXPECT_EQ(runs_.size(), 1u);
}

TEST_F(Autotune, LeavesOutWhatFailsUnlessItIsThePlannersChoice) {
  seconds_[candidate(1)] = {1e-3};
  failing_ = candidate(1);
  EXPECT_NE(tune()->options, candidate(1));
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("is left out: this one fails"), std::string::npos) << notes_[0];

  failing_ = candidate(0);
  std::shared_ptr<const Plan> plan;
  const Status status = autotune(problem_, kernels_, 0, options_, how_, clock(), plan, notes_);
  EXPECT_EQ(status.message(), "this one fails");
  EXPECT_FALSE(plan);
}

TEST_F(Autotune, GivesBackAllThatItTookOnTheDevice) {
  tests::CountingDevice device("sm_100a");
  KernelCache kernels(device);
  ASSERT_TRUE(parse("1x4x5x16 s8 zero 3 * 24x3x3x16 s8 zero 4 pad 1,1,1,1 -> s8 bias", problem_).ok());
  options_ = {};
  ASSERT_TRUE(findCandidates(problem_, device.properties(), options_, candidates_).ok());
  order_ = candidates_.byEstimate();
  for (const bool fails : {false, true}) {
    device.allocated.clear();
    std::shared_ptr<const Plan> plan;
    int measurements = 0;
    const AutotuneClock clock{[&](const Plan& measured, const std::function<Status()>& enqueue, double& seconds) -> Status {
                                EXPECT_GT(measured.workspaceBytes, 0u);
                                if (Status status = enqueue(); !status.ok()) return status;
                                seconds = 1e-3 * ++measurements;
                                return fails ? Status(StatusCode::DeviceError, "this one fails") : Status();
                              },
                              [] { return 0.0; }};
    const Status status = autotune(problem_, kernels, 0, options_, how_, clock, plan, notes_);
    EXPECT_EQ(status.ok(), !fails) << status.message();
    EXPECT_EQ(plan != nullptr, !fails);
    EXPECT_EQ(device.allocated.size(), 5u) << "input, filter, bias, output, and a workspace that all candidates share";
    EXPECT_TRUE(device.live.empty());
  }
  EXPECT_TRUE(notes_.empty()) << notes_[0];
}

/// Each call of the device fails in turn: the plan is there or the reason is, nobody hides it, and nothing stays on the device.
TEST_F(Autotune, EndsOrGoesOnWithoutACandidateWhicheverCallFails) {
  ASSERT_TRUE(parse("1x4x5x16 s8 zero 3 * 24x3x3x16 s8 zero 4 pad 1,1,1,1 -> s8 bias", problem_).ok());
  options_ = {};
  how_.candidates = 2;
  int ended = 0, wentOn = 0;
  for (int failing = 0;; ++failing) {
    tests::CountingDevice device("sm_100a");
    device.runsKernels = false;
    device.failing = failing;
    KernelCache kernels(device);
    std::shared_ptr<const Plan> plan;
    int measurements = 0;
    const AutotuneClock clock{[&](const Plan&, const std::function<Status()>& enqueue, double& seconds) -> Status {
                                seconds = 4e-3 - 1e-4 * ++measurements;
                                return enqueue();
                              },
                              [] { return 0.0; }};
    notes_.clear();
    const Status status = autotune(problem_, kernels, 0, options_, how_, clock, plan, notes_);
    SCOPED_TRACE("call " + std::to_string(failing) + ", " + device.failed);
    EXPECT_EQ(plan != nullptr, status.ok());
    EXPECT_TRUE(device.live.empty());
    if (device.failed.empty()) {
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_TRUE(notes_.empty()) << notes_[0];
      break;
    }
    ++(status.ok() ? wentOn : ended);
    std::string said = status.message();
    for (const std::string& note : notes_) said += note;
    const bool isGivenBack = device.failed == "release";  // by a destructor, at the end
    EXPECT_TRUE(isGivenBack || said.find(device.failed + " fails") != std::string::npos) << said;
    if (HasFailure()) return;
  }
  EXPECT_GT(ended, 10);
  EXPECT_GT(wentOn, 10);
}

TEST_F(Autotune, HasTensorsOfEveryKind) {
  how_.candidates = 1;
  device::EmulatedDevice device("sm_100a");
  KernelCache kernels(device);
  for (const char* text :
       {"1x4x4x16 s8 zero 3 * 16x3x3x16 s8 zero 4 pad 1,1,1,1 -> s8 channel_scale bias residual 1 residual_type f16 relu amax",
        "1x4x4x128 e4m3 scale ue8m0/32 * 32x1x1x128 scale ue8m0/32 -> e4m3 scale ue8m0/32"}) {
    ASSERT_TRUE(parse(text, problem_).ok()) << text;
    std::shared_ptr<const Plan> plan;
    const Status status = autotune(problem_, kernels, 0, {"shift_stream", ""}, how_, deviceClock(device, 0), plan, notes_);
    EXPECT_TRUE(status.ok()) << status.message() << ": " << text;
    EXPECT_EQ(plan && plan->workspaceBytes > 0, problem_.inputZeroPoint != 0);
  }
  EXPECT_TRUE(notes_.empty());
}

TEST_F(Autotune, RemembersInAFile) {
  const TemporaryFolder folder;
  how_.cache = (folder / "cache");
  seconds_[candidate(3)] = {2e-3};
  const auto first = tune();
  EXPECT_EQ(first->options, candidate(3));
  EXPECT_TRUE(notes_.empty()) << notes_[0];
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"cache", "cache.lock"}));

  device_.resetCounters();
  seconds_[candidate(3)] = {9e-3};  // would lose now
  const auto second = tune();
  EXPECT_EQ(second->options, candidate(3));
  EXPECT_EQ(describe(*second), describe(*first));
  EXPECT_EQ(second->choice.rfind("remembered 2000.00 us measured, from " + (folder / "cache"), 0), 0u) << second->choice;
  EXPECT_TRUE(runs_.empty());
  EXPECT_EQ(launches(), 0u) << "nothing may run";
  EXPECT_TRUE(notes_.empty());
}

TEST_F(Autotune, MeasuresAgainWhereAnythingOfTheKeyDiffers) {
  const TemporaryFolder folder;
  how_.cache = (folder / "cache");
  how_.candidates = 1;
  const auto measures = [&] {
    tune();
    return !runs_.empty();
  };
  EXPECT_TRUE(measures());
  EXPECT_FALSE(measures());
  how_.version = "0.2.1";
  EXPECT_TRUE(measures());
  problem_.hasBias = true;
  EXPECT_TRUE(measures());
  options_.options = "split=1";
  EXPECT_TRUE(measures());
  EXPECT_FALSE(measures());

  device::EmulatedDevice other("sm_100a");
  KernelCache kernels(other);
  std::shared_ptr<const Plan> plan;
  options_.algorithm = "halo_sm100";
  options_.options = "";
  std::vector<std::string> notes;
  ASSERT_TRUE(autotune(problem_, kernels, 0, options_, how_, deviceClock(other, 0), plan, notes).ok());
  EXPECT_EQ(plan->properties.computeMajor, 10);
  EXPECT_FALSE(other.counters().empty());
}

TEST_F(Autotune, IgnoresDamagedLinesAndMendsTheFile) {
  const TemporaryFolder folder;
  how_.cache = (folder / "cache");
  how_.candidates = 1;
  const auto plan = tune();
  const std::string good = fileContents(folder / "cache");
  std::string bad = good;
  bad[bad.find("halo")] = 'H';
  for (const std::string& text : {bad, good.substr(0, good.size() - 5), good.substr(0, good.find('\n') + 1) + "nonsense\n"}) {
    writeFile(folder / "cache", text);
    EXPECT_EQ(tune()->options, plan->options);
    EXPECT_FALSE(runs_.empty()) << "must be measured again";
    ASSERT_EQ(notes_.size(), 1u);
    EXPECT_NE(notes_[0].find("line 2 of " + (folder / "cache") + " is ignored: it"), std::string::npos) << notes_[0];
    EXPECT_EQ(fileContents(folder / "cache"), good);
  }
}

TEST_F(Autotune, LeavesFilesOfOthersAlone) {
  const TemporaryFolder folder;
  how_.cache = (folder / "cache");
  how_.candidates = 1;
  writeFile(folder / "cache", "something else\n");
  EXPECT_TRUE(tune());
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("no cache is used: "), std::string::npos) << notes_[0];
  EXPECT_NE(notes_[0].find("its first line is not"), std::string::npos) << notes_[0];
  EXPECT_EQ(fileContents(folder / "cache"), "something else\n");

  how_.cache = (folder / "cache") + "/is/no/folder";
  EXPECT_TRUE(tune());
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("no cache is used: cannot open"), std::string::npos) << notes_[0];
  how_.cache = (folder / "no/such/folder");
  EXPECT_TRUE(tune());
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("nothing is remembered: cannot open"), std::string::npos) << notes_[0];
}

TEST_F(Autotune, IgnoresWhatIsNoCandidateAnyMore) {
  const TemporaryFolder folder;
  how_.cache = (folder / "cache");
  how_.candidates = 1;
  tune();
  std::vector<std::string> fields;
  std::string text = fileContents(folder / "cache");
  for (size_t at = text.find('\n') + 1; at < text.size();) {
    const size_t end = text.find_first_of("\t\n", at);
    fields.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  ASSERT_EQ(fields.size(), 9u);
  const AutotuneKey key{fields[1], fields[2], fields[3], fields[4], fields[5]};
  ASSERT_TRUE(AutotuneCache(folder / "cache").remember(key, {"halo", "cut=round", 1.0}).ok());
  EXPECT_EQ(tune()->options, candidate(0));
  EXPECT_FALSE(runs_.empty());
  ASSERT_EQ(notes_.size(), 1u);
  EXPECT_NE(notes_[0].find("remembers halo cut=round, which is no candidate of this version"), std::string::npos) << notes_[0];
}

}  // namespace
}  // namespace shiftconv::plan
