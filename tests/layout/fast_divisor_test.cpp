#include "common/layout/fast_divisor.hpp"

#include <gtest/gtest.h>

#include <random>

namespace shiftconv::layout {
namespace {

TEST(FastDivisor, AgreesWithDivisionAtTheEdges) {
  for (const uint32_t d :
       {1u, 2u, 3u, 5u, 7u, 56u, 64u, 641u, 3136u, 65535u, 65536u, 65537u, 0x3fffffffu, 0x40000000u, 0x7ffffffeu, 0x7fffffffu}) {
    const FastDivisor divisor(d);
    for (uint64_t multiple : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{0x7fffffff} / d}) {
      for (int64_t x = static_cast<int64_t>(multiple * d) - 2; x <= static_cast<int64_t>(multiple * d) + 2; ++x) {
        if (x < 0 || x > 0x7fffffff) continue;
        EXPECT_EQ(divisor.quotient(static_cast<uint32_t>(x)), static_cast<uint32_t>(x) / d) << x << " / " << d;
      }
    }
    EXPECT_EQ(divisor.quotient(0x7fffffffu), 0x7fffffffu / d);
  }
}

TEST(FastDivisor, AgreesWithDivisionOnRandomNumbers) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200000; ++i) {
    const uint32_t d = static_cast<uint32_t>(random() >> (33 + random() % 31));
    const uint32_t x = static_cast<uint32_t>(random() >> 33);
    if (d == 0) continue;
    ASSERT_EQ(FastDivisor(d).quotient(x), x / d) << x << " / " << d;
  }
}

}  // namespace
}  // namespace shiftconv::layout
