// binary16 and bfloat16 as the host sees them: 16-bit patterns, decoded exactly and encoded with round to nearest even.
#pragma once

#include <bit>
#include <cstdint>

namespace shiftconv::numerics {

/// Both formats encode every NaN as this pattern, as cvt.rn.f16.f32 and cvt.rn.bf16.f32 do (PTX ISA, cvt).
inline constexpr uint16_t kCanonicalNan16 = 0x7fff;

/// Exact; subnormals, infinities and NaN included.
constexpr float decodeF16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}

/// Round to nearest, ties to even; magnitudes from 65520 on become infinity.
constexpr uint16_t encodeF16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return kCanonicalNan16;
  if (magnitude >= std::bit_cast<uint32_t>(65520.0f)) return sign | 0x7c00;
  if (magnitude >= std::bit_cast<uint32_t>(0x1p-14f)) {
    const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
    return static_cast<uint16_t>(sign | (rounded - (112u << 23)) >> 13);
  }
  // The quantum of subnormals, 2^-24, is the ulp of 0.5 in f32, so the addition rounds to it.
  const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f)));
}

/// Exact.
constexpr float decodeBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

/// Round to nearest, ties to even.
constexpr uint16_t encodeBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return kCanonicalNan16;
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/// True for subnormal patterns; zero is not one.
constexpr bool isSubnormalF16(uint16_t bits) { return (bits & 0x7c00u) == 0 && (bits & 0x3ffu) != 0; }
constexpr bool isSubnormalBf16(uint16_t bits) { return (bits & 0x7f80u) == 0 && (bits & 0x7fu) != 0; }

}  // namespace shiftconv::numerics
