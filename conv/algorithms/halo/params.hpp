// The geometry of the halo kernels and what the host tells them. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/gemm/window.hpp"
#include "common/host_device.hpp"
#include "common/layout/fast_divisor.hpp"
#include "common/layout/shared_matrix_descriptor.hpp"
#include "conv/kernels/bias.hpp"
#include "conv/kernels/lean.hpp"
#include "conv/kernels/limits.hpp"

namespace shiftconv::kernels::halo {

// Channels: one shared-memory row of 128 bytes is a chunk of input channels; a block is the 64 output channels of one wgmma.
inline constexpr int32_t kChunkSlices = 4;  ///< of 32 bytes of channels, one wgmma each
inline constexpr int32_t kBlockChannels = 64;
inline constexpr uint32_t kRowBytes = layout::kSwizzle128RowBytes;
/// Input channels of a chunk, for elements of 1, 2 or 4 bytes.
SHIFTCONV_HOST_DEVICE constexpr int32_t chunkChannels(int32_t elementBytes) {
  return static_cast<int32_t>(kRowBytes) / elementBytes;
}
inline constexpr uint32_t kBlockBytes = kBlockChannels * kRowBytes;
/// Of a pixel's outputs of a block where they wait to be stored by the copy engine.
SHIFTCONV_HOST_DEVICE constexpr uint32_t stagedRowBytes(int32_t outputBytes) {
  return static_cast<uint32_t>(kBlockChannels * outputBytes);
}
/// Of a block, in a row of a box of the output: in two boxes where outputs have 4 bytes.
SHIFTCONV_HOST_DEVICE constexpr int32_t stagedChannels(int64_t outputBytes) {
  return outputBytes == 4 ? kBlockChannels / 2 : kBlockChannels;
}
/// Of 8-bit operands: whether kernels with a residual take one of 16 bits, and such outputs. ptxas spills in others.
SHIFTCONV_HOST_DEVICE constexpr bool mayAddHalves(int32_t tilePixels, bool overBox) { return tilePixels < 224 || overBox; }

// Where pixels are operand A.
inline constexpr int32_t kBlockPixels = 64;  ///< output pixels of one wgmma
/// Channels of a pixel's outputs that wait in one row to be stored: all of a tile, or as many as divide it (of 48, more than there
/// are).
SHIFTCONV_HOST_DEVICE constexpr int32_t pixelPieceChannels(int32_t tileChannels) {
  if (tileChannels <= 32) return tileChannels;
  return tileChannels < kBlockChannels || tileChannels % kBlockChannels == 0 ? kBlockChannels : kBlockChannels / 2;
}
/// Such a row of outputs of 1 or 2 bytes, in the swizzle of its width.
SHIFTCONV_HOST_DEVICE constexpr uint32_t pixelRowBytes(int32_t tileChannels, int32_t outputBytes) {
  return static_cast<uint32_t>(pixelPieceChannels(tileChannels) * outputBytes);
}
/// As many such rows as a pixel's channels need.
SHIFTCONV_HOST_DEVICE constexpr int32_t pixelPieces(int32_t tileChannels) {
  return (tileChannels + pixelPieceChannels(tileChannels) - 1) / pixelPieceChannels(tileChannels);
}
/// Of a warpgroup's tile.
SHIFTCONV_HOST_DEVICE constexpr uint32_t pixelStagingBytes(int32_t pixels, int32_t tileChannels, int32_t outputBytes) {
  return static_cast<uint32_t>(pixels * pixelPieces(tileChannels)) * pixelRowBytes(tileChannels, outputBytes);
}

inline constexpr int32_t kMaximumInputMaps = 4;  ///< the parities of a stride-2 filter
inline constexpr int32_t kMaximumPatches = 12;   ///< a 3x3x3 filter with a stride of 2: four parities of three planes
inline constexpr int32_t kMaximumTaps = 64;
inline constexpr int32_t kMaximumStages = 32;  ///< of either ring
inline constexpr int32_t kMaximumSplit = 4;
inline constexpr int32_t kMostConsumers = 3;    ///< multiplying warpgroups
inline constexpr int32_t kMaximumBlocks = 8;    ///< of output channels, in a tile
inline constexpr int32_t kMaximumStagings = 4;  ///< of a multiplying warpgroup, for tiles of residual and output

/// One box of input pixels in shared memory, and the filter taps that read it. Its row (y * tileImages + image) * columns + x
/// holds pixel (x, y) of the box.
struct Patch {
  int32_t map;                      ///< index of the input map
  int32_t columnOffset, rowOffset;  ///< box start minus tile start, in pixels of the map
  int32_t planeOffset;              ///< likewise, with Params::deep
  int32_t firstTap, endTap;
  uint32_t bytes;
};
struct Tap {
  uint16_t filterIndex;  ///< r * S + s
  uint16_t row;          ///< of the patch, where the operand of this tap starts
};

/// Kernels that leave pixels out: taps of three boxes, which have the three filter rows each, and which of them do.
inline constexpr int32_t kWholeImageTaps = 9;
SHIFTCONV_HOST_DEVICE constexpr bool leavesTailOut(int32_t tap) { return tap == 2 || tap == 3 || tap == 8; }

// The whole epilogue turns the sums of a warp, 16 channels x 32 pixels at a time, in shared memory. Pixels are 80 bytes apart:
// neither its writes nor, by more than two, its reads meet in a bank.
inline constexpr int32_t kTurnedPixels = 32;
inline constexpr uint32_t kTurningPitch = 80, kTurningBytes = kTurnedPixels * kTurningPitch;
inline constexpr int32_t kSegment = 8;  ///< channels that a thread then holds

/// What only kernels with the whole epilogue read, and those with an activation: of `epilogue`.
struct FullEpilogue {
  layout::FastDivisor pitch, images;  ///< of a tile: positions from row to row, images
  int32_t outputColumns = 0, outputRows = 0, outputImages = 0;
  int32_t positions = 0;          ///< of a tile, up to its last pixel
  gemm::EpilogueParams epilogue;  ///< rows are output pixels, columns output channels
  Lean lean = Lean::No;           ///< of kernels with an activation, and of 8 bits with a residual; where outputs are converted,
                                  ///< Clamp is any clamp, ReLU or nothing
};

/// What a residual of 16 bits is added to: the sums with their bias, these after SiLU, or these before it.
enum class ResidualOrder : uint8_t { Alone, AfterSilu, BeforeSilu };

/// What only kernels with a residual read. A tile of it comes to where its output will be staged.
struct ResidualTiles {
  float beta = 0;
  uint32_t bytes = 0;         ///< of a tile of one piece of its channels, with what is outside the tensor
  int32_t stagings = 1;       ///< of a multiplying warpgroup, when they are not over boxes
  uint32_t stagingBytes = 0;  ///< from one to the next
  ResidualOrder order = ResidualOrder::Alone;
};

struct Params {
  // What every role reads first stays together: a line of constants that is not in the cache yet costs a good part of a
  // microsecond.

  // Tiles: boxes of tileColumns x tileRows output pixels of tileImages images, columns fastest, times output channel tiles.
  // Channels fastest, or in blockIdx.y with channelTiles = 1.
  layout::FastDivisor columnTiles, rowTiles, channelTiles;
  int32_t tileColumns = 0, tileRows = 0, tileImages = 0;
  int32_t tiles = 0;         ///< with PixelShare::Separate a tile is a pair of pixel boxes
  int32_t channels = 0;      ///< K
  int32_t tileChannels = 0;  ///< output channels of a tile

  // Reduction
  int32_t chunks = 0;         ///< of input channels
  int32_t chunksPerRank = 0;  ///< with the reduction split over a cluster; otherwise chunks
  int32_t split = 1;          ///< CTAs of a cluster that share the reduction of a tile
  int32_t inputMaps = 0, patches = 0, taps = 0;
  /// Of the last chunk, those that are multiplied; what follows is zeros. Fewer than all only with pixels as operand A, and of
  /// 8-bit operands with one chunk.
  int32_t lastSlices = kChunkSlices;
  int32_t lag = 0;  ///< taps that a multiplying warpgroup is behind the one before it; of the last, fewer than either ring holds

  // Shared memory
  uint32_t groupStrideBytes = 0;  ///< between 8-pixel groups of a tile in its patch
  int32_t patchSlots = 0, weightStages = 0;
  uint32_t patchSlotBytes = 0;
  uint32_t filledBytes = 0;                      ///< smallest box; what lies after it in a slot is zeroed once
  uint32_t weightBoxes = 1, weightBoxBytes = 0;  ///< boxes that fill a stage; each has weightBoxBytes / 128 channels
  bool weightsResident = false;  ///< a stage for every tap and chunk, loaded once; all tiles of a CTA have the same output channels
  bool boxesDiffer = false;      ///< in size
  bool halves = false;           ///< with split = 2 each rank finishes half of the rows of a tile, and the output map has as many
  Limits limits;
  bool deep = false;  ///< where takesAnyInput() of shape.cuh: images are planes of `planes` each, and input maps (C, W, H, D, N)
                      ///< instead of (C, W, N, H)
  bool filterAhead = false;       ///< the filter is constant, and is read before the kernel ahead has ended
  bool inputLeavesFirst = false;  ///< L2, which then has room for outputs; not where deep
  bool alternates = false;  ///< where pixels are operand A: warpgroups take every other tile of a CTA; tiles are then not pairs
  /// Of a flat tile: positions from row to row, tileColumns of which are pixels. 1 when every position is a pixel.
  layout::FastDivisor flatPitch;

  Bias bias;
  ResidualTiles residual;  ///< read before the first product
  /// Resident weights of a grouped convolution are spread from filter[K][R*S][groupChannels] over block-diagonal matrices by
  /// the CTA's threads; 0: the filter is dense.
  int32_t groupChannels = 0;
  /// Of groups of 8-bit channels: from what a block of 64 output channels reads of a pixel to what the next block reads.
  uint32_t blockInputBytes = 0;
  const void* filter = nullptr;

  Patch patch[kMaximumPatches] = {};
  Tap tap[kMaximumTaps] = {};

  layout::FastDivisor planes;  ///< output planes of an image
  int32_t planeStride = 1;     ///< input planes from output plane to output plane
  FullEpilogue full;
  /// Where takesAnyInput(): an input in two tensors. The maps of the second follow those of the first.
  gemm::WindowSplit inputSplit;
  int32_t firstMaps = 0;  ///< of the first tensor
  /// Where pixels are operand A, and rows of the output are no multiple of 16 bytes, threads store them: a power of two that share
  /// a row, in elements of storedBytes (1, 2 or 4). 0: the copy engine stores.
  int32_t storingLanes = 0, storedBytes = 0;
};

/// Bytes of shared memory in front of the patch slots: barriers.
inline constexpr uint32_t kControlBytes = 2048;

/// Registers of one thread that a CTA hands to another when the reduction is split, in groups of 16 bytes.
SHIFTCONV_HOST_DEVICE constexpr uint32_t accumulatorBytes(int32_t blocks, int32_t tileN) {
  return static_cast<uint32_t>(blocks * tileN / 2) * 128 * static_cast<uint32_t>(sizeof(float));
}

}  // namespace shiftconv::kernels::halo
