// The rounding of common/numerics under the names that instruction forms use.
#pragma once

#include "common/numerics/rounding.hpp"

namespace shiftconv::emulator::isa {

using numerics::addToOdd;
using numerics::convertTo;
using numerics::decode;
using numerics::exactValue;
using numerics::FloatFormat;
using numerics::RandomBits;
using numerics::Rounding;
using numerics::roundTo;

using numerics::kBf16;
using numerics::kE2m1;
using numerics::kE2m3;
using numerics::kE3m2;
using numerics::kE4m3;
using numerics::kE5m2;
using numerics::kF16;
using numerics::kF32;
using numerics::kF64;
using numerics::kTf32;

}  // namespace shiftconv::emulator::isa
