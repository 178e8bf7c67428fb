// The geometry of shift_stream and what the host tells its kernels. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/gemm/sm100/filter_params.hpp"
#include "common/gemm/sm100/gemm_params.hpp"
#include "common/layout/instruction_descriptor.hpp"

namespace shiftconv::kernels {

// A window is a quarter of the lanes of Tensor Memory. tcgen05.shift moves rows inside a window only (PTX ISA 9.7.16.9), so the
// last lane of each is left behind, unless it is refilled.
inline constexpr int32_t kStreamWindows = 4;
inline constexpr int32_t kStreamWindowLanes = 32;
inline constexpr int32_t kStreamLanes = kStreamWindows * kStreamWindowLanes;

inline constexpr int32_t kStreamMaximumFilterExtent = 7;  ///< of R and S
inline constexpr int32_t kStreamMaximumAccumulators = kStreamMaximumFilterExtent + 1;
inline constexpr int32_t kStreamMaximumSlots = 8;
inline constexpr int32_t kStreamMaximumOperandStages = 8;
inline constexpr int32_t kStreamMaximumScaleEntries = 2;
inline constexpr int32_t kStreamMaximumFilterStages = 32;  ///< of a ring; a resident filter has no limit but memory

inline constexpr int32_t kStreamMaximumPieces = 32;  ///< of a CTA: a lane of the loading warp finds the place of each
inline constexpr int32_t kStreamMaskPhases = 8;      ///< CTAs one behind the other until their masks repeat themselves

/// Of 128 bytes of the channels of all lanes' pixels.
inline constexpr uint32_t kStreamRowBytes = kStreamLanes * layout::kSwizzle128RowBytes;
/// Of the four pixels that refill the windows after one shift: an atom of its own, as tcgen05.cp.4x256b reads neighbouring rows.
inline constexpr uint32_t kStreamRefillBytes = layout::kSwizzle128AtomBytes;

/// What the lanes of a CTA hold. A piece is a run of output columns of one row; its lanes begin with the pixel of its first
/// output's tap `firstTap`. Pixels slide through a frame: a window, or, as windows are refilled from one another, all lanes. A
/// frame holds pieces side by side, one every `pieceLanes` lanes; those of its last piece go on to its end, and after it where
/// windows are refilled.
struct LaneMap {
  int32_t frameLanes = kStreamWindowLanes;  ///< 32 or 128
  int32_t framePieces = 1;
  int32_t pieceLanes = kStreamWindowLanes;
  int32_t loadedLanes = kStreamWindowLanes;  ///< of a piece; the others of it hold zeros
  int32_t pieceOutputs = 0;
  bool isRefilled = false;  ///< the last lane of every window, after each shift
  bool isMasked = false;    ///< rows follow one another without padding: lanes are disabled for taps outside of their row
  /// The tap column of a piece's first lane. The first products of an input row begin with it, in all lanes, so that they
  /// initialise every accumulator; then the taps in front of it follow, on a copy of the row that begins as many lanes earlier.
  int32_t firstTap = 0;
  int32_t tailLanes = 0;  ///< after the last piece: pixels of its row that are loaded one by one

  SHIFTCONV_HOST_DEVICE constexpr int32_t pieces() const { return kStreamLanes / frameLanes * framePieces; }  ///< of a CTA
  /// Pixels that are loaded one by one, in front of the first piece and after the last.
  SHIFTCONV_HOST_DEVICE constexpr int32_t edges() const { return firstTap + tailLanes; }
  SHIFTCONV_HOST_DEVICE constexpr int32_t refills(int32_t filterWidth) const {
    return isRefilled ? kStreamWindows * (filterWidth - 1) : 0;
  }
};

/// Lanes whose accumulators an MMA leaves alone: bit b of word w stands for lane b of window w.
struct alignas(16) DisabledLanes {
  uint32_t window[kStreamWindows] = {};
};

/// One launch. Rows here are image rows. The output rows of an image are cut into blocks; with a dilation, the rows of a block are
/// rowStep = dilation_h apart, so that they use the same input rows. Pieces of all planes of all images are counted block by block,
/// and a tile is as many of them as the lanes of a CTA, or of a pair, hold; their rows are walked through together.
struct ShiftStreamParams {
  int32_t images = 0, depth = 1, height = 0, width = 0;  ///< N, D, H, W
  int32_t outputHeight = 0, outputWidth = 0;             ///< P, Q
  int32_t outputDepth = 1;                               ///< O, 1 in 2-D
  int32_t filterDepth = 1;                               ///< T, 1 in 2-D
  int32_t filterHeight = 0, filterWidth = 0;             ///< R, S
  int32_t strideDepth = 1, strideH = 1;                  ///< strideH > 1 only with dilationH = 1
  int32_t dilationDepth = 1, dilationH = 1;
  int32_t padFront = 0, padTop = 0, padLeft = 0;

  LaneMap lanes;
  int32_t pieces = 0;       ///< of all row blocks
  int32_t blockPieces = 0;  ///< of one: N * O * rowPieces
  int32_t rowPieces = 0;    ///< of an output row
  int32_t blockRows = 0;    ///< output rows of a block; the last blocks may have fewer
  int32_t tiles = 0;
  int32_t maskPhases = 1;         ///< CTA i, counted through all tiles, has the masks of phase i % maskPhases
  bool skipsOutsideRows = false;  ///< rows above and below the image are not multiplied: every output row has one inside

  int32_t channelChunks = 0;    ///< of 128 bytes
  int32_t chunkElements = 0;    ///< of the tensor maps, in 128 bytes
  int32_t lastChunkSlices = 0;  ///< 32-byte slices in the last chunk, 1..4
  int32_t tileN = 0;            ///< output channels of a pass; blockIdx.y is the pass

  int32_t accumulators = 0;         ///< at least the output rows that one input row contributes to
  uint32_t accumulatorColumns = 0;  ///< from one to the next
  int32_t slots = 0;                ///< of input rows in Tensor Memory
  uint32_t slotColumns = 0;         ///< of one: 128 bytes a lane, then scale factors
  bool copiesAhead = false;         ///< the next copy goes in front of the MMAs of the present row: at least 3 slots
  uint32_t allocatedColumns = 0;
  int32_t operandStages = 0;
  uint32_t operandCountedBytes = 0;  ///< of the rows, by the barrier that their loads count towards
  uint32_t operandStageBytes = 0;    ///< in one CTA: front, rows, then what refills their windows, then their scale factors
  gemm::sm100::FilterParams filter;
  /// Of a staging tile, of which each epilogue warp has gemm::sm100::kStagingTiles; 0: every lane stores the row of its pixel.
  uint32_t stagingTileBytes = 0;
  int32_t stagedPieceRows = 0;  ///< of a staging tile, from one piece of the window to the next

  // Block-scaled kinds. A tap column is S values of s; one entry has the scale factors of a tap column of the filter.
  gemm::sm100::ScaleParams inputScales;   ///< [pixels][blocks of C]
  gemm::sm100::ScaleParams filterScales;  ///< [K * taps][blocks of C]; rowTiles: 128-row tiles of tileN
  int32_t scaleCopies = 0;                ///< of a row's factors: S, each a pixel further, or 1 that is shifted
  int32_t scaleEntries = 0;               ///< in Tensor Memory: all of the pass, or a ring of 2
  bool scalesResident = false;            ///< all of the pass
  uint8_t expandedBitsA = 0;              ///< 4 or 6: elements of activations become bytes on their way to Tensor Memory

  DisabledLanes disabled[kStreamMaskPhases][kStreamMaximumFilterExtent];  ///< [phase][s]; of kinds with lane masks

  layout::MmaKind kind = layout::MmaKind::F16;
  uint32_t instructionDescriptor = 0;
  gemm::EpilogueParams epilogue;  ///< rows: output pixels, columns: K
};

/// Bytes of shared memory in front of the stages: barriers, and places of loads.
inline constexpr uint32_t kStreamControlBytes = 2048;

/// Bytes of a stage in front of lane 0, for a copy that begins there: whole atoms, so that the rows keep their swizzle.
SHIFTCONV_HOST_DEVICE constexpr uint32_t frontBytes(const LaneMap& lanes) {
  return lanes.firstTap == 0 ? 0 : layout::kSwizzle128AtomBytes;
}
/// Bytes of a stage for what refills the windows.
SHIFTCONV_HOST_DEVICE constexpr uint32_t refillBytes(const LaneMap& lanes, int32_t filterWidth) {
  return lanes.isRefilled ? static_cast<uint32_t>(filterWidth - 1) * kStreamRefillBytes : 0;
}

/// Scale factors of 128 rows and one tap in shared memory, and the columns that they take in Tensor Memory.
SHIFTCONV_HOST_DEVICE constexpr uint32_t scaleTileBytes(layout::MmaKind kind) {
  return gemm::sm100::scaleAtomsPerChunk(kind) * gemm::sm100::kScaleAtomBytes;
}
SHIFTCONV_HOST_DEVICE constexpr uint32_t scaleTileColumns(layout::MmaKind kind) {
  return gemm::sm100::scaleAtomsPerChunk(kind) * gemm::sm100::kScaleAtomColumns;
}

}  // namespace shiftconv::kernels
