// How long L2 keeps the lines of a copy (PTX ISA 9.7.9.18, createpolicy). Hints: results do not depend on them. evict_normal is not
// the same as no hint: tensor copies that share lines of 128 bytes took up to 1.4 times as long with it (H200; why is not known).
// So what is to stay as long as others has no hint.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// Gone before all others: what nobody reads again.
__device__ __forceinline__ uint64_t evictFirst() {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

}  // namespace shiftconv::ptx
