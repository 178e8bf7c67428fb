// The instructions of this machine: which families it is composed of.
#pragma once

#include "common/emulator/isa/form_table.hpp"

namespace shiftconv::emulator {

const isa::FormTable& instructionSet();

}  // namespace shiftconv::emulator
