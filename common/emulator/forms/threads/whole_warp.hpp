// Instructions that all 32 lanes of a warp execute together.
#pragma once

#include "common/emulator/machine/execution.hpp"

namespace shiftconv::emulator::machine {

/// Waits for the lanes that are on their way. Hardware leaves anything but a whole warp undefined: throws EmulatorError
/// IllegalInstruction.
void requireWholeWarp(const Execution& execution, const char* instruction);

}  // namespace shiftconv::emulator::machine
