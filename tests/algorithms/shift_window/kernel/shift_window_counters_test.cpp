// shift_window moves and multiplies no more than it did before it was built of the pieces of common/gemm, but for outputs that pass
// through shared memory now.
//
// The figures are those of the kernel as it was then, assembled from its source of then and run by this program's machine on
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

/// What staged outputs add, worked out by hand: bytes that lanes write, whole segments of 16 channels; bytes that tensor stores
/// read; and how many stores there are, each with the end of its group.
struct Staged {
  uint64_t written, read, stores;
};
constexpr Staged kStaged[] = {
    // 782 pixels in 27 windows of 30, 40 channels in two boxes
    {782 * 48 * 4, 782 * 40 * 4, 27 * 2},
    // tiles of 144 channels: half of the last box would be another pass's
    {},
    // 231 pixels in 9 windows of 26
    {231 * 16 * 4, 231 * 8 * 4, 9},
    // 840 pixels in 30 windows of 28
    {840 * 16 * 4, 840 * 16 * 4, 30},
    // tiles of 16 channels, two passes
    {},
    // rows of 18 outputs in rows of 19 pixels
    {},
    // Planes of 400 pixels of which 350 have outputs. Of 28 windows of 29 pixels, those at 377 and 783 go on behind their plane:
    // the
    // first has 6 pixels of the second image.
    {(700 - 6) * 32 * 2, (700 - 6) * 32 * 2, 26},
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
  const Staged& staged = kStaged[GetParam()];
  EXPECT_LE(now.sharedRead, before.sharedRead + staged.read);
  EXPECT_LE(now.sharedWrite, before.sharedWrite + staged.written);
  EXPECT_LE(now.tensorRead, before.tensorRead);
  EXPECT_LE(now.tensorWrite, before.tensorWrite);
  EXPECT_LE(now.multiplications, before.multiplications);
  EXPECT_LE(now.operations, before.operations + 2 * staged.stores);
}

INSTANTIATE_TEST_SUITE_P(Fixture, ShiftWindowCounters, testing::Range<size_t>(0, std::size(kBefore)));

TEST(ShiftWindowCountersTable, CoversTheWholeFixture) {
  EXPECT_EQ(std::size(kBefore), kernelFixture().size());
  EXPECT_EQ(std::size(kStaged), kernelFixture().size());
}

}  // namespace
}  // namespace shiftconv::tests::shift_window_counters_test
