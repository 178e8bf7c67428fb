// shift_window with every kind of operands, in one to three dimensions and with the whole epilogue: each way of its operands, every
// schedule, hazards, and what the plan says of itself against what the emulator counts.
#include <gtest/gtest.h>

#include <random>

#include "common/device/embedded_ptx.hpp"
#include "conv/algorithms/shift_window/plan.hpp"
#include "tests/conv/kernel/judged_run.hpp"

namespace shiftconv::tests::shift_window_kinds_test {
namespace {

using plan::ShiftWindowChoices;
using plan::ShiftWindowPlan;

struct WindowProblem {
  std::string name;
  Problem problem;
  ShiftWindowChoices choices;
};

/// One shape for each property; those of 16-bit operands in two dimensions stand in shift_window_test.cpp.
std::vector<WindowProblem> makeWindowProblems() {
  std::vector<WindowProblem> all;
  const auto add = [&](std::string name, Problem p, ShiftWindowChoices choices = {}) {
    all.push_back({std::move(name), p, choices});
  };
  const DataType f32 = DataType::F32, e4m3 = DataType::E4M3, s8 = DataType::S8;
  const Problem small = plain(1, 9, 15, 96, 32, 3, 3, 1);
  for (const auto& [name, problem] : operandCases(small)) add(name, problem);

  Problem p = typed(plain(1, 1, 70, 48, 24, 1, 5, 0), s8, s8, f32);
  p.padLeft = 1, p.padRight = 3, p.inputZeroPoint = 9;
  add("one_dimension", p);
  p = plain(2, 4, 9, 24, 16, 2, 3, 0);
  p.d = 4, p.t = 3, p.padFront = p.padBack = 1, p.padTop = 1, p.padLeft = 2;
  add("three_dimensions", p, {.residentWeights = true});
  p.dilationD = 2, p.padFront = 3, p.padBack = 0, p.d = 5;
  add("depth_dilation_streamed", typed(p, f32, f32, f32), {.residentWeights = false});
  p = typed(plain(1, 3, 7, 160, 16, 3, 2, 0), e4m3, DataType::E5M2, f32);
  p.d = 9, p.t = 7, p.padFront = 2, p.padTop = 2, p.n = 2;
  add("seven_depth_taps", p, {.residentWeights = false});

  p = typed(small, DataType::U8, DataType::U8, DataType::U8);
  p.inputZeroPoint = 130, p.filterZeroPoint = 3, p.outputZeroPoint = 128, p.outScale = 0.0009765625f, p.hasBias = true;
  p.d = 3, p.t = 2, p.padBack = 1, p.h = 4;
  add("u8_zero_points_everywhere", p);
  p = typed(plain(2, 5, 17, 32, 35, 3, 3, 1), e4m3, e4m3, DataType::BF16);
  p.hasBias = true, p.activation = Activation::Relu, p.outputPixelPitch = 41;
  add("odd_channels_and_pitch", p);
  add("integers_in_passes", typed(plain(1, 7, 33, 144, 70, 3, 3, 1), s8, DataType::U8, f32), {.tileN = 32});
  add("f16_to_mxfp8", quantised(plain(1, 9, 11, 32, 72, 3, 3, 1), e4m3, 32, ScaleOrder::Interleaved), {.tileN = 32});
  add("e4m3_to_nvfp4", quantised(typed(plain(1, 9, 11, 32, 40, 3, 3, 1), e4m3, e4m3, f32), DataType::E2M1, 16, ScaleOrder::Plain));
  return all;
}

const std::vector<WindowProblem>& windowProblems() {
  static const std::vector<WindowProblem> problems = makeWindowProblems();
  return problems;
}

class ShiftWindowKinds : public testing::TestWithParam<std::tuple<size_t, size_t>> {
 public:
  static constexpr const char* kGroupNames[] = {"single", "pair"};
};

TEST_P(ShiftWindowKinds, EqualTheExactResultUnderEveryScheduleAndAreCounted) {
  static emulator::Emulator machine;
  static const auto module = machine.load(device::ptxFor(plan::shiftWindowImage(), "sm_100a"), "shift_window");
  const auto [index, group] = GetParam();
  WindowProblem what = windowProblems().at(index);
  what.choices.pair = group == 1;
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const device::Properties properties = fewMultiprocessors();
  ASSERT_EQ(plan::shiftWindowRefusal(what.problem, properties), "");
  ShiftWindowPlan plan;
  ASSERT_EQ(planShiftWindow(what.problem, properties, what.choices, plan), "");
  EXPECT_EQ(plan.cut.pair, group == 1);
  judgeUnderEverySchedule(machine, *module, plan, StreamCase(what.problem, seed), seed);
}

INSTANTIATE_TEST_SUITE_P(Problems, ShiftWindowKinds,
                         testing::Combine(testing::Range<size_t>(0, windowProblems().size()),
                                          testing::Range<size_t>(0, std::size(ShiftWindowKinds::kGroupNames))),
                         [](const auto& info) {
                           return windowProblems().at(std::get<0>(info.param)).name + "_" +
                                  ShiftWindowKinds::kGroupNames[std::get<1>(info.param)];
                         });

}  // namespace
}  // namespace shiftconv::tests::shift_window_kinds_test
