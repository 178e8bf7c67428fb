// The geometry of the im2col kernels of sm_90a and what the host tells them. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/gemm/window.hpp"
#include "common/host_device.hpp"
#include "common/layout/fast_divisor.hpp"
#include "common/layout/tensor_map.hpp"
#include "conv/kernels/lean.hpp"

namespace shiftconv::kernels::im2col {

inline constexpr int32_t kRowBytes = 128;    ///< of a pixel or a filter, in a stage
inline constexpr int32_t kChunkSlices = 4;   ///< of 32 bytes: one wgmma each
inline constexpr int32_t kGroupPixels = 64;  ///< of a warpgroup: M of a wgmma
inline constexpr int32_t kMaximumStages = 9;
inline constexpr int32_t kFragmentColumns = 8;  ///< of a product's sums, which no group may cut

/// Input channels of a stage.
SHIFTCONV_HOST_DEVICE constexpr int32_t chunkChannels(int32_t elementBytes) { return kRowBytes / elementBytes; }
SHIFTCONV_HOST_DEVICE constexpr int32_t threads(int32_t groups) { return groups * 128 + 32; }
/// Of a CTA whose warpgroups load their operands, too.
SHIFTCONV_HOST_DEVICE constexpr int32_t pieceThreads(int32_t groups) { return groups * 128; }
SHIFTCONV_HOST_DEVICE constexpr int32_t stageBytes(int32_t groups, int32_t channels) {
  return (groups * kGroupPixels + channels) * kRowBytes;
}
/// Barriers, and the bias and scales of the tile's channels, in front of the stages.
SHIFTCONV_HOST_DEVICE constexpr int32_t controlBytes(int32_t channels) {
  return (2 * 8 * kMaximumStages + 16 + 2 * 4 * channels + 1023) / 1024 * 1024;
}
/// Of a row of outputs in shared memory: an odd number of 16 bytes, so that eight rows meet all banks.
SHIFTCONV_HOST_DEVICE constexpr int32_t stagedPitch(int32_t channels, int32_t elementBytes) { return channels * elementBytes + 16; }
/// Of the tile of outputs, and of the residual before: rows of channels of so many bytes, but of at least 16 bits.
SHIFTCONV_HOST_DEVICE constexpr int32_t stagingBytes(int32_t groups, int32_t channels, int32_t elementBytes = 2) {
  return groups * kGroupPixels * stagedPitch(channels, elementBytes < 2 ? 2 : elementBytes);
}
/// Of a row of sums that threads put away, two neighbouring ones of four rows at once: so these meet all banks.
SHIFTCONV_HOST_DEVICE constexpr int32_t sumsPitch(int32_t channels) { return channels * 4 + 32; }
SHIFTCONV_HOST_DEVICE constexpr int32_t sumsBytes(int32_t groups, int32_t channels) {
  return groups * kGroupPixels * sumsPitch(channels);
}

/// What the CTAs of a cluster have in common. Of operands each loads its part of the rows of a stage, for all that share them.
enum class InCluster : uint8_t { Nothing, Reduction, Operands };

/// Of the sums that a CTA gets from the others that share the reduction of its tile.
SHIFTCONV_HOST_DEVICE constexpr int32_t receivedBytes(int32_t split, int32_t channels) {
  return (split - 1) * kGroupPixels * channels * 4;
}
/// The CTA of those that share a tile which adds up the sums of a warpgroup, and finishes them. It has one warpgroup at most, as
/// there are no fewer CTAs than warpgroups.
SHIFTCONV_HOST_DEVICE constexpr int32_t ownerOf(int32_t group, int32_t groups, int32_t split) { return group * split / groups; }

/// How an epilogue ends whose sums stay in registers: an activation or none, and outputs of this size. Halves are f16 or bf16 of
/// 8-bit operands, else of the operands' type; bytes are e4m3, s8 or u8, with an output scale and a zero point; words are f32 after
/// ReLU or nothing, in rows of an even number. No: see PassedSums.
enum class Packed : uint8_t { No, Halves, Bytes, Words };

/// Of a matrix and its filter that threads copy.
struct RowPieces {
  const uint8_t* input = nullptr;
  const uint8_t* filter = nullptr;
  int32_t inputPitch = 0;  ///< bytes from a pixel to the next
  int32_t rowBytes = 0;    ///< of a pixel's channels, which is also from a row of the filter to the next
  int32_t bytes = 0;       ///< that rows consist of: 16, 8 or 4, a piece; 2 or 1, shifted words; 0: the copy engine loads rows
};

struct Params {
  layout::TensorMapImage secondMap{};  ///< of the input's second tensor, if there is one
  // What matrices read lies together, see EpilogueParams, which begins a line.
  gemm::EpilogueParams epilogue;     ///< rows are output pixels, columns output channels
  layout::FastDivisor channelTiles;  ///< of a group; blockIdx.y is the group
  int32_t stages = 0;
  int32_t chunks = 0;         ///< of a tap's channels
  int32_t groupColumns = 0;   ///< output channels of a group
  int32_t groupChannels = 0;  ///< from a group's first channel to the next group's, where groups lie side by side in the map
  int32_t groupImages = 0;    ///< likewise from image to image of the map, where it has images in place of planes
  int32_t splitShift = 0;     ///< 2^splitShift CTAs, a cluster, share the chunks of a tile
  int32_t stagingOffset =
      0;  ///< of staged outputs, from the stages: after sums put away, and after the stages where a residual waits
  int32_t pieceBytes = 16;   ///< that rows of staged outputs and of a waiting residual consist of: 4, 8 or 16, or one element
  bool storesFours = false;  ///< of Packed::No: four neighbouring channels at once, of outputs that are not staged then
  /// 2^pixelsShift CTAs whose ranks in the cluster follow one another have neighbouring tiles of channels, and share their pixels.
  /// Divisor of channelTiles: so many tiles together, then, of which the last ones may have nothing to do.
  int32_t pixelsShift = 0;
  int32_t filterShift = 0;  ///< likewise 2^filterShift with neighbouring tiles of pixels, whose ranks are 2^pixelsShift apart
  Packed packed = Packed::No;
  LeanFlags lean;                ///< of outputs of 16 bits: where rows are whole 16 bytes, and there are such kernels
  bool rectifiesNarrow = false;  ///< Lean::Rectified elsewhere; the others are less frequent
  bool filterAhead = false;      ///< the filter is constant, and is read before the kernel ahead has ended
  bool residualWaits = false;    ///< in shared memory, during the products; see residualWaits of packed.hpp
  gemm::WindowParams window;     ///< rows are output pixels
  layout::FastDivisor positionsX, positionsY, positionsZ;
  /// Of a slice of the output. Where the input is split along the depth, tiles end with slices.
  layout::FastDivisor slicePixels, sliceTiles;
  int32_t receivedOffset = 0;  ///< from the stages, of the sums of the others
  RowPieces pieces;
};

}  // namespace shiftconv::kernels::im2col
