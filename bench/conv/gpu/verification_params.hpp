// What the host tells the kernels of verification.cu.
#pragma once

#include <cstdint>

namespace shiftconv::verification {

struct CheckParams {
  uint32_t n = 0, c = 0, k = 0, groups = 1;
  int32_t d = 1, h = 0, w = 0, t = 1, r = 0, s = 0, outputDepth = 1, outputHeight = 0, outputWidth = 0;
  int32_t padFront = 0, padTop = 0, padLeft = 0, strideD = 1, strideH = 1, strideW = 1;
  int32_t dilationD = 1, dilationH = 1, dilationW = 1;
  bool relu = false, silu = false;
  // |out - value| <= relativeBound |value| + absoluteBound + accumulationBound sum|x*w|; see outputBounds().
  double relativeBound = 0, absoluteBound = 0, accumulationBound = 0;
};

struct CheckResult {
  unsigned long long wrong = 0;  ///< elements outside the bound, NaN among them
  uint32_t worstShareBits = 0;   ///< largest error / bound, the bits of a float
  uint32_t padding = 0;
  double errorSquares = 0, squares = 0;
};

/// Fills the bounds of f16 or bf16 outputs whose sums have t*r*s filter taps of c/groups channels, of f16, bf16 or e4m3 operands.
///
/// Derivation. A is the sum of |x*w| over the taps of the element, of |bias| and of |residual|. A matrix instruction adds 16
/// products to an accumulator: the 17 terms are cut to multiples of 2^(E-25), E the largest exponent among them, and their sum to
/// 24 bits. 2^E <= A and no partial sum exceeds A, so one instruction errs by less than 16 * 2^-25 A + 2^-23 A = 5 * 2^-23 A in
/// the worst case. The cut terms point towards zero and are at most 1 ulp of a partial sum in what was observed; the bound asks
/// for the tighter one unit of 2^-23 A for each instruction, and 8 such units beside: the additions of a split reduction (at most
/// 3), of bias and residual (2), and the f32 sum of magnitudes that A itself is taken from.
/// Of e4m3 an instruction adds 32 products, and wgmma keeps 13 bits: the 33 terms lose less than 2^-13 T each and their sum as
/// much, T = max(A, 2^-6), because a subnormal operand of magnitude below 1 counts with the exponent -6 and the other is below 2^0.
/// The output's rounding to nearest adds half a unit in its last place, 2^-11 (f16) or 2^-8 (bf16) of the value, and half the
/// smallest subnormal, at most 2^-24.
inline void setOutputBounds(CheckParams& p, bool bf16, bool e4m3) {
  const double channels = static_cast<double>(p.c / p.groups), products = e4m3 ? 32 : 16;
  const double instructions =
      static_cast<double>(p.t * p.r * p.s) * static_cast<double>(static_cast<int64_t>((channels + products - 1) / products));
  p.relativeBound = bf16 ? 0x1p-8 : 0x1p-11;
  p.accumulationBound = e4m3 ? instructions * 34 * 0x1p-13 + 8 * 0x1p-23 : (instructions + 8) * 0x1p-23;
  p.absoluteBound = 0x1p-24 + (e4m3 ? p.accumulationBound * 0x1p-6 : 0);
}

}  // namespace shiftconv::verification
