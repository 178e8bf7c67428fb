// Bit-level model of the arithmetic of one dense tcgen05.mma with a floating-point accumulator.
//
// The model follows a published bit-accurate simulator whose authors report equality with B200 hardware for f16, bf16,
// tf32, e4m3, e5m2 and e2m1 operands (MMA-Sim, arXiv 2511.10909):
//   1. the K products and the accumulator are K + 1 terms, each an exact significand and an exponent that is not
//      renormalised; a zero operand has exponent -126;
//   2. every term is truncated toward zero to a multiple of 2^(E - 25), E the largest exponent, and all are added exactly;
//   3. the sum is truncated toward zero to f32, or rounded to nearest even to f16; a zero result is +0;
//   4. NaN operands, infinity * 0 and infinity - infinity give the NaN 0x7FFFFFFF (f16: 0x7FFF).
// wgmma on an H200 does the same with f16, bf16 and tf32 operands; with e4m3 and e5m2 it keeps 13 fraction bits of every term, and
// 13 mantissa bits of f32 results (tests/hardware_recordings compares bit for bit).
// Other kinds are assumed to follow it too (question U14).
#pragma once

#include <cstdint>
#include <span>

#include "common/emulator/tensor/operand_tile.hpp"

namespace shiftconv::emulator::tensor {

inline constexpr int kAlignmentFractionBits = 25;
inline constexpr uint32_t kCanonicalNanF32 = 0x7fffffffu;
inline constexpr uint32_t kCanonicalNanF16 = 0x7fffu;

/// Fills significand, exponent and special of `rows` x `columns` array elements. `specialByRow`: operand A.
void decodeForHardware(OperandTile& tile, uint32_t rows, uint32_t columns, bool specialByRow);

/// Adds the products of `depth` elements to the accumulators of every lane in `work`. f16 accumulators stand in the low half
/// of each word, in and out; high halves come out zero.
void accumulateHardware(const OperandTile& a, const OperandTile& b, uint32_t columns, uint32_t depth, const AccumulatorInput& input,
                        std::span<const LaneWork> work);

}  // namespace shiftconv::emulator::tensor
