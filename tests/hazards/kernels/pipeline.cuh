// What the pipelined test kernels share.
#pragma once

#include <cstdint>

#include "common/layout/shared_matrix_descriptor.hpp"
#include "common/ptx/warp.cuh"

namespace shiftconv::tests {

/// A position in a ring of stages, with the parity that its barrier's present phase has.
template <int32_t kStages>
struct Ring {
  int32_t index = 0;
  uint32_t parity = 0;
  __device__ void advance() {
    if (++index == kStages) {
      index = 0;
      parity ^= 1;
    }
  }
};

__device__ __forceinline__ uint32_t at(const uint64_t& barrier) { return ptx::sharedAddress(&barrier); }

/// Dynamic shared memory from its first address that suits 128-byte-swizzled tiles.
template <class Shared>
__device__ __forceinline__ Shared& alignedShared(uint8_t* dynamicShared) {
  constexpr uint32_t kAtom = layout::kSwizzle128AtomBytes;
  return *reinterpret_cast<Shared*>(dynamicShared + ((kAtom - (ptx::sharedAddress(dynamicShared) & (kAtom - 1))) & (kAtom - 1)));
}

}  // namespace shiftconv::tests
