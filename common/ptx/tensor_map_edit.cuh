// Tensor maps that kernels change (PTX ISA 9.7.9.28 tensormap.replace, 9.7.13.16 tensormap.cp_fenceproxy): edit a copy in shared
// memory, publish it to global memory, acquire it there, use it.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// Changes the tensor's address in a map in shared memory (128-byte aligned).
__device__ __forceinline__ void replaceTensorAddress(uint32_t sharedMap, const void* address) {
  asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(sharedMap),
               "l"(__cvta_generic_to_global(address))
               : "memory");
}
/// Whole warp. Copies a map from shared to global memory, for threads and copy engines that acquire it there.
__device__ __forceinline__ void publishTensorMap(void* map, uint32_t sharedMap) {
  asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(
                   __cvta_generic_to_global(map)),
               "r"(sharedMap)
               : "memory");
}
/// Before this thread's first copy with a map that was published since it was last used.
__device__ __forceinline__ void acquireTensorMap(const void* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(reinterpret_cast<uint64_t>(map)) : "memory");
}

}  // namespace shiftconv::ptx
