#include "common/gemm/reference/product_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/numerics/codec.hpp"

namespace shiftconv::gemm {
namespace {

/// Sums of 16 products with both factors' exponent are one term (kinds mxf4 and mxf4nvf4).
constexpr int64_t kGroup = 16;

/// Exponent of the smallest normal number.
int smallestExponent(NumberType type) {
  switch (type) {
    case NumberType::F16:
    case NumberType::E5M2:
      return -14;
    case NumberType::E4M3:
    case NumberType::UE4M3:
      return -6;
    case NumberType::E3M2:
      return -2;
    case NumberType::E2M3:
    case NumberType::E2M1:
      return 0;
    default:
      return -126;  // bf16, tf32; ue8m0 reaches below, where nothing depends on it
  }
}

/// The exponent that the model gives to a number of this type.
int modelExponent(NumberType type, double value) {
  if (value == 0 || !std::isfinite(value)) return -126;
  return std::max(std::ilogb(value), smallestExponent(type));
}

/// How an instruction adds up.
struct Model {
  int64_t depth;     ///< products of an instruction
  int64_t terms;     ///< the accumulator included
  double alignment;  ///< what one term may lose, relative to T
};

Model modelOf(const ReferenceOperand& a, const ReferenceOperand& b) {
  if (a.blockSize != 0 && a.type == NumberType::E2M1 && b.type == NumberType::E2M1) return {64, 64 / kGroup + 1, 0x1p-35};
  const int bits = numerics::storageBits(a.type);
  const int64_t depth = bits == 32 ? 8 : bits == 16 ? 16 : 32;
  return {depth, depth + 1, 0x1p-25};
}

bool isInteger(NumberType type) { return type == NumberType::S8 || type == NumberType::U8; }

/// The largest power of two that divides a finite number; infinity for 0.
double quantumOf(double value) {
  if (value == 0) return std::numeric_limits<double>::infinity();
  int exponent = 0;
  const auto significand = static_cast<int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  return std::ldexp(static_cast<double>(significand & -significand), exponent - 53);
}

/// What an output element depends on besides its products.
struct Sums {
  double absolute;         ///< A
  double largestExponent;  ///< 2^E'
  double quantum;          ///< q
};

double errorBound(const Model& model, const ProductOptions& options, int64_t k, const Sums& sums) {
  const double largest = std::max({sums.absolute, sums.largestExponent, 0x1p-126});
  const bool half = options.accumulator == NumberType::F16;
  const bool fits = sums.absolute <= sums.quantum * (half ? 0x1p11 : 0x1p24) && (!half || sums.quantum >= 0x1p-24);
  if (fits && largest * model.alignment <= sums.quantum) return 0;

  const double termLosses = static_cast<double>(model.terms) * model.alignment;
  const auto instructions = static_cast<double>((k + model.depth - 1) / model.depth + options.splits - 1);
  const double host = static_cast<double>(k) * 0x1p-53 * sums.absolute;
  const double parts = static_cast<double>(options.splits - 1) * 0x1p-24 * sums.absolute * (1 + 0x1p-10);
  if (half) {
    const double growth = std::pow(1 + 0x1p-11, instructions);
    return instructions * (largest * growth * (termLosses + 0x1p-11) + 0x1p-25) + parts + host;
  }
  return instructions * (termLosses + 0x1p-23) * largest + parts + host;
}

}  // namespace

ReferenceOperand referenceOperand(const layout::QuantizedMatrix& matrix) {
  const NumberType type = matrix.format.element;
  const bool fourBit = matrix.format.blockSize != 0 && type == NumberType::E2M1;
  ReferenceOperand operand{.rows = matrix.rows,
                           .k = matrix.columns,
                           .type = type,
                           .blockSize = matrix.format.blockSize,
                           .values = {},
                           .largestExponent = {},
                           .quantum = {}};
  operand.values.reserve(static_cast<size_t>(matrix.rows * matrix.columns));
  for (int64_t row = 0; row < matrix.rows; ++row) {
    int largest = -1000;
    double quantum = std::numeric_limits<double>::infinity();
    for (int64_t column = 0; column < matrix.columns; ++column) {
      const double element = numerics::decode(type, matrix.code(row, column)), factor = matrix.blockFactor(row, column);
      operand.values.push_back(element * factor);
      quantum = std::min(quantum, quantumOf(element * factor));
      const int factorExponent = matrix.format.blockSize == 0 ? 0 : std::max(std::ilogb(factor), -127);
      // With another type in the other operand, 4-bit elements are ordinary products: cover both models.
      const int scaleExponent = fourBit ? std::max(factorExponent, matrix.format.scale == NumberType::UE4M3 ? -6 : -127) : -1000;
      largest = std::max({largest, modelExponent(type, element) + factorExponent, scaleExponent});
    }
    operand.largestExponent.push_back(std::ldexp(1.0, largest));
    operand.quantum.push_back(quantum);
  }
  return operand;
}

std::vector<Bounded> referenceProduct(const ReferenceOperand& a, const ReferenceOperand& b, const ProductOptions& options) {
  const Model model = modelOf(a, b);
  std::vector<Bounded> result;
  result.reserve(static_cast<size_t>(a.rows * b.rows));
  for (int64_t m = 0; m < a.rows; ++m)
    for (int64_t n = 0; n < b.rows; ++n) {
      const double* const x = a.values.data() + m * a.k;
      const double* const y = b.values.data() + n * b.k;
      double sum = 0, absolute = 0;
      for (int64_t k = 0; k < a.k; ++k) {
        const double product = x[k] * y[k];
        sum += product;
        absolute += std::fabs(product);
      }
      const auto row = static_cast<size_t>(m), column = static_cast<size_t>(n);
      const Sums sums{absolute, a.largestExponent[row] * b.largestExponent[column], a.quantum[row] * b.quantum[column]};
      result.push_back({sum, isInteger(a.type) ? 0 : errorBound(model, options, a.k, sums)});
    }
  return result;
}

}  // namespace shiftconv::gemm
