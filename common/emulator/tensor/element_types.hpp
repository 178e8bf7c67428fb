// The operand element types of tcgen05.mma as table rows: bit layout, container, special values.
// (PTX ISA 9.7.16.2.1 and 5.2.3 for the alternate floating-point formats.)
#pragma once

#include <cstdint>
#include <string_view>

namespace shiftconv::emulator::tensor {

enum class ElementType : uint8_t { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, U8, S8, Count };

/// How all-ones exponents are read.
enum class Specials : uint8_t {
  Ieee,     ///< infinity and NaN
  NanOnly,  ///< only all ones in exponent and mantissa is NaN (e4m3)
  None,     ///< every code is a number
  Integer,  ///< not a floating-point type
};

struct ElementFormat {
  std::string_view name;
  uint8_t containerBits;  ///< bits from one element to the next in a decompressed operand row
  uint8_t shift;          ///< position of the lowest element bit in its container
  uint8_t exponentBits;
  uint8_t mantissaBits;
  int8_t bias;
  Specials specials;
  uint8_t packedBits;  ///< bits of an element in shared memory, where sub-byte types are stored densely
};

/// tf32 is an f32 word whose low 13 bits are ignored (shift 13). e2m1 stands in bits 5:2 of a byte (PTX ISA
/// 9.7.16.10.4); the 6-bit types in bits 6:1, as a vendor example says tcgen05.cp writes and tcgen05.mma reads them.
const ElementFormat& elementFormat(ElementType type);

/// Exponent of a zero operand in the alignment step: the bookkeeping exponent of an f32 zero.
inline constexpr int kZeroExponent = -126;

/// A finite element as significand * 2^(exponent - 10), |significand| < 2^11. Sub-normal elements have the format's
/// smallest exponent; zero has kZeroExponent.
struct Unpacked {
  int32_t significand = 0;
  int32_t exponent = kZeroExponent;
  enum class Class : uint8_t { Finite, Infinity, Nan } kind = Class::Finite;
};

/// `bits` is the element shifted down to bit 0.
Unpacked unpackElement(const ElementFormat& format, uint32_t bits);
/// The element as f32: exact for every type here.
float elementToFloat(const ElementFormat& format, uint32_t bits);

}  // namespace shiftconv::emulator::tensor
