// Problems of three dimensions that are planned as two: the same sums of the same tensors.
#include "conv/plan/folded_depth.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "conv/problem/text.hpp"
#include "conv/problem/validation.hpp"
#include "tests/conv/random_tensors.hpp"

namespace shiftconv::plan {
namespace {

Problem problemOf(const std::string& text) {
  Problem problem;
  const Status status = parse(text, problem);
  EXPECT_TRUE(status.ok()) << text << ": " << status.message();
  return problem;
}

TEST(FoldedDepth, HasTheSameOutputs) {
  constexpr uint64_t kSeed = 20261124;
  std::mt19937_64 random(kSeed);
  for (const char* const text :
       {"2x3x4x5x8 f16 * 6x1x1x1x8 -> f16 bias relu",
        "2x3x6x5x8 f16 pitch 16 * 6x1x3x2x8 pad 0,0,1,0,2,1 stride 1,2,1 dilation 1,1,2 -> f16 pitch 8 residual 1",
        "2x7x3x4x8 f16 * 6x3x1x1x8 pad 2,1,0,0,0,0 stride 2,1,1 dilation 2,1,1 -> f16 bias",
        "2x4x3x5x8 f16 split_c 4 second_pitch 12 * 6x2x1x1x8 pad 1,0,0,0,0,0 -> f16",
        "3x4x3x5x8 f16 * 8x1x1x1x1 groups 8 stride 1,2,2 -> f16"}) {
    SCOPED_TRACE(testing::Message() << text << ", seed " << kSeed);
    const Problem problem = problemOf(text), folded = foldedDepth(problem);
    ASSERT_TRUE(validate(folded).ok()) << validate(folded).message();
    EXPECT_TRUE(isTwoDimensional(folded));
    ASSERT_EQ(folded.outputPixels(), problem.outputPixels());
    const tests::TensorBytes tensors = tests::randomTensors(problem, random);
    const auto of = [&](const Problem& p) {
      return reference::convolve(p, tensors.operands(), reference::Accumulation::TensorCore, 1).value;
    };
    EXPECT_EQ(of(folded), of(problem));
  }
}

TEST(FoldedDepth, LeavesOtherProblemsAsTheyAre) {
  for (const char* const text :
       {"2x5x6x8 f16 * 6x3x3x8 pad 1,1,1,1 -> f16", "2x3x5x6x8 f16 * 6x3x3x3x8 pad 1,1,1,1,1,1 -> f16",
        "2x3x5x6x8 f16 * 6x1x3x3x8 pad 0,1,1,1,1,1 -> f16", "2x3x5x6x8 f16 * 6x1x3x3x8 stride 2,1,1 -> f16",
        "2x3x5x6x8 f16 * 6x3x1x1x8 pad 1,1,0,0,0,0 stride 1,1,2 -> f16", "2x3x5x6x8 f16 * 6x3x1x1x8 pad 1,1,1,1,0,0 -> f16",
        "2x3x5x6x8 f16 split_d 1 * 6x1x1x1x8 -> f16"}) {
    SCOPED_TRACE(text);
    const Problem problem = problemOf(text);
    EXPECT_EQ(foldedDepth(problem), problem);
  }
}

}  // namespace
}  // namespace shiftconv::plan
