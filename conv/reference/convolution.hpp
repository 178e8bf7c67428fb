// The host convolution: f64 sums over decoded operands, with the error bound of every element.
//
// Products of two operands are exact in f64 (of f32 ones: to 2^-53); a sum of T terms is off by less than T * 2^-53 * sum|x*w|,
// which the bound has room for (error_bound.hpp); sums of integers are exact. Padded taps are skipped. Every valid problem is
// accepted. Outputs with block scales are left as they are before they are quantised; block_output.hpp judges what was made of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "conv/problem/problem.hpp"
#include "conv/reference/error_bound.hpp"

namespace shiftconv::reference {

/// The tensors that a problem reads, in its layouts; empty where it has none.
struct Operands {
  Operands() = default;
  /// Of 16-bit types, with an f32 bias.
  Operands(std::span<const uint16_t> input16, std::span<const uint16_t> filter16, std::span<const float> bias32)
      : input(std::as_bytes(input16)), filter(std::as_bytes(filter16)), bias(std::as_bytes(bias32)) {}

  std::span<const std::byte> input, filter, bias, residual, channelScale, inputScale, filterScale, secondInput;
};

/// Dense [N, Z, P, Q, K], whatever the problem's output pitch.
struct Expectation {
  /// What is converted to the output type; within its range where the type saturates, but for block scales.
  std::vector<double> value;
  /// Largest |computed - value| that the arithmetic allows. NaN, with which nothing agrees, where none has been derived: f32
  /// operands that are not rounded to tf32, and f16 sums.
  std::vector<double> bound;
  double amax = 0, amaxBound = 0;  ///< of the problem's amax, when it has one
};

/// Requires a valid problem (validate) and operands of tensorBytes(problem). `threads` 0: one per host core.
Expectation convolve(const Problem& problem, const Operands& operands, Accumulation accumulation = Accumulation::TensorCore,
                     unsigned threads = 0);

/// The same under the largest of their bounds.
Expectation convolve(const Problem& problem, const Operands& operands, const Accumulations& accumulations);

/// True when an element computed by a kernel, decoded exactly, agrees: within the bound, or the same infinity or NaN.
/// An infinity is also right where value and bound reach beyond the largest number of the output type.
bool agrees(const Problem& problem, double value, double bound, float computed);

}  // namespace shiftconv::reference
