// cvt to and from packed and narrow formats, and cvt.pack (PTX ISA 9.0, 9.7.9.21 and 9.7.9.22).
#pragma once

#include "common/emulator/isa/form.hpp"

namespace shiftconv::emulator::isa {

/// Part of conversionForms().
FormFamily packedConversionForms();

}  // namespace shiftconv::emulator::isa
