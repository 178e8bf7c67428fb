// From values to codes of a number type and back, on the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/numerics/number_types.hpp"

namespace shiftconv::numerics {

/// "f32", "e4m3", "ue8m0", ...
std::string_view name(NumberType type);
/// The inverse; nothing for an unknown name.
std::optional<NumberType> numberTypeNamed(std::string_view name);

/// The value of a code, exactly. Bits above the type's width are ignored (ue4m3: the sign bit, too). tf32: the upper 19 bits of
/// an f32 word.
double decode(NumberType type, uint32_t code);

/// What becomes of values beyond the largest finite one, infinities included.
enum class Overflow : uint8_t {
  Saturate,  ///< the largest finite value of that sign
  Special,   ///< infinity; NaN for e4m3, ue4m3 and ue8m0, which have none; saturated where there is no NaN either
};
/// What tensors are usually written with: f32, f16, bf16 and tf32 overflow to infinity, everything narrower saturates.
constexpr Overflow usualOverflow(NumberType type) {
  return type == NumberType::F32 || type == NumberType::F16 || type == NumberType::BF16 || type == NumberType::TF32
             ? Overflow::Special
             : Overflow::Saturate;
}

/// Rounds to nearest, ties to the even significand (for ue8m0 that is up). NaN gives the canonical NaN of cvt (PTX ISA 9.7.9.21:
/// 0x7fff, 0x7f, ...), the largest value where the type has no NaN (f6 and f4 types, also PTX's rule), 0 for integers. A negative
/// value has no ue8m0 or ue4m3: it gives NaN. ue8m0 has no zero: everything below 2^-127 gives that.
uint32_t encode(NumberType type, double value, Overflow overflow);
inline uint32_t encode(NumberType type, double value) { return encode(type, value, usualOverflow(type)); }

}  // namespace shiftconv::numerics
