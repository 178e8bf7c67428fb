// cvt between scalar types (PTX ISA 9.0, 9.7.9.21): any pair, any modifier, one value at a time.
#pragma once

#include <cstdint>
#include <optional>

#include "common/emulator/forms/scalar/rounding.hpp"
#include "common/emulator/ptx/module.hpp"

namespace shiftconv::emulator::isa {

enum class NumberKind : uint8_t { Unsigned, Signed, Float };

/// A scalar type as cvt sees it.
struct NumberType {
  NumberKind kind = NumberKind::Unsigned;
  unsigned bits = 0;
  const FloatFormat* format = nullptr;  ///< for Float
};

/// Empty for types that cvt does not take.
std::optional<NumberType> numberType(ptx::ScalarType type);

struct Conversion {
  NumberType result;
  NumberType source;
  Rounding rounding = Rounding::NearestEven;
  bool roundsToInteger = false;  ///< .rni .rzi .rmi .rpi on a floating-point result
  bool flush = false;            ///< .ftz: applies to the f32 side(s)
  bool saturate = false;         ///< .sat
  bool relu = false;
  bool saturateFinite = false;
};

/// Converts the low `source.bits` of a register; the result is sign- or zero-extended to 64 bits.
uint64_t convert(const Conversion& conversion, uint64_t bits);

/// Rounds to an integral value.
double roundToIntegral(double value, Rounding rounding);

}  // namespace shiftconv::emulator::isa
