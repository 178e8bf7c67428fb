// shift_window moves and multiplies no more than it did before it was built of the pieces of common/gemm.
//
// The figures are those of the kernel at commit 976b6b5, assembled from its source of then and run by this program's machine on
// kernelFixture(). It executes 0.2 to 4 % more warp instructions now (more set-up, shared barriers); these are not compared.
#include <gtest/gtest.h>

#include "tests/conv/kernel/kernel_case.hpp"

namespace shiftconv::tests::shift_window_counters_test {
namespace {

/// Bytes by memory, of all engines together.
struct Figures {
  uint64_t globalRead, globalWrite, sharedRead, sharedWrite, tensorRead, tensorWrite;
  uint64_t multiplications, operations;  ///< asynchronous operations, multiplications among them
};
constexpr Figures kBefore[] = {
    // 2x17x23x72 f16 * 40x3x3x72 pad 1,1,1,1 -> 2x17x23x40 f32
    {460512, 125120, 918320, 909984, 7525952, 7003776, 315, 931},
    // 1x9x37x200 f16 * 264x3x3x200 pad 1,1,1,1 -> 1x9x37x264 f32
    {3662400, 351648, 4199072, 5161536, 43519168, 42505344, 702, 2382},
    // 3x11x7x8 f16 * 8x7x7x8 pad 3,3,3,3 -> 3x11x7x8 f32
    {43536, 7392, 166016, 545440, 717216, 605120, 147, 435},
    // 1x21x40x24 f16 * 16x2x5x24 pad 0,1,3,1 -> 1x21x40x16 f32
    {105312, 53760, 216576, 304000, 1584832, 1242240, 160, 396},
    // 5x1x1x16 f16 * 24x1x2x16 pad 0,0,1,0 -> 5x1x1x24 f32
    {1856, 480, 12384, 41056, 17344, 57984, 4, 56},
    // 2x14x19x64 bf16 * 64x3x2x64 pad 3,1,0,0 dilation 2,1 -> 2x14x18x64 bf16 bias relu
    {435584, 64512, 494288, 344464, 3318016, 3344384, 120, 511},
    // 2x8x50x40 f16 pitch 48 * 32x3x4x40 pad 1,0,1,2 -> 2x7x50x32 f16 pitch 40 bias
    {354960, 44800, 519824, 443152, 4254208, 3749888, 252, 616},
};

Figures figuresOf(const emulator::Counters& counters) {
  std::array<uint64_t, static_cast<size_t>(emulator::Traffic::Count)> sums{};
  for (const auto& engine : counters.bytes)
    for (size_t traffic = 0; traffic < sums.size(); ++traffic) sums[traffic] += engine[traffic];
  using enum emulator::Traffic;
  const auto sum = [&](emulator::Traffic traffic) { return sums[static_cast<size_t>(traffic)]; };
  Figures figures{sum(GlobalRead), sum(GlobalWrite), sum(SharedRead), sum(SharedWrite), sum(TmemRead), sum(TmemWrite), 0, 0};
  for (const auto& [shape, count] : counters.mma) figures.multiplications += count;
  for (const auto& [name, count] : counters.operations) figures.operations += count;
  return figures;
}

class ShiftWindowCounters : public testing::TestWithParam<size_t> {};

TEST_P(ShiftWindowCounters, AreNoMoreThanBeforeTheGemmCore) {
  static KernelRunner runner;
  const Problem problem = kernelFixture().at(GetParam());
  const KernelCase what(problem, 7);
  const Figures& before = kBefore[GetParam()];
  emulator::Options options;
  options.numerics = emulator::Numerics::Fast;
  const Figures now = figuresOf(runner.run(problem, what.inputs(), {.pair = false}, options).counters);
  EXPECT_LE(now.globalRead, before.globalRead);
  EXPECT_LE(now.globalWrite, before.globalWrite);
  EXPECT_LE(now.sharedRead, before.sharedRead);
  EXPECT_LE(now.sharedWrite, before.sharedWrite);
  EXPECT_LE(now.tensorRead, before.tensorRead);
  EXPECT_LE(now.tensorWrite, before.tensorWrite);
  EXPECT_LE(now.multiplications, before.multiplications);
  EXPECT_LE(now.operations, before.operations);
}

INSTANTIATE_TEST_SUITE_P(Fixture, ShiftWindowCounters, testing::Range<size_t>(0, std::size(kBefore)));

TEST(ShiftWindowCountersTable, CoversTheWholeFixture) { EXPECT_EQ(std::size(kBefore), kernelFixture().size()); }

}  // namespace
}  // namespace shiftconv::tests::shift_window_counters_test
