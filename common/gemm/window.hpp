// A window that moves over pixels (gemm::Window), as kernels read it. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/host_device.hpp"

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
/// Where a chunk of a tap's channels is: in which tensor of pixels, at which channel of it and of the tap's row of B, and in which
/// image of its map.
struct WindowSource {
  bool isSecond;
  int32_t channel, tapChannel, image;
};
/// Pixels in two tensors, each with a map of its own.
struct WindowSplit {
  int32_t chunks = 0;    ///< of a tap's channels in the first; those that follow are in the second; 0: not split there
  int32_t channels = 0;  ///< of the first, with chunks
  /// Planes of an image in the first; 0: not split there. Planes are images of both maps, which have four dimensions, and all
  /// positions that a copy loads are in one plane.
  int32_t planes = 0;
  int32_t secondPlanes = 0;  ///< of an image in the second
  int32_t nowhere = 0;       ///< a channel after those of both maps: zeros

  /// Of the plane `z` of an image; elements of a chunk.
  SHIFTCONV_HOST_DEVICE constexpr WindowSource sourceOf(int32_t chunk, int32_t elements, int32_t image, int32_t z) const {
    WindowSource source{false, chunk * elements, chunk * elements, image};
    if (chunks != 0 && chunk >= chunks) {
      const int32_t channel = (chunk - chunks) * elements;
      source = {true, channel, channels + channel, image};
    } else if (planes != 0) {
      if (z < 0 || z >= planes + secondPlanes)
        source.channel = nowhere;
      else if (z < planes)
        source.image = image * planes + z;
      else
        source.isSecond = true, source.image = image * secondPlanes + z - planes;
    }
    return source;
  }
};
/// Rows of A are positions of a window (gemm::Window), x fastest; K runs over its taps, x fastest, and in each over channels.
struct WindowParams {
  bool isUsed = false;    ///< else A is a matrix
  bool hasDepth = false;  ///< the map has five dimensions, else four
  int32_t images = 0;
  WindowSplit split;
  WindowAxis x, y, z;
};

}  // namespace shiftconv::gemm
