#include "common/emulator/tensor/element_types.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace shiftconv::emulator::tensor {

const ElementFormat& elementFormat(ElementType type) {
  static constexpr std::array<ElementFormat, static_cast<size_t>(ElementType::Count)> kFormats{{
      {"f16", 16, 0, 5, 10, 15, Specials::Ieee, 16},
      {"bf16", 16, 0, 8, 7, 127, Specials::Ieee, 16},
      {"tf32", 32, 13, 8, 10, 127, Specials::Ieee, 32},
      {"e4m3", 8, 0, 4, 3, 7, Specials::NanOnly, 8},
      {"e5m2", 8, 0, 5, 2, 15, Specials::Ieee, 8},
      {"e2m3", 8, 1, 2, 3, 1, Specials::None, 6},
      {"e3m2", 8, 1, 3, 2, 3, Specials::None, 6},
      {"e2m1", 8, 2, 2, 1, 1, Specials::None, 4},
      {"u8", 8, 0, 0, 8, 0, Specials::Integer, 8},
      {"s8", 8, 0, 0, 8, 0, Specials::Integer, 8},
  }};
  return kFormats[static_cast<size_t>(type)];
}

Unpacked unpackElement(const ElementFormat& format, uint32_t bits) {
  const uint32_t mantissaMask = (1u << format.mantissaBits) - 1;
  const uint32_t exponentMask = (1u << format.exponentBits) - 1;
  const uint32_t mantissa = bits & mantissaMask;
  const uint32_t exponent = bits >> format.mantissaBits & exponentMask;
  const bool negative = bits >> (format.mantissaBits + format.exponentBits) & 1;

  Unpacked result;
  if (exponent == exponentMask) {
    if (format.specials == Specials::Ieee) {
      result.kind = mantissa == 0 ? Unpacked::Class::Infinity : Unpacked::Class::Nan;
      result.significand = negative ? -1 : 1;
      return result;
    }
    if (format.specials == Specials::NanOnly && mantissa == mantissaMask) {
      result.kind = Unpacked::Class::Nan;
      return result;
    }
  }
  const uint32_t implicit = exponent != 0 ? 1u << format.mantissaBits : 0u;
  const int32_t significand = static_cast<int32_t>((implicit | mantissa) << (10 - format.mantissaBits));
  if (significand == 0) return result;
  result.significand = negative ? -significand : significand;
  result.exponent = (exponent != 0 ? static_cast<int>(exponent) : 1) - format.bias;
  return result;
}

float elementToFloat(const ElementFormat& format, uint32_t bits) {
  const Unpacked value = unpackElement(format, bits);
  switch (value.kind) {
    case Unpacked::Class::Nan:
      return std::numeric_limits<float>::quiet_NaN();
    case Unpacked::Class::Infinity:
      return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(value.significand));
    case Unpacked::Class::Finite:
      break;
  }
  return std::ldexp(static_cast<float>(value.significand), value.exponent - 10);
}

}  // namespace shiftconv::emulator::tensor
