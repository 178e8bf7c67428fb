// The number types that tensors, scale factors and accumulators consist of: names, widths and limits, for host and device alike.
// Codecs are in codec.hpp.
#pragma once

#include <cstdint>

#include "common/host_device.hpp"

namespace shiftconv::numerics {

enum class NumberType : uint8_t {
  F32,
  F16,
  BF16,
  TF32,   ///< an f32 word of which tensor cores ignore the 13 low bits
  E4M3,   ///< OCP OFP8 E4M3: no infinity, one NaN code per sign
  E5M2,   ///< OCP OFP8 E5M2: infinity and NaN as in IEEE 754
  E3M2,   ///< OCP MX FP6: neither infinity nor NaN
  E2M3,   ///< OCP MX FP6: neither infinity nor NaN
  E2M1,   ///< OCP MX FP4: neither infinity nor NaN
  UE8M0,  ///< OCP MX E8M0: 2^(code - 127); 0xff is NaN; neither zero nor sign
  UE4M3,  ///< nvfp4's scale factor: e4m3 whose sign bit is ignored
  S8,
  U8,
  S32,
};
inline constexpr int kNumberTypes = 14;

/// Bits of one element in a densely packed tensor.
SHIFTCONV_HOST_DEVICE constexpr int storageBits(NumberType type) {
  switch (type) {
    case NumberType::F32:
    case NumberType::TF32:
    case NumberType::S32:
      return 32;
    case NumberType::F16:
    case NumberType::BF16:
      return 16;
    case NumberType::E3M2:
    case NumberType::E2M3:
      return 6;
    case NumberType::E2M1:
      return 4;
    default:
      return 8;
  }
}

/// Bytes of `count` densely packed elements.
SHIFTCONV_HOST_DEVICE constexpr int64_t packedBytes(NumberType type, int64_t count) { return (count * storageBits(type) + 7) / 8; }

/// Exponent of the largest finite value, floor(log2(max)): emax of OCP MX 1.0, table 1, for the element types of block formats.
SHIFTCONV_HOST_DEVICE constexpr int largestExponent(NumberType type) {
  switch (type) {
    case NumberType::E4M3:
    case NumberType::UE4M3:
      return 8;
    case NumberType::E5M2:
    case NumberType::F16:
      return 15;
    case NumberType::E3M2:
      return 4;
    case NumberType::E2M3:
    case NumberType::E2M1:
      return 2;
    case NumberType::S8:
      return 6;
    case NumberType::U8:
      return 7;
    case NumberType::S32:
      return 30;
    default:
      return 127;
  }
}

/// Largest finite value.
SHIFTCONV_HOST_DEVICE constexpr double largestValue(NumberType type) {
  switch (type) {
    case NumberType::F32:
      return 0x1.fffffep127;
    case NumberType::TF32:
      return 0x1.ffcp127;
    case NumberType::BF16:
      return 0x1.fep127;
    case NumberType::F16:
      return 65504;
    case NumberType::E5M2:
      return 57344;
    case NumberType::E4M3:
    case NumberType::UE4M3:
      return 448;
    case NumberType::E3M2:
      return 28;
    case NumberType::E2M3:
      return 7.5;
    case NumberType::E2M1:
      return 6;
    case NumberType::UE8M0:
      return 0x1p127;
    case NumberType::S8:
      return 127;
    case NumberType::U8:
      return 255;
    case NumberType::S32:
      return 2147483647;
  }
  return 0;
}

}  // namespace shiftconv::numerics
