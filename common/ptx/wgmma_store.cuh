// Registers of D of wgmma to shared memory, as what they are: of f32 sums that are stored as integers only, the compiler makes
// integers, and then copies D between wgmmaFence and the next wgmma.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

__device__ __forceinline__ void wgmmaStoreShared(uint32_t address, float sum) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(sum) : "memory");
}
__device__ __forceinline__ void wgmmaStoreShared(uint32_t address, int32_t sum) {
  asm volatile("st.shared.s32 [%0], %1;" ::"r"(address), "r"(sum) : "memory");
}
/// Two of them, 8-byte aligned.
__device__ __forceinline__ void wgmmaStoreShared8Bytes(uint32_t address, const float* two) {
  asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(two[0]), "f"(two[1]) : "memory");
}
__device__ __forceinline__ void wgmmaStoreShared8Bytes(uint32_t address, const int32_t* two) {
  asm volatile("st.shared.v2.s32 [%0], {%1, %2};" ::"r"(address), "r"(two[0]), "r"(two[1]) : "memory");
}

}  // namespace shiftconv::ptx
