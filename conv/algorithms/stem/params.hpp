// The geometry of the stem kernels and what the host tells them. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/layout/fast_divisor.hpp"
#include "conv/kernels/bias.hpp"
#include "conv/kernels/limits.hpp"

namespace shiftconv::kernels::stem {

inline constexpr int32_t kPixelBytes = 8;    ///< four channels
inline constexpr int32_t kStride = 2;        ///< of columns: neighbouring outputs start 16 bytes apart
inline constexpr int32_t kWindowPixels = 8;  ///< input pixels of an output and filter row: 32 elements, two wgmma
inline constexpr int32_t kTileColumns = 112;
inline constexpr int32_t kTileRows = 4;
inline constexpr int32_t kBlockChannels = 64;
inline constexpr int32_t kBoxColumns = (kTileColumns - 1) * kStride + kWindowPixels;
inline constexpr uint32_t kBoxRowBytes = kBoxColumns * kPixelBytes;
inline constexpr int32_t kStages = 4;
inline constexpr uint32_t kRowStagingBytes = kTileColumns * kBlockChannels * 2;

struct Params {
  layout::FastDivisor columnTiles, rowTiles;
  int32_t tiles = 0;  ///< of pixels; blockIdx.y selects 64 output channels
  int32_t outputHeight = 0, channels = 0;
  int32_t strideH = 1, padTop = 0, padLeft = 0, filterWidth = 0;
  int32_t lead = 0;  ///< pixels of a window in front of the filter, 0 or 1
  uint32_t boxBytes = 0, stageBytes = 0;
  Limits limits;
  const void* filter = nullptr;  ///< K x R x S x 4
  Bias bias;
  float beta = 0;  ///< of the residual
};

inline constexpr uint32_t kControlBytes = 1024;

}  // namespace shiftconv::kernels::stem
