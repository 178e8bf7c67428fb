#include "common/device/emulated_options.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace shiftconv::device::tests {
namespace {

using emulator::Numerics;
using emulator::Options;
using emulator::SchedulePolicy;
using emulator::Unproven;

TEST(EmulatedOptions, SetEveryOption) {
  Options options;
  EXPECT_TRUE(setEmulatedOption(options, "schedule", "latest").ok());
  EXPECT_EQ(options.policy, SchedulePolicy::Latest);
  EXPECT_TRUE(setEmulatedOption(options, "schedule", "random").ok());
  EXPECT_EQ(options.policy, SchedulePolicy::Random);
  EXPECT_TRUE(setEmulatedOption(options, "schedule", "earliest").ok());
  EXPECT_EQ(options.policy, SchedulePolicy::Earliest);
  EXPECT_TRUE(setEmulatedOption(options, "seed", "18446744073709551615").ok());
  EXPECT_EQ(options.seed, ~uint64_t{0});
  EXPECT_TRUE(setEmulatedOption(options, "numerics", "fast").ok());
  EXPECT_EQ(options.numerics, Numerics::Fast);
  EXPECT_TRUE(setEmulatedOption(options, "numerics", "hardware").ok());
  EXPECT_EQ(options.numerics, Numerics::Hardware);
  EXPECT_TRUE(setEmulatedOption(options, "host_threads", "3").ok());
  EXPECT_EQ(options.hostThreads, 3u);
  EXPECT_TRUE(setEmulatedOption(options, "instruction_limit", "12345").ok());
  EXPECT_EQ(options.instructionLimit, 12345u);
  EXPECT_TRUE(setEmulatedOption(options, "hazards", "warn").ok());
  EXPECT_EQ(options.hazards, emulator::HazardMode::Warn);
  EXPECT_TRUE(setEmulatedOption(options, "hazards", "error").ok());
  EXPECT_EQ(options.hazards, emulator::HazardMode::Error);
  EXPECT_TRUE(setEmulatedOption(options, "hazards", "off").ok());
  EXPECT_EQ(options.hazards, emulator::HazardMode::Off);
}

TEST(EmulatedOptions, ChooseAlternativesByNumberAndByName) {
  for (const emulator::UnprovenQuestion& question : emulator::unprovenQuestions())
    for (size_t i = 0; i < question.alternatives.size(); ++i) {
      Options options;
      const std::string name = "semantics." + std::string(question.name);
      EXPECT_TRUE(setEmulatedOption(options, name, std::to_string(i)).ok()) << name;
      EXPECT_EQ(options.semantics[question.id], i) << name;
      options = {};
      EXPECT_TRUE(setEmulatedOption(options, name, question.alternatives[i]).ok()) << name << " " << question.alternatives[i];
      EXPECT_EQ(options.semantics[question.id], i) << name;
    }
}

/// A file that lives as long as this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) { std::ofstream(path_) << text; }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() / ("semantics_" + std::to_string(getpid()) + ".json");
};

TEST(EmulatedOptions, LoadAlternativesFromAFile) {
  Options options;
  options.semantics.choose(Unproven::U9, 1);
  const TemporaryFile file(R"({"device": "a GPU", "semantics": {"U3": 1, "U24": "ignored"}})");
  const Status status = setEmulatedOption(options, "semantics.file", file.path());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(options.semantics[Unproven::U3], 1);
  EXPECT_EQ(options.semantics[Unproven::U24], 2);
  EXPECT_EQ(options.semantics[Unproven::U9], 1) << "questions that the file does not name keep their alternative";
}

TEST(EmulatedOptions, RefusedFilesChangeNothing) {
  for (const char* text : {"", "[]", "{}", R"({"semantics": 3})", R"({"semantics": {"U3": 1, "U4": 77}})",
                           R"({"semantics": {"U3": 1, "U99": 0}})", R"({"semantics": {"U3": 1, "U4": null}})"}) {
    Options options;
    const TemporaryFile file(text);
    const Status status = setEmulatedOption(options, "semantics.file", file.path());
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_NE(status.message().find(file.path()), std::string::npos) << status.message();
    EXPECT_EQ(options.semantics[Unproven::U3], 0) << text;
  }
  Options options;
  EXPECT_EQ(setEmulatedOption(options, "semantics.file", "/nonexistent").code(), StatusCode::NotFound);
}

struct Wrong {
  const char* name;
  const char* value;
  StatusCode code;
  const char* mentions;
};

TEST(EmulatedOptions, RefusalsListWhatExists) {
  for (const Wrong& wrong :
       {Wrong{"schedule", "sometimes", StatusCode::InvalidArgument, "earliest, latest, random"},
        Wrong{"numerics", "", StatusCode::InvalidArgument, "hardware, fast"},
        Wrong{"seed", "-1", StatusCode::InvalidArgument, "18446744073709551615"},
        Wrong{"seed", "18446744073709551616", StatusCode::InvalidArgument, "18446744073709551615"},
        Wrong{"seed", "12x", StatusCode::InvalidArgument, "12x"},
        Wrong{"host_threads", "1025", StatusCode::InvalidArgument, "1024"},
        Wrong{"instruction_limit", "many", StatusCode::InvalidArgument, "many"},
        Wrong{"semantics.U3", "99", StatusCode::InvalidArgument, "0: "}, Wrong{"semantics.U99", "0", StatusCode::NotFound, "U3"},
        Wrong{"speed", "11", StatusCode::NotFound, "schedule, seed, numerics"}}) {
    Options options;
    const Status status = setEmulatedOption(options, wrong.name, wrong.value);
    EXPECT_EQ(status.code(), wrong.code) << wrong.name;
    EXPECT_NE(status.message().find(wrong.mentions), std::string::npos) << status.message();
    EXPECT_EQ(options.seed, 1u);
    EXPECT_EQ(options.policy, SchedulePolicy::Earliest);
  }
}

}  // namespace
}  // namespace shiftconv::device::tests
