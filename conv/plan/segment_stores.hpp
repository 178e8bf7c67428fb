// What it costs to store outputs from registers where their rows cannot leave in whole segments.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "conv/plan/rates.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Clocks of a multiprocessor for `outputs` outputs of 8 or 16 bits, of which each lane has 8 neighbouring channels of a pixel:
/// stores of a warp whose lanes have 8 or 16 bytes each, in pieces of what all rows are aligned to. 0 where a piece is the whole of
/// them.
inline double segmentStoreClocks(const Problem& p, const Rates& rates, double outputs) {
  constexpr int64_t kSegment = 8, kLanes = 32, kMostPiece = 4;  // bytes, where a segment is cut at all
  const int64_t bits = bitsOf(p.outputType), segment = kSegment * bits / 8;
  const int64_t aligned = std::gcd(std::gcd(p.k, p.outputPitch()) * bits / 8, segment);
  if ((bits != 8 && bits != 16) || aligned == segment) return 0;
  return outputs / (kSegment * kLanes) * static_cast<double>(segment / std::min(aligned, kMostPiece)) *
         rates.tornStoreClocks.perClock;
}

}  // namespace shiftconv::plan
