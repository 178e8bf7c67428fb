// Which problems the short epilogues of conv/kernels/plain_segment.cuh and plain_bytes.cuh can finish.
#pragma once

#include <cmath>
#include <string_view>

#include "conv/kernels/lean.hpp"
#include "conv/plan/limits.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Everything of one 16-bit type, alpha, a bias of any type, a residual and an activation after the sums, and nothing else.
inline bool isPlainSegment(const Problem& p) {
  return (p.inputType == DataType::F16 || p.inputType == DataType::BF16) && p.outputType == p.inputType && p.outScale == 1 &&
         !p.hasChannelScale && !p.hasAmax && p.rounding == Rounding::Once && p.outputZeroPoint == 0 &&
         p.outputScale.blockSize == 0 && (!p.hasResidual() || p.residualType == p.outputType);
}

/// 8-bit operands without zero points and outputs of 8 bits, e4m3 of floats and any of integers, after scales, a bias and an
/// activation.
inline bool isPlainBytes(const Problem& p) {
  const auto isFloat = [](DataType type) { return type == DataType::E4M3 || type == DataType::E5M2; };
  const bool hasTypes = isInteger(p.inputType) ? p.outputType == DataType::S8 || p.outputType == DataType::U8
                                               : isFloat(p.inputType) && p.outputType == DataType::E4M3;
  return hasTypes && !p.hasAmax && !p.hasResidual() && p.rounding == Rounding::Once && p.inputZeroPoint == 0 &&
         p.filterZeroPoint == 0 && p.inputScale.blockSize == 0 && p.outputScale.blockSize == 0;
}

/// Of those, what has code in one piece, as Lean: e4m3 or s8 after scales, a bias and ReLU. The output's scale is multiplied into
/// alpha, which must not overflow, and commutes with ReLU, as it is positive.
inline bool isLeanBytes(const Problem& p) {
  return isPlainBytes(p) && (p.outputType == DataType::E4M3 || p.outputType == DataType::S8) && p.outputZeroPoint == 0 &&
         (p.activation == Activation::None || p.activation == Activation::Relu) && p.outScale > 0 &&
         std::isfinite(p.alpha * p.outScale);
}

/// Of an output of the operands' 16-bit type.
inline kernels::Lean leanHalves(const Problem& p) {
  using kernels::Lean;
  const bool hasMore = p.alpha != 1 || p.outScale != 1 || p.hasChannelScale || p.hasAmax || p.rounding != Rounding::Once ||
                       p.outputZeroPoint != 0 || p.outputScale.blockSize != 0;
  if (hasMore) return Lean::No;
  if (p.activation == Activation::None || p.activation == Activation::Relu)
    return p.hasResidual() ? Lean::Residual : Lean::Rectified;
  if (p.hasResidual()) return Lean::No;
  if (p.activation == Activation::Silu) return Lean::Silu;
  if (p.activation == Activation::HardSwish) return Lean::HardSwish;
  return clampsToOutputs(p) ? Lean::Clamp : Lean::No;
}

/// What ends the names of kernels that have nothing else.
inline std::string_view leanSuffix(const kernels::LeanFlags& lean) { return lean == kernels::LeanFlags() ? "" : "_lean"; }

inline kernels::Lean leanOf(const Problem& p) {
  if (isLeanBytes(p)) return kernels::Lean::Rectified;
  return isPlainSegment(p) ? leanHalves(p) : kernels::Lean::No;
}

}  // namespace shiftconv::plan
