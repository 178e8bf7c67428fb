// State behind DecodeContext: the frame layout of one function while it grows.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "common/emulator/error.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/isa/layout.hpp"

namespace shiftconv::emulator::isa {

struct DecodeContext::Impl {
  /// `constantBytes`: size of the constant area in front of the registers. The decoder runs twice: first with 0 to
  /// learn that size, then for good.
  Impl(const Program& program, size_t functionIndex, const SymbolMap& symbols, CompiledFunction& compiled, uint32_t constantBytes);

  struct Register {
    ptx::ScalarType type;
    Slot slot = machine::kNoSlot;  ///< given at first use, so that registers nobody uses cost nothing
  };

  Slot registerSlot(Register& entry, RegisterRole role = RegisterRole::Source);
  Slot constant(uint64_t bits, size_t bytes);
  Slot predicateConstant(bool value);
  Slot special(SpecialRegister which, uint8_t bytes, uint64_t addend = 0);
  Slot allocate(size_t laneBytes);
  Slot allocatePredicate();
  Slot scratch(size_t laneBytes);
  void begin(const ptx::Instruction& next, DecodedInstruction& decoded);
  /// Rounds the frame up and gives register parameters their slots.
  void finish();
  [[noreturn]] void fail(ErrorKind kind, const std::string& why) const;

  const Program& program;
  const ptx::Function& function;
  const size_t functionIndex;
  const SymbolMap& symbols;
  CompiledFunction& compiled;
  const ptx::Instruction* instruction = nullptr;
  DecodedInstruction* out = nullptr;
  std::unordered_map<std::string_view, Register> registers;
  std::map<std::pair<uint64_t, size_t>, Slot> constants;
  std::map<std::tuple<SpecialRegister, uint8_t, uint64_t>, Slot> specials;
  /// Temporaries live within one instruction, so all instructions share them: by lane size, in order of request.
  std::map<size_t, std::vector<Slot>> scratchSlots;
  std::map<size_t, size_t> scratchUsed;
  Slot carryFlag = machine::kNoSlot;
  uint32_t frameEnd;
  Slot predicateArea = 0;
  uint32_t predicatesLeft = 0;
};

/// A special register name and the widths at which it may be read.
struct SpecialName {
  std::string_view name;
  SpecialRegister which;
  ptx::ScalarType type;  ///< as the PTX ISA declares it
};
const SpecialName* findSpecial(std::string_view name);
/// Special registers with a fixed value: %envreg, %reserved_smem_offset_begin ...
struct FixedSpecial {
  ptx::ScalarType type;
  uint64_t value;
};
std::optional<FixedSpecial> fixedSpecial(const Program& program, std::string_view name);

/// Position and text of an instruction, as the error messages of the decoder end.
std::string describeInstruction(const ptx::Module& module, const ptx::Function& function, const ptx::Instruction& instruction);

}  // namespace shiftconv::emulator::isa
