// How far a convolution by tensor cores may be from the exact sum. The derivation is part of the contract: tests accept
// nothing looser.
//
// Model of one MMA, K = 16 (published and reported bit-exact for dense f16 and bf16 kinds of B200): the significand product of
// each pair is exact and carries the exponent e = ex + ew without renormalisation; the accumulator is one more term;
// E = largest exponent of the 17 terms; each term is truncated towards zero to a multiple of 2^(E-25); the terms are added
// exactly; the sum is truncated towards zero to 24 significant bits. Let A = sum|x*w| over the taps of an output element
// and n the number of its MMAs, T*R*S*ceil(C/groups/16) at most (masked taps execute none).
//
//  1. No magnitude grows. Truncation is towards zero, so |accumulator after an MMA| <= sum of the magnitudes of its terms,
//     and by induction every accumulator is at most A. There are no second-order terms.
//  2. Alignment. A product of normal numbers satisfies 2^e <= |x*w|, an f32 accumulator a >= 2^-126 likewise, so 2^E <= A. A
//     term of exponent E loses nothing (a product has at most 20 fraction bits below 2^e, an accumulator 23), the other 16
//     lose less than 2^(E-25) each: together less than 16 * 2^-25 * A.
//  3. Truncation of the sum: less than one unit in the 24th bit, at most 2^-23 |sum| <= 4 * 2^-25 * A.
//  4. An MMA passes the error of its accumulator on with factor 1. So n MMAs stay below 20*n*2^-25*A. We use 21: the
//     spare 1*n*2^-25*A covers the f64 sums of the reference, 16*n*2^-53*A. MMAs whose products are all zero (a zeroed
//     first MMA, the tail of the channels) change nothing: +0 is exact.
//  5. Subnormal f16 x: the hardware keeps exponent -14 with a significand below 1, so 2^e = 2^(-14+ew) <= 2^-14 |w| may exceed
//     |x*w|. Then E is bounded by max(A, 2^-14 max|w|), and step 2 adds at most 16*2^-39 max|w| an MMA (we use 17, as in 4).
//     Likewise 17*n*2^-39 max|x| for subnormal w. Zeros carry exponent -126 instead of -14. In f16 that cannot matter: all
//     non-zero terms are multiples of 2^-53 (the smallest E is -28) and 2^E <= 2^(-126+15).
//  6. bf16: zero and subnormal both carry exponent -126, so with either in x the term is 17*n*2^-151 max|w|, and symmetrically.
//     The accumulator may be subnormal or zero (exponent -126): 16*2^-151 for alignment, 2^-149 = 4*2^-151 for a subnormal sum;
//     together 21*n*2^-151, always added. (A must stay below 2^128; beyond, infinities are legitimate.)
//  7. Bias: one f32 addition, round to nearest: at most 2^-24 |acc + bias|, and |acc + bias| <= |value| + error so far. f32
//     additions with subnormal results are exact.
//  8. ReLU never moves two numbers apart.
//  9. Conversion to f16 or bf16, round to nearest: half a unit in the last place of the binade that holds |value| + error so
//     far (subnormal outputs: of the smallest binade). f32 output: none.
#pragma once

#include "conv/problem/accumulation.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::reference {

using shiftconv::Accumulation;
using shiftconv::Accumulations;

/// What the bound needs to know of one output element.
struct ElementSums {
  double absoluteSum = 0;    ///< sum |x*w|
  double largestInput = 0;   ///< max |x| over the window
  double largestFilter = 0;  ///< max |w| of the output channel
  bool tinyInput = false;    ///< some x is subnormal (bf16: or zero)
  bool tinyFilter = false;   ///< some w is subnormal (bf16: or zero)
  double largestPower = 0;   ///< largest 2^(ex+ew) of a product, scale factors included
};

/// Exponent of the smallest normal number of an operand type.
int smallestExponent(DataType type);

/// n: MMAs per output element, of 16 products each.
double mmaCount(const Problem& problem);

/// Bound of |accumulator - exact sum|.
double accumulationBound(const Problem& problem, const ElementSums& sums, Accumulation accumulation);

/// The same for tf32, 8-, 6- and 4-bit floats, with block scales or without; NaN where nothing has been derived: f32 without tf32,
/// f16 sums, FusedMultiplyAdd, and f16 or bf16 with block scales.
///
/// An MMA has d products: 8 of 32 bits, 32 of 8 bits or fewer, 64 of two 4-bit operands with scales, whose term is an exact sum of
/// 16 products. With T = max(A, 2^-126, the largest 2^(ex+ew)), its terms, d + 1 (4-bit: d/16 + 1), lose less than 2^-25 T each
/// (4-bit: 2^-35 T), as in step 2, and truncating the sum less than 2^-23 T, as in step 3; for 8-bit floats of wgmma both are
/// 2^-13. The f64 sums here add T*R*S*C/groups * 2^-53 * A. 8-bit floats that become f16 (HalfTensorCore) meet MMAs of 16 products.
/// In f16, numbers that were subnormal have a smaller exponent or the same, so the largest 2^(ex+ew) bounds E as before.
double narrowAccumulationBound(const Problem& problem, const ElementSums& sums, Accumulation accumulation);

/// Bound of |output - value|, `value` being the exact result after bias and activation and `accumulatorBound` from above.
double outputBound(const Problem& problem, double valueBeforeActivation, double accumulatorBound);

/// Half a unit in the last place of `type` for numbers of this magnitude; 0 for F32, whose sums are not rounded again.
double halfUlp(DataType type, double magnitude);

}  // namespace shiftconv::reference
