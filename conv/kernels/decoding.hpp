// How elements that a kernel does not multiply as they are become floating-point numbers that it does. Shared by planner and device
// code.
#pragma once

#include <cstdint>

namespace shiftconv::kernels {

/// Of the input or of the filter.
struct Decoding {
  bool isInteger = false, isE5m2 = false;  ///< of 8 bits; else e4m3
  uint32_t sign = 0;                       ///< of integers: 0x80 where bit 7 counts for -128
  uint32_t kept = 0xffffffffu;             ///< of words: the bits that tf32 has, or all
};

}  // namespace shiftconv::kernels
