// Overlapping runs on the card: their outputs must be, bit for bit, those of runs that the host waits for. Skipped where there is
// no GPU of compute capability 9.0.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "tests/conv/sm90/chain.hpp"

namespace shiftconv::tests {
namespace {

constexpr const char* kImages = "2x14x14";
constexpr int kRounds = 40;

TEST(HopperChain, OverlappingRunsGiveWhatWaitedForRunsGive) {
  std::unique_ptr<Device> device;
  try {
    device = std::make_unique<Device>(SHIFTCONV_DEVICE_CUDA);
  } catch (const Error&) {
  }
  if (!device || device->properties().compute_major != 9) GTEST_SKIP() << "no GPU of compute capability 9.0";
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const std::vector<uint16_t> expected = Chain(*device, kImages, seed, true).run(kRounds);
  double largest = 0, sum = 0;
  for (const uint16_t bits : expected) {
    const double value = std::abs(numerics::decodeF16(bits));
    largest = std::max(largest, value), sum += value;
  }
  ASSERT_TRUE(std::isfinite(largest)) << "the chain overflows: nothing is compared";
  ASSERT_GT(sum / static_cast<double>(expected.size()), 0.01) << "the chain dies out: nothing is compared";
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Chain(*device, kImages, seed, false).run(kRounds), expected) << "run " << i;
}

}  // namespace
}  // namespace shiftconv::tests
