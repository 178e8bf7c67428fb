// Shared-memory accesses that need PTX because their address is a 32-bit window address.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// Loads 16 bytes (16-byte aligned) from shared memory.
__device__ __forceinline__ void loadShared16Bytes(uint32_t address, uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(address) : "memory");
}

}  // namespace shiftconv::ptx
