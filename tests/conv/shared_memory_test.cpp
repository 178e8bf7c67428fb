// How CTAs divide a multiprocessor's shared memory, against figures worked out by hand: 228 KB a multiprocessor, 227 for a CTA.
#include "conv/plan/shared_memory.hpp"

#include <gtest/gtest.h>

#include "common/launch.hpp"

namespace shiftconv::plan {
namespace {

device::Properties multiprocessors(uint32_t count) {
  device::Properties properties;
  properties.multiprocessors = count;
  properties.sharedBytesPerBlock = 227 * 1024;
  return properties;
}

uint32_t spread(uint32_t x, uint32_t y, uint32_t bytes, bool dependent = true) {
  LaunchConfig launch;
  launch.grid = {x, y, 1};
  launch.dynamicSharedBytes = bytes;
  launch.programmaticDependent = dependent;
  spreadEvenly(multiprocessors(132), launch);
  return launch.dynamicSharedBytes;
}

TEST(SharedMemory, EachOfSomeCtasHasItsShare) {
  EXPECT_EQ(sharedBytesOfEach(multiprocessors(132), 1), 227 * 1024);
  EXPECT_EQ(sharedBytesOfEach(multiprocessors(132), 2), 113 * 1024);
  EXPECT_EQ(sharedBytesOfEach(multiprocessors(132), 5), 45670);  // 46694.4 with what the system reserves
}

/// With 1 KB more for each, 116,736 bytes are half of 228 KB: two CTAs of one byte more do not fit.
TEST(SharedMemory, HoldsNoMoreThanAnEvenShareOfTheCtas) {
  EXPECT_EQ(spread(98, 1, 0), 115713u);
  EXPECT_EQ(spread(66, 2, 1000), 115713u);
  EXPECT_EQ(spread(133, 1, 0), 76801u);  // of 77,824, three would not fit; two do
  EXPECT_EQ(spread(7, 100, 0), 32330u);  // six of 700
  EXPECT_EQ(spread(132, 8, 0), 24918u);
}
TEST(SharedMemory, StaysAsItIs) {
  EXPECT_EQ(spread(98, 1, 115714), 115714u) << "more than the share";
  EXPECT_EQ(spread(98, 1, 512, false), 512u) << "nothing of the launch before is still there";
  EXPECT_EQ(spread(1057, 1, 512), 512u) << "nine of 1057 CTAs on some of 132";
}

}  // namespace
}  // namespace shiftconv::plan
