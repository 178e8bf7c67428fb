#pragma once

#include <string>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::machine {

[[noreturn]] inline void synchronisationFault(const std::string& message) {
  throw EmulatorError(ErrorKind::Synchronisation, message);
}

}  // namespace shiftconv::emulator::machine
