// The geometry of shift_window and what the host tells its kernels. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/gemm/sm100/filter_params.hpp"
#include "common/gemm/sm100/gemm_params.hpp"
#include "common/layout/fast_divisor.hpp"
#include "common/layout/instruction_descriptor.hpp"

namespace shiftconv::kernels {

// Tile: four windows of 32 Tensor Memory lanes in each CTA. `.ashift` moves rows inside a window only (PTX ISA 9.7.16.10; observed
// on B200 by vendor examples), so a window of an S-wide filter yields 33 - S outputs and consecutive windows overlap by S - 1 rows.
inline constexpr int32_t kTensorLanes = 128;
inline constexpr int32_t kWindowLanes = 32;
inline constexpr int32_t kWindows = kTensorLanes / kWindowLanes;
SHIFTCONV_HOST_DEVICE constexpr int32_t usefulLanes(int32_t filterWidth) { return kWindowLanes + 1 - filterWidth; }

inline constexpr uint32_t kWindowBytes = kWindowLanes * layout::kSwizzle128RowBytes;
inline constexpr uint32_t kOperandStageBytes = kTensorLanes * layout::kSwizzle128RowBytes;

// Tensor Memory: two accumulators of tileN columns, then the operand slots.
inline constexpr int32_t kTensorColumns = 512;
inline constexpr int32_t kAccumulators = 2;
inline constexpr int32_t kOperandSlots = 4;
inline constexpr int32_t kSlotColumns = static_cast<int32_t>(gemm::sm100::kOperandColumns);
inline constexpr int32_t kMaximumTileN = 192;
/// Columns from one accumulator to the next. Accumulators start at multiples of 32 columns: any alignment that hardware may ask
/// for is met (no public document states one).
SHIFTCONV_HOST_DEVICE constexpr int32_t accumulatorColumns(int32_t tileN) { return (tileN + 31) / 32 * 32; }
static_assert(kAccumulators * accumulatorColumns(kMaximumTileN) + kOperandSlots * kSlotColumns <= kTensorColumns,
              "accumulators and operand slots share the 512 columns of Tensor Memory");

inline constexpr int32_t kMaximumFilterExtent = 7;  ///< of T, R and S
inline constexpr int32_t kMaximumOperandStages = 8;
inline constexpr int32_t kMaximumFilterStages = 64;
inline constexpr int32_t kMaskStages = 2;

/// Where outputs are staged: a line is a run of anchors whose outputs are neighbours, too, as far as they have any: those come
/// first in it. The lines of an image lie one after another; its last ones may have no outputs.
struct StagedLines {
  int32_t anchors = 0;
  int32_t ofImage = 1, withOutputs = 1;
};

struct ShiftWindowParams {
  int32_t depth = 1, height = 0, width = 0;                    ///< D, H, W
  int32_t outputDepth = 1, outputHeight = 0, outputWidth = 0;  ///< O, P, Q
  int32_t filterDepth = 1, filterHeight = 0, filterWidth = 0;  ///< T, R, S
  int32_t dilationDepth = 1, dilationH = 1, padFront = 0, padTop = 0, padLeft = 0;
  int32_t anchors = 0;  ///< N*D*H*W

  int32_t channelChunks = 0;    ///< of 128 bytes
  int32_t chunkElements = 0;    ///< of the tensor maps, in 128 bytes
  int32_t lastChunkSlices = 0;  ///< 32-byte slices in the last chunk, 1..4
  int32_t tileN = 0;            ///< output channels per pass, multiple of 16; blockIdx.y is the pass
  int32_t tiles = 0;            ///< of 4 * usefulLanes(S) anchors for each CTA of a group

  int32_t operandStages = 0;  ///< shared-memory stages of 16 KiB for activations
  gemm::sm100::FilterParams filter;
  /// Of a staging tile, of which each epilogue warp has gemm::sm100::kStagingTiles; 0: every lane stores the row of its pixel.
  uint32_t stagingTileBytes = 0;
  StagedLines staged;

  layout::MmaKind kind = layout::MmaKind::F16;
  uint32_t instructionDescriptor = 0;

  layout::FastDivisor byWidth, byPlane, byDepth;  ///< W, H*W and D
  gemm::EpilogueParams epilogue;                  ///< rows: output pixels, columns: K
};

/// Bytes of shared memory in front of the stages: barriers, and masks for all CTAs of a group.
SHIFTCONV_HOST_DEVICE constexpr uint32_t controlBytes(int32_t ctas) { return 1024 * (1 + static_cast<uint32_t>(ctas)); }

/// Shared memory of a filter stage in one of the CTAs that multiply together.
SHIFTCONV_HOST_DEVICE constexpr uint32_t filterStageBytes(int32_t tileN, int32_t ctas) {
  return static_cast<uint32_t>(tileN / ctas) * layout::kSwizzle128RowBytes;
}

/// Dynamic shared memory of a launch. The stages need 1024-byte alignment, which the runtime does not promise.
SHIFTCONV_HOST_DEVICE constexpr uint32_t sharedBytes(int32_t operandStages, int32_t filterStages, int32_t tileN, int32_t ctas = 1,
                                                     uint32_t stagingTileBytes = 0) {
  return layout::kSwizzle128AtomBytes + controlBytes(ctas) + static_cast<uint32_t>(operandStages) * kOperandStageBytes +
         gemm::sm100::kStagingTilesOfCta * stagingTileBytes + static_cast<uint32_t>(filterStages) * filterStageBytes(tileN, ctas);
}

}  // namespace shiftconv::kernels
