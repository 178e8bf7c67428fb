// A filter in shared memory, as the planners of convolutions describe it to their kernels.
#pragma once

#include <cstdint>

namespace shiftconv::gemm::sm100 {

/// [K][taps][channels] in global memory. A stage has 128 bytes of channels of a tap, of as many output channels as a CTA loads;
/// their boxes are a chunk, a tap and these output channels.
struct FilterParams {
  bool resident = false;      ///< all taps of the pass stay; else a ring of stages that they pass through
  int32_t stages = 0;         ///< of the ring, or all of the pass
  uint32_t stageBytes = 0;    ///< in one CTA
  uint32_t countedBytes = 0;  ///< of a stage, by the barrier that its load counts towards
  int32_t chunkElements = 0;  ///< of a chunk, as the tensor map counts
  int32_t taps = 0;           ///< R * S, of a depth tap
  int32_t shareRows = 0;      ///< output channels that a CTA of a pair loads
};

}  // namespace shiftconv::gemm::sm100
