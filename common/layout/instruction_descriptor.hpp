// The 32-bit instruction descriptor of tcgen05.mma for the kinds without block scaling (PTX ISA 9.0, table 42).
#pragma once

#include <cstdint>

#include "common/layout/host_device.hpp"

namespace shiftconv::layout {

enum class MmaInput16 : uint32_t { F16 = 0, BF16 = 1 };
enum class MmaAccumulator : uint32_t { F16 = 0, F32 = 1, S32 = 2 };

/// kind::f16, both operands K-major, dense, nothing negated. `m`: 64 or 128; `n`: a multiple of 8 (16 for m = 128), at most 256.
SHIFTCONV_HOST_DEVICE constexpr uint32_t instructionDescriptorF16(MmaInput16 input, MmaAccumulator accumulator, uint32_t m,
                                                                  uint32_t n) {
  return (static_cast<uint32_t>(accumulator) << 4) | (static_cast<uint32_t>(input) << 7) | (static_cast<uint32_t>(input) << 10) |
         ((n >> 3) << 17) | ((m >> 4) << 24);
}

}  // namespace shiftconv::layout
