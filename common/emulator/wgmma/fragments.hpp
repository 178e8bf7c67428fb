// Which element of a matrix stands where in the registers of a warp (PTX ISA 9.0, 9.7.15.5.1 and 9.7.14.5): the fragments of
// wgmma are, for the 16 rows of each warp, those of mma.sync.
#pragma once

#include <algorithm>
#include <cstdint>

namespace shiftconv::emulator::wgmma {

struct Element {
  uint32_t row = 0, column = 0;
};

/// The fragment of one matrix: blocks of 8 rows and as many columns as the neighbours of 4 lanes have. Lane l has row l / 4 of each
/// block, and there the run of neighbouring columns number l % 4. Of operand B, what is called rows here are its columns.
struct FragmentLayout {
  uint32_t rowBlocks = 1, columnBlocks = 1;
  uint32_t run = 1;  ///< neighbours that a thread has in a block
  /// Row blocks that a thread's runs alternate between before they go on along the columns; when all columns are done, the next
  /// rows follow.
  uint32_t alternating = 1;

  constexpr uint32_t elements() const { return rowBlocks * columnBlocks * run; }
  /// Element i of a thread; beyond elements() they repeat.
  constexpr Element at(uint32_t lane, uint32_t i) const {
    const uint32_t block = i / run % (rowBlocks * columnBlocks), group = alternating * columnBlocks;
    return {lane / 4 + 8 * (block / group * alternating + block % alternating),
            run * (lane % 4 + 4 * (block % group / alternating)) + i % run};
  }
};

/// Operand A of `rows` rows, or B of `rows` columns: `depth` elements along k, as many side by side as fill 32 bits.
constexpr FragmentLayout operandLayout(uint32_t rows, uint32_t depth, uint32_t bits, bool isA) {
  const uint32_t run = std::max(1u, 32 / bits), rowBlocks = rows / 8;
  return {rowBlocks, depth / (4 * run), run, isA ? std::min(2u, rowBlocks) : 1};
}
/// C and D: two columns side by side.
constexpr FragmentLayout accumulatorLayout(uint32_t rows, uint32_t columns) {
  return {rows / 8, columns / 8, 2, std::min(2u, rows / 8)};
}

/// Accumulators of wgmma, element i of a thread: row of 16, column of N. Two f16 share a register, the even one in its low half.
constexpr Element accumulatorElement(uint32_t lane, uint32_t i) { return accumulatorLayout(16, 256).at(lane, i); }
/// Operand A of wgmma, whose elements fill four registers from the low end. Column: k.
constexpr Element operandElement(uint32_t lane, uint32_t i, uint32_t bits) {
  return operandLayout(16, 256 / bits, bits, true).at(lane, i);
}

}  // namespace shiftconv::emulator::wgmma
