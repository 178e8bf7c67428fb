// How the epilogue of im2col_sm90 ends for a problem.
#pragma once

#include <numeric>

#include "common/gemm/epilogue/params.hpp"
#include "conv/algorithms/im2col_sm90/params.hpp"
#include "conv/plan/plain_segment.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan::sm90 {

inline bool isHalf(DataType type) { return type == DataType::F16 || type == DataType::BF16; }

/// Output channels of a group.
inline int64_t groupColumns(const Problem& p) { return p.k / p.groups; }

/// Where rows of outputs are whole groups of four channels, each is stored at once.
inline bool storesFours(const Problem& p) { return groupColumns(p) % 4 == 0 && p.outputPitch() % 4 == 0; }

/// The residual comes to shared memory during the products, in pieces of 4 bytes or more, to where outputs of its size will be, if
/// they are staged.
inline bool residualWaits(const Problem& p) {
  const int64_t bits = bitsOf(p.residualType), inPiece = 32 / bits;
  if (!p.hasResidual()) return false;
  if (bits == 32) return storesFours(p) && p.residualPitch() % 4 == 0;  // a piece is 16 bytes
  if (p.k % inPiece != 0 || p.residualPitch() % inPiece != 0) return false;
  // Kernels of floats read codes of e4m3 there, those of integers s8 and u8.
  if (bits == 8)
    return !isHalf(p.inputType) && p.residualType == p.outputType && isInteger(p.residualType) == isInteger(p.inputType);
  return isHalf(p.residualType) && (storesFours(p) || bitsOf(p.outputType) != 8);
}

/// Sums become outputs in the registers that they are in, where a type of that size ends the epilogue.
inline kernels::im2col::Packed packedOf(const Problem& p) {
  using kernels::im2col::Packed;
  if (p.hasAmax || p.outputScale.blockSize != 0 || (p.hasResidual() && !residualWaits(p))) return Packed::No;
  const bool isBytes =
      p.inputType == DataType::E4M3 ? p.outputType == DataType::E4M3 : p.outputType == DataType::S8 || p.outputType == DataType::U8;
  if (!isHalf(p.inputType) && isBytes) return !p.hasResidual() || leanBytes(p) != kernels::Lean::No ? Packed::Bytes : Packed::No;
  if (p.outputType == DataType::F32) {
    const bool isShort = (p.activation == Activation::None || p.activation == Activation::Relu) && p.outScale == 1;
    const bool areRowsEven = groupColumns(p) % 2 == 0 && p.outputPitch() % 2 == 0;
    const bool hasOtherResidual = p.hasResidual() && (p.residualType != p.inputType || p.addsResidualLast());
    return isShort && areRowsEven && !hasOtherResidual ? Packed::Words : Packed::No;
  }
  const bool isHalves = isHalf(p.inputType) ? p.outputType == p.inputType : isHalf(p.outputType);
  if (!isHalves || p.outScale != 1 || (p.addsResidualLast() && !isHalf(p.inputType))) return Packed::No;
  return !p.hasResidual() || p.residualType == p.outputType ? Packed::Halves : Packed::No;
}

/// What rows of outputs of 8 and 16 bits, and of a residual that waits, consist of: whole pieces of 16, 8 or 4 bytes, or else
/// elements.
inline int32_t pieceBytesOf(const Problem& p) {
  const int64_t residual = residualWaits(p) && bitsOf(p.residualType) != 32 ? p.residualPitch() : 0;
  const int64_t elements = std::gcd(std::gcd(groupColumns(p), p.outputPitch()), residual);
  const int32_t elementBytes = bitsOf(p.outputType) == 8 ? 1 : 2;
  for (const int32_t piece : {16, 8, 4})
    if (elements * elementBytes % piece == 0) return piece;
  return elementBytes;
}

}  // namespace shiftconv::plan::sm90
