// How long L2 keeps the lines of a copy (PTX ISA 9.7.9.18, createpolicy). Hints: results do not depend on them.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// As long as lines of copies without a hint.
__device__ __forceinline__ uint64_t evictNormally() {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}
/// Gone before all others: what nobody reads again.
__device__ __forceinline__ uint64_t evictFirst() {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

}  // namespace shiftconv::ptx
