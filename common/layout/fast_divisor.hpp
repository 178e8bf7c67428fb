// Division of non-negative 31-bit numbers by a constant of the launch, as one multiply and one shift.
#pragma once

#include <bit>
#include <cstdint>

#include "common/host_device.hpp"

namespace shiftconv::layout {

/// x / d for 0 <= x < 2^31 and 1 <= d < 2^31 (Granlund and Montgomery, "Division by invariant integers", PLDI 1994): with
/// l = ceil(log2 d), floor(x / d) = (x * ceil(2^(31+l) / d)) >> (31 + l), and the multiplier fits in 32 bits.
struct FastDivisor {
  uint32_t divisor = 1;
  uint32_t multiplier = 0;
  uint32_t shift = 0;  ///< l - 1: the high half of the product is already shifted by 32

  FastDivisor() = default;
  explicit constexpr FastDivisor(uint32_t d) : divisor(d) {
    if (d == 1) return;
    const uint32_t log2 = static_cast<uint32_t>(std::bit_width(d - 1));
    multiplier = static_cast<uint32_t>(((uint64_t{1} << (31 + log2)) + d - 1) / d);
    shift = log2 - 1;
  }

  SHIFTCONV_HOST_DEVICE uint32_t quotient(uint32_t x) const {
    if (divisor == 1) return x;
    return static_cast<uint32_t>((uint64_t{x} * multiplier) >> 32) >> shift;
  }
};

}  // namespace shiftconv::layout
