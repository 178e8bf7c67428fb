// The executable form of an instruction.
//
// Registers live in a frame: per warp and per function activation one block of bytes in which every
// register of the function has a slot that holds all 32 lanes: T[32] for a T-sized register, one
// uint32_t lane mask for a predicate. Immediates and special registers have slots too (filled when the
// frame is made), so every operand is simply a byte offset into the frame.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::machine {
struct Execution;
}

namespace shiftconv::emulator::program {

using LaneMask = uint32_t;
inline constexpr unsigned kWarpLanes = 32;
inline constexpr LaneMask kAllLanes = 0xffffffffu;

/// Byte offset of an operand's slot in the frame.
using Slot = uint32_t;
inline constexpr Slot kNoSlot = 0xffffffffu;

struct DecodedInstruction;

/// Instruction-specific data that does not fit the common fields (vectors, descriptors, modifiers).
struct InstructionDetail {
  virtual ~InstructionDetail() = default;
};

/// Executes the instruction for the lanes that the machine says (machine/execution.hpp).
using Handler = void (*)(machine::Execution& execution, const DecodedInstruction& instruction);

struct DecodedInstruction {
  Handler handler = nullptr;
  Slot guard = kNoSlot;
  bool guardNegated = false;
  bool endsGroup = false;        ///< may change control flow or block: the warp loop re-reads its state
  bool ordersRegisters = false;  ///< keeps the order of its registers with unfinished operations by itself
  std::array<Slot, 6> operand{kNoSlot, kNoSlot, kNoSlot, kNoSlot, kNoSlot, kNoSlot};
  uint64_t immediate = 0;  ///< free for the handler (address offset, branch target, flags)
  std::shared_ptr<const InstructionDetail> detail;
  const ptx::Instruction* source = nullptr;  ///< for messages; lives as long as the program

  template <class Detail>
  const Detail& as() const {
    return static_cast<const Detail&>(*detail);
  }
};

/// An address operand: base slot as 64-bit (or 32-bit) lanes plus a constant offset. Addresses of symbols are resolved.
struct AddressOperand {
  Slot base = kNone;                                    ///< kNone: absolute, only `offset`
  bool base32 = false;                                  ///< base register is 32 bits wide
  int64_t offset = 0;                                   ///< includes the address of a symbol
  ptx::StateSpace symbolSpace = ptx::StateSpace::None;  ///< space of the symbol, when one was named
  static constexpr Slot kNone = kNoSlot;
};

}  // namespace shiftconv::emulator::program
