// Arithmetic that is quick rather than bit-exact (f32 FMA chains over k), and the exact integer arithmetic of kind::i8.
#pragma once

#include <cstdint>
#include <span>

#include "common/emulator/tensor/operand_tile.hpp"

namespace shiftconv::emulator::tensor {

/// Fills `value` of rows x columns elements (a multiple of 8 in all). Exact for every floating-point type.
void decodeForFast(OperandTile& tile, uint32_t rows, uint32_t columns);
/// Fills `significand` with the integer values of u8 or s8 elements.
void decodeIntegers(OperandTile& tile, uint32_t rows, uint32_t columns);

/// As accumulateHardware, but each accumulator is one chain of f32 fused multiply-adds; f16 accumulators are rounded once
/// at the end.
void accumulateFast(const OperandTile& a, const OperandTile& b, uint32_t columns, uint32_t depth, const AccumulatorInput& input,
                    std::span<const LaneWork> work);

/// kind::i8: s32 accumulators; `saturate` clamps each instruction's result to s32, otherwise it wraps (question U13).
void accumulateIntegers(const OperandTile& a, const OperandTile& b, uint32_t columns, uint32_t depth, bool enabled, bool saturate,
                        std::span<const LaneWork> work);

/// f16 bits to f32 and back (round to nearest even).
float halfToFloat(uint32_t bits);
uint32_t floatToHalf(float value);

}  // namespace shiftconv::emulator::tensor
