// shift_window below the public API: single CTAs and pairs, every schedule, both numerics, planner choices.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include "tests/conv/kernel/kernel_case.hpp"
#include "tests/support/schedules.hpp"

namespace shiftconv::tests::shift_window_test {
namespace {

using emulator::Numerics;
using emulator::Options;
using plan::ShiftWindowChoices;

KernelRunner& runner() {
  static KernelRunner instance;
  return instance;
}

constexpr const char* kGroups[] = {"single", "pair"};

class ShiftWindow : public testing::TestWithParam<std::tuple<size_t, size_t>> {
 protected:
  ShiftWindow() : seed_(std::random_device{}()), case_(kernelFixture().at(std::get<0>(GetParam())), seed_) {
    choices_.pair = std::get<1>(GetParam()) == 1;
  }
  uint64_t seed_;
  KernelCase case_;
  ShiftWindowChoices choices_;
};

TEST_P(ShiftWindow, IsExactToTheBoundInFastNumerics) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  Options options;
  options.numerics = Numerics::Fast;
  EXPECT_EQ(case_.judge(runner().run(case_.problem(), case_.inputs(), choices_, options), Numerics::Fast), "");
}

TEST_P(ShiftWindow, IsExactToTheBoundInHardwareNumericsAndTheSameUnderEverySchedule) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  std::optional<KernelRun> first;
  for (const Options& options : schedulesOfKernels(seed_, 8)) {
    KernelRun run = runner().run(case_.problem(), case_.inputs(), choices_, options);
    if (first) {
      EXPECT_TRUE(run.output == first->output) << "policy " << static_cast<int>(options.policy) << ", seed " << options.seed;
    } else {
      ASSERT_EQ(case_.judge(run, Numerics::Hardware), "");
      first = std::move(run);
    }
  }
}

std::string nameOf(const testing::TestParamInfo<std::tuple<size_t, size_t>>& info) {
  const Problem p = kernelFixture().at(std::get<0>(info.param));
  const char* group = kGroups[std::get<1>(info.param)];
  return testing::PrintToString(p.n) + "x" + testing::PrintToString(p.h) + "x" + testing::PrintToString(p.w) + "x" +
         testing::PrintToString(p.c) + "_k" + testing::PrintToString(p.k) + "_r" + testing::PrintToString(p.r) + "s" +
         testing::PrintToString(p.s) + "_" + group;
}

INSTANTIATE_TEST_SUITE_P(Fixture, ShiftWindow,
                         testing::Combine(testing::Range<size_t>(0, kernelFixture().size()),
                                          testing::Range<size_t>(0, std::size(kGroups))),
                         nameOf);

TEST(ShiftWindowChoices, EveryTileWidthAndFilterResidencyGivesTheRightResult) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const KernelCase wide(makeProblem(1, 6, 50, 40, 200, 3, 3, {1, 1, 1, 1}), seed);
  for (const uint32_t tileN : {16u, 48u, 112u, 192u}) {
    for (const bool resident : {false, true}) {
      ShiftWindowChoices choices;
      choices.pair = tileN == 48;
      choices.tileN = tileN;
      choices.residentWeights = resident;
      plan::ShiftWindowPlan plan;
      if (!plan::planShiftWindow(wide.problem(), smallBlackwell(), choices, plan).empty()) continue;
      EXPECT_EQ(plan.params.filter.resident, resident);
      EXPECT_EQ(wide.judge(runner().run(wide.problem(), wide.inputs(), choices, {}), Numerics::Hardware), "")
          << "tile_n " << tileN << (resident ? ", resident" : ", streamed");
    }
  }
}

TEST(ShiftWindowChoices, AnyNumberOfCtasGivesTheSameBits) {
  const KernelCase one(makeProblem(2, 13, 31, 16, 24, 3, 3, {1, 1, 1, 1}), 7);
  ShiftWindowChoices choices;
  choices.clusters = 1;
  const KernelRun single = runner().run(one.problem(), one.inputs(), choices, {});
  EXPECT_EQ(one.judge(single, Numerics::Hardware), "");
  for (const uint32_t ctas : {2u, 3u, 100u}) {
    choices.clusters = ctas;
    EXPECT_TRUE(runner().run(one.problem(), one.inputs(), choices, {}).output == single.output) << ctas << " CTAs";
  }
}

// Masks skip padded taps; engines that multiply zero-filled rows would compute 0 * Inf there.
TEST(ShiftWindowPadding, DoesNotMultiplyPaddedTapsByInfiniteWeights) {
  KernelCase corner(makeProblem(1, 4, 5, 8, 8, 3, 3, {1, 1, 1, 1}), 11);
  ConvolutionInputs inputs = corner.inputs();
  constexpr uint16_t kInfinity = 0x7c00;
  for (size_t c = 0; c < 8; ++c) inputs.filter[c] = kInfinity;  // k 0, tap (0, 0)
  const KernelRun run = runner().run(corner.problem(), inputs, {}, {});
  const auto* output = reinterpret_cast<const float*>(run.output.data());
  for (size_t p = 0; p < 4; ++p)
    for (size_t q = 0; q < 5; ++q) EXPECT_EQ(std::isfinite(output[(p * 5 + q) * 8]), p == 0 || q == 0) << "pixel " << p << "," << q;
}

}  // namespace
}  // namespace shiftconv::tests::shift_window_test
