// The shipped kernels have no hazard, under any schedule.
#include <gtest/gtest.h>

#include <random>

#include "tests/conv/kernel/kernel_case.hpp"
#include "tests/support/schedules.hpp"

namespace shiftconv::tests {
namespace {

using emulator::HazardMode;
using emulator::Options;

constexpr const char* kGroups[] = {"single", "pair"};

class ShiftWindowHazards : public testing::TestWithParam<std::tuple<size_t, size_t>> {};

TEST_P(ShiftWindowHazards, ThereAreNone) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const KernelCase one(kernelFixture().at(std::get<0>(GetParam())), seed);
  KernelRunner runner;
  plan::ShiftWindowChoices choices;
  choices.pair = std::get<1>(GetParam()) == 1;
  for (Options options : schedulesOfKernels(seed)) {
    options.numerics = emulator::Numerics::Fast;
    options.hazards = HazardMode::Warn;
    const KernelRun run = runner.run(one.problem(), one.inputs(), choices, options);
    EXPECT_EQ(one.judge(run, emulator::Numerics::Fast), "");
    for (const emulator::Hazard& hazard : run.hazards) ADD_FAILURE() << describe(hazard);
  }
}

std::string nameOf(const testing::TestParamInfo<std::tuple<size_t, size_t>>& info) {
  return "fixture" + std::to_string(std::get<0>(info.param)) + "_" + kGroups[std::get<1>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Fixture, ShiftWindowHazards,
                         testing::Combine(testing::Range<size_t>(0, kernelFixture().size()),
                                          testing::Range<size_t>(0, std::size(kGroups))),
                         nameOf);

}  // namespace
}  // namespace shiftconv::tests
