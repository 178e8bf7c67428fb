// Random problems through the public API. FUZZ_PROBLEMS problems in FUZZ_PARTS tests, so that they run side by side.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/conv/convolution_case.hpp"

namespace shiftconv::tests {
namespace {

/// Problem i of the run is made from this seed + i. SHIFTCONV_FUZZ_SEED repeats a problem of another run.
uint64_t baseSeed() {
  if (const char* text = std::getenv("SHIFTCONV_FUZZ_SEED")) return std::strtoull(text, nullptr, 10);
  return FUZZ_SEED;
}

class Fuzz : public testing::TestWithParam<int> {};

TEST_P(Fuzz, RandomProblemsAreExactToTheBound) {
  Device device(SHIFTCONV_DEVICE_EMULATED);
  for (int i = 0; i < FUZZ_PROBLEMS / FUZZ_PARTS; ++i) {
    const uint64_t seed = baseSeed() + static_cast<uint64_t>(GetParam() * (FUZZ_PROBLEMS / FUZZ_PARTS) + i);
    std::mt19937_64 generator(seed);
    const ConvolutionCase test = randomCase(generator);
    const std::string context =
        test.problem.describe() + " | options " + test.planOptions + ", SHIFTCONV_FUZZ_SEED=" + std::to_string(seed);
    try {
      ASSERT_EQ(check(test, device, generator()), "") << context;
    } catch (const Error& error) {
      FAIL() << error.what() << "\n" << context;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, Fuzz, testing::Range(0, FUZZ_PARTS),
                         [](const auto& info) { return "part_" + std::to_string(info.param); });

}  // namespace
}  // namespace shiftconv::tests
