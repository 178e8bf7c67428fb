// Which problems the short epilogues of conv/kernels/plain_segment.cuh and plain_bytes.cuh can finish.
#pragma once

#include <cmath>
#include <string_view>

#include "conv/kernels/lean.hpp"
#include "conv/plan/limits.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Everything of one 16-bit type, alpha, a bias of any type, a residual and an activation after the sums, and nothing else.
inline bool hasPlainSumsOfHalves(const Problem& p) {
  return (p.inputType == DataType::F16 || p.inputType == DataType::BF16) && p.outputType == p.inputType && p.outScale == 1 &&
         !p.hasChannelScale && !p.hasAmax && p.rounding == Rounding::Once && p.outputZeroPoint == 0 &&
         p.outputScale.blockSize == 0 && (!p.hasResidual() || p.residualType == p.outputType);
}

/// The same but for a residual after the activation.
inline bool isPlainSegment(const Problem& p) { return hasPlainSumsOfHalves(p) && !p.addsResidualLast(); }

/// The rest of what plain_segment.cuh has: scales of channels, an output scale, outputs of the other type of 16 bits.
inline bool isScaledSegment(const Problem& p) {
  Problem plain = p;
  plain.hasChannelScale = false;
  plain.outScale = 1;
  if (p.outputType == DataType::F16 || p.outputType == DataType::BF16) plain.outputType = p.inputType;
  return isPlainSegment(plain) && !isPlainSegment(p);
}

/// 8-bit operands, and nothing after the sums but scales, a bias, a residual, an activation and an output scale.
inline bool hasPlainSumsOfBytes(const Problem& p) {
  return bytesOf(p.inputType) == 1 && !p.hasAmax && p.rounding == Rounding::Once && p.inputZeroPoint == 0 &&
         p.filterZeroPoint == 0 && p.inputScale.blockSize == 0 && p.outputScale.blockSize == 0;
}
/// Of those, outputs of 8 bits: e4m3 of floats and any of integers.
inline bool hasOutputsOfBytes(const Problem& p) {
  const auto isFloat = [](DataType type) { return type == DataType::E4M3 || type == DataType::E5M2; };
  const bool hasTypes = isInteger(p.inputType) ? p.outputType == DataType::S8 || p.outputType == DataType::U8
                                               : isFloat(p.inputType) && p.outputType == DataType::E4M3;
  return hasTypes && hasPlainSumsOfBytes(p);
}
/// The same without a residual.
inline bool isPlainBytes(const Problem& p) { return hasOutputsOfBytes(p) && !p.hasResidual(); }

/// Outputs of f16 or bf16 after scales, a bias and an activation.
inline bool isPlainHalves(const Problem& p) {
  return hasPlainSumsOfBytes(p) && (p.outputType == DataType::F16 || p.outputType == DataType::BF16) && p.outScale == 1 &&
         !p.hasResidual();
}

/// What gemm::Ramp is exact for.
inline bool isRamp(const Problem& p) {
  const float range = 1.0f - p.activationA;
  return p.activation == Activation::HardSwish || (p.activation == Activation::LeakyRelu && range + p.activationA == 1.0f);
}

/// By residual and activation alone.
inline kernels::Lean leanActivation(const Problem& p, bool clamps) {
  using kernels::Lean;
  if (p.addsResidualLast()) return p.activation == Activation::Silu ? Lean::SiluResidual : Lean::No;
  if (p.activation == Activation::None || p.activation == Activation::Relu)
    return p.hasResidual() ? Lean::Residual : Lean::Rectified;
  if (p.hasResidual()) return Lean::No;
  if (p.activation == Activation::Silu) return Lean::Silu;
  if (isRamp(p)) return Lean::Ramp;
  return clamps ? Lean::Clamp : Lean::No;
}

/// What has code in one piece of outputs of e4m3 or s8 after scales, a bias and a residual of their type. The output's scale is
/// multiplied into alpha and beta, which must not overflow, and commutes with ReLU, as it is positive; other activations come
/// before it.
inline kernels::Lean leanBytes(const Problem& p) {
  const bool isLean = hasOutputsOfBytes(p) && (p.outputType == DataType::E4M3 || p.outputType == DataType::S8) &&
                      p.outputZeroPoint == 0 && p.outScale > 0 && std::isfinite(p.alpha * p.outScale) &&
                      (!p.hasResidual() || (p.residualType == p.outputType && std::isfinite(p.beta * p.outScale)));
  return isLean ? leanActivation(p, p.activation == Activation::Clamp) : kernels::Lean::No;
}
/// Of those, what all engines have: ReLU or nothing, and no residual.
inline bool isLeanBytes(const Problem& p) { return leanBytes(p) == kernels::Lean::Rectified; }

/// Of an output of the operands' 16-bit type.
inline kernels::Lean leanHalves(const Problem& p) {
  const bool hasMore = p.alpha != 1 || p.outScale != 1 || p.hasChannelScale || p.hasAmax || p.rounding != Rounding::Once ||
                       p.outputZeroPoint != 0 || p.outputScale.blockSize != 0;
  return hasMore ? kernels::Lean::No : leanActivation(p, clampsToOutputs(p));
}

/// What ends the names of kernels that have nothing else.
inline std::string_view leanSuffix(const kernels::LeanFlags& lean) { return lean == kernels::LeanFlags() ? "" : "_lean"; }

inline kernels::Lean leanOf(const Problem& p) { return hasPlainSumsOfHalves(p) ? leanHalves(p) : leanBytes(p); }

}  // namespace shiftconv::plan
