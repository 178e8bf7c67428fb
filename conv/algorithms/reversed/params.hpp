// Taps of a filter in reverse order: rows of channels, or of their scale factors. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/layout/fast_divisor.hpp"

namespace shiftconv::kernels::reversal {

inline constexpr int32_t kThreads = 256;  ///< of a CTA; a thread copies one vector

/// Row k * taps + tap of the destination is row k * taps + taps - 1 - tap of the source.
struct Params {
  const uint8_t* source = nullptr;
  uint8_t* destination = nullptr;  ///< laid out as the source
  uint32_t rows = 0;               ///< K * taps; rows after them are padding, and copied as they are
  uint32_t count = 0;              ///< of vectors, those of padding included
  int32_t vectorBytes = 1;         ///< 16, 8, 4, 2 or 1; in interleaved order 4
  int32_t isInterleaved =
      0;  ///< 1: factors in tiles of 128 rows x 4 blocks (common/layout/scale_factor_layout.hpp), otherwise rows
  layout::FastDivisor rowVectors, taps;
};

}  // namespace shiftconv::kernels::reversal
