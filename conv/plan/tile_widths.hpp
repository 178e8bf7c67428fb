// Widths of tiles to compare, in a time that does not depend on how much they cover.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/layout/ceil_divide.hpp"

namespace shiftconv::plan {

/// The widest first: for each number of passes that has one of its own, the least multiple of `step` that covers `extent` in as
/// many passes, if it is at most `most`.
inline std::vector<int64_t> tileWidths(int64_t extent, int64_t step, int64_t most) {
  std::vector<int64_t> widths;
  for (int64_t width = std::min(most / step * step, roundUp(extent, step)); width > 0; width -= step)
    if (roundUp(ceilDivide(extent, ceilDivide(extent, width)), step) == width) widths.push_back(width);
  return widths;
}

}  // namespace shiftconv::plan
