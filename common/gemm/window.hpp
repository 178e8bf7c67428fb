// A window that moves over pixels (gemm::Window), as kernels read it. Shared by planner and device code.
#pragma once

#include <cstdint>

namespace shiftconv::gemm {

/// One direction in which a window moves over pixels.
struct WindowAxis {
  int32_t extent = 1;     ///< pixels
  int32_t positions = 1;  ///< of the window
  int32_t taps = 1;
  int32_t first = 0;   ///< pixel of tap 0 at position 0; negative: outside
  int32_t stride = 1;  ///< pixels from position to position
  int32_t step = 1;    ///< pixels from tap to tap
};
/// Rows of A are positions of a window (gemm::Window), x fastest; K runs over its taps, x fastest, and in each over channels.
struct WindowParams {
  bool isUsed = false;    ///< else A is a matrix
  bool hasDepth = false;  ///< the map has five dimensions, else four
  int32_t images = 0;
  WindowAxis x, y, z;
};

}  // namespace shiftconv::gemm
