// The reference for everything beyond plain 2-D convolutions, against the definition in shiftconv.h written out again, against sums
// known by hand, and against the fast path where both apply.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "common/layout/scale_factor_layout.hpp"
#include "common/numerics/codec.hpp"
#include "common/numerics/packed.hpp"
#include "conv/problem/text.hpp"
#include "conv/reference/block_output.hpp"
#include "conv/reference/general_convolution.hpp"
#include "tests/conv/random_tensors.hpp"

namespace shiftconv::reference {
namespace {

using tests::randomTensors;
using Tensors = tests::TensorBytes;

double at(DataType type, const std::vector<std::byte>& bytes, int64_t index) {
  return numerics::decode(numberType(type), numerics::loadPacked(numberType(type), bytes.data(), index));
}

double factor(const BlockScale& scale, const std::vector<std::byte>& bytes, int64_t row, int64_t c, int64_t channels) {
  if (scale.blockSize == 0) return 1;
  const int64_t blocks = (channels + scale.blockSize - 1) / scale.blockSize, block = c / scale.blockSize;
  int64_t offset = row * blocks + block;
  if (scale.order == ScaleOrder::Interleaved)  // tiles of 128 rows x 4 blocks, 512 bytes each
    offset = (row / 128 * ((blocks + 3) / 4) + block / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4;
  return at(scale.type, bytes, offset);
}

double activated(const Problem& p, double v) {
  const double a = p.activationA, b = p.activationB, pi = std::acos(-1.0);
  switch (p.activation) {
    case Activation::None:
      return v;
    case Activation::Relu:
      return v > 0 ? v : 0;
    case Activation::LeakyRelu:
      return v > 0 ? v : a * v;
    case Activation::Clamp:
      return std::fmin(std::fmax(v, a), b);
    case Activation::GeluErf:
      return v / 2 * (1 + std::erf(v / std::sqrt(2.0)));
    case Activation::GeluTanh:
      return v / 2 * (1 + std::tanh(std::sqrt(2 / pi) * (v + 0.044715 * v * v * v)));
    case Activation::Silu:
      return v / (1 + std::exp(-v));
    case Activation::HardSwish:
      return v * std::fmin(std::fmax(v + 3, 0), 6) / 6;
    case Activation::Sigmoid:
      return 1 / (1 + std::exp(-v));
    case Activation::Tanh:
      return std::tanh(v);
  }
  return v;
}

/// Of pixel `inImage` of image n.
double inputAt(const Problem& p, const Tensors& tensors, int64_t n, int64_t inImage, int64_t channel) {
  const int64_t slice = p.h * p.w, pixels = p.d * slice;
  if (p.inputLayout == Layout::ChannelsFirst)
    return at(p.inputType, tensors.bytes[TensorName::Input], (n * p.c + channel) * pixels + inImage);
  const bool isSecond = (p.splitC != 0 && channel >= p.splitC) || (p.splitD != 0 && inImage >= p.splitD * slice);
  if (!isSecond)
    return at(p.inputType, tensors.bytes[TensorName::Input],
              (n * (p.splitD != 0 ? p.splitD * slice : pixels) + inImage) * p.inputPitch() + channel);
  const int64_t before = p.splitD * slice, pitch = p.secondPixelPitch != 0 ? p.secondPixelPitch : p.c - p.splitC;
  return at(p.inputType, tensors.bytes[TensorName::SecondInput],
            (n * (pixels - before) + inImage - before) * pitch + channel - p.splitC);
}

/// out[n,z,p,q,k] before the conversion, and max |v| of all calls in `amax`.
double byDefinition(const Problem& p, const Tensors& tensors, int64_t n, int64_t z, int64_t y, int64_t x, int64_t k, double& amax) {
  double sum = 0;
  const int64_t g = k / (p.k / p.groups);
  for (int64_t t = 0; t < p.t; ++t)
    for (int64_t r = 0; r < p.r; ++r)
      for (int64_t s = 0; s < p.s; ++s) {
        const int64_t id = z * p.strideD + t * p.dilationD - p.padFront, ih = y * p.strideH + r * p.dilationH - p.padTop,
                      iw = x * p.strideW + s * p.dilationW - p.padLeft;
        if (id < 0 || id >= p.d * p.upsampleD || ih < 0 || ih >= p.h * p.upsampleH || iw < 0 || iw >= p.w * p.upsampleW) continue;
        const int64_t inImage = (id / p.upsampleD * p.h + ih / p.upsampleH) * p.w + iw / p.upsampleW;
        const int64_t pixel = n * p.d * p.h * p.w + inImage, row = ((k * p.t + t) * p.r + r) * p.s + s;
        for (int64_t c = 0; c < p.c / p.groups; ++c) {
          const int64_t channel = g * (p.c / p.groups) + c;
          const double input = inputAt(p, tensors, n, inImage, channel);
          const double weight = at(p.filterType, tensors.bytes[TensorName::Filter], row * (p.c / p.groups) + c);
          sum += (input - p.inputZeroPoint) * factor(p.inputScale, tensors.bytes[TensorName::InputScale], pixel, channel, p.c) *
                 (weight - p.filterZeroPoint) *
                 factor(p.filterScale, tensors.bytes[TensorName::FilterScale], row, c, p.c / p.groups);
        }
      }
  const int64_t pixel = ((n * p.z() + z) * p.p() + y) * p.q() + x;
  double v = p.alpha * sum;
  if (p.hasChannelScale) v *= at(DataType::F32, tensors.bytes[TensorName::ChannelScale], k);
  if (p.hasBias) v += at(p.biasType, tensors.bytes[TensorName::Bias], k);
  if (p.residualLast) v = activated(p, v);
  if (p.beta != 0)
    v += p.beta * at(p.residualType, tensors.bytes[TensorName::Residual],
                     p.outputLayout == Layout::ChannelsLast ? pixel * p.residualPitch() + k
                                                            : ((n * p.k + k) * p.z() + z) * p.p() * p.q() + y * p.q() + x);
  if (!p.residualLast) v = activated(p, v);
  amax = std::fmax(amax, std::abs(v));
  return v * p.outScale + p.outputZeroPoint;
}

struct Case {
  const char* name;
  const char* text;
};

const Case kCases[] = {
    {"plain", "2x4x5x6 f16 * 5x3x2x6 pad 1,1,0,1 -> f16 bias relu"},
    {"depth", "1x4x3x5x3 bf16 * 4x2x3x2x3 pad 1,0,1,1,1,0 stride 2,1,2 dilation 2,1,1 -> f32"},
    {"groups", "1x5x4x12 f16 pitch 14 * 8x3x3x3 groups 4 pad 1,1,1,1 -> f32 pitch 11"},
    {"depthwise", "2x5x4x7 f16 * 14x3x2x1 groups 7 pad 1,1,1,0 stride 2,1 -> bf16 bias f16"},
    {"integers", "1x4x4x6 u8 zero 128 * 4x3x3x6 s8 zero -3 pad 1,1,1,1 -> s8 zero 5 alpha 0.0001 channel_scale bias out_scale 4"},
    {"split_channels", "2x4x5x12 f16 split_c 5 pitch 8 second_pitch 9 * 8x3x3x6 groups 2 pad 1,0,1,1 stride 1,2 -> f32"},
    {"split_depth", "2x5x3x4x6 bf16 split_d 2 second_pitch 7 * 4x3x2x3x6 pad 1,1,0,1,2,0 stride 2,1,1 dilation 1,1,2 -> f32 bias"},
    {"integer_sums", "1x3x3x5 s8 * 4x2x2x5 u8 zero 7 -> s32"},
    {"fp8",
     "1x4x5x8 e4m3 * 4x3x3x8 e5m2 pad 1,1,1,1 -> e4m3 alpha 0.25 residual 0.5 residual_type bf16 residual_pitch 6 silu amax"},
    {"fp6", "1x3x4x8 e3m2 * 4x2x2x8 e2m3 -> e5m2 gelu_erf out_scale 2"},
    {"block_scales", "1x4x4x40 e2m1 scale ue4m3/16 * 6x2x2x40 e2m1 scale ue8m0/32/interleaved pad 0,1,0,1 -> f32 gelu_tanh"},
    {"tf32", "1x4x4x3 f32 * 2x2x2x3 compute tf32 -> f32 leaky_relu 0.125"},
    {"f32", "1x4x4x3 f32 * 2x2x2x3 -> f16 clamp -0.5,2"},
    {"sigmoid", "1x4x4x3 f16 * 2x2x2x3 -> f16 sigmoid"},
    {"tanh", "1x4x4x3 f16 * 2x2x2x3 -> f16 tanh"},
    {"upsampled", "2x3x2x4x6 f16 pitch 7 upsample 2,3,1 * 5x2x3x2x6 pad 1,0,1,2,0,1 stride 1,2,1 -> f32"},
    {"channels_first", "2x4x5x6 f16 nchw * 5x3x2x6 pad 1,1,0,1 -> f16 nchw residual 0.5"},
    {"residual_last", "2x4x5x6 f16 * 5x3x2x6 pad 1,1,0,1 -> f16 bias residual -0.75 residual_pitch 7 residual_last silu amax"},
    {"channels_first_deep", "2x3x4x5x3 bf16 nchw * 4x2x3x2x3 pad 1,0,1,1,1,0 -> f32"},
    {"hard_swish", "1x4x4x3 f16 * 2x2x2x3 -> u8 hard_swish"},
};

class GeneralReference : public testing::TestWithParam<Case> {};

TEST_P(GeneralReference, MatchesTheDefinition) {
  Problem p;
  const Status status = parse(GetParam().text, p);
  ASSERT_TRUE(status.ok()) << status.message();
  constexpr uint64_t kSeed = 17;
  std::mt19937_64 random(kSeed);
  const Tensors tensors = randomTensors(p, random);
  const Expectation result = convolveGeneral(p, tensors.operands(), Accumulation::TensorCore);
  ASSERT_EQ(result.value.size(), static_cast<size_t>(p.outputPixels() * p.k));
  size_t index = 0, inside = 0;
  double amax = 0;
  for (int64_t n = 0; n < p.n; ++n)
    for (int64_t z = 0; z < p.z(); ++z)
      for (int64_t y = 0; y < p.p(); ++y)
        for (int64_t x = 0; x < p.q(); ++x)
          for (int64_t k = 0; k < p.k; ++k, ++index) {
            const double expected = byDefinition(p, tensors, n, z, y, x, k, amax);
            // tf32 cuts each operand by less than 2^-10 of it; sums here stay below 200.
            const double tolerance = p.compute == Compute::TF32 ? 0.5 : 1e-9 * (1 + std::abs(expected));
            const bool saturates = std::abs(result.value[index]) == numerics::largestValue(numberType(p.outputType));
            const bool zero = p.outputType == DataType::U8 && result.value[index] == 0;
            if (saturates || zero || (p.outputType == DataType::S8 && result.value[index] == -128)) {
              EXPECT_GE(std::abs(expected), zero ? 0 : std::abs(result.value[index]));
              continue;
            }
            ++inside;
            ASSERT_NEAR(result.value[index], expected, tolerance) << "element " << index;
          }
  EXPECT_GT(2 * inside, index) << "most of the values saturate, so little was compared";
  if (p.hasAmax) {
    EXPECT_NEAR(result.amax, amax, 1e-9 * amax);
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, GeneralReference, testing::ValuesIn(kCases), [](const auto& info) { return info.param.name; });

TEST(GeneralReferenceByHand, ZeroPointsDoNotReachIntoThePadding) {
  // One row of two pixels, 10 and 20, zero point 4; a filter 3, 5, zero point 1, one pad on the left.
  // q = 0: only the tap s = 1 is inside: (10-4)*(5-1) = 24. q = 1: (10-4)*(3-1) + (20-4)*(5-1) = 76. Output zero point 1.
  Problem p;
  ASSERT_TRUE(parse("1x1x2x1 u8 zero 4 * 1x1x2x1 u8 zero 1 pad 0,0,1,0 -> u8 zero 1", p).ok());
  Tensors tensors;
  tensors.bytes[TensorName::Input] = {std::byte{10}, std::byte{20}};
  tensors.bytes[TensorName::Filter] = {std::byte{3}, std::byte{5}};
  const Expectation result = convolve(p, tensors.operands());
  EXPECT_EQ(result.value, (std::vector<double>{25, 77}));
  EXPECT_EQ(result.bound, (std::vector<double>{0.5, 0.5})) << "integer sums are exact";
}

TEST(GeneralReferenceByHand, EpilogueInItsOrder) {
  // sum 2*3 = 6; v = relu(0.5 * 10 * 6 + 1 + 2 * (-20)) = relu(-9) = 0 for k = 0; for k = 1 scale -1: 0.5*-1*12 + 7 - 40, also 0;
  // with the residual +20: k = 0: 30 + 1 + 40 = 71, times out_scale 3 = 213; k = 1: -6 + 7 + 40 = 41, times 3 = 123.
  Problem p;
  ASSERT_TRUE(
      parse("1x1x1x1 s8 * 2x1x1x1 -> f32 alpha 0.5 channel_scale bias residual 2 residual_type s8 relu amax out_scale 3", p).ok());
  Tensors tensors;
  const auto f32 = [](std::initializer_list<float> values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.begin(), bytes.size());
    return bytes;
  };
  tensors.bytes[TensorName::Input] = {std::byte{2}};
  tensors.bytes[TensorName::Filter] = {std::byte{3}, std::byte{6}};
  tensors.bytes[TensorName::ChannelScale] = f32({10, -1});
  tensors.bytes[TensorName::Bias] = f32({1, 7});
  tensors.bytes[TensorName::Residual] = {std::byte{20}, std::byte{20}};
  Expectation result = convolve(p, tensors.operands());
  EXPECT_EQ(result.value, (std::vector<double>{213, 123}));
  EXPECT_EQ(result.bound, (std::vector<double>{0, 0})) << "small integers pass exactly";
  EXPECT_EQ(result.amax, 71);
  tensors.bytes[TensorName::Residual] = {std::byte{0xEC}, std::byte{0xEC}};  // -20
  result = convolve(p, tensors.operands());
  EXPECT_EQ(result.value, (std::vector<double>{0, 0}));
  EXPECT_EQ(result.amax, 0);
}

class FoldedScale : public testing::TestWithParam<float> {};  // beta

TEST_P(FoldedScale, IsCovered) {
  // A bias that nearly cancels the sum, and the residual: then the bias's own rounding counts. The product of both scales is
  // rounded by 0.97 of the most that it may be, so that some errors are larger than single steps would allow.
  constexpr uint64_t kSeed = 11;
  constexpr int64_t kInputs = 64, kOutputs = 4096;
  Problem p;
  ASSERT_TRUE(parse("1x1x1x64 s8 * 4096x1x1x64 -> s8 alpha 0.0092 channel_scale bias out_scale 1.7", p).ok());
  p.beta = GetParam();
  if (p.hasResidual()) p.residualType = DataType::S8;
  std::mt19937_64 random(kSeed);
  Tensors tensors = randomTensors(p, random);
  std::vector<float> scale(kOutputs), bias(kOutputs), sum(kOutputs), residual(kOutputs);
  std::uniform_real_distribution<float> near1(0.5f, 2.0f), offset(-60.0f, 60.0f);
  for (size_t k = 0; k < kOutputs; ++k) {
    for (int64_t c = 0; c < kInputs; ++c)
      sum[k] += static_cast<float>(at(DataType::S8, tensors.bytes[TensorName::Input], c) *
                                   at(DataType::S8, tensors.bytes[TensorName::Filter], static_cast<int64_t>(k) * kInputs + c));
    scale[k] = near1(random);
    if (p.hasResidual())
      residual[k] = static_cast<float>(at(DataType::S8, tensors.bytes[TensorName::Residual], static_cast<int64_t>(k)));
    bias[k] = offset(random) - p.alpha * scale[k] * sum[k] - p.beta * residual[k];
  }
  const auto bytesOf = [](const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  };
  tensors.bytes[TensorName::ChannelScale] = bytesOf(scale);
  tensors.bytes[TensorName::Bias] = bytesOf(bias);
  const Expectation result = convolve(p, tensors.operands());
  double largestShare = 0;
  for (size_t k = 0; k < kOutputs; ++k) {
    const float folded =
        std::fma(p.beta * p.outScale, residual[k], std::fma(sum[k], p.alpha * p.outScale * scale[k], bias[k] * p.outScale));
    const double exact =
        (double{p.alpha} * double{scale[k]} * double{sum[k]} + double{bias[k]} + double{p.beta} * double{residual[k]}) *
        double{p.outScale};
    const double bound = result.bound[k] - 0.5;  // without the conversion's half
    ASSERT_LE(std::abs(folded - exact), bound) << "channel " << k << ", seed " << kSeed;
    largestShare = std::max(largestShare, std::abs(folded - exact) / bound);
  }
  // With a residual there are more roundings, which are less often at their largest together.
  EXPECT_GT(largestShare, p.hasResidual() ? 0.5 : 0.7) << "a bound that is not reached says little";
}

INSTANTIATE_TEST_SUITE_P(WithoutAndWithAResidual, FoldedScale, testing::Values(0.0f, -0.37f));

TEST(GeneralReferenceByHand, AgreesWithTheFastPath) {
  Problem p;
  ASSERT_TRUE(parse("2x7x5x19 f16 * 11x3x2x19 pad 1,1,0,1 stride 2,1 -> f32", p).ok());
  std::mt19937_64 random(5);
  const Tensors tensors = randomTensors(p, random);
  const Expectation fast = convolve(p, tensors.operands()),
                    general = convolveGeneral(p, tensors.operands(), Accumulation::TensorCore);
  ASSERT_EQ(fast.value.size(), general.value.size());
  for (size_t i = 0; i < fast.value.size(); ++i) {
    EXPECT_NEAR(fast.value[i], general.value[i], 1e-12 * (1 + std::abs(fast.value[i])));
    EXPECT_GE(general.bound[i], fast.bound[i]);
    EXPECT_LE(general.bound[i], fast.bound[i] + 0x1p-22 * std::abs(fast.value[i]));
  }
}

TEST(GeneralReferenceByHand, HasNoBoundWhereNoneWasDerived) {
  Problem p;
  ASSERT_TRUE(parse("1x1x1x4 f32 * 1x1x1x4 -> f32", p).ok());
  std::mt19937_64 random(5);
  const Expectation result = convolve(p, randomTensors(p, random).operands());
  EXPECT_TRUE(std::isnan(result.bound[0]));
  EXPECT_FALSE(agrees(p, result.value[0], result.bound[0], static_cast<float>(result.value[0])));
}

TEST(BlockOutput, JudgesFactorsElementsAndPadding) {
  Problem p;
  ASSERT_TRUE(parse("1x1x1x4 f16 * 2x1x1x4 -> e4m3 scale ue8m0/32/interleaved", p).ok());
  Expectation expected;
  expected.value = {3, -0.5}, expected.bound = {0, 0};
  // The largest magnitude, 3, has the exponent 1, and e4m3 reaches 2^8: the factor is 2^-7 (code 120). 3 * 2^7 = 384, -0.5 * 2^7.
  std::vector<std::byte> elements = {std::byte{0x7c}, std::byte{0xe8}}, scales(512);
  scales[0] = std::byte{120};
  EXPECT_EQ(blockOutputDifference(p, expected, elements, scales), "");
  scales[0] = std::byte{121};
  EXPECT_NE(blockOutputDifference(p, expected, elements, scales).find("factor 0x79"), std::string::npos);
  scales[0] = std::byte{120}, elements[1] = std::byte{0xe7};
  EXPECT_NE(blockOutputDifference(p, expected, elements, scales).find("element 1"), std::string::npos);
  elements[1] = std::byte{0xe8}, scales[1] = std::byte{0xff};
  EXPECT_NE(blockOutputDifference(p, expected, elements, scales).find("of padding"), std::string::npos);
}

}  // namespace
}  // namespace shiftconv::reference
