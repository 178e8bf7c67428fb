// A copy of up to 16 bytes whose size the launch knows.
#pragma once

#include <cstdint>

namespace shiftconv::kernels {

/// `bytes`: 16, 8, 4, 2 or 1, of which both addresses are multiples.
__device__ __forceinline__ void copyVector(uint8_t* to, const uint8_t* from, int32_t bytes) {
  switch (bytes) {
    case 16:
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
      break;
    case 8:
      *reinterpret_cast<uint2*>(to) = *reinterpret_cast<const uint2*>(from);
      break;
    case 4:
      *reinterpret_cast<uint32_t*>(to) = *reinterpret_cast<const uint32_t*>(from);
      break;
    case 2:
      *reinterpret_cast<uint16_t*>(to) = *reinterpret_cast<const uint16_t*>(from);
      break;
    default:
      *to = *from;
  }
}

/// Zeros instead.
__device__ __forceinline__ void zeroVector(uint8_t* to, int32_t bytes) {
  switch (bytes) {
    case 16:
      *reinterpret_cast<uint4*>(to) = {};
      break;
    case 8:
      *reinterpret_cast<uint2*>(to) = {};
      break;
    case 4:
      *reinterpret_cast<uint32_t*>(to) = 0;
      break;
    case 2:
      *reinterpret_cast<uint16_t*>(to) = 0;
      break;
    default:
      *to = 0;
  }
}

}  // namespace shiftconv::kernels
