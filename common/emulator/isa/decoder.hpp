// From a parsed module to an executable program: what decodes it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/emulator/isa/form_table.hpp"
#include "common/emulator/program/program.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::isa {

using program::DecodedInstruction;
using program::Slot;

using program::CompiledFunction;
using program::kFunctionAddressBase;
using program::Program;
using program::RegisterRole;
using program::SpecialRegister;
using program::SpecialSlot;

/// What a form's decode function works with.
class DecodeContext {
 public:
  const ptx::Instruction& instruction() const;
  DecodedInstruction& out();
  const Program& program() const;
  const program::Target& target() const { return *program().target; }
  const ptx::Function& function() const;

  /// Slot of a source operand read as `type`: a register, a special register, the address of a symbol, or an
  /// immediate broadcast to all lanes. A register narrower than the type is an error; a wider one is read in its low bytes
  /// (lane stride differs, so the decoder inserts nothing: it refuses unless sizes match, except b/s/u/f of equal size).
  Slot source(const ptx::Operand& operand, ptx::ScalarType type);
  /// Slot of a destination register; `_` gives a scratch slot.
  Slot destination(const ptx::Operand& operand, ptx::ScalarType type);
  /// Declared type of a register operand (ld/st/mov/cvt accept wider registers); None for anything else.
  ptx::ScalarType declaredType(const ptx::Operand& operand) const;
  /// Predicate source; a negated one gets `negated` set. An integer is a constant: false only when 0.
  Slot predicateSource(const ptx::Operand& operand, bool& negated);
  Slot predicateDestination(const ptx::Operand& operand);
  /// A value broadcast to all lanes.
  Slot constant(uint64_t bits, ptx::ScalarType type);
  Slot scratch(ptx::ScalarType type);
  /// The carry flag CC.CF of the function, a predicate.
  Slot carryFlag();

  /// An address operand: base slot as 64-bit (or 32-bit) lanes plus constant offset. Symbols are already resolved:
  /// shared ones have SharedBase or DynamicSharedBase as base (so base + offset is a window address of this CTA), local
  /// ones and call parameters (also the parameters of a .func) have LocalBase and symbolSpace Local, module-scope
  /// variables are absolute. Only kernel parameters keep symbolSpace Param: absolute offset in the block.
  using Address = program::AddressOperand;
  Address address(const ptx::Operand& operand);
  /// Address of a symbol in its own state space: shared offset including kReservedSharedBytes but not SharedBase
  /// (static variables only), global address, offset in the parameter block of a kernel, offset in the activation's
  /// local area (Local: add LocalBase), or kFunctionAddressBase + index with space None.
  /// Prefer source() and address(), which make slots.
  uint64_t symbolAddress(std::string_view name, ptx::StateSpace& space) const;
  uint32_t label(const ptx::Operand& operand) const;  ///< index into the function's code
  uint32_t functionIndex(std::string_view name) const;
  uint64_t integer(const ptx::Operand& operand) const;  ///< the operand must be an integer literal

  [[noreturn]] void illegal(const std::string& why) const;      ///< ErrorKind::IllegalInstruction, with location
  [[noreturn]] void unsupported(const std::string& why) const;  ///< ErrorKind::Unsupported, with location

  struct Impl;
  explicit DecodeContext(Impl& impl) : impl_(impl) {}

 private:
  Impl& impl_;
};

/// Decodes every function of the module. Errors name the PTX line, the source line and the text.
/// `globalBase` is where the module's global variables will live. Instructions that the module's target lacks, or that `forms`
/// has no row for, are refused.
std::shared_ptr<Program> compile(ptx::Module module, uint64_t globalBase, const FormTable& forms);
/// Layout only (sizes of the global image), so that a caller can allocate before compile().
uint64_t globalImageBytes(const ptx::Module& module);

}  // namespace shiftconv::emulator::isa
