// The reference itself, against numbers that were not computed by it, and what the epilogue refuses.
#include "common/gemm/reference/epilogue_reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/numerics/codec.hpp"

namespace shiftconv::gemm {
namespace {

EpilogueParams withActivation(Activation activation) {
  EpilogueParams p;
  p.rows = p.columns = 1;
  p.activation = activation;
  return p;
}

TEST(EpilogueReference, ActivationsEqualTheirDefinitions) {
  struct Row {
    double v;
    std::array<double, 6> f;  ///< GELU erf, GELU tanh, SiLU, hard-swish, sigmoid, tanh; by mpmath 1.4 with 30 digits
  };
  const Row rows[] = {
      {-6.0,
       {-5.9195258702261888e-9, -8.4396467007622971e-11, -0.014835738939808646, 0.0, 0.0024726231566347743, -0.99998771165079557}},
      {-2.5,
       {-0.015524163314440338, -0.015084266089998582, -0.18964545005310888, -0.20833333333333333, 0.075858180021243551,
        -0.98661429815143029}},
      {-1.0,
       {-0.15865525393145705, -0.1588080093917233, -0.26894142136999512, -0.33333333333333333, 0.26894142136999512,
        -0.76159415595576489}},
      {-0.25,
       {-0.10032341857926907, -0.100324649298315, -0.10945587477855047, -0.11458333333333333, 0.4378234991142019,
        -0.24491866240370913}},
      {0.1,
       {0.053982783727702901, 0.053982751045435168, 0.052497918747894002, 0.05166666666666667, 0.52497918747893999,
        0.099667994624955823}},
      {0.75, {0.58002948571734885, 0.5799605551656203, 0.50938402438154473, 0.46875, 0.67917869917539297, 0.63514895238728732}},
      {1.5, {1.3997891980967129, 1.3995715769802329, 1.2263617142904655, 1.125, 0.81757447619364366, 0.90514825364486644}},
      {4.0, {3.9998733150326675, 3.9999297540518076, 3.9280551601516338, 4.0, 0.98201379003790844, 0.99932929973906704}},
  };
  const Activation activations[] = {Activation::GeluErf,   Activation::GeluTanh, Activation::Silu,
                                    Activation::HardSwish, Activation::Sigmoid,  Activation::Tanh};
  for (const Row& row : rows)
    for (size_t i = 0; i < 6; ++i) {
      const Bounded result = epilogueReference(withActivation(activations[i]), 0, 0, {row.v, 0}).activated;
      EXPECT_NEAR(result.value, row.f[i], 1e-13 * std::fabs(row.f[i])) << name(activations[i]) << " of " << row.v;
      // Bounds that say something: 100 units in the last place of the argument at most.
      EXPECT_LE(result.error, 100 * 0x1p-24 * std::fabs(row.v)) << name(activations[i]) << " of " << row.v;
    }
}

TEST(EpilogueReference, SimpleActivationsAreExact) {
  EpilogueParams p = withActivation(Activation::Relu);
  EXPECT_EQ(epilogueReference(p, 0, 0, {-2, 0}).activated.value, 0);
  EXPECT_EQ(epilogueReference(p, 0, 0, {3, 0}).activated.value, 3);
  p = withActivation(Activation::LeakyRelu);
  p.activationA = 0.25f;
  EXPECT_EQ(epilogueReference(p, 0, 0, {-2, 0}).activated.value, -0.5);
  EXPECT_EQ(epilogueReference(p, 0, 0, {2, 0}).activated.value, 2);
  p = withActivation(Activation::Clamp);
  p.activationA = -1, p.activationB = 6;
  EXPECT_EQ(epilogueReference(p, 0, 0, {-2, 0}).activated.value, -1);
  EXPECT_EQ(epilogueReference(p, 0, 0, {9, 0}).activated.value, 6);
  EXPECT_EQ(epilogueReference(p, 0, 0, {9, 0}).activated.error, 0);
}

TEST(EpilogueReference, TakesThePartsInTheirOrder) {
  const std::vector<int32_t> correction = {0, 5};
  const std::vector<float> rowScale = {1, 2}, columnScale = {0, 3}, bias = {0, -100};
  const std::vector<float> residual = {0, 0, 0, 8};
  EpilogueParams p;
  p.rows = p.columns = 2;
  p.accumulatorType = NumberType::S32;
  p.columnCorrection = correction.data();
  p.alpha = 0.5f;
  p.rowScale = rowScale.data(), p.columnScale = columnScale.data(), p.bias = bias.data();
  p.beta = 4;
  p.residual = residual.data();
  p.residualPitch = 2 * sizeof(float);
  p.activation = Activation::LeakyRelu;
  p.activationA = 10;
  p.outputScale = 0.25f;
  // 0.5 * 2 * 3 * (15 - 5) - 100 + 4 * 8 = -38
  const EpilogueValue value = epilogueReference(p, 1, 1, {15, 0});
  EXPECT_EQ(value.activated.value, -380);
  EXPECT_EQ(value.scaled.value, -95);
  EXPECT_EQ(value.scaled.error, 0);
}

TEST(EpilogueReference, AddsAResidualAfterTheActivation) {
  const float residual = 8;
  EpilogueParams p = withActivation(Activation::LeakyRelu);
  p.activationA = 10;
  p.beta = 4;
  p.residual = &residual;
  p.outputScale = 0.25f;
  p.residualLast = true;
  // 10 * -3 + 4 * 8 = 2; before the activation it would be -3 + 32.
  const EpilogueValue value = epilogueReference(p, 0, 0, {-3, 0});
  EXPECT_EQ(value.activated.value, 2);
  EXPECT_EQ(value.scaled.value, 0.5);
  EXPECT_EQ(value.scaled.error, 0);
  // An error of the sum grows by the activation's slope, and by no more than half an ulp of the sum with the residual.
  const double error = epilogueReference(p, 0, 0, {-3, 0x1p-20}).activated.error;
  EXPECT_GE(error, 10 * 0x1p-20);
  EXPECT_LE(error, 10 * 0x1p-20 + 64 * 0x1p-24);
}

TEST(EpilogueReference, ErrorsGrowByHalfAnUlpAnOperation) {
  const std::vector<float> bias = {1.0f};
  EpilogueParams p;
  p.rows = p.columns = 1;
  p.alpha = 1 + 0x1p-23f;
  p.bias = bias.data();
  const Bounded v = epilogueReference(p, 0, 0, {double{1 + 0x1p-23f}, 0}).scaled;
  // The product rounds, the sum with 1 rounds (twice the product's magnitude), the factor 1 does not make it worse than one more.
  EXPECT_GE(v.error, 3 * 0x1p-24);
  EXPECT_LE(v.error, 5.1 * 0x1p-24);
}

TEST(EpilogueReference, AcceptsCodesWithinReachOnly) {
  EXPECT_TRUE(reachable(NumberType::F16, {1.0, 0}, 0x3c00));
  EXPECT_FALSE(reachable(NumberType::F16, {1.0, 0}, 0x3c01));
  EXPECT_TRUE(reachable(NumberType::F16, {1.0, 0x1p-10}, 0x3c01));
  EXPECT_TRUE(reachable(NumberType::E4M3, {-1e9, 0}, 0xfe));
  EXPECT_FALSE(reachable(NumberType::E4M3, {-1e9, 0}, 0x7f));
  EXPECT_TRUE(reachable(NumberType::E4M3, {std::nan(""), 0}, 0x7f));
  EXPECT_TRUE(reachable(NumberType::S8, {-2.5, 0}, 0xfe));
  EXPECT_FALSE(reachable(NumberType::S8, {-2.5, 0}, 0xfd));
  EXPECT_TRUE(reachable(NumberType::S8, {-2.5, 1e-6}, 0xfd));
  EXPECT_TRUE(reachable(NumberType::U8, {300, 0}, 0xff));
  EXPECT_TRUE(reachable(NumberType::S8, {0.5, 0}, 1, 1));  // rounds to the even 0 first
  EXPECT_FALSE(reachable(NumberType::S8, {0.5, 0}, 2, 1));
  EXPECT_TRUE(reachable(NumberType::U8, {-1000, 0}, 0, 128));
  EXPECT_TRUE(reachable(NumberType::F32, {-0x1p-149, 0x1p-149}, 0));
  EXPECT_FALSE(reachable(NumberType::F32, {-0x1p-149, 0x1p-150}, 1));
}

/// What the device's functions add to an exact argument (activation.cuh), written down once more: neither less nor looser.
TEST(EpilogueReference, ErrorsOfActivationsAreThoseOfTheDerivation) {
  for (const double v : {-5.5, -2.25, -0.75, -0.125, 0.25, 1.0, 2.5, 6.0}) {
    const double w = std::fabs(v), s = 1 / (1 + std::exp(-v)), tail = std::erfc(w / std::sqrt(2.0)) / 2;
    const double below = std::erfc(-v / std::sqrt(2.0)) / 2;
    const double argument = 2 * std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v), ofTanh = 1 / (1 + std::exp(-argument));
    const std::pair<Activation, double> units[] = {
        {Activation::GeluErf, w * (tail * (2 * w * w + 66) + (v > 0 ? 1 : 0)) + w * below + 0x1p-14},
        {Activation::GeluTanh, w * ofTanh * ((1 - ofTanh) * (4 * std::fabs(argument) + 4) + 9)},
        {Activation::Silu, w * s * ((1 - s) * (1.5 * w + 4) + 9)},
        {Activation::HardSwish, 4 * w * std::clamp(v + 3, 0.0, 6.0) / 6},
        {Activation::Sigmoid, s * ((1 - s) * (1.5 * w + 4) + 3)},
        {Activation::Tanh, 21 * std::fabs(std::tanh(v))}};
    for (const auto& [activation, unitsInTheLastPlace] : units) {
      SCOPED_TRACE(std::string(name(activation)) + " of " + std::to_string(v));
      const double error = epilogueReference(withActivation(activation), 0, 0, {v, 0}).activated.error;
      EXPECT_LE(error, unitsInTheLastPlace * 0x1p-24 * (1 + 0x1p-16) + 0x1p-120);
      EXPECT_GE(error, unitsInTheLastPlace * 0x1p-24 * (1 - 0x1p-16));
    }
  }
}

/// Of an interval that ends between two numbers, those inside are reachable and the next ones outside are not, and no NaN.
TEST(EpilogueReference, RefusesTheFirstCodesOutside) {
  for (const NumberType type :
       {NumberType::F16, NumberType::BF16, NumberType::E4M3, NumberType::E5M2, NumberType::S8, NumberType::U8})
    for (const bool negative : {false, true}) {
      if (negative && type == NumberType::U8) continue;
      SCOPED_TRACE(numerics::name(type));
      const double sign = negative ? -1 : 1;
      const uint32_t middle = numerics::encode(type, 6.0);
      const auto number = [&](uint32_t code) { return numerics::decode(type, code); };
      const auto codeOf = [&](uint32_t code) { return numerics::encode(type, sign * number(code)); };
      const double step = number(middle + 1) - number(middle);
      const Bounded value{sign * number(middle), 1.45 * step};  // reaches what rounds to the first neighbours, not to the second
      for (const uint32_t inside : {middle - 1, middle, middle + 1}) EXPECT_TRUE(reachable(type, value, codeOf(inside)));
      EXPECT_FALSE(reachable(type, value, codeOf(middle + 2)));
      EXPECT_FALSE(reachable(type, value, codeOf(middle - 2)));
      if (type != NumberType::S8 && type != NumberType::U8) {
        EXPECT_FALSE(reachable(type, value, numerics::encode(type, std::nan(""))));
      }
    }
  // With a zero point, the rounded integer moves.
  for (const uint32_t code : {9u, 10u, 11u}) EXPECT_TRUE(reachable(NumberType::U8, {5, 1.45}, code, 5));
  EXPECT_FALSE(reachable(NumberType::U8, {5, 1.45}, 8, 5));
  EXPECT_FALSE(reachable(NumberType::U8, {5, 1.45}, 12, 5));
  EXPECT_FALSE(reachable(NumberType::F16, {65504, 1e9}, 0x7e00));  // may be infinite, but not NaN
  EXPECT_TRUE(reachable(NumberType::F16, {65504, 1e9}, 0x7c00));
}

/// nvfp4 has a slack of five units for its reciprocal: a quotient may fall to the other side of a boundary that is nearer.
TEST(EpilogueReference, JudgesBlocksWithTheSlackOfTheReciprocal) {
  const numerics::BlockFormat mxfp4 = *numerics::blockFormatNamed("mxfp4"), nvfp4 = *numerics::blockFormatNamed("nvfp4");
  const uint32_t one = numerics::encode(NumberType::UE4M3, 1);
  for (const double sign : {1.0, -1.0}) {
    const uint32_t signBit = sign < 0 ? 8 : 0;
    const auto judged = [&](const numerics::BlockFormat& format, uint32_t factor, double element, uint32_t code) {
      return blockDifference(format, std::vector<Bounded>{{6, 0}, {sign * element, 0}}, factor,
                             std::vector<uint32_t>{7, code | signBit});
    };
    // 2.5 lies between the codes 4 (2) and 5 (3).
    EXPECT_EQ(judged(nvfp4, one, 2.5 * (1 + 4 * 0x1p-24), 4), "");
    EXPECT_NE(judged(nvfp4, one, 2.5 * (1 + 6 * 0x1p-24), 4), "");
    EXPECT_EQ(judged(nvfp4, one, 2.5 * (1 - 4 * 0x1p-24), 5), "");
    EXPECT_NE(judged(nvfp4, one, 2.5 * (1 - 6 * 0x1p-24), 5), "");
    EXPECT_NE(judged(mxfp4, 127, 2.5 * (1 + 0x1p-24), 4), "");
    EXPECT_EQ(judged(mxfp4, 127, 2.5 * (1 + 0x1p-24), 5), "");
  }
  // The factor: the maximum 6.375 lies between those of 1 and 1.125.
  const auto factor = [&](double largest, uint32_t code) {
    return blockDifference(nvfp4, std::vector<Bounded>{{largest, 0}}, code, std::vector<uint32_t>{7});
  };
  EXPECT_EQ(factor(6.375 * (1 + 4 * 0x1p-24), one), "");
  EXPECT_NE(factor(6.375 * (1 + 6 * 0x1p-24), one), "");
  EXPECT_EQ(factor(6.375 * (1 - 4 * 0x1p-24), one + 1), "");
  EXPECT_NE(factor(6.375 * (1 - 6 * 0x1p-24), one + 1), "");
}

TEST(EpilogueReference, JudgesBlocks) {
  const numerics::BlockFormat mxfp4 = *numerics::blockFormatNamed("mxfp4"), nvfp4 = *numerics::blockFormatNamed("nvfp4");
  const std::vector<Bounded> values = {{4, 0}, {-1, 0}, {0, 0}};
  const std::vector<uint32_t> right = {6, 0xa, 0}, wrong = {6, 2, 0};
  EXPECT_EQ(blockDifference(mxfp4, values, 127, right), "");
  EXPECT_NE(blockDifference(mxfp4, values, 127, wrong), "");
  EXPECT_NE(blockDifference(mxfp4, values, 126, right), "");
  // A maximum that may lie on either side of a power of two allows both factors, with their own codes.
  const std::vector<Bounded> edge = {{4, 1e-6}};
  EXPECT_EQ(blockDifference(mxfp4, edge, 126, std::vector<uint32_t>{7}), "");
  EXPECT_EQ(blockDifference(mxfp4, edge, 127, std::vector<uint32_t>{6}), "");
  EXPECT_NE(blockDifference(mxfp4, edge, 126, std::vector<uint32_t>{6}), "");
  const uint32_t one = numerics::encode(NumberType::UE4M3, 1);
  EXPECT_EQ(blockDifference(nvfp4, std::vector<Bounded>{{6, 0}, {3, 0}}, one, std::vector<uint32_t>{7, 5}), "");
  EXPECT_NE(blockDifference(nvfp4, std::vector<Bounded>{{6, 0}, {3, 0}}, one + 1, std::vector<uint32_t>{7, 5}), "");
  const std::vector<Bounded> spoiled = {{std::numeric_limits<double>::infinity(), 0}, {1, 0}};
  EXPECT_EQ(blockDifference(mxfp4, spoiled, 0xff, std::vector<uint32_t>{0, 0}), "");
  EXPECT_NE(blockDifference(mxfp4, spoiled, 0xfe, std::vector<uint32_t>{7, 0}), "");
}

TEST(EpilogueRefusal, NamesTheField) {
  alignas(16) static float memory[8];
  EpilogueParams good;
  good.rows = good.columns = 8;
  good.outputPitch = 32;
  good.output = memory;
  EXPECT_EQ(epilogueRefusal(good, 16), std::nullopt);

  const auto refused = [&](int32_t segmentColumns, const char* field, auto&& change) {
    EpilogueParams p = good;
    change(p);
    const std::optional<std::string> reason = epilogueRefusal(p, segmentColumns);
    ASSERT_TRUE(reason.has_value()) << field;
    EXPECT_TRUE(reason->starts_with(std::string(field) + ":")) << *reason;
  };
  refused(16, "accumulatorType", [](EpilogueParams& p) { p.accumulatorType = NumberType::BF16; });
  refused(16, "columnCorrection", [](EpilogueParams& p) { p.columnCorrection = reinterpret_cast<const int32_t*>(memory); });
  refused(16, "residualType", [](EpilogueParams& p) { p.residual = memory, p.residualType = NumberType::E5M2; });
  refused(16, "residualPitch", [](EpilogueParams& p) { p.residual = memory, p.residualPitch = 34; });
  refused(16, "activationA", [](EpilogueParams& p) { p.activation = Activation::Clamp, p.activationA = 1; });
  refused(16, "columnScale", [](EpilogueParams& p) { p.columnScale = memory + 1; });
  refused(16, "bias", [](EpilogueParams& p) { p.bias = memory + 1; });
  refused(16, "biasType", [](EpilogueParams& p) { p.bias = memory, p.biasType = NumberType::S8; });
  refused(16, "residual", [](EpilogueParams& p) { p.residual = memory + 1; });
  refused(16, "output", [](EpilogueParams& p) { p.output = memory + 1; });
  refused(16, "outputType", [](EpilogueParams& p) { p.outputType = NumberType::E3M2; });
  refused(16, "outputType", [](EpilogueParams& p) { p.outputType = NumberType::E2M1; });
  refused(16, "outputType", [](EpilogueParams& p) { p.outputType = NumberType::S32; });
  refused(16, "outputType", [](EpilogueParams& p) {
    p.outputType = p.accumulatorType = NumberType::S32;
    p.alpha = 2;
  });
  refused(16, "outputBlock", [](EpilogueParams& p) { p.outputBlock = 32; });
  refused(16, "outputBlock", [](EpilogueParams& p) { p.outputType = NumberType::E2M1, p.outputBlock = 32; });
  refused(32, "outputScales", [](EpilogueParams& p) { p.outputType = NumberType::E2M1, p.outputBlock = 32; });
  refused(16, "outputPitch", [](EpilogueParams& p) { p.outputPitch = 34; });
  refused(16, "outputPitch", [](EpilogueParams& p) { p.outputPitch = 28; });
}

}  // namespace
}  // namespace shiftconv::gemm
