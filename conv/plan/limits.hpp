// Activations that are limits of 16-bit outputs.
#pragma once

#include <limits>

#include "common/numerics/codec.hpp"
#include "conv/kernels/limits.hpp"
#include "conv/problem/problem.hpp"
#include "conv/problem/types.hpp"

namespace shiftconv::plan {

/// Whether the activation is a clamp between numbers of the output's type, of 16 bits: such limits commute with rounding to it.
inline bool clampsToOutputs(const Problem& p) {
  const auto isNumber = [type = numberType(p.outputType)](float limit) {
    return numerics::decode(type, numerics::encode(type, limit)) == limit;
  };
  return p.activation == Activation::Clamp && (p.outputType == DataType::F16 || p.outputType == DataType::BF16) &&
         isNumber(p.activationA) && isNumber(p.activationB);
}

/// Of outputs of 16 bits: those that the activation names, infinite ones where it is another. Of other outputs nothing.
inline kernels::Limits limitsOf(const Problem& p) {
  if (bitsOf(p.outputType) != 16) return {};
  const auto pairOf = [type = numberType(p.outputType)](double limit) { return numerics::encode(type, limit) * 0x10001u; };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (clampsToOutputs(p)) return {pairOf(p.activationA), pairOf(p.activationB)};
  return {pairOf(p.activation == Activation::Relu ? 0 : -kInfinity), pairOf(kInfinity)};
}

}  // namespace shiftconv::plan
