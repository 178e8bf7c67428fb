#include "common/emulator/forms/threads/whole_warp.hpp"

#include <fmt/format.h>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/cluster.hpp"

namespace shiftconv::emulator::machine {

void requireWholeWarp(const Execution& execution, const char* instruction) {
  execution.warp.requireAligned(execution.mask, instruction);
  if (execution.mask != kAllLanes)
    throw EmulatorError(
        ErrorKind::IllegalInstruction,
        fmt::format("{} needs all 32 lanes of the warp; only those of mask {:#010x} execute it", instruction, execution.mask));
}

}  // namespace shiftconv::emulator::machine
