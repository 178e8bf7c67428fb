// One GEMM for the kernel tests: random operands, the exact result, the judgement of an output.
//
// Elements are ±1/2, ±1, ±3/2 or ±2 (integers: ±1 to ±3) and scale factors 1/2, 1 or 2, so that every sum is exact in f32 whatever
// its order, and in f16 as long as K stays small: results are compared bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/gemm/shape.hpp"

namespace shiftconv::tests {

/// An operand in global memory and what it stands for.
struct GemmOperand {
  std::vector<std::byte> elements, scales;
  std::vector<double> values;  ///< [rows][K], scale factors included
};

/// Fills the pitches of a problem: lines as short as they may be, and one 16 bytes longer than that for the output.
gemm::GemmProblem withPitches(gemm::GemmProblem problem);

class GemmCase {
 public:
  /// The problem has its pitches.
  GemmCase(const gemm::GemmProblem& problem, uint64_t seed);

  const gemm::GemmProblem& problem() const { return problem_; }
  const GemmOperand& a() const { return a_; }
  const GemmOperand& b() const { return b_; }
  size_t outputBytes() const;
  /// "" or the first wrong element. `output` was filled with 0xCD before the run, which elements between rows have to keep.
  std::string judge(const std::vector<std::byte>& output) const;

 private:
  gemm::GemmProblem problem_;
  GemmOperand a_, b_;
  std::vector<double> exact_;
};

}  // namespace shiftconv::tests
