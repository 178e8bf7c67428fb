// The test kernels compute what they should and have no hazard, under every schedule and in both numerics: what mutants of
// them do wrong is the mutation's fault.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "tests/hazards/kernels/test_kernels.hpp"
#include "tests/support/one_kernel.hpp"

namespace shiftconv::tests {
namespace {

using emulator::SchedulePolicy;

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = testKernelSubjects();
  return all;
}

class CorrectKernel : public testing::TestWithParam<size_t> {};

TEST_P(CorrectKernel, AgreesWithTheReferenceAndHasNoHazardUnderAnySchedule) {
  const Subject& subject = subjects().at(GetParam());
  const auto loaded = subject.load(subject.ptx);
  for (size_t trial = 0; trial < subject.trials.size(); ++trial)
    for (const auto policy : {SchedulePolicy::Earliest, SchedulePolicy::Latest, SchedulePolicy::Random})
      for (const auto numerics : {emulator::Numerics::Fast, emulator::Numerics::Hardware}) {
        emulator::Options options;
        options.policy = policy;
        options.numerics = numerics;
        options.hazards = emulator::HazardMode::Warn;
        const Observation seen = loaded->run(trial, options);
        EXPECT_EQ(seen.difference, "") << subject.trials[trial] << ", policy " << static_cast<int>(policy) << ", numerics "
                                       << static_cast<int>(numerics);
        for (const emulator::Hazard& hazard : seen.hazards) ADD_FAILURE() << subject.trials[trial] << "\n" << describe(hazard);
      }
}

TEST(OneKernel, KeepsItsLinesAndNoOtherEntry) {
  const std::string head = ".version 9.0\n.target sm_100a\n.address_size 64\n.global .u32 shared_by_both;\n";
  const std::string
      first = "\n.visible .entry first(\n\t.param .u32 n\n)\n{\n\t// a brace } of nothing\n{\n.reg .pred inline;\n}\n\tret;\n}\n",
      second = "\n.visible .entry second()\n{\n\tret;\n}\n";
  const std::string debug = "\n\t.section\t.debug_str\n\t{\n\t}\n";
  const std::string found = emulator::ptx::withOneKernel(head + first + second + debug, "second");
  EXPECT_EQ(found.find("first"), std::string::npos);
  EXPECT_EQ(found.find(".debug"), std::string::npos);
  EXPECT_NE(found.find("shared_by_both"), std::string::npos);
  const auto lineOf = [](const std::string& text) {
    return std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("second")), '\n');
  };
  EXPECT_EQ(lineOf(found), lineOf(head + first + second));
  emulator::Emulator machine;
  EXPECT_NO_THROW(loadOneKernel(machine, head + first + second + debug, "first"));
  EXPECT_THROW(emulator::ptx::withOneKernel(head + first, "second"), std::invalid_argument);
  const std::string both = head + first + second;
  const emulator::ptx::KernelTexts texts(both);
  for (const auto& [name, isThere] : {std::pair{"first", true}, {"second", true}, {"fir", false}, {"seconds", false}, {"", false}})
    EXPECT_EQ(texts.has(name), isThere) << name;
}

INSTANTIATE_TEST_SUITE_P(Hazards, CorrectKernel, testing::Range<size_t>(0, subjects().size()),
                         [](const auto& info) { return subjects()[info.param].kernel; });

}  // namespace
}  // namespace shiftconv::tests
