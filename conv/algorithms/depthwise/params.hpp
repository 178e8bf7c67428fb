// The geometry of the depthwise kernels and what the host tells them. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/host_device.hpp"
#include "common/layout/fast_divisor.hpp"
#include "conv/kernels/bias.hpp"
#include "conv/kernels/decoding.hpp"
#include "conv/kernels/limits.hpp"

namespace shiftconv::kernels::depthwise {

inline constexpr int32_t kWarpChannels = 8;  ///< one load of a pixel: 16 bytes, or 8 of elements of 8 bits
inline constexpr int32_t kChannelWarps = 4;
inline constexpr int32_t kCtaChannels = kChannelWarps * kWarpChannels;  ///< one row of a box: 64 or 32 bytes
inline constexpr int32_t kWarpRows = 16;                                ///< M of m16n8k16
inline constexpr int32_t kRowWarps = 1;
inline constexpr int32_t kTileRows = kRowWarps * kWarpRows;
inline constexpr int32_t kWarps = kChannelWarps * kRowWarps;
inline constexpr int32_t kSlots = 1;
inline constexpr int32_t kCtasPerMultiprocessor = 2;  ///< take turns: one loads or stores while the other multiplies
inline constexpr int32_t kBlockColumns = 8;           ///< N
inline constexpr int32_t kWindowColumns = 16;         ///< K: the input columns of a block
inline constexpr int32_t kBlocks = 4;                 ///< of a tile
inline constexpr int32_t kTileColumns = kBlocks * kBlockColumns;
inline constexpr int32_t kMaximumFilterWidth = kWindowColumns - kBlockColumns;
/// Input columns of a tile. The odd number keeps the rows that a warp loads at once in different banks; the last window reads one
/// pixel more, the first of the next row, and multiplies it by zero.
inline constexpr int32_t kBoxColumns = kTileColumns + kBlockColumns - 1;
/// In a box or a staged tile.
SHIFTCONV_HOST_DEVICE constexpr uint32_t pixelBytes(int32_t elementBytes) {
  return static_cast<uint32_t>(kCtaChannels * elementBytes);
}
inline constexpr uint32_t kDiagonalWords = 24;  ///< of one filter row of one channel, see depthwise.cu

struct Params {
  layout::FastDivisor columnTiles, rowTiles;
  int32_t tiles = 0;  ///< of pixels; blockIdx.y selects the channels
  int32_t outputHeight = 0, outputWidth = 0, channels = 0;
  int32_t filterHeight = 0, filterWidth = 0, padTop = 0, padLeft = 0;
  uint32_t boxBytes = 0;
  Limits limits;
  const void* filter = nullptr;  ///< C x R x S
  Bias bias;                     ///< of 16-bit operands and the plain epilogue
  Decoding inputs, filters;      ///< of elements of 8 bits
  gemm::EpilogueParams
      epilogue;    ///< of kernels with the whole epilogue, an activation, or of 8 bits; rows are output pixels, columns channels
  float beta = 0;  ///< of the residual, in kernels with that and the plain epilogue
};

inline constexpr uint32_t kControlBytes = 1024;
SHIFTCONV_HOST_DEVICE constexpr uint32_t stagingBytes(int32_t elementBytes) {
  return kTileRows * kTileColumns * pixelBytes(elementBytes);
}

SHIFTCONV_HOST_DEVICE constexpr uint32_t boxBytes(int32_t filterHeight, int32_t elementBytes) {
  return static_cast<uint32_t>((kTileRows + filterHeight - 1) * kBoxColumns) * pixelBytes(elementBytes);
}
/// With room for the pixel after the last row, which is zeroed once.
SHIFTCONV_HOST_DEVICE constexpr uint32_t alignedBoxBytes(int32_t filterHeight, int32_t elementBytes) {
  return (boxBytes(filterHeight, elementBytes) + pixelBytes(elementBytes) + 1023) / 1024 * 1024;
}
SHIFTCONV_HOST_DEVICE constexpr uint32_t diagonalBytes(int32_t filterHeight) {
  return static_cast<uint32_t>(filterHeight * kCtaChannels) * kDiagonalWords * 4;
}

SHIFTCONV_HOST_DEVICE constexpr uint32_t filterBytes(int32_t filterHeight, int32_t filterWidth, int32_t elementBytes) {
  return static_cast<uint32_t>(filterHeight * filterWidth * kCtaChannels * elementBytes);
}

}  // namespace shiftconv::kernels::depthwise
