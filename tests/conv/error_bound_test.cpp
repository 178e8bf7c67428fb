// The derived bound against a simulation of the tensor core's arithmetic (error_bound.hpp states the model), on random and on
// hostile operands: never exceeded, and nearly reached, so it is neither wrong nor loose.
#include "conv/reference/error_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "common/numerics/float16.hpp"

namespace shiftconv::reference {
namespace {

constexpr size_t kProducts = 16;

struct Pair {
  double x, w;
};

/// Exponent that the hardware gives an operand of the type.
int exponentOf(DataType type, double value) {
  if (value == 0) return -126;
  const int smallest = type == DataType::F16 ? -14 : -126;
  return std::max(std::ilogb(value), smallest);
}

/// One MMA: align to the largest exponent with 25 fraction bits, truncate, add, truncate to 24 significant bits.
double simulateMma(DataType type, const Pair* pairs, double accumulator) {
  int largest = accumulator == 0 ? -126 : std::max(std::ilogb(accumulator), -126);
  for (size_t i = 0; i < kProducts; ++i) largest = std::max(largest, exponentOf(type, pairs[i].x) + exponentOf(type, pairs[i].w));
  const auto aligned = [&](double term) { return static_cast<int64_t>(std::ldexp(term, 25 - largest)); };
  int64_t sum = aligned(accumulator);
  for (size_t i = 0; i < kProducts; ++i) sum += aligned(pairs[i].x * pairs[i].w);
  const double exact = std::ldexp(static_cast<double>(sum), largest - 25);
  if (exact == 0) return 0;
  const int quantum = std::max(std::ilogb(exact) - 23, -149);
  return std::ldexp(std::trunc(std::ldexp(exact, -quantum)), quantum);
}

struct Trial {
  double error = 0, bound = 0, boundWithoutTinyTerms = 0;
};

Trial run(DataType type, const std::vector<Pair>& pairs, Accumulation accumulation = Accumulation::TensorCore) {
  Problem p;
  p.n = p.h = p.w = p.k = p.r = p.s = 1;
  p.c = static_cast<int64_t>(pairs.size());
  p.inputType = p.filterType = type;
  ElementSums sums;
  const double smallestNormal = type == DataType::F16 ? 0x1p-14 : 0x1p-126;
  const auto tiny = [&](double value) { return std::abs(value) < smallestNormal && (type == DataType::BF16 || value != 0); };
  long double exact = 0;
  double accumulator = 0;
  float chain = 0;
  for (const Pair& pair : pairs) {
    exact += static_cast<long double>(pair.x) * pair.w;
    sums.absoluteSum += std::abs(pair.x * pair.w);
    sums.largestInput = std::max(sums.largestInput, std::abs(pair.x));
    sums.largestFilter = std::max(sums.largestFilter, std::abs(pair.w));
    sums.tinyInput |= tiny(pair.x);
    sums.tinyFilter |= tiny(pair.w);
    chain = std::fma(static_cast<float>(pair.x), static_cast<float>(pair.w), chain);
  }
  for (size_t first = 0; first < pairs.size(); first += kProducts) accumulator = simulateMma(type, &pairs[first], accumulator);
  Trial trial;
  const double computed = accumulation == Accumulation::TensorCore ? accumulator : static_cast<double>(chain);
  trial.error = static_cast<double>(std::abs(static_cast<long double>(computed) - exact));
  trial.bound = accumulationBound(p, sums, accumulation);
  sums.tinyInput = sums.tinyFilter = false;
  trial.boundWithoutTinyTerms = accumulationBound(p, sums, accumulation);
  return trial;
}

double rounded(DataType type, double value) {
  const auto single = static_cast<float>(value);
  return type == DataType::F16 ? numerics::decodeF16(numerics::encodeF16(single))
                               : numerics::decodeBf16(numerics::encodeBf16(single));
}

struct Operand {
  const char* name;
  std::function<double(std::mt19937_64&, double smallestNormal)> draw;
};

double uniform(std::mt19937_64& g, double low, double high) { return std::uniform_real_distribution<double>(low, high)(g); }

std::vector<Operand> operandKinds() {
  return {{"unit", [](auto& g, double) { return uniform(g, -1, 1); }},
          {"wide", [](auto& g, double) { return uniform(g, -1, 1) * std::exp2(uniform(g, -12, 12)); }},
          {"subnormal", [](auto& g, double smallest) { return smallest * uniform(g, -1, 1); }},
          {"mixed",
           [](auto& g, double smallest) {
             const double choice = uniform(g, 0, 1);
             if (choice < 0.2) return 0.0;
             return choice < 0.6 ? smallest * uniform(g, -2, 2) : uniform(g, -4, 4);
           }},
          {"positive", [](auto& g, double) { return uniform(g, 0.5, 1); }}};
}

TEST(ErrorBound, HoldsForRandomOperands) {
  constexpr uint64_t kSeed = 11;
  std::mt19937_64 generator(kSeed);
  for (const DataType type : {DataType::F16, DataType::BF16})
    for (const Operand& x : operandKinds())
      for (const Operand& w : operandKinds())
        for (int trial = 0; trial < 300; ++trial) {
          const double smallest = type == DataType::F16 ? 0x1p-14 : 0x1p-126;
          std::vector<Pair> pairs(kProducts * (1 + generator() % 30));
          for (Pair& pair : pairs) pair = {rounded(type, x.draw(generator, smallest)), rounded(type, w.draw(generator, smallest))};
          for (const Accumulation accumulation : {Accumulation::TensorCore, Accumulation::FusedMultiplyAdd}) {
            const Trial result = run(type, pairs, accumulation);
            ASSERT_LE(result.error, result.bound) << x.name << " * " << w.name << ", seed " << kSeed << ", trial " << trial;
          }
        }
}

TEST(ErrorBound, IsNearlyReachedWhenEverySmallTermLosesItsLowBits) {
  // 1.0 fixes the exponent. The other products are 2047 * 1985 * 2^-31, about 2^-9, and lose 63 * 2^-31 each: almost 2^-25.
  for (const size_t mmas : {size_t{1}, size_t{8}}) {
    std::vector<Pair> pairs(kProducts * mmas, {2047 * 0x1p-15, 1985 * 0x1p-16});
    pairs[0] = {1, 1};
    const Trial result = run(DataType::F16, pairs);
    EXPECT_LE(result.error, result.bound);
    EXPECT_GT(result.error, 0.5 * result.bound) << mmas << " MMAs";
  }
}

TEST(ErrorBound, NeedsItsTermForSubnormalInputs) {
  // The smallest subnormal times 2^15 is 2^-9 but carries exponent 1: everything else is cut at 2^-24.
  std::vector<Pair> pairs(kProducts, {0x1p-14 * (2 - 0x1p-10), 0x1p-5 * (2 - 0x1p-10)});
  pairs[0] = {0x1p-24, 0x1p15};
  for (const bool swapped : {false, true}) {
    if (swapped)
      for (Pair& pair : pairs) std::swap(pair.x, pair.w);
    const Trial result = run(DataType::F16, pairs);
    EXPECT_LE(result.error, result.bound);
    EXPECT_GT(result.error, 0.5 * result.bound);
    EXPECT_GT(result.error, result.boundWithoutTinyTerms);
  }
}

TEST(ErrorBound, NeedsItsTermForZeroBf16Inputs) {
  // Zero carries exponent -126, so zero times 2^120 cuts terms below 2^-31; its value is 0.
  std::vector<Pair> pairs(kProducts, {0x1p-20 * (2 - 0x1p-7), 0x1p-20 * (2 - 0x1p-7)});
  pairs[0] = {0, 0x1p120};
  const Trial result = run(DataType::BF16, pairs);
  EXPECT_LE(result.error, result.bound);
  EXPECT_GT(result.error, result.boundWithoutTinyTerms);
}

TEST(ErrorBound, ZerosInF16ChangeNothing) {
  std::vector<Pair> pairs(3 * kProducts, {0, 65504});
  pairs[0] = {0x1p-24, 0x1p-24};
  pairs[20] = {0x1p-24, 0x1p-23};
  EXPECT_EQ(run(DataType::F16, pairs).error, 0);
}

TEST(ErrorBound, FusedMultiplyAddIsNearlyReachedByRoundingsOfOneSign) {
  // 1 + 2^-24 - 2^-30 rounds down to 1: each of the other products is lost whole, 2^-24 of a sum near 1.
  std::vector<Pair> pairs(kProducts, {0x1p-12 * (1 - 0x1p-10), 0x1p-12});
  pairs[0] = {1, 1};
  const Trial result = run(DataType::F16, pairs, Accumulation::FusedMultiplyAdd);
  EXPECT_LE(result.error, result.bound);
  EXPECT_GT(result.error, 0.85 * result.bound);
}

TEST(ErrorBound, IsTheFormulaOfTheDerivationForEveryMode) {
  Problem p;
  p.r = 3, p.s = 3, p.c = 64;
  const ElementSums plain{10.0, 2.0, 3.0, false, false}, tiny{10.0, 2.0, 3.0, true, true};
  EXPECT_DOUBLE_EQ(accumulationBound(p, tiny, Accumulation::FusedMultiplyAdd), 33.0 * 36 * 0x1p-25 * 10);
  p.inputType = p.filterType = DataType::BF16;
  // Beside sums near 1 the bf16 terms vanish, so they are looked at beside a sum of 0.
  const ElementSums nothing{0, 0x1p-60, 0x1p-70, true, true};
  EXPECT_DOUBLE_EQ(accumulationBound(p, nothing, Accumulation::TensorCore),
                   36 * (17 * 0x1p-151 * (0x1p-60 + 0x1p-70) + 21 * 0x1p-151));
  EXPECT_DOUBLE_EQ(accumulationBound(p, nothing, Accumulation::FusedMultiplyAdd), 33.0 * 36 * 0x1p-151);
  EXPECT_DOUBLE_EQ(accumulationBound(p, plain, Accumulation::TensorCore), 21.0 * 36 * 0x1p-25 * 10);
}

TEST(ErrorBound, NeedsItsTermForSubnormalBf16Sums) {
  // Every product is 2^-151 * (1 - 2^-7)^2 short of the next multiple of 2^-151: aligned to exponent -126 it is cut off whole.
  std::vector<Pair> pairs(kProducts, {0x1p-75 * (1 - 0x1p-8), 0x1p-76});
  const Trial result = run(DataType::BF16, pairs);
  EXPECT_LE(result.error, result.bound);
  EXPECT_GT(result.error, 0.7 * result.bound);
}

TEST(OutputBound, IsTheFormulaOfTheDerivation) {
  Problem p;
  p.outputType = DataType::F32;
  EXPECT_EQ(outputBound(p, 3.0, 0.25), 0.25);
  p.hasBias = true;
  EXPECT_DOUBLE_EQ(outputBound(p, -3.0, 0.25), 0.25 + 0x1p-24 * 3.25);
  p.outputType = DataType::F16;
  EXPECT_DOUBLE_EQ(outputBound(p, -3.0, 0.25), 0.25 + 0x1p-24 * 3.25 + 0x1p-10);
}

TEST(ErrorBound, CountsMmas) {
  Problem p;
  p.r = 3, p.s = 5, p.c = 72;
  EXPECT_EQ(mmaCount(p), 3 * 5 * 5);
  p.c = 64;
  EXPECT_EQ(mmaCount(p), 3 * 5 * 4);
  p.t = 2, p.groups = 4;
  EXPECT_EQ(mmaCount(p), 2 * 3 * 5 * 1);
}

TEST(ErrorBound, IsTheFormulaOfTheDerivation) {
  Problem p;
  p.r = 3, p.s = 3, p.c = 64;
  const ElementSums plain{10.0, 2.0, 3.0, false, false}, tiny{10.0, 2.0, 3.0, true, true};
  EXPECT_DOUBLE_EQ(accumulationBound(p, plain, Accumulation::TensorCore), 21.0 * 36 * 0x1p-25 * 10);
  EXPECT_DOUBLE_EQ(accumulationBound(p, tiny, Accumulation::TensorCore), 21.0 * 36 * 0x1p-25 * 10 + 17.0 * 36 * 0x1p-39 * (3 + 2));
}

TEST(ErrorBound, HalfUlpIsHalfTheStepToTheNextNumber) {
  EXPECT_EQ(halfUlp(DataType::F16, 1.0), 0x1p-11);
  EXPECT_EQ(halfUlp(DataType::F16, 1.999), 0x1p-11);
  EXPECT_EQ(halfUlp(DataType::F16, 1024.0), 0.5);
  EXPECT_EQ(halfUlp(DataType::F16, 0), 0x1p-25);
  EXPECT_EQ(halfUlp(DataType::F16, 0x1p-20), 0x1p-25);
  EXPECT_EQ(halfUlp(DataType::BF16, 1.0), 0x1p-8);
  EXPECT_EQ(halfUlp(DataType::BF16, 0x1p-130), 0x1p-134);
  EXPECT_EQ(halfUlp(DataType::F32, 1.0), 0.0);
  EXPECT_EQ(halfUlp(DataType::E4M3, 1.0), 0x1p-4);
  EXPECT_EQ(halfUlp(DataType::E4M3, 0x1p-9), 0x1p-10);
  EXPECT_EQ(halfUlp(DataType::E5M2, 3.0), 0x1p-2);
  EXPECT_EQ(halfUlp(DataType::E3M2, 28.0), 2.0);
  EXPECT_EQ(halfUlp(DataType::E2M3, 7.5), 0.25);
  EXPECT_EQ(halfUlp(DataType::E2M1, 0.1), 0.25);
  EXPECT_EQ(halfUlp(DataType::S8, 100.0), 0.5);
}

TEST(OutputBound, CoversBiasAdditionAndConversion) {
  constexpr uint64_t kSeed = 3;
  std::mt19937_64 generator(kSeed);
  for (const DataType type : {DataType::F16, DataType::BF16, DataType::F32})
    for (int trial = 0; trial < 20000; ++trial) {
      Problem p;
      p.hasBias = true;
      p.outputType = type;
      const double scale = std::exp2(uniform(generator, -20, 8));
      const double exact = uniform(generator, -1, 1) * scale, accumulatorBound = 1e-6 * scale;
      const auto accumulator = static_cast<float>(exact + uniform(generator, -0.9, 0.9) * accumulatorBound);
      const auto bias = static_cast<float>(uniform(generator, -1, 1) * scale);
      const float sum = accumulator + bias;
      const double stored = type == DataType::F32 ? sum : rounded(type, sum);
      const double value = exact + bias;
      ASSERT_LE(std::abs(stored - value), outputBound(p, value, accumulatorBound)) << "seed " << kSeed << ", trial " << trial;
    }
}

}  // namespace
}  // namespace shiftconv::reference
