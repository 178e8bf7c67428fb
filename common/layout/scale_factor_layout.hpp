// Where the scale factors of a block-scaled matrix lie in global memory. One byte for each row and block of 16 or 32 elements.
#pragma once

#include <cstdint>

#include "common/host_device.hpp"

namespace shiftconv::layout {

enum class ScaleFactorLayout : uint8_t {
  RowMajor,          ///< [rows][blocks], no padding
  Interleaved128x4,  ///< [rows/128][blocks/4] tiles of 512 bytes, both rounded up: the order of cuBLAS and cuDNN, and of tcgen05.cp
};

/// The factor of (r, b) in a tile of 128 rows x 4 blocks: 16*(r%32) + 4*(r/32) + b (cuBLAS, "1D block scaling factors layout").
inline constexpr int64_t kScaleTileRows = 128, kScaleTileBlocks = 4, kScaleTileBytes = 512;

SHIFTCONV_HOST_DEVICE constexpr int64_t scaleFactorBytes(ScaleFactorLayout layout, int64_t rows, int64_t blocks) {
  if (layout == ScaleFactorLayout::RowMajor) return rows * blocks;
  return (rows + kScaleTileRows - 1) / kScaleTileRows * ((blocks + kScaleTileBlocks - 1) / kScaleTileBlocks) * kScaleTileBytes;
}

/// Offset of the factor of `row` and `block` of a matrix with `blocks` blocks a row. With Interleaved128x4 also for the padding:
/// rows up to a multiple of 128, blocks up to a multiple of 4.
SHIFTCONV_HOST_DEVICE constexpr int64_t scaleFactorOffset(ScaleFactorLayout layout, int64_t row, int64_t block, int64_t blocks) {
  if (layout == ScaleFactorLayout::RowMajor) return row * blocks + block;
  const int64_t tilesAcross = (blocks + kScaleTileBlocks - 1) / kScaleTileBlocks;
  const int64_t tile = row / kScaleTileRows * tilesAcross + block / kScaleTileBlocks;
  return tile * kScaleTileBytes + row % 32 * 16 + row % kScaleTileRows / 32 * 4 + block % kScaleTileBlocks;
}

}  // namespace shiftconv::layout
