// The host reference against the definition, written out as seven plain loops, and against sums known by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "common/numerics/float16.hpp"
#include "conv/problem/text.hpp"
#include "conv/problem/validation.hpp"
#include "conv/reference/convolution.hpp"

namespace shiftconv::reference {
namespace {

struct Data {
  std::vector<uint16_t> input, filter;
  std::vector<float> bias;
  Operands operands() const { return {input, filter, bias}; }
};

Data randomData(const Problem& p, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> values(-1, 1);
  const auto element = [&] {
    const float value = values(generator);
    return p.inputType == DataType::BF16 ? numerics::encodeBf16(value) : numerics::encodeF16(value);
  };
  Data data;
  data.input.assign(static_cast<size_t>(p.n * p.h * p.w * p.inputPitch()), numerics::kCanonicalNan16);
  for (int64_t pixel = 0; pixel < p.n * p.h * p.w; ++pixel)
    for (int64_t c = 0; c < p.c; ++c) data.input[static_cast<size_t>(pixel * p.inputPitch() + c)] = element();
  data.filter.resize(static_cast<size_t>(p.k * p.r * p.s * p.c));
  for (uint16_t& w : data.filter) w = element();
  if (p.hasBias) data.bias.resize(static_cast<size_t>(p.k));
  for (float& b : data.bias) b = values(generator);
  return data;
}

/// out[n,p,q,k] by the definition in shiftconv.h.
double byDefinition(const Problem& p, const Data& data, int64_t n, int64_t row, int64_t column, int64_t k) {
  const auto decode = [&](uint16_t bits) {
    return static_cast<long double>(p.inputType == DataType::BF16 ? numerics::decodeBf16(bits) : numerics::decodeF16(bits));
  };
  long double sum = p.hasBias ? data.bias[static_cast<size_t>(k)] : 0.0L;
  for (int64_t r = 0; r < p.r; ++r)
    for (int64_t s = 0; s < p.s; ++s) {
      const int64_t y = row * p.strideH + r * p.dilationH - p.padTop, x = column * p.strideW + s * p.dilationW - p.padLeft;
      if (y < 0 || y >= p.h || x < 0 || x >= p.w) continue;
      for (int64_t c = 0; c < p.c; ++c)
        sum += decode(data.input[static_cast<size_t>(((n * p.h + y) * p.w + x) * p.inputPitch() + c)]) *
               decode(data.filter[static_cast<size_t>(((k * p.r + r) * p.s + s) * p.c + c)]);
    }
  return static_cast<double>(p.activation == Activation::Relu && sum < 0 ? 0.0L : sum);
}

Problem problem(int64_t n, int64_t h, int64_t w, int64_t c, int64_t k, int64_t r, int64_t s) {
  Problem p;
  p.n = n, p.h = h, p.w = w, p.c = c, p.k = k, p.r = r, p.s = s;
  return p;
}

TEST(Reference, MatchesTheDefinition) {
  std::vector<Problem> problems;
  problems.push_back(problem(1, 1, 1, 1, 1, 1, 1));
  problems.push_back(problem(2, 5, 7, 3, 9, 3, 3));
  problems.back().padTop = problems.back().padLeft = 1;
  problems.push_back(problem(1, 9, 8, 5, 17, 4, 2));
  problems.back().strideH = 2;
  problems.back().strideW = 3;
  problems.back().dilationH = 2;
  problems.back().padBottom = 3;
  problems.back().hasBias = true;
  problems.push_back(problem(3, 6, 6, 20, 8, 2, 5));
  problems.back().dilationW = 2;
  problems.back().padLeft = 5;
  problems.back().padRight = 4;
  problems.back().inputPixelPitch = 24;
  problems.back().inputType = problems.back().filterType = DataType::BF16;
  problems.back().activation = Activation::Relu;
  uint32_t seed = 1;
  for (const Problem& p : problems) {
    ASSERT_TRUE(validate(p).ok()) << validate(p).message();
    const Data data = randomData(p, seed++);
    const Expectation result = convolve(p, data.operands());
    ASSERT_EQ(result.value.size(), static_cast<size_t>(p.n * p.p() * p.q() * p.k));
    size_t index = 0;
    for (int64_t n = 0; n < p.n; ++n)
      for (int64_t row = 0; row < p.p(); ++row)
        for (int64_t column = 0; column < p.q(); ++column)
          for (int64_t k = 0; k < p.k; ++k, ++index) {
            const double expected = byDefinition(p, data, n, row, column, k);
            ASSERT_NEAR(result.value[index], expected, 1e-13 * (1 + std::abs(expected))) << describe(p) << " element " << index;
          }
  }
}

TEST(Reference, KnowsASumByHand) {
  // A 2x2 image 1 2 / 3 4, filter 1 10 / 100 1000 (k = 0) and its negative (k = 1), padding 1 at top and left.
  Problem p = problem(1, 2, 2, 1, 2, 2, 2);
  p.padTop = p.padLeft = 1;
  p.outputType = DataType::F32;
  Data data;
  for (float value : {1.0f, 2.0f, 3.0f, 4.0f}) data.input.push_back(numerics::encodeF16(value));
  for (float value : {1.0f, 10.0f, 100.0f, 1000.0f, -1.0f, -10.0f, -100.0f, -1000.0f})
    data.filter.push_back(numerics::encodeF16(value));
  const Expectation result = convolve(p, data.operands());
  EXPECT_EQ(result.value, (std::vector<double>{1000, -1000, 2100, -2100, 3010, -3010, 4321, -4321}));
}

TEST(Reference, DoesNotDependOnTheNumberOfThreads) {
  Problem p = problem(2, 7, 5, 19, 11, 3, 2);
  p.padTop = 1;
  const Data data = randomData(p, 5);
  const Expectation one = convolve(p, data.operands(), Accumulation::TensorCore, 1);
  const Expectation many = convolve(p, data.operands(), Accumulation::TensorCore, 7);
  EXPECT_EQ(one.value, many.value);
  EXPECT_EQ(one.bound, many.bound);
}

TEST(Reference, SkipsPaddedTapsAndPropagatesTheRest) {
  Problem p = problem(1, 2, 2, 1, 1, 1, 2);
  p.padLeft = 1;
  p.outputType = DataType::F32;
  Data data;
  data.input.assign(4, numerics::encodeF16(2.0f));
  data.filter = {numerics::encodeF16(INFINITY), numerics::encodeF16(3.0f)};
  const Expectation result = convolve(p, data.operands());
  EXPECT_EQ(result.value[0], 6.0);  // the infinite tap lies in the padding
  EXPECT_TRUE(std::isfinite(result.bound[0]));
  EXPECT_EQ(result.value[1], INFINITY);
  EXPECT_TRUE(agrees(p, result.value[1], result.bound[1], INFINITY));
  EXPECT_FALSE(agrees(p, result.value[1], result.bound[1], 1.0f));
  data.input[0] = numerics::encodeF16(0.0f);
  EXPECT_TRUE(std::isnan(convolve(p, data.operands()).value[1]));
}

TEST(Reference, AgreesOnlyWithinTheBound) {
  Problem p = problem(1, 1, 1, 1, 1, 1, 1);
  p.outputType = DataType::F16;
  EXPECT_TRUE(agrees(p, 1.0, 0.5, 1.5f));
  EXPECT_FALSE(agrees(p, 1.0, 0.5, std::nextafter(1.5f, 2.0f)));
  EXPECT_FALSE(agrees(p, 1.0, 0.5, NAN));
  EXPECT_TRUE(agrees(p, NAN, 0, NAN));
  EXPECT_FALSE(agrees(p, NAN, 0, 1.0f));
  EXPECT_FALSE(agrees(p, 65000.0, 16.0, INFINITY));
  EXPECT_TRUE(agrees(p, 65510.0, 16.0, INFINITY));
  EXPECT_FALSE(agrees(p, 65510.0, 16.0, -INFINITY));
  EXPECT_FALSE(agrees(p, -INFINITY, 0, INFINITY));
}

TEST(Reference, NegativeInfinityBecomesZeroUnderRelu) {
  Problem p = problem(1, 1, 1, 1, 1, 1, 1);
  p.activation = Activation::Relu;
  const Data data{{numerics::encodeF16(-INFINITY)}, {numerics::encodeF16(1.0f)}, {}};
  const Expectation result = convolve(p, data.operands());
  EXPECT_TRUE(agrees(p, result.value[0], result.bound[0], 0.0f));
  EXPECT_FALSE(agrees(p, result.value[0], result.bound[0], 1e-3f));
}

}  // namespace
}  // namespace shiftconv::reference
