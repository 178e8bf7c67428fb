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
/// Four of them, 16-byte aligned.
__device__ __forceinline__ void wgmmaStoreShared16Bytes(uint32_t address, const float* four) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(four[0]), "f"(four[1]), "f"(four[2]), "f"(four[3])
               : "memory");
}
__device__ __forceinline__ void wgmmaStoreShared16Bytes(uint32_t address, const int32_t* four) {
  asm volatile("st.shared.v4.s32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(four[0]), "r"(four[1]), "r"(four[2]), "r"(four[3])
               : "memory");
}

}  // namespace shiftconv::ptx
