// f16 and bf16 values as their 16 bits, with conversions that vectorise.
#pragma once

#include <bit>
#include <cstdint>

#include "common/emulator/forms/scalar/rounding.hpp"

namespace shiftconv::emulator::isa {

struct F16 {
  static constexpr FloatFormat kFormat = kF16;
  static constexpr uint16_t kOne = 0x3c00;
  static constexpr uint16_t kExponent = 0x7c00;

  static float toFloat(uint16_t bits) {
    // Moves the fields into place and lets a multiplication rebias the exponent, which also normalises subnormals.
    const uint32_t magnitude = (bits & 0x7fffu) << 13;
    const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
    const uint32_t special = (bits & 0x7c00u) == 0x7c00u ? 0x7f80'0000u : 0u;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | (bits & 0x8000u) << 16);
  }
  /// Round to nearest even; NaN becomes 0x7fff.
  static uint16_t fromFloat(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = bits & 0x7fff'ffffu;
    // Subnormal results: adding 0.5 aligns the value so that the hardware rounds at 2^-24.
    const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f00'0000u;
    const uint32_t normal = (magnitude - 0x3800'0000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    uint32_t result = magnitude < 0x3880'0000u ? subnormal : normal;
    result = magnitude >= 0x4780'0000u ? 0x7c00u : result;
    result |= bits >> 16 & 0x8000u;
    return static_cast<uint16_t>(magnitude > 0x7f80'0000u ? 0x7fffu : result);
  }
};

struct Bf16 {
  static constexpr FloatFormat kFormat = kBf16;
  static constexpr uint16_t kOne = 0x3f80;
  static constexpr uint16_t kExponent = 0x7f80;

  static float toFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }
  static uint16_t fromFloat(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return static_cast<uint16_t>((bits & 0x7fff'ffffu) > 0x7f80'0000u ? 0x7fffu : rounded);
  }
};

template <class Half>
bool isNan(uint16_t bits) {
  return (bits & 0x7fff) > Half::kExponent;
}

/// Subnormals become zero of the same sign (.ftz).
template <class Half>
uint16_t flush(uint16_t bits) {
  return (bits & Half::kExponent) == 0 ? bits & 0x8000 : bits;
}

}  // namespace shiftconv::emulator::isa
