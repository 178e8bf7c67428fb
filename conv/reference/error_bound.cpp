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
  if (accumulation == Accumulation::FusedMultiplyAdd) {
    const bool mayUnderflow = bf16 || problem.filterType == DataType::BF16 || problem.inputType == DataType::F32;
    return 33 * n * (0x1p-25 * sums.absoluteSum + (mayUnderflow ? 0x1p-151 : 0));
  }
  const double smallest = bf16 ? kSmallestBf16Exponent : kSmallestF16Exponent;
  const double raised = (sums.tinyInput ? sums.largestFilter : 0) + (sums.tinyFilter ? sums.largestInput : 0);
  return n * 0x1p-25 * (21 * sums.absoluteSum + 17 * smallest * raised + (bf16 ? 21 * kSmallestBf16Exponent : 0));
}

int smallestExponent(DataType type) {
  switch (type) {
    case DataType::F16:
    case DataType::E5M2:
      return -14;
    case DataType::E4M3:
      return -6;
    case DataType::E3M2:
      return -2;
    case DataType::E2M3:
    case DataType::E2M1:
      return 0;
    default:
      return -126;  // bf16, tf32
  }
}

double narrowAccumulationBound(const Problem& p, const ElementSums& sums, Accumulation accumulation) {
  const int bits = bitsOf(p.inputType);
  const bool tf32 = p.inputType == DataType::F32 && p.compute == Compute::TF32;
  const bool known = tf32 || (bits <= 8 && !isInteger(p.inputType) && p.compute == Compute::Default);
  if (!known || accumulation == Accumulation::FusedMultiplyAdd) return std::numeric_limits<double>::quiet_NaN();
  const bool fourBit = p.inputScale.blockSize != 0 && p.inputType == DataType::E2M1 && p.filterType == DataType::E2M1;
  const double products = tf32 ? 8 : accumulation == Accumulation::HalfTensorCore ? kProductsPerMma : fourBit ? 64 : 32;
  const bool coarse = accumulation == Accumulation::WgmmaTensorCore && bits == 8;
  const double unit = coarse ? 0x1p-13 : 0x1p-25, truncated = coarse ? 0x1p-13 : 0x1p-23;
  const double lost = fourBit ? (products / 16 + 1) * 0x1p-35 : (products + 1) * unit;
  const double taps = static_cast<double>(p.t * p.r * p.s), channels = static_cast<double>(p.groupChannels());
  const double largest = std::max({sums.absoluteSum, sums.largestPower, 0x1p-126});
  return taps * std::ceil(channels / products) * (lost + truncated) * largest + taps * channels * 0x1p-53 * sums.absoluteSum;
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
