// The zero-column mask descriptor of tcgen05.mma.ws (PTX ISA 9.7.16.4.3): which columns of B count as zero, and how far B is
// shifted.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>

namespace shiftconv::emulator::tensor {

/// The words of table 45 for the two spans are the wrong way round: the masks of its own examples, and CUTLASS
/// (make_column_zero_mask of mma_sm100_desc.hpp), take 0 for "skip span + 1" columns and B for "use span + 1".
struct ColumnMaskDescriptor {
  std::array<uint8_t, 4> startCount{};  ///< how many columns of its pattern each part leaves out
  std::array<bool, 4> startsSkipping{};
  bool masks = false;  ///< non-zero mask; otherwise no column is zero
  uint32_t skipSpan = 1, useSpan = 1;
  uint32_t shift = 0;  ///< the MMA multiplies columns shift, shift + 1, ... of B

  friend bool operator==(const ColumnMaskDescriptor&, const ColumnMaskDescriptor&) = default;
};

/// Throws EmulatorError of kind Descriptor: reserved bits, and more shift than M (32, 64 or 128) allows.
ColumnMaskDescriptor decodeColumnMask(uint64_t word, uint32_t m);

/// Bit n: column n of the `n` columns is multiplied as zero. They fall into 128 / m parts, each with its own start.
std::bitset<256> zeroColumns(const ColumnMaskDescriptor& descriptor, uint32_t m, uint32_t n);

}  // namespace shiftconv::emulator::tensor
