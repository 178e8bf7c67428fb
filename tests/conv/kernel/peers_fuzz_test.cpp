// Random problems for shift_stream, shift_window, halo_sm100 and im2col below the public API: types, geometry, cuts and schedules.
// Whoever takes a problem computes it exactly, silently, and as its plan counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "common/device/embedded_ptx.hpp"
#include "conv/algorithms/halo_sm100/plan.hpp"
#include "conv/algorithms/im2col/plan.hpp"
#include "conv/algorithms/shift_stream/plan.hpp"
#include "conv/algorithms/shift_window/plan.hpp"
#include "conv/problem/text.hpp"
#include "conv/problem/validation.hpp"
#include "gemm_sm100_image.hpp"
#include "halo_sm100_image.hpp"
#include "shift_stream_image.hpp"
#include "tests/conv/fuzz_part.hpp"
#include "tests/conv/kernel/judged_run.hpp"

namespace shiftconv::tests::peers_fuzz_test {
namespace {

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool oneIn(int64_t n) { return between(1, n) == 1; }

 private:
  std::mt19937_64 random_;
};

Problem randomProblem(Dice& dice) {
  while (true) {
    Problem p;
    const int64_t kind = dice.between(0, 7);
    constexpr DataType kDense[] = {DataType::F16, DataType::BF16, DataType::F32, DataType::E4M3, DataType::S8};
    if (kind < 5) {
      DataType filter = kDense[kind];
      if (dice.oneIn(2)) filter = filter == DataType::E4M3 ? DataType::E5M2 : filter == DataType::S8 ? DataType::U8 : filter;
      p = typed(p, kDense[kind], filter, DataType::F32);
    } else if (kind < 7) {
      p = scaled(p, DataType::E4M3, dice.oneIn(2) ? DataType::E5M2 : DataType::E4M3, 32, DataType::UE8M0);
    } else {
      p = scaled(p, DataType::E2M1, DataType::E2M1, 16, DataType::UE4M3);
    }
    p.outputType = dice.oneIn(2) ? DataType::F32 : DataType::BF16;
    const ScaleOrder order = dice.oneIn(2) ? ScaleOrder::Plain : ScaleOrder::Interleaved;
    if (p.inputScale.blockSize != 0) (dice.oneIn(2) ? p.inputScale : p.filterScale).order = order;
    if (dice.oneIn(4)) p = quantised(p, DataType::E4M3, 32, order);
    if (dice.oneIn(6)) p = quantised(p, DataType::E2M1, 16, order);
    if (isInteger(p.inputType) && dice.oneIn(2)) p.inputZeroPoint = static_cast<int32_t>(dice.between(-128, 127));
    if (isInteger(p.inputType) && dice.oneIn(4)) p.filterZeroPoint = static_cast<int32_t>(dice.between(-128, 127));
    const int64_t step = (p.inputScale.blockSize != 0) ? 32 : 128 / bitsOf(p.inputType);
    p.n = dice.between(1, 4), p.h = dice.between(1, 12), p.w = dice.between(1, 40);
    p.c = step * dice.between(1, (p.inputScale.blockSize != 0) ? 5 : 12), p.k = dice.between(1, 70);
    p.r = dice.between(1, 4), p.s = dice.between(1, 5);
    if (dice.oneIn(4)) p.d = dice.between(1, 3), p.t = dice.between(1, 2), p.padFront = dice.between(0, 1);
    p.padTop = dice.between(0, p.r), p.padBottom = dice.between(0, p.r);
    p.padLeft = dice.between(0, p.s), p.padRight = dice.between(0, p.s);
    if (dice.oneIn(3)) p.strideH = dice.between(1, 3);
    if (dice.oneIn(4)) p.strideW = dice.between(1, 3);
    if (dice.oneIn(4)) p.dilationH = dice.between(1, 3);
    if (dice.oneIn(6)) p.dilationW = dice.between(1, 2);
    // Half of the problems have outputs at inputs, as shift_window wants them.
    if (dice.oneIn(2)) {
      p.strideH = p.strideW = p.dilationW = 1;
      p.s = std::max<int64_t>(p.s, 2);
      p.padFront = std::min(p.padFront, p.t - 1);
      p.padTop = std::min(p.padTop, (p.r - 1) * p.dilationH), p.padLeft = std::min(p.padLeft, p.s - 1);
      p.padBottom = (p.r - 1) * p.dilationH - p.padTop, p.padRight = p.s - 1 - p.padLeft;
    }
    p.hasBias = dice.oneIn(3);
    if (dice.oneIn(3)) p.activation = Activation::Relu;
    if (p.z() < 1 || p.p() < 1 || p.q() < 1 || !validate(p).ok()) continue;
    return p;
  }
}

struct Peers {
  emulator::Emulator machine;
  std::shared_ptr<const emulator::LoadedModule> stream =
                                                    machine.load(device::ptxFor(images::shift_stream(), "sm_100a"), "shift_stream"),
                                                window = machine.load(device::ptxFor(plan::shiftWindowImage(), "sm_100a"),
                                                                      "shift_window"),
                                                halo = machine.load(device::ptxFor(images::halo_sm100(), "sm_100a"), "halo_sm100"),
                                                gemm = machine.load(device::ptxFor(images::gemm_sm100(), "sm_100a"), "gemm");
};

template <class Plan>
void judgeOnce(Peers& peers, const emulator::LoadedModule& module, const Plan& plan, const StreamCase& one, uint64_t seed) {
  expectTilesAddUp(plan);
  emulator::Options options;
  options.policy = emulator::SchedulePolicy::Random;
  options.seed = seed;
  judge(peers.machine, module, plan, one, options);
}

class PeersFuzz : public testing::TestWithParam<FuzzPart> {};

TEST_P(PeersFuzz, WhoeverTakesAProblemIsExact) {
  static Peers peers;
  int taken = 0, windows = 0;
  for (int i = 0; i < GetParam().problems; ++i) {
    const uint64_t seed = GetParam().seed + static_cast<uint64_t>(i);
    Dice dice(seed);
    const Problem problem = randomProblem(dice);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << describe(problem));
    const device::Properties properties = fewMultiprocessors();
    const StreamCase one(problem, seed);
    const bool pair = dice.oneIn(2);
    std::optional<bool> resident;
    if (dice.oneIn(3)) resident = false;
    if (plan::shiftStreamRefusal(problem, properties).empty()) {
      plan::ShiftStreamChoices choices;
      choices.pair = pair, choices.residentWeights = resident;
      if (dice.oneIn(2)) choices.blockRows = static_cast<uint32_t>(dice.between(1, 4));
      choices.map = static_cast<plan::StreamMap>(dice.between(0, static_cast<int64_t>(plan::kStreamMapNames.size()) - 1));
      const bool isScaled = problem.inputScale.blockSize != 0;
      if (*choices.map == plan::StreamMap::FlatMasked && (isScaled || problem.padLeft >= problem.s))
        choices.map = plan::StreamMap::FlatRefill;
      if (isRefilled(*choices.map) && problem.s == 1) choices.map = plan::StreamMap::Packed;
      if (isScaled) choices.shiftedScales = dice.oneIn(2) && !isRefilled(*choices.map);
      plan::ShiftStreamPlan plan;
      ASSERT_EQ(planShiftStream(problem, properties, choices, plan), "");
      judgeOnce(peers, *peers.stream, plan, one, seed);
      ++taken;
    }
    if (plan::shiftWindowRefusal(problem, properties).empty()) {
      plan::ShiftWindowChoices choices;
      choices.pair = pair, choices.residentWeights = resident;
      plan::ShiftWindowPlan plan;
      ASSERT_EQ(planShiftWindow(problem, properties, choices, plan), "");
      judgeOnce(peers, *peers.window, plan, one, seed);
      ++taken, ++windows;
    }
    if (plan::sm100::haloRefusal(problem, properties).empty()) {
      plan::sm100::HaloPlan plan;
      plan::sm100::HaloChoices choices;
      choices.pair = pair, choices.residentWeights = resident, choices.collector = false;
      ASSERT_EQ(planHalo(problem, properties, choices, plan), "");
      judgeOnce(peers, *peers.halo, plan, one, seed);
      choices.collector = true;
      if (!dice.oneIn(4)) choices.blockRows = static_cast<uint32_t>(dice.between(1, 9));
      if (problem.inputScale.blockSize == 0 && planHalo(problem, properties, choices, plan).empty())
        judgeOnce(peers, *peers.halo, plan, one, seed);
      ++taken;
    }
    if (plan::im2colRefusal(problem, properties).empty()) {
      plan::Im2colPlan plan;
      ASSERT_EQ(planIm2col(problem, properties, {.pair = pair, .residentWeights = resident}, plan), "");
      judgeOnce(peers, *peers.gemm, plan, one, seed);
      ++taken;
    }
  }
  EXPECT_GT(taken, GetParam().problems) << "hardly anybody takes these problems";
  EXPECT_GT(windows, 0) << "shift_window takes none of these problems";
}

INSTANTIATE_TEST_SUITE_P(Parts, PeersFuzz, testing::ValuesIn(fuzzParts(1000, 4, 8)));
INSTANTIATE_TEST_SUITE_P(Nightly, PeersFuzz, testing::ValuesIn(fuzzParts(100000, 8, 50)));

}  // namespace
}  // namespace shiftconv::tests::peers_fuzz_test
