// Four registers of D of wgmma to shared memory at once. As what they are: see wgmmaStoreShared in common/ptx/wgmma.cuh.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// 16-byte aligned.
__device__ __forceinline__ void wgmmaStoreShared16Bytes(uint32_t address, const float* four) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(four[0]), "f"(four[1]), "f"(four[2]), "f"(four[3])
               : "memory");
}
__device__ __forceinline__ void wgmmaStoreShared16Bytes(uint32_t address, const int32_t* four) {
  asm volatile("st.shared.v4.s32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(four[0]), "r"(four[1]), "r"(four[2]), "r"(four[3])
               : "memory");
}

}  // namespace shiftconv::ptx
