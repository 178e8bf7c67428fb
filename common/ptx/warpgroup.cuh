// Registers of a warpgroup and its index (PTX ISA 9.7.19.5 setmaxnreg).
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// threadIdx.x / 128, in a form that the compiler knows to be the same in all lanes. Without it ptxas serialises wgmma with A in
/// registers (observed: warning C7520 of CUDA 13.0).
__device__ __forceinline__ uint32_t warpgroupIndex() { return __shfl_sync(0xffffffffu, threadIdx.x / 128, 0); }

/// Every thread of a warpgroup. The kernel needs a register bound at launch; counts are multiples of 8 from 24 to 256.
template <int kRegisters>
__device__ __forceinline__ void releaseRegistersDownTo() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
/// Waits until the CTA's pool has the registers.
template <int kRegisters>
__device__ __forceinline__ void claimRegistersUpTo() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace shiftconv::ptx
