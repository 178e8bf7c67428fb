// Decoding of the address operands of memory instructions.
#pragma once

#include <string_view>

#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/lane_access.hpp"

namespace shiftconv::emulator::machine {

/// Decodes an address operand. `space` is the state-space modifier without the dot, "" for generic addressing; a
/// parameter of a device function or of a call is local memory of the thread.
MemoryOperand memoryOperand(isa::DecodeContext& context, const ptx::Operand& operand, std::string_view space);

}  // namespace shiftconv::emulator::machine
