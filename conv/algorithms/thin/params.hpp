// The geometry of the thin kernels and what the host tells them. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/host_device.hpp"
#include "common/layout/fast_divisor.hpp"
#include "conv/kernels/decoding.hpp"
#include "conv/kernels/lean.hpp"

namespace shiftconv::kernels::thin {

inline constexpr int32_t kMostWarps = 8;          ///< of a CTA
inline constexpr int32_t kBlockElements = 32;     ///< of the reduction: two m16n8k16, 8 elements of a row for each lane of a quad
inline constexpr int32_t kStepBlocks = 2;         ///< that a warp takes before the next warp's turn: 128 bytes of a row
inline constexpr int32_t kMostVector = 8;         ///< elements of a load
inline constexpr int32_t kMostTapPositions = 31;  ///< T + R + S: bits of a row's mask

/// Output pixels and channels of a warp.
struct Tile {
  int32_t pixels, channels;
};
inline constexpr Tile kTiles[] = {{16, 8}, {16, 16}, {16, 32}, {32, 32}};

/// Neighbouring output channels of a thread, in each of its pixels.
SHIFTCONV_HOST_DEVICE constexpr int32_t threadChannels(int32_t tileChannels) { return tileChannels / 4; }
/// Of them, that the whole epilogue takes at once.
SHIFTCONV_HOST_DEVICE constexpr int32_t segmentChannels(int32_t tileChannels) {
  return threadChannels(tileChannels) < 4 ? threadChannels(tileChannels) : 4;
}
/// Blocks whose loads are in flight at once; single elements take a register each until they are packed.
SHIFTCONV_HOST_DEVICE constexpr int32_t batchBlocks(Tile tile, int32_t vector) {
  if (vector == 1) return 1;
  return tile.channels <= 16 ? 4 : 2;
}
/// Of shared memory, for the sums of a warp.
SHIFTCONV_HOST_DEVICE constexpr uint32_t exchangeBytes(Tile tile) {
  return static_cast<uint32_t>(tile.pixels * tile.channels) * static_cast<uint32_t>(sizeof(float));
}

/// One spatial axis: where the tap `i` of output position `o` lies is o * stride + i * dilation - padBefore.
struct Axis {
  int32_t extent = 1, taps = 1, stride = 1, dilation = 1, padBefore = 0;
  int32_t bytes = 0;  ///< from an input position to the next
};

/// Offsets in the input and in the filter are below 2^31 bytes. The grid is (pixel tiles / pixelWarps, channel tiles /
/// channelWarps); a channel tile belongs to one group.
struct Params {
  // What 1x1 filters on linear pixels read comes first, see EpilogueParams.
  const void* input = nullptr;
  const void* filter = nullptr;                    ///< [K][T*R*S*C/groups]
  layout::FastDivisor groupTiles;                  ///< channel tiles of a group
  uint32_t splitShift = 0, channelWarpsShift = 0;  ///< binary logarithms
  int32_t channelTiles = 0;
  int32_t groupOutputs = 0;  ///< K / groups
  int32_t groupBytes = 0;    ///< of an input pixel: C / groups
  int32_t filterRowBytes = 0;
  int32_t vectors = 0;  ///< of a filter row, each within a tap
  int32_t blocks = 0;   ///< that they fill
  int32_t taps = 1;
  int32_t storeElements = 1;  ///< neighbouring outputs and residuals that are aligned to as many elements: 1, 2, 4 or 8
  bool isLinear = false;      ///< output pixel i reads input pixel i only
  bool isDense = false;       ///< one tap, which is inside of the image for all pixels
  bool launchEarly = false;   ///< lets the next kernel start before the products instead of after them
  /// The whole epilogue. Else a bias, an activation, and of 16 bits a residual and outputs of the operands' type,
  /// of 8 bits what PlainBytes has.
  bool isWhole = false;
  bool hasHalves = false;  ///< outputs of 16 bits of 8-bit operands
  bool relu = false;
  LeanFlags lean;  ///< where a thread stores its outputs at once
  Axis width;
  gemm::EpilogueParams epilogue;  ///< rows are output pixels, columns output channels
  Decoding inputs, filters;       ///< of elements of 8 bits
  layout::FastDivisor tapVectors, filterWidth, filterHeight;
  Axis depth, height;
  layout::FastDivisor outputDepth, outputHeight, outputWidth;
  int32_t imageBytes = 0;  ///< from input image to input image
};

}  // namespace shiftconv::kernels::thin
