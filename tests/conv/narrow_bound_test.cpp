// The bound of tf32, 8-bit and block-scaled 4-bit products against a simulation of the tensor core's arithmetic (error_bound.hpp
// states the model): never exceeded, and nearly reached, so it is neither wrong nor loose.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "conv/reference/error_bound.hpp"

namespace shiftconv::reference::narrow_bound_test {
namespace {

struct Kind {
  const char* name;
  DataType type;
  int products, group, fraction;  ///< of an MMA; that form one term; bits of a term below the largest exponent
  int kept = 23;                  ///< fraction bits of the sum
  Accumulation accumulation = Accumulation::TensorCore;
};
constexpr Kind kTf32{"tf32", DataType::F32, 8, 1, 25}, kE4m3{"e4m3", DataType::E4M3, 32, 1, 25},
    kE5m2{"e5m2", DataType::E5M2, 32, 1, 25}, kMxf4{"mxf4", DataType::E2M1, 64, 16, 35},
    kWgmma{"e4m3 of wgmma", DataType::E4M3, 32, 1, 13, 13, Accumulation::WgmmaTensorCore},
    kHalf{"e4m3 as f16", DataType::E4M3, 16, 1, 25, 23, Accumulation::HalfTensorCore};

struct Pair {
  double x, w;
};

Problem problemOf(const Kind& kind, size_t channels) {
  Problem p;
  p.n = p.h = p.w = p.k = p.r = p.s = 1;
  p.c = static_cast<int64_t>(channels);
  p.inputType = p.filterType = kind.type;
  if (kind.type == DataType::F32) p.compute = Compute::TF32;
  if (kind.group > 1) p.inputScale = p.filterScale = {32, DataType::UE8M0, ScaleOrder::Plain};
  return p;
}

int exponentOf(const Kind& kind, double value) {
  if (kind.group > 1) return 0;  // of the scale factors, which are 1 here
  const DataType multiplied = kind.accumulation == Accumulation::HalfTensorCore ? DataType::F16 : kind.type;
  return value == 0 ? -126 : std::max(std::ilogb(value), smallestExponent(multiplied));
}

double truncated(double value, int exponent) { return std::ldexp(std::trunc(std::ldexp(value, -exponent)), exponent); }

/// |error| / bound of the chain of MMAs over all pairs.
double share(const Kind& kind, const std::vector<Pair>& pairs) {
  ElementSums sums;
  double exact = 0, accumulator = 0;
  for (size_t first = 0; first < pairs.size(); first += static_cast<size_t>(kind.products)) {
    int largest = accumulator == 0 ? -126 : std::ilogb(accumulator);
    std::vector<double> terms;
    for (size_t i = first; i < first + static_cast<size_t>(kind.products); ++i) {
      const auto [x, w] = pairs[i];
      const int exponent = exponentOf(kind, x) + exponentOf(kind, w);
      largest = std::max(largest, exponent);
      sums.largestPower = std::max(sums.largestPower, std::ldexp(1.0, exponent));
      sums.absoluteSum += std::abs(x * w);
      exact += x * w;
      if ((i - first) % static_cast<size_t>(kind.group) == 0) terms.push_back(0);
      terms.back() += x * w;
    }
    double sum = truncated(accumulator, largest - kind.fraction);
    for (const double term : terms) sum += truncated(term, largest - kind.fraction);
    accumulator = sum == 0 ? 0 : truncated(sum, std::max(std::ilogb(sum) - kind.kept, -149));
  }
  const double bound = narrowAccumulationBound(problemOf(kind, pairs.size()), sums, kind.accumulation);
  EXPECT_GT(bound, 0) << kind.name;
  return std::abs(accumulator - exact) / bound;
}

TEST(NarrowBound, HoldsForRandomOperands) {
  std::mt19937_64 random(11);
  const auto value = [&](DataType type) {
    const int binades = type == DataType::E2M1 ? 2 : 8, from = type == DataType::E2M1 ? 0 : -6;
    const int bits = type == DataType::F32 ? 10 : type == DataType::E4M3 ? 3 : type == DataType::E5M2 ? 2 : 1;
    if (random() % 16 == 0) return 0.0;
    const double magnitude = std::ldexp(1 + std::ldexp(static_cast<double>(random() % (1u << bits)), -bits),
                                        from + static_cast<int>(random() % static_cast<unsigned>(binades)));
    return random() % 2 ? magnitude : -magnitude;
  };
  for (const Kind& kind : {kTf32, kE4m3, kE5m2, kMxf4, kWgmma, kHalf})
    for (int trial = 0; trial < 500; ++trial) {
      std::vector<Pair> pairs(static_cast<size_t>(kind.products) * (1 + random() % 20));
      for (Pair& pair : pairs) pair = {value(kind.type), value(kind.type)};
      ASSERT_LE(share(kind, pairs), 1) << kind.name << ", trial " << trial;
    }
}

/// One product of exponent 0 and many that lie just below 2^-25 of it and are lost whole, MMA after MMA.
TEST(NarrowBound, IsNearlyReachedWhenSmallTermsAreLost) {
  std::vector<Pair> pairs(8, Pair{std::ldexp(2 - 0x1p-10, -13), std::ldexp(2 - 0x1p-10, -14)});
  pairs[0] = {1, 1};
  double worst = share(kTf32, pairs);
  EXPECT_GT(worst, 7.0 / 13 * 0.98);  // 7 of the 9 terms' losses and none of the sum's truncation, 4 more
  EXPECT_LE(worst, 1);
  std::vector<Pair> narrow(32, Pair{0x1p-5 * 1.875, 0x1p-6 * 1.875});
  narrow[0] = {256, 256};
  worst = share(kE4m3, narrow);
  EXPECT_GT(worst, 0.7);
  EXPECT_LE(worst, 1);
  narrow.resize(16);
  worst = share(kHalf, narrow);
  EXPECT_GT(worst, 15.0 / 21 * 0.87);
  EXPECT_LE(worst, 1);
  narrow.resize(32);
  for (size_t i = 1; i < narrow.size(); ++i) narrow[i] = {1.875, 2};  // just below 2^-13 of 2^16
  worst = share(kWgmma, narrow);
  EXPECT_GT(worst, 31.0 / 34 * 0.4);
  EXPECT_LE(worst, 1);
}

TEST(NarrowBound, IsTheFormulaOfTheDerivation) {
  ElementSums sums;
  sums.absoluteSum = 2;
  sums.largestPower = 4;
  const double host = 100 * 0x1p-53 * 2;
  EXPECT_DOUBLE_EQ(narrowAccumulationBound(problemOf(kTf32, 100), sums, Accumulation::TensorCore),
                   13 * (9 * 0x1p-25 + 0x1p-23) * 4 + host);
  EXPECT_DOUBLE_EQ(narrowAccumulationBound(problemOf(kE4m3, 100), sums, Accumulation::TensorCore),
                   4 * (33 * 0x1p-25 + 0x1p-23) * 4 + host);
  EXPECT_DOUBLE_EQ(narrowAccumulationBound(problemOf(kMxf4, 100), sums, Accumulation::TensorCore),
                   2 * (5 * 0x1p-35 + 0x1p-23) * 4 + host);
}

TEST(NarrowBound, OfWgmmaIsTheFormulaOfTheDerivation) {
  ElementSums sums;
  sums.absoluteSum = 4;
  EXPECT_DOUBLE_EQ(narrowAccumulationBound(problemOf(kE4m3, 100), sums, Accumulation::WgmmaTensorCore),
                   4 * (33 * 0x1p-13 + 0x1p-13) * 4 + 100 * 0x1p-53 * 4);
  EXPECT_DOUBLE_EQ(narrowAccumulationBound(problemOf(kTf32, 100), sums, Accumulation::WgmmaTensorCore),
                   narrowAccumulationBound(problemOf(kTf32, 100), sums, Accumulation::TensorCore));
}

TEST(NarrowBound, OfFloatsThatBecomeHalfIsTheFormulaOfTheDerivation) {
  ElementSums sums;
  sums.absoluteSum = 4;
  EXPECT_DOUBLE_EQ(narrowAccumulationBound(problemOf(kE4m3, 100), sums, Accumulation::HalfTensorCore),
                   7 * (17 * 0x1p-25 + 0x1p-23) * 4 + 100 * 0x1p-53 * 4);
  EXPECT_DOUBLE_EQ(narrowAccumulationBound(problemOf(kTf32, 100), sums, Accumulation::HalfTensorCore),
                   narrowAccumulationBound(problemOf(kTf32, 100), sums, Accumulation::TensorCore));
}

TEST(NarrowBound, IsNotThereWhereNothingWasDerived) {
  ElementSums sums;
  sums.absoluteSum = 1;
  EXPECT_TRUE(std::isnan(narrowAccumulationBound(problemOf(kE4m3, 32), sums, Accumulation::FusedMultiplyAdd)));
  Problem f32 = problemOf(kTf32, 8);
  f32.compute = Compute::Default;
  EXPECT_TRUE(std::isnan(narrowAccumulationBound(f32, sums, Accumulation::TensorCore)));
  Problem half = problemOf(kE4m3, 32);
  half.compute = Compute::F16;
  EXPECT_TRUE(std::isnan(narrowAccumulationBound(half, sums, Accumulation::TensorCore)));
}

}  // namespace
}  // namespace shiftconv::reference::narrow_bound_test
