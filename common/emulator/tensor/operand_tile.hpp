// The operands of one MMA as the arithmetic wants them: dense, decoded once per instruction.
#pragma once

#include <cstdint>
#include <vector>

#include "common/emulator/tensor/descriptors.hpp"
#include "common/emulator/tensor/element_types.hpp"

namespace shiftconv::emulator::tensor {

/// Whether data of an operand was written, and whether a shift left it after.
struct Definedness {
  bool defined = true;
  bool stale = false;
};

inline constexpr uint32_t kMaximumColumns = 256;  ///< N

/// How much of a sum is kept.
struct SumPrecision {
  int fractionBits = 25;  ///< of every term, below the largest exponent
  int resultBits = 23;    ///< mantissa bits of an f32 result
};
/// wgmma with e4m3 and e5m2 operands on an H200: bit for bit in 24576 recorded sums (tests/hardware_recordings), f16 results
/// included.
inline constexpr SumPrecision kHopperEightBitPrecision{13, 13};

/// How the old accumulator enters, and what is kept of the sum.
struct AccumulatorInput {
  AccumulatorType type = AccumulatorType::F32;
  bool enabled = true;                 ///< enable-input-d
  uint32_t scale = 0;                  ///< scale-input-d: multiplied by 2^-scale
  bool flushScaledSubnormals = false;  ///< question U15
  SumPrecision precision{};            ///< hardware numerics
};

/// Operand A is stored [row][k], operand B [k][column] so that neighbouring columns are neighbours in memory.
struct OperandTile {
  ElementType type = ElementType::F16;
  bool negate = false;
  uint32_t stride = 0;               ///< elements between rows of the arrays
  std::vector<uint32_t> raw;         ///< element bits, shifted down to bit 0
  std::vector<int32_t> significand;  ///< hardware numerics: value = significand * 2^(exponent - 10); integer kinds: value
  std::vector<int32_t> exponent;
  std::vector<uint8_t> special;  ///< per row of A or column of B: holds an infinity or a NaN
  std::vector<float> value;      ///< fast numerics

  void resize(uint32_t rows, uint32_t columns) {
    stride = columns;
    const size_t count = size_t{rows} * columns;
    raw.resize(count);
    significand.resize(count);
    exponent.resize(count);
    value.resize(count);
  }
};

/// Stands for a scale factor that is NaN.
inline constexpr int32_t kNanScale = 1 << 20;

/// One Tensor Memory lane's share: d[j] += sum over k of A[row][k] * B[k][firstColumn + j].
struct LaneWork {
  uint32_t row = 0;
  uint32_t firstColumn = 0;
  uint32_t* d = nullptr;
  /// kind::mxf8f6f4: exponents of both scale factors of the row and of each column together; nullptr: none.
  const int32_t* scaleExponents = nullptr;
};

}  // namespace shiftconv::emulator::tensor
