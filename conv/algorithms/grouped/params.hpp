// The geometry of the grouped kernels and what the host tells them. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/host_device.hpp"
#include "common/layout/fast_divisor.hpp"
#include "conv/kernels/bias.hpp"
#include "conv/kernels/limits.hpp"

namespace shiftconv::kernels::grouped {

inline constexpr int32_t kBlockBytes = 16;  ///< of input channels of a warp, and as many output channels: a row of ldmatrix
inline constexpr int32_t kWarps = 8;        ///< that multiply: a block each of a box's 128-byte rows
/// Of a box, for elements of 1 or 2 bytes.
SHIFTCONV_HOST_DEVICE constexpr int32_t chunkChannels(int64_t elementBytes) {
  return static_cast<int32_t>(kWarps * kBlockBytes / elementBytes);
}
inline constexpr int32_t kStepPixels = 32;  ///< of a warp at a time: one ldmatrix.x4 for each tap
inline constexpr int32_t kMaximumStages = 8;
inline constexpr uint32_t kStagings = 2;  ///< buffers for tiles of output
/// As many as the registers for the weights allow.
SHIFTCONV_HOST_DEVICE constexpr int32_t ctasPerMultiprocessor(int64_t taps, int64_t elementBytes) {
  return (taps <= 9 ? 2 : 1) + (elementBytes == 2 ? 1 : 0);
}

struct Params {
  layout::FastDivisor columnTiles, rowTiles;
  int32_t tiles = 0;  ///< of pixels; blockIdx.y selects the chunk of channels
  int32_t tileColumns = 0, tileRows = 0;
  layout::FastDivisor byTileColumns;
  int32_t tilePixels = 0;  ///< tileColumns * tileRows
  int32_t strideH = 1, strideW = 1, padTop = 0, padLeft = 0, dilationH = 1, dilationW = 1;
  int32_t boxColumns = 0;
  uint32_t boxBytes = 0;
  uint32_t slotBytes = 0, stagingBytes = 0;
  int32_t slots = 0;
  int32_t channels = 0;
  int32_t groupChannels = 0;  ///< 2, 4, 8 or, of 8 bits, 16: a block has one group or several
  int32_t blockBits = 3;      ///< of a block in a chunk: there are 1, 2, 4 or 8
  Limits limits;
  const void* filter = nullptr;   ///< K x R x S x groupChannels
  Bias bias;                      ///< of 16-bit operands and the plain epilogue
  bool isLean = false;            ///< isLeanBytes
  gemm::EpilogueParams epilogue;  ///< of 8-bit operands, and of short epilogues
};

inline constexpr uint32_t kControlBytes = 1024;

}  // namespace shiftconv::kernels::grouped
