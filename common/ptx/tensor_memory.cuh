// Tensor Memory: allocation, loads and stores by threads (PTX ISA 9.7.16.7 and 9.7.16.8).
// A Tensor Memory address is (lane << 16) | column, 32-bit columns.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// Whole warp. Writes the address of `columns` (power of two, 32..512) fresh columns to shared memory.
__device__ __forceinline__ void tensorMemoryAllocate(uint32_t sharedResult, uint32_t columns) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(sharedResult), "r"(columns) : "memory");
}
/// Whole warp. No further allocation by this CTA, so that a waiting CTA may have the rest.
__device__ __forceinline__ void tensorMemoryRelinquish() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
}
/// Whole warp.
__device__ __forceinline__ void tensorMemoryFree(uint32_t address, uint32_t columns) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
}

/// Whole warp; lane i of warp w reads 16 columns of Tensor Memory lane 32 * (w % 4) + i. Asynchronous: tensorLoadWait() first.
__device__ __forceinline__ void tensorLoad16(uint32_t address, uint32_t (&v)[16]) {
  asm volatile(
      "tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, [%16];"
      : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7]), "=r"(v[8]), "=r"(v[9]),
        "=r"(v[10]), "=r"(v[11]), "=r"(v[12]), "=r"(v[13]), "=r"(v[14]), "=r"(v[15])
      : "r"(address));
}
/// Completes this thread's tensor loads. The registers are passed through so that no use moves above the wait.
__device__ __forceinline__ void tensorLoadWait(uint32_t (&v)[16]) {
  asm volatile("tcgen05.wait::ld.sync.aligned;"
               : "+r"(v[0]), "+r"(v[1]), "+r"(v[2]), "+r"(v[3]), "+r"(v[4]), "+r"(v[5]), "+r"(v[6]), "+r"(v[7]), "+r"(v[8]),
                 "+r"(v[9]), "+r"(v[10]), "+r"(v[11]), "+r"(v[12]), "+r"(v[13]), "+r"(v[14]), "+r"(v[15])::"memory");
}

/// Whole warp; lane i of warp w writes 8 columns of Tensor Memory lane 32 * (w % 4) + i. Asynchronous.
__device__ __forceinline__ void tensorStore8(uint32_t address, const uint32_t (&v)[8]) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"r"(address), "r"(v[0]), "r"(v[1]),
               "r"(v[2]), "r"(v[3]), "r"(v[4]), "r"(v[5]), "r"(v[6]), "r"(v[7])
               : "memory");
}
/// As tensorStore8 with 16 columns that all receive `value`.
__device__ __forceinline__ void tensorFill16(uint32_t address, uint32_t value) {
  asm volatile(
      "tcgen05.st.sync.aligned.32x32b.x16.b32 [%0], {%1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1, %1};" ::"r"(
          address),
      "r"(value)
      : "memory");
}
/// Completes this thread's tensor stores.
__device__ __forceinline__ void tensorStoreWait() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }

}  // namespace shiftconv::ptx
