// What `merged` makes of a filter: several groups are one, and each tap has the channels of its own group between zeros. Shared by
// planner and device code.
#pragma once

#include <cstdint>

#include "common/layout/fast_divisor.hpp"

namespace shiftconv::kernels::merging {

inline constexpr int32_t kThreads = 256;  ///< of a CTA; a thread writes one vector

/// In vectors, dense: source [K][taps][rowVectors], destination [K][taps][groups][rowVectors].
struct Params {
  const uint8_t* source = nullptr;
  uint8_t* destination = nullptr;
  uint32_t count = 0;        ///< of vectors in the destination
  int32_t vectorBytes = 16;  ///< 16, 8, 4, 2 or 1
  layout::FastDivisor rowVectors;
  layout::FastDivisor groups;   ///< that become one
  layout::FastDivisor taps;     ///< T * R * S
  layout::FastDivisor filters;  ///< of a group: K / groups of the problem
};

}  // namespace shiftconv::kernels::merging
