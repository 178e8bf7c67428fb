// Where a tile of halo lies in the output.
#pragma once

#include <cstdint>

#include "conv/algorithms/halo/params.hpp"

namespace shiftconv::kernels::halo {

struct TileOrigin {
  int32_t column, row, image, channel;
};

/// Row of the epilogue of a position of a tile; -1 where it is no output pixel.
__device__ __forceinline__ int32_t outputPixel(const Params& p, const TileOrigin& origin, uint32_t position) {
  const FullEpilogue& e = p.full;
  const uint32_t line = e.pitch.quotient(position), x = position - line * e.pitch.divisor;
  const uint32_t y = e.images.quotient(line), i = line - y * e.images.divisor;
  const int32_t column = origin.column + static_cast<int32_t>(x), row = origin.row + static_cast<int32_t>(y),
                image = origin.image + static_cast<int32_t>(i);
  const bool isInTile = static_cast<int32_t>(x) < p.tileColumns && static_cast<int32_t>(y) < p.tileRows;
  if (!isInTile || column >= e.outputColumns || row >= e.outputRows || image >= e.outputImages) return -1;
  return (image * e.outputRows + row) * e.outputColumns + column;
}

}  // namespace shiftconv::kernels::halo
