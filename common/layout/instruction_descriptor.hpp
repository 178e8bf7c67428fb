// The 32-bit instruction descriptor of tcgen05.mma (PTX ISA 9.0, tables 42 and 43).
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

/// kind::mxf8f6f4, e4m3 operands, K-major, ue8m0 scales, m = 128. `scaleByte`: which byte of a Tensor Memory cell holds the
/// scales of this instruction's 32 elements, 0..3, the same for both operands.
SHIFTCONV_HOST_DEVICE constexpr uint32_t instructionDescriptorScaledE4m3(uint32_t n, uint32_t scaleByte) {
  constexpr uint32_t kUe8m0 = 1u << 23, kM128 = 1u << 27;
  return (scaleByte << 4) | ((n >> 3) << 17) | kUe8m0 | kM128 | (scaleByte << 29);
}

}  // namespace shiftconv::layout
