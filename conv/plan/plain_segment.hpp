// Which problems the short epilogue of conv/kernels/plain_segment.cuh and its kin can finish.
#pragma once

#include "conv/kernels/plain_activation.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Everything of one 16-bit type, an f32 bias, a residual and an activation of isPlainActivation behind the sums, and nothing else.
inline bool isPlainSegment(const Problem& p) {
  return (p.inputType == DataType::F16 || p.inputType == DataType::BF16) && p.outputType == p.inputType && p.alpha == 1 &&
         p.outScale == 1 && !p.hasChannelScale && !p.hasAmax && p.rounding == Rounding::Once && p.outputZeroPoint == 0 &&
         p.outputScale.blockSize == 0 && kernels::isPlainActivation(static_cast<gemm::Activation>(p.activation)) &&
         (!p.hasBias || p.biasType == DataType::F32) && (!p.hasResidual() || p.residualType == p.outputType);
}

}  // namespace shiftconv::plan
