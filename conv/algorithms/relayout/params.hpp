// Matrices to transpose: tensors between NCHW and NHWC. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/layout/fast_divisor.hpp"

namespace shiftconv::kernels::transposition {

inline constexpr int32_t kTile = 32;      ///< rows and columns of a CTA's tile
inline constexpr int32_t kThreads = 256;  ///< of a CTA: 8 rows of a tile at a time

/// [images][rows][columns] becomes [images][columns][rows].
struct Params {
  const void* source = nullptr;
  void* destination = nullptr;
  uint32_t rows = 0, columns = 0;
  uint32_t elementBytes = 0;  ///< 1, 2 or 4
  layout::FastDivisor imageTiles, columnTiles;
};

}  // namespace shiftconv::kernels::transposition
