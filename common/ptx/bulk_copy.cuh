// Tensor-map copies from global to shared memory (PTX ISA 9.7.9.25.5). One executing thread issues one copy.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

__device__ __forceinline__ void prefetchTensorMap(const void* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<uint64_t>(map)) : "memory");
}

/// Loads the box at (x0, x1), innermost coordinate first, to `destination` (128-byte aligned; 1024 for 128-byte swizzle).
/// Elements outside the tensor, negative coordinates included, become zero. The whole box counts towards `barrier`.
__device__ __forceinline__ void loadTile2d(uint32_t destination, const void* map, int32_t x0, int32_t x1, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(destination),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(barrier)
      : "memory");
}

__device__ __forceinline__ void loadTile3d(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2,
                                           uint32_t barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(
                   destination),
               "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(x2), "r"(barrier)
               : "memory");
}

}  // namespace shiftconv::ptx
