// How products are summed: what says how far a result may be from the exact one (conv/reference/error_bound.hpp).
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace shiftconv {

enum class Accumulation {
  TensorCore,        ///< MMAs of tcgen05, after the model of conv/reference/error_bound.hpp
  WgmmaTensorCore,   ///< the same, but 8-bit floats are aligned to 13 bits, as many as the sum keeps
                     ///< (tests/hardware_recordings/FINDINGS.md)
  HalfTensorCore,    ///< `mma`, after the same model; 8-bit floats become f16, exactly, for MMAs of 16 products
  FusedMultiplyAdd,  ///< f32 FMA in any order that adds 16 products to the accumulator per MMA (the emulator's fast mode):
                     ///< 16 roundings of 2^-24, 32*n*2^-25*A, and 33 for second-order terms up to n = 2^14; subnormal sums
                     ///< add 16*n*2^-150, below 33*n*2^-151. Exponents of subnormal operands play no part, and nor does the type,
                     ///< as long as products are exact in f64.
};

/// Of a plan: several where parts of the output come from different algorithms. Its error is within the largest of their bounds.
using Accumulations = std::set<Accumulation>;

/// "tcgen05", "wgmma", "mma" or "fma".
std::string_view nameOf(Accumulation accumulation);

/// The line of a plan's description that names them.
std::string sumsLine(const Accumulations& accumulations);

/// What that line of a description names. Throws std::invalid_argument where there is none.
Accumulations accumulationsIn(std::string_view description);

}  // namespace shiftconv
