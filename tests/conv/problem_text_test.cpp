// The notation of problems: what describe() writes, parse() reads. Refusals: problem_text_errors_test.cpp.
#include <gtest/gtest.h>

#include <random>

#include "conv/problem/tensors.hpp"
#include "conv/problem/text.hpp"
#include "conv/problem/validation.hpp"

namespace shiftconv::tests {
namespace {

Problem read(const std::string& text) {
  Problem problem;
  const Status status = parse(text, problem);
  EXPECT_TRUE(status.ok()) << status.message();
  return problem;
}

TEST(ProblemText, PlainConvolution) {
  const Problem p = read("2x56x57x64 f16 * 32x3x5x64 pad 1,2,3,4 -> 2x57x60x32 f16");
  EXPECT_EQ(p.n, 2);
  EXPECT_EQ(p.d, 1);
  EXPECT_EQ(p.h, 56);
  EXPECT_EQ(p.w, 57);
  EXPECT_EQ(p.c, 64);
  EXPECT_EQ(p.k, 32);
  EXPECT_EQ(p.t, 1);
  EXPECT_EQ(p.r, 3);
  EXPECT_EQ(p.s, 5);
  EXPECT_EQ(p.padTop, 1);
  EXPECT_EQ(p.padBottom, 2);
  EXPECT_EQ(p.padLeft, 3);
  EXPECT_EQ(p.padRight, 4);
  Problem expected;
  expected.n = 2, expected.h = 56, expected.w = 57, expected.c = 64, expected.k = 32, expected.r = 3, expected.s = 5;
  expected.padTop = 1, expected.padBottom = 2, expected.padLeft = 3, expected.padRight = 4;
  EXPECT_EQ(p, expected) << "a field that the text does not name has changed";
}

TEST(ProblemText, EveryWord) {
  const std::string text =
      "1x2x8x9x64 e2m1 pitch 80 scale ue4m3/16 * 32x2x3x3x16 e4m3 groups 4 pad 1,0,2,3,4,5 stride 1,2,3 dilation 1,2,1 compute f16 "
      "scale ue8m0/16/interleaved -> 1x2x5x6x32 e5m2 pitch 40 alpha 0.1 channel_scale bias bf16 residual -0.25 residual_type f32 "
      "residual_pitch 48 clamp -1,2.5 amax out_scale 3 scale ue8m0/32";
  const Problem p = read(text);
  EXPECT_EQ(describe(p), text);
  EXPECT_EQ(p.inputPixelPitch, 80);
  EXPECT_EQ(p.inputScale, (BlockScale{16, DataType::UE4M3, ScaleOrder::Plain}));
  EXPECT_EQ(p.filterType, DataType::E4M3);
  EXPECT_EQ(p.groups, 4);
  EXPECT_EQ(p.padFront, 1);
  EXPECT_EQ(p.padRight, 5);
  EXPECT_EQ(p.strideH, 2);
  EXPECT_EQ(p.dilationH, 2);
  EXPECT_EQ(p.compute, Compute::F16);
  EXPECT_EQ(p.filterScale, (BlockScale{16, DataType::UE8M0, ScaleOrder::Interleaved}));
  EXPECT_EQ(p.outputPixelPitch, 40);
  EXPECT_EQ(p.alpha, 0.1f);
  EXPECT_TRUE(p.hasChannelScale);
  EXPECT_TRUE(p.hasBias);
  EXPECT_EQ(p.biasType, DataType::BF16);
  EXPECT_EQ(p.beta, -0.25f);
  EXPECT_EQ(p.residualType, DataType::F32);
  EXPECT_EQ(p.residualPixelPitch, 48);
  EXPECT_EQ(p.activation, Activation::Clamp);
  EXPECT_EQ(p.activationA, -1);
  EXPECT_EQ(p.activationB, 2.5f);
  EXPECT_TRUE(p.hasAmax);
  EXPECT_EQ(p.outScale, 3);
  EXPECT_EQ(p.outputScale, (BlockScale{32, DataType::UE8M0, ScaleOrder::Plain}));
  const Problem integers = read("1x4x4x4 s8 zero -3 * 8x1x1x4 u8 zero 200 -> s8 zero 7 leaky_relu 0.5");
  EXPECT_EQ(integers.inputZeroPoint, -3);
  EXPECT_EQ(integers.filterZeroPoint, 200);
  EXPECT_EQ(integers.outputZeroPoint, 7);
  EXPECT_EQ(integers.activation, Activation::LeakyRelu);
  EXPECT_EQ(integers.activationA, 0.5f);
}

TEST(ProblemText, TransposedConvolutions) {
  const std::string flat =
      "1x4x5x16 f16 * 8x3x2x16 pad 1,0,1,2 stride 2,3 dilation 1,2 transposed output_padding 1,2 -> 1x9x14x8 f16";
  const Problem p = read(flat);
  EXPECT_EQ(describe(p), flat);
  EXPECT_TRUE(p.transposed);
  EXPECT_EQ(p.outputPaddingD, 0);
  EXPECT_EQ(p.outputPaddingH, 1);
  EXPECT_EQ(p.outputPaddingW, 2);
  const std::string deep =
      "1x2x4x5x16 f16 * 8x1x3x2x16 pad 0,0,1,1,0,0 stride 2,2,1 transposed output_padding 1,0,0 -> 1x4x7x6x8 f16";
  EXPECT_EQ(describe(read(deep)), deep);
  EXPECT_EQ(describe(read("1x4x5x16 f16 * 8x2x2x16 transposed -> f16")),
            "1x4x5x16 f16 * 8x2x2x16 pad 0,0,0,0 transposed -> 1x5x6x8 f16");
}

TEST(ProblemText, FlippedFilters) {
  const std::string text = "1x4x5x16 f16 * 8x3x2x16 pad 1,0,1,2 stride 2,3 transposed flipped compute f16 -> 1x8x11x8 f16";
  const Problem p = read(text);
  EXPECT_EQ(describe(p), text);
  EXPECT_TRUE(p.filterFlipped);
  EXPECT_TRUE(p.hasReversedTaps());
  EXPECT_FALSE(read("1x4x5x16 f16 * 8x1x1x16 flipped -> f16").hasReversedTaps());
  EXPECT_FALSE(read("1x4x5x16 f16 * 8x3x1x16 -> f16").hasReversedTaps());
}

TEST(ProblemText, ResidualsAfterTheActivation) {
  const std::string text = "1x4x5x16 f16 * 8x1x1x16 pad 0,0,0,0 -> 1x4x5x8 f16 residual -0.5 silu residual_last amax";
  const Problem p = read(text);
  EXPECT_EQ(describe(p), text);
  EXPECT_TRUE(p.residualLast);
  EXPECT_TRUE(p.addsResidualLast());
  const Problem linear = read("1x4x5x16 f16 * 8x1x1x16 -> f16 residual_last residual 2");
  EXPECT_TRUE(linear.residualLast);
  EXPECT_FALSE(linear.addsResidualLast());
  EXPECT_FALSE(read("1x4x5x16 f16 * 8x1x1x16 -> f16 residual 1 silu").addsResidualLast());
}

TEST(ProblemText, UpsampledInputs) {
  const std::string flat = "2x4x5x16 f16 pitch 24 upsample 2,3 * 8x3x2x16 pad 1,0,1,2 stride 2,1 -> 2x4x17x8 f16";
  const Problem p = read(flat);
  EXPECT_EQ(describe(p), flat);
  EXPECT_EQ(p.upsampleD, 1);
  EXPECT_EQ(p.upsampleH, 2);
  EXPECT_EQ(p.upsampleW, 3);
  const std::string deep = "1x1x4x5x16 f16 upsample 2,1,1 * 8x1x3x2x16 pad 0,0,1,1,0,0 -> 1x2x4x4x8 f16";
  EXPECT_EQ(describe(read(deep)), deep);
  EXPECT_EQ(read("1x4x5x16 f16 upsample 1,1 * 8x1x1x16 -> f16"), read("1x4x5x16 f16 * 8x1x1x16 -> f16"));
}

TEST(ProblemText, RoundingOfSteps) {
  const std::string text = "1x4x5x16 f16 * 8x3x3x16 pad 1,1,1,1 -> 1x4x5x8 bf16 bias relu amax rounding separate out_scale 2";
  EXPECT_EQ(read(text).rounding, Rounding::Separate);
  EXPECT_EQ(describe(read(text)), text);
  EXPECT_EQ(read("1x4x5x16 f16 * 8x1x1x16 -> f16 rounding once"), read("1x4x5x16 f16 * 8x1x1x16 -> f16"));
}

TEST(ProblemText, Layouts) {
  const std::string text = "2x4x5x16 f16 nchw upsample 2,2 * 8x3x3x16 pad 1,1,1,1 -> 2x8x10x8 f16 nchw bias";
  EXPECT_EQ(read(text).inputLayout, Layout::ChannelsFirst);
  EXPECT_EQ(read(text).outputLayout, Layout::ChannelsFirst);
  EXPECT_EQ(describe(read(text)), text);
  EXPECT_EQ(read("2x4x5x16 f16 * 8x3x3x16 -> f16 nchw").inputLayout, Layout::ChannelsLast);
  // Image 1, pixel 3, channel 5: behind an image, and 5 channels of 20 pixels.
  EXPECT_EQ(read("2x4x5x16 f16 nchw * 8x3x3x16 -> f16").inputPlace(23, 5).index, 16 * 20 + 5 * 20 + 3);
  EXPECT_EQ(read("2x4x5x16 f16 pitch 24 * 8x3x3x16 -> f16").inputPlace(23, 5).index, 23 * 24 + 5);
}

TEST(ProblemText, SplitInputs) {
  const std::string skip = "2x4x5x24 f16 split_c 16 pitch 20 second_pitch 12 * 8x3x3x24 pad 0,0,0,0 -> 2x2x3x8 f16 bias";
  const Problem channels = read(skip);
  EXPECT_EQ(channels.splitC, 16);
  EXPECT_EQ(channels.splitD, 0);
  EXPECT_EQ(describe(channels), skip);
  const auto bytes = tensorBytes(channels);
  EXPECT_EQ(bytes[TensorName::Input], (39u * 20 + 16) * 2);
  EXPECT_EQ(bytes[TensorName::SecondInput], (39u * 12 + 8) * 2);
  const auto expectPlace = [](const Problem& p, int64_t pixel, int64_t channel, bool isSecond, int64_t index) {
    EXPECT_EQ(p.inputPlace(pixel, channel).isSecond, isSecond) << pixel << ", " << channel;
    EXPECT_EQ(p.inputPlace(pixel, channel).index, index) << pixel << ", " << channel;
  };
  expectPlace(channels, 23, 15, false, 23 * 20 + 15);
  expectPlace(channels, 23, 16, true, 23 * 12);
  const std::string frames = "2x5x2x3x8 bf16 split_d 3 * 8x3x1x1x8 pad 0,0,0,0,0,0 -> 2x3x2x3x8 f16";
  const Problem depth = read(frames);
  EXPECT_EQ(depth.splitD, 3);
  EXPECT_EQ(describe(depth), frames);
  EXPECT_EQ(tensorBytes(depth)[TensorName::Input], 2u * 3 * 6 * 8 * 2);
  EXPECT_EQ(tensorBytes(depth)[TensorName::SecondInput], 2u * 2 * 6 * 8 * 2);
  // Image 1, pixel 4 of its slices 2 and 3.
  expectPlace(depth, 30 + 2 * 6 + 4, 7, false, ((3 + 2) * 6 + 4) * 8 + 7);
  expectPlace(depth, 30 + 3 * 6 + 4, 7, true, (2 * 6 + 4) * 8 + 7);
  EXPECT_EQ(tensorBytes(read("1x4x5x24 f16 * 8x3x3x24 -> f16"))[TensorName::SecondInput], 0u);
}

/// A number that no enumeration has is still one of a problem that somebody prints.
TEST(ProblemText, NumbersWithoutANameAreQuestionMarks) {
  for (const int number : {-1, 10, 11, 1 << 20}) EXPECT_EQ(nameOf(static_cast<Activation>(number)), "?") << number;
  for (const int number : {-1, 13, 14, 1 << 20}) EXPECT_EQ(nameOf(static_cast<DataType>(number)), "?") << number;
  for (const int number : {-1, 3, 4, 1 << 20}) EXPECT_EQ(nameOf(static_cast<Compute>(number)), "?") << number;
  EXPECT_EQ(nameOf(Activation::Tanh), "tanh");
  EXPECT_EQ(nameOf(DataType::UE4M3), "ue4m3");
  EXPECT_EQ(nameOf(Compute::F16), "f16");
}

TEST(ProblemText, OrderOfWordsAndBlanksDoNotMatter) {
  const Problem p = read("1x8x8x8 f16 pitch 16 * 8x3x3x8 pad 1,1,1,1 stride 2,2 -> f32 bias relu pitch 24");
  EXPECT_EQ(p, read("  1x8x8x8\tf16   pitch 16 * 8x3x3x8 stride 2,2 pad 1,1,1,1 -> 1x4x4x8 f32 pitch 24 relu bias \n"));
}

/// Zeros keep their sign.
TEST(ProblemText, NegativeZerosReadBack) {
  const auto isNegativeZero = [](float value) { return value == 0 && std::signbit(value); };
  Problem problem = read("1x4x4x8 f16 * 8x1x1x8 -> f16 clamp 0,0");
  problem.alpha = problem.beta = problem.outScale = problem.activationA = problem.activationB = -0.0F;
  ASSERT_TRUE(validate(problem).ok());
  const Problem again = read(describe(problem));
  for (const float value : {again.alpha, again.beta, again.outScale, again.activationA, again.activationB})
    EXPECT_TRUE(isNegativeZero(value)) << describe(problem);
  EXPECT_FALSE(again.hasResidual());
}

/// A problem with most fields at random values; valid or not.
Problem randomProblem(std::mt19937_64& random) {
  const auto in = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  const auto sometimes = [&](int64_t low, int64_t high, int64_t otherwise) { return in(0, 2) == 0 ? in(low, high) : otherwise; };
  const auto real = [&] { return static_cast<float>(in(-1000000, 1000000)) / static_cast<float>(in(1, 777)); };
  const auto scale = [&]() -> BlockScale {
    if (in(0, 3) != 0) return {};
    return {in(1, 64), in(0, 1) ? DataType::UE8M0 : DataType::UE4M3, in(0, 1) ? ScaleOrder::Plain : ScaleOrder::Interleaved};
  };
  Problem p;
  p.groups = sometimes(1, 4, 1);
  p.n = in(1, 9), p.d = sometimes(1, 6, 1), p.h = in(1, 40), p.w = in(1, 40), p.c = p.groups * in(1, 40);
  p.k = p.groups * in(1, 40), p.t = sometimes(1, 3, 1), p.r = in(1, 7), p.s = in(1, 7);
  p.padFront = sometimes(0, 3, 0), p.padBack = sometimes(0, 3, 0);
  p.padTop = in(0, 3), p.padBottom = in(0, 3), p.padLeft = in(0, 3), p.padRight = in(0, 3);
  p.strideD = sometimes(1, 3, 1), p.strideH = sometimes(1, 3, 1), p.strideW = sometimes(1, 3, 1);
  p.dilationD = sometimes(1, 3, 1), p.dilationH = sometimes(1, 3, 1), p.dilationW = sometimes(1, 3, 1);
  p.splitC = sometimes(1, p.c, 0), p.splitD = p.d > 1 && p.splitC == 0 ? sometimes(1, p.d, 0) : 0;
  if (p.isSplit()) p.secondPixelPitch = sometimes(p.secondChannels(), p.secondChannels() + 9, 0);
  p.inputPixelPitch = sometimes(p.c, p.c + 9, 0), p.outputPixelPitch = sometimes(p.k, p.k + 9, 0);
  p.inputType = static_cast<DataType>(in(0, 9));
  p.filterType = in(0, 1) ? p.inputType : static_cast<DataType>(in(0, 9));
  p.outputType = static_cast<DataType>(in(0, 10));
  p.compute = static_cast<Compute>(in(0, 2));
  p.inputScale = scale(), p.filterScale = scale(), p.outputScale = scale();
  p.inputZeroPoint = static_cast<int32_t>(sometimes(-128, 255, 0));
  p.filterZeroPoint = static_cast<int32_t>(sometimes(-128, 255, 0));
  p.outputZeroPoint = static_cast<int32_t>(sometimes(-128, 255, 0));
  if (in(0, 1)) p.alpha = real();
  if (in(0, 1)) p.outScale = real();
  if (in(0, 1)) {
    p.beta = real();
    p.residualType = static_cast<DataType>(in(0, 10));
    p.residualPixelPitch = sometimes(p.k, p.k + 9, 0);
  }
  p.hasBias = in(0, 1) != 0;
  if (p.hasBias) p.biasType = static_cast<DataType>(in(0, 2));
  p.hasChannelScale = in(0, 1) != 0;
  p.hasAmax = in(0, 1) != 0;
  p.activation = static_cast<Activation>(in(0, kActivations - 1));
  if (parameterCount(p.activation) > 0) p.activationA = real();
  if (parameterCount(p.activation) > 1) p.activationB = p.activationA + std::abs(real());
  return p;
}

TEST(ProblemText, EveryValidProblemReadsBack) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int valid = 0, deep = 0, scaled = 0, residuals = 0, channelParts = 0, depthParts = 0, refusedParts = 0;
  for (int i = 0; i < 200'000 && valid < 4000; ++i) {
    const Problem problem = randomProblem(random);
    if (const Status status = validate(problem); !status.ok()) {
      ASSERT_FALSE(status.message().empty());
      refusedParts += problem.isSplit() && (status.message().starts_with("split_") || status.message().starts_with("second_"));
      continue;
    }
    ++valid;
    deep += !isTwoDimensional(problem);
    scaled += problem.inputScale.blockSize != 0;
    residuals += problem.hasResidual();
    channelParts += problem.splitC != 0;
    depthParts += problem.splitD != 0;
    const std::string text = describe(problem);
    Problem again;
    const Status status = parse(text, again);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(again == problem) << text << "\n" << describe(again);
  }
  EXPECT_EQ(valid, 4000);
  EXPECT_GT(deep, 100);
  EXPECT_GT(scaled, 20);
  EXPECT_GT(residuals, 100);
  EXPECT_GT(channelParts, 100);
  EXPECT_GT(depthParts, 20);
  EXPECT_GT(refusedParts, 20) << "sentences about the second tensor";
}

}  // namespace
}  // namespace shiftconv::tests
