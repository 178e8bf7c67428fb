// Extended-precision integer arithmetic (PTX ISA 9.0, 9.7.2): add.cc, addc, sub.cc, subc, mad.cc, madc.
#pragma once

#include "common/emulator/isa/form.hpp"

namespace shiftconv::emulator::isa {

/// Part of integerForms().
FormFamily carryForms();

}  // namespace shiftconv::emulator::isa
