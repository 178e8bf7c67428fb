// The tiles of output pixels that a kernel's CTAs go through, image after image.
#pragma once

#include <cstdint>

#include "common/layout/ceil_divide.hpp"
#include "common/layout/fast_divisor.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// How many tiles of `rows` x `columns` outputs an image has, and where the filter begins, into parameters with those fields.
template <class Params>
void setOutputTiles(const Problem& p, int64_t rows, int64_t columns, Params& params) {
  const int64_t columnTiles = ceilDivide(p.q(), columns), rowTiles = ceilDivide(p.p(), rows);
  params.columnTiles = layout::FastDivisor(static_cast<uint32_t>(columnTiles));
  params.rowTiles = layout::FastDivisor(static_cast<uint32_t>(rowTiles));
  params.tiles = static_cast<int32_t>(p.n * columnTiles * rowTiles);
  params.padTop = static_cast<int32_t>(p.padTop);
  params.padLeft = static_cast<int32_t>(p.padLeft);
}

}  // namespace shiftconv::plan
