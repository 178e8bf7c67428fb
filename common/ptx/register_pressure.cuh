// What the compiler shall work out where it is needed, instead of keeping it in a register all along.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

/// `value`, of which the compiler knows nothing: what follows from it is neither moved out of the loop that this stands in nor
/// shared with what followed from an earlier call.
__device__ __forceinline__ int32_t workedOutHere(int32_t value) {
  asm volatile("" : "+r"(value));
  return value;
}

}  // namespace shiftconv::ptx
