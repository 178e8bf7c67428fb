// Random problems through the public API: some with the ordinary tests, many at night, in parts that run side by side.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/conv/convolution_case.hpp"
#include "tests/conv/fuzz_part.hpp"

namespace shiftconv::tests::fuzz_test {
namespace {

/// SHIFTCONV_FUZZ_SEED repeats the problems of another run.
std::vector<FuzzPart> parts(uint64_t seed, int count, int problems) {
  if (const char* text = std::getenv("SHIFTCONV_FUZZ_SEED")) seed = std::strtoull(text, nullptr, 10);
  return fuzzParts(seed, count, problems);
}

class Fuzz : public testing::TestWithParam<FuzzPart> {};

TEST_P(Fuzz, RandomProblemsAreExactToTheBound) {
  Device device(SHIFTCONV_DEVICE_EMULATED);
  for (int i = 0; i < GetParam().problems; ++i) {
    const uint64_t seed = GetParam().seed + static_cast<uint64_t>(i);
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

const auto nameOfPart = [](const auto& info) { return "part_" + std::to_string(info.index); };
INSTANTIATE_TEST_SUITE_P(Parts, Fuzz, testing::ValuesIn(parts(1000, 4, 10)), nameOfPart);
INSTANTIATE_TEST_SUITE_P(Nightly, Fuzz, testing::ValuesIn(parts(100000, 4, 50)), nameOfPart);

}  // namespace
}  // namespace shiftconv::tests::fuzz_test
