// The test kernels compute what they should, under every schedule and in both numerics: what mutants of them do wrong is the
// mutation's fault.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/hazards/kernels/test_kernels.hpp"

namespace shiftconv::tests {
namespace {

using emulator::SchedulePolicy;

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = testKernelSubjects();
  return all;
}

class CorrectKernel : public testing::TestWithParam<size_t> {};

TEST_P(CorrectKernel, AgreesWithTheReferenceUnderEverySchedule) {
  const Subject& subject = subjects().at(GetParam());
  const auto loaded = subject.load(subject.ptx);
  for (size_t trial = 0; trial < subject.trials.size(); ++trial)
    for (const auto policy : {SchedulePolicy::Earliest, SchedulePolicy::Latest, SchedulePolicy::Random})
      for (const auto numerics : {emulator::Numerics::Fast, emulator::Numerics::Hardware}) {
        emulator::Options options;
        options.policy = policy;
        options.numerics = numerics;
        EXPECT_EQ(loaded->run(trial, options).difference, "")
            << subject.trials[trial] << ", policy " << static_cast<int>(policy) << ", numerics " << static_cast<int>(numerics);
      }
}

INSTANTIATE_TEST_SUITE_P(Hazards, CorrectKernel, testing::Range<size_t>(0, subjects().size()),
                         [](const auto& info) { return subjects()[info.param].kernel; });

}  // namespace
}  // namespace shiftconv::tests
