// The test kernels compute what they should and have no hazard, under every schedule and in both numerics: what mutants of
// them do wrong is the mutation's fault.
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

INSTANTIATE_TEST_SUITE_P(Hazards, CorrectKernel, testing::Range<size_t>(0, subjects().size()),
                         [](const auto& info) { return subjects()[info.param].kernel; });

}  // namespace
}  // namespace shiftconv::tests
