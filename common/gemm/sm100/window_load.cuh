// Operand A as the positions of a window that moves over a tensor of pixels (gemm::Window): what fills a stage.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/gemm/sm100/gemm_params.hpp"
#include "common/ptx/bulk_copy.cuh"

namespace shiftconv::gemm::sm100 {

/// What a chunk of K belongs to.
struct WindowTap {
  int32_t index, x, y, z;
  int32_t chunk;  ///< of the tap's channels
};
__device__ __forceinline__ WindowTap windowTap(const GemmParams& p, int32_t chunk) {
  WindowTap tap;
  tap.index = chunk / p.lineChunks;
  tap.chunk = chunk - tap.index * p.lineChunks;
  const int32_t rows = tap.index / p.window.x.taps;
  tap.x = tap.index - rows * p.window.x.taps;
  tap.z = rows / p.window.y.taps;
  tap.y = rows - tap.z * p.window.y.taps;
  return tap;
}

/// Where the first tap of a row of A lies; images from `images` on do not exist.
struct WindowPosition {
  int32_t x, y, z, image;
};
__device__ __forceinline__ WindowPosition windowPosition(const WindowParams& window, int32_t row) {
  const int32_t rows = row / window.x.positions, planes = rows / window.y.positions, image = planes / window.z.positions;
  return {window.x.first + (row - rows * window.x.positions) * window.x.stride,
          window.y.first + (rows - planes * window.y.positions) * window.y.stride,
          window.z.first + (planes - image * window.z.positions) * window.z.stride, image};
}

/// One thread. A chunk of a group's channels of the rows from `row` on, all for this CTA: one copy that walks along the positions.
template <class Group>
__device__ __forceinline__ void loadWindow(const GemmParams& p, const CUtensorMap& first, const CUtensorMap& second,
                                           uint32_t destination, int32_t chunk, int32_t group, int32_t row, uint32_t barrier) {
  const WindowTap tap = windowTap(p, chunk);
  const WindowPosition at = windowPosition(p.window, row);
  const WindowSource from = p.window.split.sourceOf(tap.chunk, p.a.chunkElements, at.image, at.z + tap.z * p.window.z.step);
  const CUtensorMap* const map = from.isSecond ? &second : &first;
  const auto offsetX = static_cast<uint16_t>(tap.x * p.window.x.step), offsetY = static_cast<uint16_t>(tap.y * p.window.y.step);
  const int32_t channel = from.channel + group * p.groupElements;
  if (p.window.hasDepth) {
    int32_t z = at.z, image = at.image;
    if (p.mapGroups != 0) {
      const bool exists = image < p.window.images;  // else zeros, of a group that does not
      z = exists ? image : 0, image = exists ? group : p.mapGroups;
    }
    ptx::loadPixels5d<Group::kCountedBy>(destination, map, channel, at.x, at.y, z, image, offsetX, offsetY,
                                         static_cast<uint16_t>(tap.z * p.window.z.step), barrier);
  } else {
    ptx::loadPixels4d<Group::kCountedBy>(destination, map, channel, at.x, at.y, from.image, offsetX, offsetY, barrier);
  }
}

/// One thread. A chunk of B, [N][taps][channels]: this CTA's share of the rows from `column` on.
template <class Group>
__device__ __forceinline__ void loadTaps(const GemmParams& p, const CUtensorMap& map, uint32_t destination, int32_t chunk,
                                         int32_t column, uint32_t barrier) {
  const WindowTap tap = windowTap(p, chunk);
  const int32_t channel = p.window.split.sourceOf(tap.chunk, p.b.chunkElements, 0, 0).tapChannel;
  Group::load(destination, &map, channel, tap.index, column + static_cast<int32_t>(Group::rank()) * p.b.shareRows, barrier);
}

/// The row of A's scale factors, a pixel, that a tap at a position reads; kNoScaleRow outside of the tensor.
__device__ __forceinline__ int32_t windowPixel(const WindowParams& window, const WindowTap& tap, int32_t row) {
  const WindowPosition at = windowPosition(window, row);
  const int32_t x = at.x + tap.x * window.x.step, y = at.y + tap.y * window.y.step, z = at.z + tap.z * window.z.step;
  const bool inside = static_cast<uint32_t>(x) < static_cast<uint32_t>(window.x.extent) &&
                      static_cast<uint32_t>(y) < static_cast<uint32_t>(window.y.extent) &&
                      static_cast<uint32_t>(z) < static_cast<uint32_t>(window.z.extent) && at.image < window.images;
  return inside ? ((at.image * window.z.extent + z) * window.y.extent + y) * window.x.extent + x : kNoScaleRow;
}

}  // namespace shiftconv::gemm::sm100
