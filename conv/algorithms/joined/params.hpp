// What `joined` makes of a filter: for each output of a joined pixel all filters, of which each tap lies where that output meets
// it, between zeros. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/layout/fast_divisor.hpp"

namespace shiftconv::kernels::joining {

inline constexpr int32_t kThreads = 256;  ///< of a CTA; a thread writes one vector

/// What a launch writes, one of kMostParts: the filter, the bias, the channel scales. In vectors, dense: source
/// [filters][slices][sourceTaps][rowVectors], destination [outputs][filters][slices][taps][pixels][rowVectors]. A bias is one
/// filter of one slice and tap for outputs that are 0 columns apart.
struct Part {
  const uint8_t* source = nullptr;
  uint8_t* destination = nullptr;
  uint32_t count = 0;        ///< of vectors in the destination
  int32_t vectorBytes = 16;  ///< 16, 8, 4, 2 or 1
  layout::FastDivisor rowVectors, pixels, taps, slices, filters;
  uint32_t sourceTaps = 1;
  layout::FastDivisor dilation;  ///< columns between taps of the source
  int32_t firstColumn = 0;       ///< of the destination's first pixel, from the column of the source's first tap under output 0
  int32_t tapColumns = 0;        ///< from one tap of the destination to the next
  int32_t outputColumns = 0;     ///< from one output to the next
};

inline constexpr int32_t kMostParts = 3;
/// blockIdx.y is the part.
struct Params {
  Part parts[kMostParts];
};

}  // namespace shiftconv::kernels::joining
