// Nearest-neighbour upsampling of rows of bytes: pixels, or their scale factors. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/layout/fast_divisor.hpp"

namespace shiftconv::kernels::repetition {

inline constexpr int32_t kThreads = 256;  ///< of a CTA; a thread writes one vector

/// One axis of the destination.
struct Axis {
  layout::FastDivisor extent;    ///< of the destination
  layout::FastDivisor upsample;  ///< how often a row of the source stands in it
  int32_t storedExtent = 1;      ///< of the source
};

struct Params {
  const void* source = nullptr;
  void* destination = nullptr;  ///< dense
  uint32_t count = 0;           ///< of vectors
  int32_t vectorBytes = 1;      ///< 16, 8, 4, 2 or 1
  layout::FastDivisor rowVectors;
  Axis depth, height, width;
  int64_t pitchBytes = 0;  ///< from row to row of the source
};

}  // namespace shiftconv::kernels::repetition
