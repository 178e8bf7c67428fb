// The geometry of the resident kernels and what the host tells them. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/layout/fast_divisor.hpp"
#include "common/layout/shared_matrix_descriptor.hpp"
#include "conv/kernels/bias.hpp"
#include "conv/kernels/limits.hpp"

namespace shiftconv::kernels::resident {

inline constexpr int32_t kTilePixels = 64;    ///< the rows of one wgmma
inline constexpr int32_t kTileChannels = 32;  ///< output channels
inline constexpr uint32_t kRowBytes = layout::kSwizzle128RowBytes;
inline constexpr int32_t kChunkChannels = 64;  ///< input channels in a row of shared memory
inline constexpr int32_t kVectorChannels = 8;  ///< of a copy of 16 bytes, and of a store
inline constexpr uint32_t kStageBytes = kTileChannels * kRowBytes;
inline constexpr int32_t kSums = kTileChannels / 2;                                         ///< of a thread
inline constexpr uint32_t kSumsBytes = kSums * 128 * static_cast<uint32_t>(sizeof(float));  ///< of a tile
inline constexpr int32_t kMaximumTaps = 64, kMaximumSplit = 4;
inline constexpr uint32_t kControlBytes = 16;  ///< a barrier
inline constexpr uint32_t kThreads = 512;      ///< half of which copy pixels, the others weights

struct Params {
  // The grid is (column tiles x split, row tiles of all images, channel tiles). Offsets in tensors are below 2^31 bytes.
  const void* filter = nullptr;  ///< [K][R*S][C]
  uint32_t tapBytes = 0, filterRowBytes = 0;
  int32_t c = 0, k = 0, taps = 0;
  int32_t splitShift = 0;  ///< of the CTAs of a cluster, which share the reduction: binary logarithm
  int32_t chunksPerRank = 0;
  int32_t steps = 0;  ///< chunks of a rank x taps
  const void* input = nullptr;
  layout::FastDivisor rowTiles, boxColumns;
  int32_t tileColumns = 0, tileRows = 0;
  int32_t padTop = 0, padLeft = 0;
  int32_t h = 0, w = 0;
  uint32_t pixelBytes = 0;  ///< from input pixel to input pixel
  int32_t boxRows = 0;      ///< of pixels; what is behind them in a slot is zeroed
  int32_t slotPixels = 0;   ///< of a chunk in shared memory, a multiple of 8

  uint32_t groupStrideBytes = 0;          ///< between the groups of 8 pixels of a tap's operand
  uint16_t tapOffset[kMaximumTaps] = {};  ///< where a tap's operand begins in the box, in units of 16 bytes

  layout::FastDivisor pitch;  ///< positions of a tile from row to row
  int32_t p = 0, q = 0;
  uint32_t outputPixelBytes = 0;
  Limits limits;
  bool filterAhead = false;  ///< the filter is constant, and is read before the kernel ahead has ended
  Bias bias;
  void* output = nullptr;

  // Of the kernels with a residual.
  const void* residual = nullptr;
  uint32_t residualPixelBytes = 0;
  float beta = 0;
};

}  // namespace shiftconv::kernels::resident
