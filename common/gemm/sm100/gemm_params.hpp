// The geometry of the GEMM kernels and what the host tells them. Shared by planner and device code.
//
// D[M][N] = A[M][K] * B[N][K]^T. A CTA has 128 or 64 rows of A; tileN columns; a stage of its ring holds 128 bytes of K for each
// row, a chunk, which are four instructions of 32 bytes, the slices.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/gemm/sm100/roles.hpp"
#include "common/gemm/window.hpp"
#include "common/layout/instruction_descriptor.hpp"
#include "common/layout/scale_factor_layout.hpp"
#include "common/layout/shared_matrix_descriptor.hpp"

namespace shiftconv::gemm::sm100 {

inline constexpr int32_t kTileRows = 128;     ///< of a CTA: one for each lane of Tensor Memory
inline constexpr int32_t kHalfTileRows = 64;  ///< of a CTA: the other tile height that the tensor core has
inline constexpr uint32_t kChunkBytes = layout::kSwizzle128RowBytes;
inline constexpr int32_t kChunkSlices = static_cast<int32_t>(kChunkBytes / layout::kMmaRowBytes);
inline constexpr uint32_t kSliceColumns = 8;  ///< Tensor Memory columns of a slice of A: 32 bytes a row
inline constexpr uint32_t kOperandColumns = kSliceColumns * kChunkSlices;
inline constexpr int32_t kMaximumTileN = 256;
inline constexpr int32_t kMaximumStages = 12;
inline constexpr int32_t kMaximumAccumulators = 2;

/// The epilogue: columns of a row that a thread handles at once; those of a warp's threads on their way to a TMA store, twice.
inline constexpr int32_t kRowColumns = 32, kStagingTiles = 2;
inline constexpr int32_t kStagingTilesOfCta = kEpilogueWarpCount * kStagingTiles;
/// Of a staging tile of 32 rows, for outputs of any type, and of one.
inline constexpr uint32_t kStagingTileBytes = 32 * kRowColumns * 4;
SHIFTCONV_HOST_DEVICE constexpr uint32_t stagingTileBytes(NumberType outputType) {
  return static_cast<uint32_t>(32 * kRowColumns * stagingBits(outputType) / 8);
}

/// Scale factors of 128 rows x 4 blocks: an atom of 512 bytes of shared memory, 4 columns of Tensor Memory (PTX ISA 9.7.16.10.7).
inline constexpr uint32_t kScaleAtomBytes = static_cast<uint32_t>(layout::kScaleTileBytes), kScaleAtomColumns = 4;
inline constexpr int32_t kScaleAtomRows = static_cast<int32_t>(layout::kScaleTileRows);
inline constexpr int32_t kScaleAtomBlocks = static_cast<int32_t>(layout::kScaleTileBlocks);

/// Scale factors that one instruction takes for a row of A or B.
SHIFTCONV_HOST_DEVICE constexpr uint32_t scalesPerSlice(layout::MmaKind kind) {
  return kind == layout::MmaKind::NvF4 ? 4 : kind == layout::MmaKind::MxF4 ? 2 : 1;
}
/// Atoms that a chunk of a row tile takes.
SHIFTCONV_HOST_DEVICE constexpr uint32_t scaleAtomsPerChunk(layout::MmaKind kind) { return scalesPerSlice(kind); }
static_assert(kChunkSlices == kScaleAtomBlocks, "a chunk has as many slices as an atom has blocks");

/// How one operand gets into a stage and lies there.
struct OperandParams {
  uint64_t descriptor = 0;  ///< matrix descriptor of a stage at shared address 0
  uint32_t sliceBytes = 0;  ///< from the start of one slice to that of the next
  uint32_t stageBytes = 0;  ///< shared memory of a chunk in one CTA
  uint32_t boxBytes = 0;    ///< shared memory of one load
  uint32_t countedBytes =
      0;                  ///< what its barrier counts: 4- and 6-bit elements without the padding that they have in shared memory
  int32_t boxes = 0;      ///< loads by one CTA
  int32_t boxRows = 0;    ///< rows of M or N in one
  int32_t shareRows = 0;  ///< from the rows of B that one CTA of a cluster loads to those of the next
  int32_t chunkElements = 0;  ///< elements of K in a chunk, as the tensor map counts
  bool mnMajor = false;       ///< M or N is the contiguous dimension
};

/// Block scale factors of one operand. Row-major ones are built into atoms by threads. 128x4 tiles are loaded through a tensor map,
/// or taken apart by threads where a CTA has 64 rows.
struct ScaleParams {
  const uint8_t* rowMajor = nullptr;  ///< [rows][blocks]; null: in 128x4 tiles
  int32_t rows = 0, blocks = 0;
  int32_t rowTiles = 0;  ///< atoms along M or N of a tile

  // What follows is for the GEMM kernels only.
  int32_t atomRows = 0;            ///< rows of M or N in an atom; the others are empty
  const uint8_t* tiles = nullptr;  ///< to be taken apart
  /// From the columns of Tensor Memory of one atom along K to those of the next, and in a stage in atoms: along M or N, along K.
  uint32_t atomColumns = 0, rowTileStep = 0, blockStep = 1;
  /// Those of B are the same for all CTAs of a cluster: each loads a part into all. How many of them load, and from the part of one
  /// to that of the next: bytes of a stage, row tiles, atoms along K.
  uint32_t loaders = 1;
  uint32_t shareBytes = 0;
  int32_t shareRowTiles = 0, shareAtoms = 0;

  SHIFTCONV_HOST_DEVICE bool isBuilt() const { return rowMajor != nullptr || tiles != nullptr; }
};

/// No such row of scale factors: its factors are 0, which is finite in every scale type.
inline constexpr int32_t kNoScaleRow = 0x7fffffff;

struct GemmParams {
  OperandParams a, b;
  ScaleParams scaleA, scaleB;
  WindowParams window;

  int32_t m = 0, n = 0;
  int32_t tileRows = 0, tileN = 0;         ///< of a CTA: kTileRows or kHalfTileRows; of the whole tile
  int32_t tilesDown = 0, tilesAcross = 0;  ///< of tileRows times the CTAs of a cluster; of tileN
  /// Of a group (gemm::Window): its tiles, its columns, and from its first channel to that of the next as the map of A counts. One
  /// group has the columns of all tiles, those after N included.
  int32_t groupTiles = 0, groupColumns = 0, groupElements = 0;
  /// Not 0: the map of A has five dimensions, of which the outer two are images and groups, and its channels end with a group.
  int32_t mapGroups = 0;
  int32_t chunks = 0;           ///< of K
  int32_t lineChunks = 0;       ///< of K where it is contiguous: all, or those of a tap of a window
  int32_t lastChunkSlices = 0;  ///< 1..4, of the last of them
  int32_t splits = 1;           ///< parts of the reduction; more than 1 needs workspace and counters
  int32_t stages = 0;
  int32_t accumulators = 1;
  uint32_t accumulatorColumns = 0;  ///< from one accumulator to the next
  uint32_t stageColumns = 0;        ///< Tensor Memory of a stage: A if it goes there, then the scale factors of A and B
  uint32_t allocatedColumns = 0;
  uint32_t stageBytes = 0;       ///< shared memory of a stage
  uint32_t loadedBytes = 0;      ///< that bulk copies bring into a stage of one CTA (of both, for a pair)
  uint32_t residentBytes = 0;    ///< the same of all chunks of B when it is resident
  bool weightsResident = false;  ///< the CTA's columns of B are loaded once: blockIdx.y is its column of tiles
  bool tensorA = false;          ///< A is copied to Tensor Memory and multiplied from there
  bool launchControl = false;    ///< tiles by cluster launch control instead of in turns
  bool buildScales = false;      ///< warps 8..11 are there and build atoms of scale factors
  uint8_t expandedBitsA = 0;     ///< 4 or 6: elements of A become bytes on their way to Tensor Memory
  layout::MmaKind kind = layout::MmaKind::F16;
  layout::MmaAccumulator accumulator = layout::MmaAccumulator::F32;
  uint32_t instructionDescriptor = 0;

  EpilogueParams epilogue;
  bool bulkOutput = false;       ///< outputs leave shared memory by TMA stores, else by stores of threads
  uint32_t stagingOffset = 0;    ///< of kEpilogueWarpCount * kStagingTiles tiles, from the first stage
  uint32_t* partials = nullptr;  ///< with splits: one accumulator for each unit of work and CTA, tileRows * tileN words
  uint32_t* counters = nullptr;  ///< with splits: one for each tile, CTA and window, zero before and after
};

/// Bytes of shared memory in front of the stages.
inline constexpr uint32_t kControlBytes = 1024;

}  // namespace shiftconv::gemm::sm100
