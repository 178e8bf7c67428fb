// Loads from global memory that a predicate guards: zeros, and no access, where it does not hold. Written as one instruction each,
// because the compiler makes branches of the same in C++, behind which loads no longer overlap.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// Aligned to their size.
#define SHIFTCONV_LOAD_OR_ZERO(NAME, TYPE, ZEROED, LOADED, CONSTRAINT)      \
  __device__ __forceinline__ uint32_t NAME(const void* from, bool exists) { \
    TYPE value;                                                             \
    asm volatile(                                                           \
        "{\n\t"                                                             \
        ".reg .pred exists;\n\t"                                            \
        "setp.ne.u32 exists, %2, 0;\n\t"                                    \
        "mov." ZEROED                                                       \
        " %0, 0;\n\t"                                                       \
        "@exists ld.global." LOADED                                         \
        " %0, [%1];\n\t"                                                    \
        "}"                                                                 \
        : "=" CONSTRAINT(value)                                             \
        : "l"(from), "r"(static_cast<uint32_t>(exists))                     \
        : "memory");                                                        \
    return value;                                                           \
  }
SHIFTCONV_LOAD_OR_ZERO(load1ByteOrZero, uint32_t, "u32", "u8", "r")
SHIFTCONV_LOAD_OR_ZERO(load2BytesOrZero, uint16_t, "u16", "u16", "h")
SHIFTCONV_LOAD_OR_ZERO(load4BytesOrZero, uint32_t, "u32", "u32", "r")
#undef SHIFTCONV_LOAD_OR_ZERO

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

/// 16-byte aligned; the first word is x.
__device__ __forceinline__ uint4 load16BytesOrZero(const void* from, bool exists) {
  uint4 value;
  asm volatile(
      "{\n\t"
      ".reg .pred exists;\n\t"
      "setp.ne.u32 exists, %5, 0;\n\t"
      "mov.u32 %0, 0;\n\t"
      "mov.u32 %1, 0;\n\t"
      "mov.u32 %2, 0;\n\t"
      "mov.u32 %3, 0;\n\t"
      "@exists ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n\t"
      "}"
      : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
      : "l"(from), "r"(static_cast<uint32_t>(exists))
      : "memory");
  return value;
}

}  // namespace shiftconv::ptx
