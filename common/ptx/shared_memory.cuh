// Shared-memory accesses that need PTX because their address is a 32-bit window address.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// Loads 16 bytes (16-byte aligned) from shared memory.
__device__ __forceinline__ void loadShared16Bytes(uint32_t address, uint32_t& a, uint32_t& b, uint32_t& c, uint32_t& d) {
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(address) : "memory");
}

/// Loads 8 bytes (8-byte aligned) from shared memory.
__device__ __forceinline__ void loadShared8Bytes(uint32_t address, uint32_t& a, uint32_t& b) {
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(address) : "memory");
}

/// Loads 2 bytes (2-byte aligned) from shared memory.
__device__ __forceinline__ uint32_t loadShared2Bytes(uint32_t address) {
  uint16_t value;
  asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(address) : "memory");
  return value;
}

/// Loads 4 bytes (4-byte aligned) from shared memory.
__device__ __forceinline__ uint32_t loadShared4Bytes(uint32_t address) {
  uint32_t value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

/// Stores 16 bytes (16-byte aligned) to shared memory.
__device__ __forceinline__ void storeShared16Bytes(uint32_t address, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

/// Stores 8 bytes (8-byte aligned) to shared memory.
__device__ __forceinline__ void storeShared8Bytes(uint32_t address, uint32_t a, uint32_t b) {
  asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(a), "r"(b) : "memory");
}
/// Stores 4 bytes (4-byte aligned) to shared memory.
__device__ __forceinline__ void storeShared4Bytes(uint32_t address, uint32_t value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

/// Stores 2 bytes (2-byte aligned) to shared memory.
__device__ __forceinline__ void storeShared2Bytes(uint32_t address, uint16_t value) {
  asm volatile("st.shared.u16 [%0], %1;" ::"r"(address), "h"(value) : "memory");
}

/// Copies 16 bytes (16-byte aligned) from global to shared memory, asynchronously (PTX ISA 9.7.9.25.3).
__device__ __forceinline__ void copyAsync16Bytes(uint32_t destination, const void* source) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(destination), "l"(__cvta_generic_to_global(source)) : "memory");
}
/// The same of the first `bytes` bytes, and zeros for the others.
__device__ __forceinline__ void copyAsync16Bytes(uint32_t destination, const void* source, uint32_t bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(__cvta_generic_to_global(source)), "r"(bytes)
               : "memory");
}
/// Copies the first `bytes` of kBytes bytes (4, 8 or 16; as much aligned) from global to shared memory, asynchronously, and zeros
/// for the others.
template <int kBytes>
__device__ __forceinline__ void copyAsync(uint32_t destination, const void* source, uint32_t bytes) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "what cp.async copies (PTX ISA 9.7.9.25.3)");
  if constexpr (kBytes == 16) {
    copyAsync16Bytes(destination, source, bytes);
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(destination), "l"(__cvta_generic_to_global(source)),
                 "n"(kBytes), "r"(bytes)
                 : "memory");
  }
}
/// Closes the group of this thread's earlier copyAsync16Bytes.
__device__ __forceinline__ void copyAsyncCommitGroup() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Until at most `kPending` groups of this thread are incomplete.
template <int kPending>
__device__ __forceinline__ void copyAsyncWaitGroup() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace shiftconv::ptx
