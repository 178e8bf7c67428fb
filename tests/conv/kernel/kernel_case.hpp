// One convolution for the kernel tests: random operands and the judgement of an output.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/emulator/options.hpp"
#include "conv/reference/convolution.hpp"
#include "tests/conv/kernel/kernel_runner.hpp"

namespace shiftconv::tests {

class KernelCase {
 public:
  /// Random f16/bf16 operands and residual: magnitudes from 2^-6 to 2, one in sixteen activations subnormal, no zeros.
  KernelCase(const Problem& problem, uint64_t seed);

  const Problem& problem() const { return problem_; }
  const ConvolutionInputs& inputs() const { return inputs_; }
  /// "" when every stored element agrees with the exact reference within the derived bound and nothing else was
  /// touched; else the first difference.
  std::string judge(const KernelRun& run, emulator::Numerics numerics) const;

 private:
  Problem problem_;
  ConvolutionInputs inputs_;
  reference::Expectation hardware_, fast_;
};

/// A problem with pads (top, bottom, left, right).
Problem makeProblem(int64_t n, int64_t h, int64_t w, int64_t c, int64_t k, int64_t r, int64_t s, std::array<int64_t, 4> pads);

/// Small problems that together reach every branch of the kernel: several tiles and chunks, resident and streamed filters,
/// several passes, tails of C and K, neighbouring images, no padding, dilation, all types.
std::vector<Problem> kernelFixture();

}  // namespace shiftconv::tests
