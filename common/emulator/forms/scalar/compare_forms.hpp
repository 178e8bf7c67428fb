// Comparison and selection (PTX ISA 9.0, 9.7.6 and 9.7.7): setp, set, selp, slct.
#pragma once

#include "common/emulator/isa/form.hpp"

namespace shiftconv::emulator::isa {

/// Part of logicForms().
FormFamily compareForms();

}  // namespace shiftconv::emulator::isa
