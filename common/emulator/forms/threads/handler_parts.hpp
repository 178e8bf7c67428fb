// What several instruction families of the machine do alike.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "common/emulator/isa/form.hpp"
#include "common/emulator/machine/execution.hpp"

namespace shiftconv::emulator::machine {

inline constexpr size_t kMaximumElements = 8;  ///< of a vector operand

/// Handler of instructions that change nothing here.
inline void nothing(Execution&, const DecodedInstruction&) {}

inline void assign(LaneMask& predicate, LaneMask lanes, LaneMask value) { predicate = (predicate & ~lanes) | (value & lanes); }

/// The first of the modifiers that the instruction has, or none.
inline std::string_view firstOf(const isa::FormMatch& match, std::initializer_list<std::string_view> candidates) {
  for (std::string_view candidate : candidates)
    if (match.has(candidate)) return candidate;
  return {};
}

}  // namespace shiftconv::emulator::machine
