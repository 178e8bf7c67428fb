// Positions in rings of stages.
#pragma once

#include <cstdint>

namespace shiftconv::gemm {

/// A position in a ring of stages, with the parity of the present round: a consumer waits for the phase of that parity, a producer
/// for the other one, which on a fresh barrier counts as complete (PTX ISA 9.7.13.15).
struct RingPosition {
  int32_t index = 0;
  uint32_t parity = 0;

  __device__ void advance(int32_t stages) {
    if (++index == stages) {
      index = 0;
      parity ^= 1;
    }
  }
};

}  // namespace shiftconv::gemm
