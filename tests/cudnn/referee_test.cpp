// The referee itself: its problems are valid and small enough, it computes errors rightly, and notices what is wrong.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "conv/problem/text.hpp"
#include "conv/tools/convolve/runs.hpp"
#include "tests/cudnn/plain_form.hpp"
#include "tests/cudnn/problem_file.hpp"

namespace shiftconv::referee {
namespace {

using namespace judged;

TEST(RefereeProblems, AreValidAndDifferent) {
  std::set<std::string> texts;
  for (const ProblemLine& line : readProblems(PROBLEMS_FOLDER)) {
    Problem problem;
    const Status status = parse(line.text, problem);
    EXPECT_TRUE(status.ok()) << line.file << ": " << line.text << ": " << status.message();
    EXPECT_TRUE(texts.insert(describe(problem)).second) << "twice: " << line.text;
  }
  EXPECT_GE(texts.size(), 300u);
}

/// One pixel, one channel: 0.5 * 3 = 1.5 is exact, so every error is that of the output given.
TEST(RefereeErrors, AreWhatTheyAreByHand) {
  Problem p;
  ASSERT_TRUE(parse("2x1x1x1 f32 * 1x1x1x1 compute tf32 -> f32 pitch 2", p).ok());
  reference::Expectation exact;
  exact.value = {1.5, -2};
  exact.bound = {0.25, 0.5};
  constexpr std::byte kGap{0x11};
  const auto errorsOf = [&](float first, float second, std::byte gap) {
    std::vector<std::byte> output(3 * sizeof(float), gap);
    std::memcpy(output.data(), &first, sizeof first);
    std::memcpy(output.data() + 2 * sizeof(float), &second, sizeof second);
    return compare(p, exact, output, kGap);
  };
  const Errors none = errorsOf(1.5f, -2, kGap);
  EXPECT_TRUE(none.right());
  EXPECT_EQ(none.elements, 2);
  EXPECT_EQ(none.worstShare, 0);
  EXPECT_EQ(none.relativeL2, 0);
  const Errors within = errorsOf(1.625f, -2.375f, kGap);
  EXPECT_TRUE(within.right());
  EXPECT_DOUBLE_EQ(within.worstShare, 0.75);
  EXPECT_DOUBLE_EQ(within.worstSumShare, 0.75);  // f32 outputs are not rounded again
  EXPECT_DOUBLE_EQ(within.relativeL2, std::sqrt((0.125 * 0.125 + 0.375 * 0.375) / (1.5 * 1.5 + 4)));
  const Errors beyond = errorsOf(1.5f, -2.625f, kGap);
  EXPECT_EQ(beyond.beyond, 1);
  EXPECT_DOUBLE_EQ(beyond.worstShare, 1.25);
  EXPECT_FALSE(errorsOf(NAN, -2, kGap).right());
  EXPECT_FALSE(errorsOf(1.5f, INFINITY, kGap).right());
  EXPECT_EQ(errorsOf(NAN, -2, kGap).worstShare, kNoShare);
  const Errors gap = errorsOf(1.5f, -2, std::byte{0x22});
  EXPECT_TRUE(gap.gapsWritten);
  EXPECT_FALSE(gap.right());
}

/// In f16, half a unit in the last place of 1.5 is 2^-11. An output one unit off has an error of 2^-10, half of which its own
/// rounding explains; the rest is a fifth of what the bound has beyond that.
TEST(RefereeErrors, TakeTheOutputsRoundingAway) {
  Problem p;
  ASSERT_TRUE(parse("1x1x1x1 f16 * 1x1x1x1 -> f16", p).ok());
  reference::Expectation exact;
  exact.value = {1.5};
  exact.bound = {6 * 0x1p-11};
  const uint16_t output = 0x3E01;  // 1.5 + 2^-10
  const Errors errors = compare(p, exact, std::as_bytes(std::span(&output, 1)), std::byte{0});
  EXPECT_DOUBLE_EQ(errors.worstShare, 2.0 / 6);
  EXPECT_DOUBLE_EQ(errors.worstSumShare, 1.0 / 5);
}

TEST(RefereeErrors, WithoutABoundNothingIsRight) {
  Problem p;
  ASSERT_TRUE(parse("1x1x1x1 f32 * 1x1x1x1 -> f32", p).ok());
  reference::Expectation exact;
  exact.value = {1.5};
  exact.bound = {std::numeric_limits<double>::quiet_NaN()};
  const float value = 1.5f;
  EXPECT_EQ(compare(p, exact, std::as_bytes(std::span(&value, 1)), std::byte{0}).beyond, 1);
}

/// What cuDNN is given in f32 are the numbers that the reference decodes: it gets to the same sums with them.
TEST(RefereeOperands, AreTheSameNumbersInF32) {
  for (const char* text :
       {"1x3x4x16 f16 pitch 24 * 5x2x2x16 -> f32", "1x3x4x64 e4m3 scale ue8m0/32 * 5x2x2x64 e5m2 scale ue8m0/32 -> f32",
        "1x3x4x64 e2m1 scale ue4m3/16 * 5x2x2x64 scale ue4m3/16 -> f32", "1x3x4x16 s8 * 5x2x2x16 u8 -> f32"}) {
    SCOPED_TRACE(text);
    const Case one(text, 7);
    Problem wide = one.problem;
    wide.inputType = wide.filterType = DataType::F32;
    wide.inputPixelPitch = 0;
    wide.inputScale = wide.filterScale = {};
    const auto x = dequantised(one.problem, one.tensors, TensorName::Input),
               w = dequantised(one.problem, one.tensors, TensorName::Filter);
    reference::Operands operands;
    operands.input = std::as_bytes(std::span(x)), operands.filter = std::as_bytes(std::span(w));
    const auto sums = reference::convolve(wide, operands);
    const auto& expected = one.exact({Accumulation::TensorCore});
    ASSERT_EQ(sums.value.size(), expected.value.size());
    for (size_t i = 0; i < sums.value.size(); ++i)
      ASSERT_NEAR(sums.value[i], expected.value[i], 1e-9 * (1 + std::abs(sums.value[i])));
  }
}

/// What cuDNN convolves instead of repeated pixels, two tensors or NCHW has the same sums.
TEST(RefereeOperands, OfPlainFormsHaveTheSameSums) {
  for (const char* text :
       {"2x3x2x16 f32 pitch 20 upsample 2,3 * 5x2x2x16 pad 1,0,0,1 -> f32", "1x3x4x24 f32 split_c 8 * 5x2x3x24 pad 0,1,1,0 -> f32",
        "2x3x2x3x8 f32 split_d 1 second_pitch 12 * 3x2x2x1x8 -> f32", "2x3x4x6 f32 nchw upsample 2,1 * 4x3x2x3 groups 2 -> f32",
        "2x3x4x6 f32 nchw * 4x2x2x6 -> f32 nchw"}) {
    SCOPED_TRACE(text);
    const Case one(text, 11);
    const PlainForm form = plainForm(one.problem, true);
    ASSERT_FALSE(form.input.empty());
    EXPECT_TRUE(form.filter.empty());
    EXPECT_FALSE(form.problem.isSplit() || form.problem.isUpsampled());
    const auto x = dequantised(one.problem, one.tensors, TensorName::Input);
    std::vector<float> ordered;
    for (const int64_t index : form.input) ordered.push_back(x.at(static_cast<size_t>(index)));
    reference::Operands operands = one.tensors.operands();
    operands.input = std::as_bytes(std::span(ordered)), operands.secondInput = {};
    EXPECT_EQ(reference::convolve(form.problem, operands).value, one.exact({Accumulation::TensorCore}).value);
  }
}

/// A flipped filter, written as the definition says: what cuDNN gets for it is the filter in order.
TEST(RefereeOperands, OfFlippedFiltersAreInOrder) {
  const Case one("1x2x4x5x6 f32 * 4x2x3x2x3 groups 2 pad 0,1,1,0,0,1 flipped -> f32", 13);
  const PlainForm form = plainForm(one.problem, false);
  EXPECT_FALSE(form.problem.filterFlipped);
  const auto w = dequantised(one.problem, one.tensors, TensorName::Filter);
  std::vector<float> ordered;
  for (const int64_t index : form.filter) ordered.push_back(w.at(static_cast<size_t>(index)));
  size_t at = 0;
  for (size_t k = 0; k < 4; ++k)
    for (size_t t = 0; t < 2; ++t)
      for (size_t r = 0; r < 3; ++r)
        for (size_t s = 0; s < 2; ++s)
          for (size_t c = 0; c < 3; ++c, ++at) ASSERT_EQ(ordered.at(at), w.at((((k * 2 + 1 - t) * 3 + 2 - r) * 2 + 1 - s) * 3 + c));
  reference::Operands operands = one.tensors.operands();
  operands.filter = std::as_bytes(std::span(ordered));
  EXPECT_EQ(reference::convolve(form.problem, operands).value, one.exact({Accumulation::TensorCore}).value);
}

/// The gradient of a convolution by its input, summed as cuDNN defines it, over the filter as cuDNN gets it.
TEST(RefereeOperands, OfTransposedConvolutionsAreThoseOfTheGradient) {
  for (const char* text :
       {"2x3x4x6 f32 * 4x3x2x3 groups 2 pad 1,0,0,1 stride 2,3 dilation 1,2 transposed output_padding 1,0 -> f32",
        "1x2x3x6 f32 nchw * 4x2x2x6 stride 2,1 transposed -> f32"}) {
    SCOPED_TRACE(text);
    const Case one(text, 12);
    const Problem& p = one.problem;
    const PlainForm form = plainForm(p, false);
    const bool channelsFirst = p.inputLayout == Layout::ChannelsFirst;
    ASSERT_EQ(form.input.size(), 0u);
    const auto x = dequantised(p, one.tensors, TensorName::Input), w = dequantised(p, one.tensors, TensorName::Filter);
    const int64_t ownC = p.c / p.groups, ownK = p.k / p.groups, taps = p.r * p.s;
    std::vector<double> sums(static_cast<size_t>(p.outputPixels() * p.k));
    for (int64_t n = 0; n < p.n; ++n)
      for (int64_t h = 0; h < p.h; ++h)
        for (int64_t v = 0; v < p.w; ++v)
          for (int64_t c = 0; c < p.c; ++c)
            for (int64_t tap = 0; tap < taps; ++tap)
              for (int64_t i = 0; i < ownK; ++i) {
                const int64_t y = h * p.strideH + tap / p.s * p.dilationH - p.padTop,
                              z = v * p.strideW + tap % p.s * p.dilationW - p.padLeft;
                if (y < 0 || y >= p.p() || z < 0 || z >= p.q()) continue;
                const int64_t at = channelsFirst ? (c * ownK + i) * taps + tap : (c * taps + tap) * ownK + i;
                const float weight = w.at(static_cast<size_t>(form.filter.at(static_cast<size_t>(at))));
                sums[static_cast<size_t>(((n * p.p() + y) * p.q() + z) * p.k + c / ownC * ownK + i)] +=
                    double{weight} * double{x.at(static_cast<size_t>(((n * p.h + h) * p.w + v) * p.c + c))};
              }
    const auto& expected = one.exact({Accumulation::TensorCore}).value;
    ASSERT_EQ(sums.size(), expected.size());
    for (size_t i = 0; i < sums.size(); ++i) ASSERT_NEAR(sums[i], expected[i], 1e-12) << i;
  }
}

/// On the emulated sm_100a and sm_90a, in every kind of operand; and one changed bit of an output is noticed.
TEST(RefereeSides, EveryAlgorithmIsRightAndAChangedOutputIsNot) {
  Device blackwell(SHIFTCONV_DEVICE_EMULATED, 0), hopper(SHIFTCONV_DEVICE_EMULATED, 1);
  const auto run = [](const Case& one, const Device& device, size_t atLeast) {
    Outputs outputs;
    const auto rows = runAlgorithms(one, device, device.properties(), "emulated", outputs);
    EXPECT_GE(rows.size(), atLeast) << one.text;
    for (const auto& row : rows) EXPECT_TRUE(row["right"]) << one.text << ": " << row.dump();
    auto& [algorithm, output] = *outputs.begin();
    PlanOptions options;
    options.algorithm = algorithm.c_str();
    const auto sums = accumulationsIn(Plan(one.convolution, device.properties(), options).describe());
    output[1] ^= std::byte{0x20};
    EXPECT_FALSE(compare(one.problem, one.exact(sums), output, kPoison).right()) << one.text;
  };
  run(Case("1x5x7x16 f16 * 8x3x3x16 pad 1,1,1,1 -> f16 bias relu", 1), blackwell, 4);
  run(Case("1x5x7x16 f32 * 8x3x3x16 pad 1,1,1,1 compute tf32 -> f16", 2), blackwell, 2);
  run(Case("1x5x7x32 e4m3 * 8x3x3x32 e5m2 pad 1,1,1,1 -> bf16", 3), blackwell, 2);
  run(Case("1x5x7x64 e2m1 scale ue4m3/16 * 8x3x3x64 scale ue4m3/16 pad 1,1,1,1 -> f16", 4), blackwell, 1);
  run(Case("1x5x7x16 f16 * 8x3x3x16 pad 1,1,1,1 -> f16 bias relu", 5), hopper, 1);
}

}  // namespace
}  // namespace shiftconv::referee
