// How long L2 keeps the lines of a copy (PTX ISA 9.7.9.18, createpolicy). Hints: results do not depend on them. A tensor copy with
// any hint, evict_normal too, brings less of a line than one without: with it, layers took up to 1.4 times as long where copies
// share lines (H200). So what is to stay as long as others has no hint.
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
