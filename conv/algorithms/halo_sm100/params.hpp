// The geometry of halo on sm_100 and what the host tells its kernels. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/gemm/sm100/filter_params.hpp"
#include "common/gemm/sm100/gemm_params.hpp"

namespace shiftconv::kernels::halo_sm100 {

// An operand of 128 rows are 16 groups of 8 (PTX ISA 9.7.16.10.6): a group is 8 neighbouring pixels of an image row, and the
// groups, at one distance from each other, are image rows, or the same rows of several images in turns.
inline constexpr int32_t kGroupPixels = 8;
inline constexpr int32_t kGroups = gemm::sm100::kTileRows / kGroupPixels;

inline constexpr int32_t kMaximumTaps = 64;     ///< of R * S
inline constexpr int32_t kMaximumPatches = 16;  ///< of a channel chunk: one for each phase of the strides
inline constexpr int32_t kMaximumPatchStages = 6;
inline constexpr int32_t kMaximumFilterStages = 24;  ///< of a ring; a resident filter has no limit but memory
inline constexpr int32_t kAccumulators = 2;
inline constexpr int32_t kMaximumAccumulators = 16;  ///< of row streams
inline constexpr int32_t kMaximumScaleStages = 4;    ///< each with a tap's scale factors of a channel chunk

/// A patch holds every strideH-th row and every strideW-th column from its origin on: what the taps of one phase read.
struct PatchOrigin {
  int32_t x, y;  ///< pixels from the tile's first pixel
};

struct HaloParams {
  /// What multiplication and epilogue share with the GEMM kernels. Of its loads only the descriptors count; its window says which
  /// pixels, and so which scale factors, the taps of an output pixel read.
  gemm::sm100::GemmParams gemm;

  int32_t images = 0, outputDepth = 1, outputHeight = 0, outputWidth = 0;
  int32_t strideDepth = 1, strideH = 1, strideW = 1, dilationDepth = 1;
  int32_t padFront = 0, padTop = 0, padLeft = 0;
  int32_t filterDepth = 1;  ///< T

  int32_t tileImages = 1, tileRows = kGroups;  ///< images times output rows of an operand: kGroups. Of a row stream: 1, any
  int32_t columnBlocks = 0, rowBlocks = 0;     ///< operands, or row streams, across and down an image
  int32_t tiles = 0;                           ///< of one operand, or kGroups row streams, for each CTA of a cluster

  /// Row streams: a group of the operand is a stream of its own, 8 columns of tileRows output rows. A patch is one row of each
  /// stream; all filter rows that read it multiply it at once, for as many output rows, which have an accumulator each.
  bool streamsRows = false;                   ///< a kernel of its own
  int32_t accumulatorsOfTile = 1;             ///< tileRows of a row stream
  int32_t filterHeight = 1, filterWidth = 1;  ///< R, S
  int32_t dilationH = 1;
  int32_t patchRows = 0;                         ///< of a stream
  int32_t rowRuns = 1;                           ///< chunks that a row is multiplied with before the next one comes
  int32_t filterRowStep = 1, outputRowStep = 1;  ///< from one filter row that reads a patch row to the next, back along outputs

  int32_t patches = 0;             ///< of a channel chunk
  uint32_t patchBytes = 0;         ///< from one to the next
  uint32_t groupBytes = 0;         ///< row streams: of a patch, from one stream to the next
  uint32_t patchCountedBytes = 0;  ///< of one, by the barrier that its load counts towards
  uint32_t patchStageBytes = 0;    ///< all patches of a chunk
  int32_t patchStages = 0;
  gemm::sm100::FilterParams filter;
  /// Outputs leave shared memory by tensor stores, of the four groups that an epilogue warp has: a box of 8 columns. Bytes of one
  /// of its staging tiles; 0: every lane stores the row of its pixel.
  uint32_t stagingTileBytes = 0;
  int32_t scaleStages = 0;       ///< block-scaled operands
  uint32_t scaleStageBytes = 0;  ///< atoms of A, then those of B

  PatchOrigin origins[kMaximumPatches] = {};
  uint32_t tapOffsets[kMaximumTaps] =
      {};  ///< bytes from a patch stage to the first pixel that tap (r, s) reads; row streams: tap s
};

/// Bytes of shared memory in front of the stages: barriers.
inline constexpr uint32_t kControlBytes = 1024;

}  // namespace shiftconv::kernels::halo_sm100
