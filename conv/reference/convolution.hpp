// The exact host convolution: f64 sums over decoded operands, with the error bound of every element.
//
// Products of two f16 or bf16 values are exact in f64; a sum of T terms is off by less than T * 2^-53 * sum|x*w|, which the
// bound has room for (error_bound.hpp). Padded taps are skipped, any stride, dilation and pitch is accepted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "conv/problem/problem.hpp"
#include "conv/reference/error_bound.hpp"

namespace shiftconv::reference {

/// Bit patterns in the layouts of Problem: NHWC with inputPitch(), KRSC, f32[K] (empty without a bias).
struct Operands {
  std::span<const uint16_t> input;
  std::span<const uint16_t> filter;
  std::span<const float> bias;
};

/// Dense [N, P, Q, K], whatever the problem's output pitch.
struct Expectation {
  std::vector<double> value;  ///< after bias and activation
  std::vector<double> bound;  ///< largest |computed - value| that the arithmetic allows
};

/// Requires a valid problem (validate) and operands of tensorBytes(problem). `threads` 0: one per host core.
Expectation convolve(const Problem& problem, const Operands& operands, Accumulation accumulation = Accumulation::TensorCore,
                     unsigned threads = 0);

/// True when an element computed by a kernel, decoded exactly, agrees: within the bound, or the same infinity or NaN.
/// An infinity is also right where value and bound reach beyond the largest number of the output type.
bool agrees(const Problem& problem, double value, double bound, float computed);

}  // namespace shiftconv::reference
