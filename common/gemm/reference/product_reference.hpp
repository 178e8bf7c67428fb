// A * B^T as tensor cores must compute it: the exact sum of the decoded operands, and how far from it an accumulator may be.
//
// Model of one instruction (published and reported bit-exact for dense f16, bf16, tf32 and 8-bit kinds of B200; what the emulator
// does for all kinds): every product is exact and carries the sum of its factors' exponents, scale factors included, without
// renormalisation; subnormal factors carry their type's smallest exponent, zeros -126; the accumulator is one more term. With E the
// largest exponent, every term is truncated towards zero to a multiple of 2^(E - f), f = 25; the terms are added exactly; the sum
// is truncated towards zero to f32 or rounded to nearest to f16. With 4-bit elements and their scales (kinds mxf4, mxf4nvf4) a term
// is the exact sum of 16 products times both factors' significands, its exponent that of the two factors alone, and f = 35.
//
// Let A = sum |x*y| of an output element, d the products of an instruction, n = ceil(K / d) and T = max(A, 2^-126, 2^E'), E'
// bounding the exponents of all products. Truncation makes no magnitude grow, so every accumulator is at most A.
//  1. Alignment: each of the t = d + 1 terms (4-bit kinds: d/16 + 1) loses less than 2^(E - f) <= 2^-f T.
//  2. Truncating the sum: less than 2^-23 of it, at most 2^-23 A, or 2^-149 <= 2^-23 T for subnormal sums.
//  3. n instructions hand their errors on unchanged: n * (t * 2^-f + 2^-23) * T.
//  4. f16 accumulators round to nearest instead: 2^-11 of the sum, or 2^-25, an instruction; magnitudes may grow by (1 + 2^-11)^n,
//     and so may T.
//  5. Splitting the reduction in s parts adds s - 1 f32 additions, round to nearest: (s - 1) * 2^-24 * A each at most, and n
//     grows by s at most.
//  6. The sums in double here: K * 2^-53 * A.
// All values of an element are multiples of a power of two q, the product of its row's quanta. When 2^-f T <= q and A <= 2^24 q
// (f16: 2^11, and q >= 2^-24), nothing above is cut off: the result is exact and the bound is 0. Integers are exact as long as they
// fit s32.
#pragma once

#include <cstdint>
#include <vector>

#include "common/gemm/reference/epilogue_reference.hpp"
#include "common/layout/quantized_matrix.hpp"

namespace shiftconv::gemm {

/// Rows of K elements as numbers.
struct ReferenceOperand {
  int64_t rows = 0, k = 0;
  NumberType type = NumberType::F16;
  int blockSize = 0;
  std::vector<double> values;           ///< [rows][k], block factors included, the factor of the whole tensor left out
  std::vector<double> largestExponent;  ///< of a row: 2^(the largest exponent that a term of the model has from this operand)
  std::vector<double> quantum;          ///< of a row: the largest power of two that divides its values
};

ReferenceOperand referenceOperand(const layout::QuantizedMatrix& matrix);

struct ProductOptions {
  NumberType accumulator = NumberType::F32;  ///< F32, F16 or S32
  int64_t splits = 1;                        ///< parts of the reduction, each with accumulators of its own
};

/// [a.rows][b.rows] accumulators. Both operands have the same K; types as one of the instructions takes them.
std::vector<Bounded> referenceProduct(const ReferenceOperand& a, const ReferenceOperand& b, const ProductOptions& options = {});

}  // namespace shiftconv::gemm
