// Starts the program with the emulated libraries and waits for it.
#pragma once

#include "common/emulator/tools/emurun/options.hpp"

namespace emurun {

/// The status to leave with. Throws UserError when the program cannot be started.
int runProgram(const Options& options);

}  // namespace emurun
