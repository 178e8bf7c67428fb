// Overlapping runs on the emulated sm_90a, whose hazard checker takes a dependent launch for one that starts while those before it
// still run: each of its kernels must wait (griddepcontrol.wait) before it reads or writes what they use.
#include <gtest/gtest.h>

#include <random>

#include "tests/conv/sm90/chain.hpp"

namespace shiftconv::tests::chain_emulated_test {
namespace {

TEST(EmulatedHopperChain, EveryKernelWaitsBeforeItReadsOrWrites) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Device device("emulated:sm_90a");
  device.setOption("hazards", "error");
  const std::vector<uint16_t> expected = Chain(device, "1x6x9", seed, true).run(1);
  for (const char* const schedule : {"earliest", "latest"}) {
    SCOPED_TRACE(schedule);
    device.setOption("schedule", schedule);
    EXPECT_EQ(Chain(device, "1x6x9", seed, false).run(1), expected);
  }
}

}  // namespace
}  // namespace shiftconv::tests::chain_emulated_test
