// Scale factors of the block-scaled MMA kinds (PTX ISA 9.7.16.10.7) and the arithmetic of the 4-bit kinds.
//
// Factors stand in Tensor Memory, four copies of each, one in every 32-lane window: a lane finds the factors of its own row
// of A, and those of B's columns in the lanes of its window (layouts as CUTLASS tmem_sf_frg). kind::mxf8f6f4 then computes
// like the plain kinds with every product's exponent raised by the two scale exponents. The 4-bit kinds (MMA-Sim, arXiv
// 2511.10909) sum groups of 16 products exactly, multiply each sum by the significands of its two factors, give it the sum
// of their exponents, and align the four groups and D to the largest exponent with 35 fraction bits.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "common/emulator/tensor/mma.hpp"

namespace shiftconv::emulator::tensor {

inline constexpr uint32_t kMaximumScales = 4;  ///< factors of one row in one instruction

/// significand * 2^(exponent - 3); zero has kZeroExponent.
struct ScaleFactor {
  int32_t significand = 8;
  int32_t exponent = 0;
  bool nan = false;
};
/// ue8m0: 2^(bits - 127), 0xff is NaN. ue4m3: e4m3 with its sign ignored.
ScaleFactor decodeScale(uint32_t bits, bool isUe8m0);

/// The factors of one row of A or one column of B, by block along K.
using ScaleRow = std::array<ScaleFactor, kMaximumScales>;

/// Checks addresses and sf ids; counts the open questions. Throws EmulatorError.
void checkScales(const MmaOperation& operation, const MmaContext& context);
/// The factors of row `row` of the CTA's A, as Tensor Memory lane `lane` finds them.
ScaleRow fetchRowScales(const MmaOperation& operation, const Semantics& semantics, const TensorMemory& memory, uint32_t lane,
                        uint32_t row);
/// The factors of the columns that a lane of `window` works on.
std::vector<ScaleRow> fetchColumnScales(const MmaOperation& operation, const Semantics& semantics, const TensorMemory& memory,
                                        uint32_t window);

/// Of the cells that these two read: for one row, and for column `n` of a lane in `window`.
Definedness rowScalesDefined(const MmaOperation& operation, const TensorMemory& memory, uint32_t lane, uint32_t row);
Definedness columnScalesDefined(const MmaOperation& operation, const TensorMemory& memory, uint32_t window, uint32_t n);

/// kind::mxf8f6f4: the sum of both scale exponents by column, kNanScale where a factor is NaN.
std::vector<int32_t> scaleExponents(const ScaleRow& a, std::span<const ScaleRow> b);

/// `value` of e2m1 elements from `raw`.
void decodeFourBit(OperandTile& tile, uint32_t rows, uint32_t columns);
/// kind::mxf4 and mxf4nvf4, of decoded operands: adds the 64 scaled products to the f32 accumulators of one lane.
void accumulateFourBit(const OperandTile& a, const OperandTile& b, uint32_t scaleVector, const ScaleRow& scaleA,
                       std::span<const ScaleRow> scaleB, bool enabled, uint32_t columns, const LaneWork& lane);

}  // namespace shiftconv::emulator::tensor
