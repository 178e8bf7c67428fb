#include "common/device/emulated_options.hpp"

#include <gtest/gtest.h>

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
