// Which Tensor Memory cells the registers of tcgen05.ld and tcgen05.st hold (PTX ISA 9.7.16.8, tables 47-48; the
// formulas are CUTLASS's SM100_TMEM_LOAD layouts written out).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace shiftconv::emulator::tensor {

enum class FragmentShape : uint8_t { S32x32b, S16x64b, S16x128b, S16x256b, S16x32bx2, Count };

struct FragmentTraits {
  std::string_view name;   ///< "16x64b"
  uint32_t lanes;          ///< Tensor Memory lanes touched
  uint32_t registersPerN;  ///< registers of a thread for .x1
  uint32_t columnsPerN;    ///< columns spanned for .x1 (per half for 16x32bx2)
  uint32_t largestN;
};
const FragmentTraits& fragmentTraits(FragmentShape shape);
std::optional<FragmentShape> fragmentShape(std::string_view name);

/// Cell of register `index` of thread `thread` (0..31), relative to the address operand; `secondHalf` says that the
/// immediate of 16x32bx2 is added to the address first. With .pack::16b / .unpack::16b the register's low half is the low
/// half of column 2 * column, its high half that of the column after it.
struct FragmentCell {
  uint8_t lane = 0;
  bool secondHalf = false;
  uint16_t column = 0;
};
FragmentCell fragmentCell(FragmentShape shape, uint32_t thread, uint32_t index);

}  // namespace shiftconv::emulator::tensor
