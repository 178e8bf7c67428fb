// Vectors of up to 16 bytes whose size the launch knows.
#pragma once

#include <cstdint>

namespace shiftconv::kernels {

/// body(zeros) with a vector of `bytes`: 16, 8, 4, 2 or 1.
template <class Body>
__device__ __forceinline__ void withVector(int32_t bytes, Body&& body) {
  switch (bytes) {
    case 16:
      body(uint4{});
      break;
    case 8:
      body(uint2{});
      break;
    case 4:
      body(uint32_t{});
      break;
    case 2:
      body(uint16_t{});
      break;
    default:
      body(uint8_t{});
  }
}

/// Both addresses are multiples of `bytes`.
__device__ __forceinline__ void copyVector(uint8_t* to, const uint8_t* from, int32_t bytes) {
  withVector(bytes, [&](auto zeros) {
    using Vector = decltype(zeros);
    *reinterpret_cast<Vector*>(to) = *reinterpret_cast<const Vector*>(from);
  });
}
__device__ __forceinline__ void zeroVector(uint8_t* to, int32_t bytes) {
  withVector(bytes, [&](auto zeros) { *reinterpret_cast<decltype(zeros)*>(to) = zeros; });
}

}  // namespace shiftconv::kernels
