#include "conv/reference/error_bound.hpp"

#include <algorithm>
#include <cmath>

namespace shiftconv::reference {
namespace {

constexpr double kProductsPerMma = 16;
constexpr double kSmallestF16Exponent = 0x1p-14;
constexpr double kSmallestBf16Exponent = 0x1p-126;

}  // namespace

double mmaCount(const Problem& p) {
  return static_cast<double>(p.t * p.r * p.s) * std::ceil(static_cast<double>(p.groupChannels()) / kProductsPerMma);
}

double accumulationBound(const Problem& problem, const ElementSums& sums, Accumulation accumulation) {
  const double n = mmaCount(problem);
  const bool bf16 = problem.inputType == DataType::BF16;
  if (accumulation == Accumulation::FusedMultiplyAdd) return 33 * n * (0x1p-25 * sums.absoluteSum + (bf16 ? 0x1p-151 : 0));
  const double smallest = bf16 ? kSmallestBf16Exponent : kSmallestF16Exponent;
  const double raised = (sums.tinyInput ? sums.largestFilter : 0) + (sums.tinyFilter ? sums.largestInput : 0);
  return n * 0x1p-25 * (21 * sums.absoluteSum + 17 * smallest * raised + (bf16 ? 21 * kSmallestBf16Exponent : 0));
}

double halfUlp(DataType type, double magnitude) {
  struct Format {
    int fractionBits, smallestExponent;
  };
  Format format{};
  switch (type) {
    case DataType::F16:
      format = {10, -14};
      break;
    case DataType::BF16:
      format = {7, -126};
      break;
    case DataType::E4M3:
      format = {3, -6};
      break;
    case DataType::E5M2:
      format = {2, -14};
      break;
    case DataType::E3M2:
      format = {2, -2};
      break;
    case DataType::E2M3:
      format = {3, 0};
      break;
    case DataType::E2M1:
      format = {1, 0};
      break;
    case DataType::S8:
    case DataType::U8:
    case DataType::S32:
      return 0.5;
    default:
      return 0;
  }
  const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), format.smallestExponent) : format.smallestExponent;
  return std::ldexp(1.0, exponent - format.fractionBits - 1);
}

double outputBound(const Problem& problem, double valueBeforeActivation, double accumulatorBound) {
  double bound = accumulatorBound;
  if (problem.hasBias) bound += 0x1p-24 * (std::abs(valueBeforeActivation) + bound);
  return bound + halfUlp(problem.outputType, std::abs(valueBeforeActivation) + bound);
}

}  // namespace shiftconv::reference
