// The shared memory of a CTA.
#pragma once

#include <cstdint>

#include "common/layout/shared_matrix_descriptor.hpp"
#include "common/ptx/warp.cuh"

namespace shiftconv::gemm {

/// Dynamic shared memory from its first address that suits 128-byte-swizzled tiles. The runtime promises less, so a launch asks for
/// kSharedAlignmentSlack bytes more than `Shared` and what follows it need.
template <class Shared>
__device__ __forceinline__ Shared& alignedShared(uint8_t* dynamicShared) {
  constexpr uint32_t kAtom = layout::kSwizzle128AtomBytes;
  return *reinterpret_cast<Shared*>(dynamicShared + ((kAtom - (ptx::sharedAddress(dynamicShared) & (kAtom - 1))) & (kAtom - 1)));
}
inline constexpr uint32_t kSharedAlignmentSlack = layout::kSwizzle128AtomBytes;

}  // namespace shiftconv::gemm
