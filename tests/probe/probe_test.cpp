// The probe kit on the emulator: a switch set to each of its alternatives must be reported as that alternative.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "common/device/emulated_device.hpp"
#include "common/device/emulated_options.hpp"
#include "tests/probe/report.hpp"

namespace shiftconv::probe {
namespace {

struct Setting {
  const Experiment* experiment;
  uint8_t alternative;
};

std::vector<Setting> settings() {
  std::vector<Setting> result;
  for (const Experiment& experiment : experiments())
    for (size_t i = 0; i < wording(experiment.id).alternatives.size(); ++i)
      result.push_back({&experiment, static_cast<uint8_t>(i)});
  return result;
}

class EveryAlternative : public testing::TestWithParam<Setting> {};

TEST_P(EveryAlternative, IsReported) {
  const auto [experiment, alternative] = GetParam();
  const auto device = makeEmulatedDevice();
  ASSERT_TRUE(device->setOption("semantics." + std::string(wording(experiment->id).name), std::to_string(alternative)).ok());
  const Observation observation = observe(*device, *experiment);
  EXPECT_TRUE(observation.applicable);
  EXPECT_EQ(observation.alternative, alternative) << observation.detail;
}

INSTANTIATE_TEST_SUITE_P(Probe, EveryAlternative, testing::ValuesIn(settings()), [](const auto& info) {
  return fmt::format("{}_{}", wording(info.param.experiment->id).name, info.param.alternative);
});

TEST(Probe, EveryQuestionIsAskedOrListedAsNonDiscriminating) {
  std::vector<std::string_view> asked, listed;
  for (const Experiment& experiment : experiments()) asked.push_back(wording(experiment.id).name);
  for (const NonDiscriminating& question : nonDiscriminating()) listed.push_back(wording(question.id).name);
  EXPECT_EQ(listed, (std::vector<std::string_view>{"U14", "U30", "U31", "U32", "U33", "U34", "U35"}));
  std::multiset<std::string_view> all(asked.begin(), asked.end());
  all.insert(listed.begin(), listed.end());
  std::multiset<std::string_view> expected;
  for (const emulator::UnprovenQuestion& question : emulator::unprovenQuestions()) expected.insert(question.name);
  EXPECT_EQ(all, expected);
}

TEST(Probe, BehaviourThatFitsNothingIsNotForcedIntoAnAlternative) {
  // With U1 = 1 a shift at lane 32 moves window 1 alone, which U2 does not know.
  const auto device = makeEmulatedDevice();
  ASSERT_TRUE(device->setOption("semantics.U1", "1").ok());
  const Observation observation = observe(*device, *experimentFor(emulator::Unproven::U2));
  EXPECT_FALSE(observation.alternative);
  EXPECT_FALSE(observation.isConclusive());
  EXPECT_NE(observation.detail.find("lane 0 column 0"), std::string::npos) << observation.detail;
}

/// Choices of a whole device, seen by the experiments, written, and read again. `pick(count)` of each question.
template <class Pick>
void expectRoundTrip(const std::string& path, Pick&& pick) {
  const auto device = makeEmulatedDevice();
  std::vector<Observation> observations;
  for (const Experiment& experiment : experiments()) {
    const emulator::UnprovenQuestion& question = wording(experiment.id);
    const auto choice = static_cast<uint8_t>(pick(question.alternatives.size()));
    const std::string option = fmt::format("semantics.{}", question.name);
    // One at a time: some choices hide the effect of others.
    ASSERT_TRUE(device->setOption(option, std::to_string(choice)).ok());
    observations.push_back(observe(*device, experiment));
    ASSERT_EQ(observations.back().alternative, choice) << question.name << " " << observations.back().detail;
    ASSERT_TRUE(device->setOption(option, "0").ok());
  }
  std::ofstream(path) << toJson("a device", observations).dump(2);
  emulator::Options options;
  const Status status = device::setEmulatedOption(options, "semantics.file", path);
  ASSERT_TRUE(status.ok()) << status.message();
  for (const Experiment& experiment : experiments()) {
    const emulator::UnprovenQuestion& question = wording(experiment.id);
    const size_t choice = pick(question.alternatives.size());
    EXPECT_EQ(options.semantics[experiment.id], experiment.unprovable == choice ? 0u : choice) << question.name;
  }
}

class Program : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  /// Exit status; standard output and errors are in `output_`.
  int run(const std::string& arguments) {
    const int status =
        std::system(fmt::format("{} {} {} > {} 2>&1", environment_, PROBE_PROGRAM, arguments, file("output")).c_str());
    std::ifstream stream(file("output"));
    output_.assign(std::istreambuf_iterator<char>(stream), {});
    return WEXITSTATUS(status);
  }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / fmt::format("probe_test_{}", getpid());
  std::string output_;
  std::string environment_;  ///< as a shell writes it in front of a command
};

TEST_F(Program, ItsReportMakesAnEmulatorBehaveAsObserved) {
  ASSERT_EQ(run(fmt::format("--isolate --only U3,U4,U26 --set U3=1 --set U4=2 --json {}", file("seen.json"))), 0) << output_;
  EXPECT_NE(output_.find("DIFFERS"), std::string::npos) << output_;
  emulator::Options options;
  const Status status = device::setEmulatedOption(options, "semantics.file", file("seen.json"));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(options.semantics[emulator::Unproven::U3], 1);
  EXPECT_EQ(options.semantics[emulator::Unproven::U4], 2);
  EXPECT_EQ(options.semantics[emulator::Unproven::U26], 0);
}

TEST_F(Program, EveryReportedChoiceIsReproduced) {
  std::filesystem::create_directories(folder_);
  expectRoundTrip(file("last.json"), [](size_t count) { return count - 1; });
  expectRoundTrip(file("second.json"), [](size_t count) { return std::min<size_t>(count - 1, 1); });
  expectRoundTrip(file("defaults.json"), [](size_t) { return size_t{0}; });
}

/// "In order" holds only until a run shows otherwise: the emulator must go on to report the race.
TEST_F(Program, OrdersThatWereOnlySeenAreNotTakenOver) {
  ASSERT_EQ(run(fmt::format("--only U17 --set U17=1 --json {}", file("seen.json"))), 0) << output_;
  EXPECT_NE(output_.find("does not take it over"), std::string::npos) << output_;
  emulator::Options options;
  ASSERT_TRUE(device::setEmulatedOption(options, "semantics.file", file("seen.json")).ok());
  EXPECT_EQ(options.semantics[emulator::Unproven::U17], 0);
}

TEST_F(Program, AFaultOfOneQuestionLeavesTheOthersAlone) {
  ASSERT_EQ(run("--isolate --only U22,U24,U26"), 0) << output_;
  EXPECT_NE(output_.find("0 (fault): as the emulator"), std::string::npos) << output_;
  EXPECT_NE(output_.find("0 (masked lanes keep their old value): as the emulator"), std::string::npos) << output_;
}

TEST_F(Program, AProcessWithoutAnAnswerIsReported) {
  environment_ = "TMPDIR=/proc";  // where the process for a question cannot write its answer
  ASSERT_EQ(run("--isolate --only U1,U26"), 0) << output_;
  EXPECT_NE(output_.find("none of the alternatives"), std::string::npos) << output_;
  EXPECT_NE(output_.find("ended without an answer"), std::string::npos) << output_;
}

TEST_F(Program, ListsEveryQuestion) {
  ASSERT_EQ(run("--list"), 0);
  for (const emulator::UnprovenQuestion& question : emulator::unprovenQuestions())
    EXPECT_NE(output_.find(question.question), std::string::npos) << question.name;
  for (const NonDiscriminating& question : nonDiscriminating()) EXPECT_NE(output_.find(question.reason), std::string::npos);
}

TEST_F(Program, RefusesWhatItCannotDo) {
  EXPECT_EQ(run("--only U14"), 1);
  EXPECT_NE(output_.find("U14"), std::string::npos);
  EXPECT_EQ(run("--set U3"), 1);
  EXPECT_NE(output_.find("U3=1"), std::string::npos);
  EXPECT_EQ(run("--set U3=9"), 1);
  EXPECT_NE(output_.find("alternatives are"), std::string::npos);
  EXPECT_EQ(run("--only U1 --json /nonexistent/x.json"), 1);
  EXPECT_NE(output_.find("/nonexistent/x.json"), std::string::npos);
  EXPECT_NE(run("--device tpu"), 0);
}

}  // namespace
}  // namespace shiftconv::probe
