// mov: registers, immediates, addresses, special registers, packing and unpacking (PTX ISA 9.0, 9.7.9.2 and 9.7.9.3).
#pragma once

#include "common/emulator/isa/form.hpp"

namespace shiftconv::emulator::isa {

/// Part of logicForms().
FormFamily moveForms();

}  // namespace shiftconv::emulator::isa
