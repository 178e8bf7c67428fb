// Warp-level instructions and the addresses of shared memory.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// 32-bit shared-window address of a shared-memory object.
__device__ __forceinline__ uint32_t sharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

/// True in exactly one lane of the (fully active) warp. ptxas recognises the pattern and issues tcgen05 and TMA instructions
/// under it without a per-lane loop (PTX ISA 9.7.13.14 elect.sync).
__device__ __forceinline__ bool electOne() {
  uint32_t elected;
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      "elect.sync _|p, 0xffffffff;\n\t"
      "selp.u32 %0, 1, 0, p;\n\t"
      "}"
      : "=r"(elected));
  return elected != 0;
}

}  // namespace shiftconv::ptx
