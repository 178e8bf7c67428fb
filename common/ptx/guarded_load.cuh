// Loads from global memory that a predicate guards: zeros, and no access, where it does not hold. Written as one instruction each,
// because the compiler makes branches of the same in C++, behind which loads no longer overlap.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

__device__ __forceinline__ uint32_t load1ByteOrZero(const void* from, bool exists) {
  uint32_t value;
  asm volatile(
      "{\n\t"
      ".reg .pred exists;\n\t"
      "setp.ne.u32 exists, %2, 0;\n\t"
      "mov.u32 %0, 0;\n\t"
      "@exists ld.global.u8 %0, [%1];\n\t"
      "}"
      : "=r"(value)
      : "l"(from), "r"(static_cast<uint32_t>(exists))
      : "memory");
  return value;
}

__device__ __forceinline__ uint32_t load2BytesOrZero(const void* from, bool exists) {
  uint16_t value;
  asm volatile(
      "{\n\t"
      ".reg .pred exists;\n\t"
      "setp.ne.u32 exists, %2, 0;\n\t"
      "mov.u16 %0, 0;\n\t"
      "@exists ld.global.u16 %0, [%1];\n\t"
      "}"
      : "=h"(value)
      : "l"(from), "r"(static_cast<uint32_t>(exists))
      : "memory");
  return value;
}

/// 4-byte aligned.
__device__ __forceinline__ uint32_t load4BytesOrZero(const void* from, bool exists) {
  uint32_t value;
  asm volatile(
      "{\n\t"
      ".reg .pred exists;\n\t"
      "setp.ne.u32 exists, %2, 0;\n\t"
      "mov.u32 %0, 0;\n\t"
      "@exists ld.global.u32 %0, [%1];\n\t"
      "}"
      : "=r"(value)
      : "l"(from), "r"(static_cast<uint32_t>(exists))
      : "memory");
  return value;
}

/// 8-byte aligned; the first word is x.
__device__ __forceinline__ uint2 load8BytesOrZero(const void* from, bool exists) {
  uint2 value;
  asm volatile(
      "{\n\t"
      ".reg .pred exists;\n\t"
      "setp.ne.u32 exists, %3, 0;\n\t"
      "mov.u32 %0, 0;\n\t"
      "mov.u32 %1, 0;\n\t"
      "@exists ld.global.v2.u32 {%0, %1}, [%2];\n\t"
      "}"
      : "=r"(value.x), "=r"(value.y)
      : "l"(from), "r"(static_cast<uint32_t>(exists))
      : "memory");
  return value;
}

}  // namespace shiftconv::ptx
