// The geometry of shift_window and what the host tells its kernels. Shared by planner and device code.
#pragma once

#include <cstdint>

#include "common/layout/fast_divisor.hpp"
#include "common/layout/shared_matrix_descriptor.hpp"

namespace shiftconv::kernels {

/// How a run gets from shared memory into its Tensor Memory slot.
enum class OperandPath : uint8_t {
  TensorCopy,     ///< tcgen05.cp.128x256b
  RegisterStore,  ///< ld.shared + tcgen05.st: every step observed on hardware by vendor examples
};

/// The warps of a CTA by their index.
enum Warp : uint32_t {
  kOperandLoadWarp = 0,  // TMA of activations
  kMmaWarp = 1,          // tcgen05.cp and tcgen05.mma
  kMaskWarp = 2,         // lane masks; owns the Tensor Memory allocation
  kFilterLoadWarp = 3,   // TMA of filters
  kEpilogueWarps = 4,    // 4..7: warp w may touch Tensor Memory lanes 32*(w%4).. only (PTX ISA 9.7.16.8.1)
  kStagingWarps = 8,     // 8..11, only with OperandPath::RegisterStore
};
/// Their names in counters and profiles.
inline constexpr const char* kWarpRoles[] = {"operand load", "mma",        "masks",     "filter load", "epilogue 0", "epilogue 1",
                                             "epilogue 2",   "epilogue 3", "staging 0", "staging 1",   "staging 2",  "staging 3"};
SHIFTCONV_HOST_DEVICE constexpr uint32_t warpsOf(OperandPath path) {
  return path == OperandPath::RegisterStore ? kStagingWarps + 4 : uint32_t{kStagingWarps};
}
SHIFTCONV_HOST_DEVICE constexpr uint32_t threadsOf(OperandPath path) { return warpsOf(path) * 32; }

/// KERNEL(name, OperandPath, output type) for every kernel: shift_window_<input and output types>_<tile>_<path>.
#define SHIFTCONV_SHIFT_WINDOW_KERNELS(KERNEL)                     \
  KERNEL(shift_window_sm100_x16_f16_m128_cp, TensorCopy, F16)      \
  KERNEL(shift_window_sm100_x16_bf16_m128_cp, TensorCopy, BF16)    \
  KERNEL(shift_window_sm100_x16_f32_m128_cp, TensorCopy, F32)      \
  KERNEL(shift_window_sm100_x16_f16_m128_st, RegisterStore, F16)   \
  KERNEL(shift_window_sm100_x16_bf16_m128_st, RegisterStore, BF16) \
  KERNEL(shift_window_sm100_x16_f32_m128_st, RegisterStore, F32)

// Tile: four windows of 32 Tensor Memory lanes. `.ashift` moves rows inside a window only (PTX ISA 9.7.16.10; observed on B200 by
// vendor examples), so a window of an S-wide filter yields 33 - S outputs and consecutive windows overlap by S - 1 rows.
inline constexpr int32_t kTensorLanes = 128;
inline constexpr int32_t kWindowLanes = 32;
inline constexpr int32_t kWindows = kTensorLanes / kWindowLanes;
SHIFTCONV_HOST_DEVICE constexpr int32_t usefulLanes(int32_t filterWidth) { return kWindowLanes + 1 - filterWidth; }

// Channels: one shared-memory row of 128 bytes is a chunk, one MMA takes a slice of it.
inline constexpr int32_t kChunkChannels = 64;
inline constexpr int32_t kSliceChannels = 16;
inline constexpr int32_t kChunkSlices = kChunkChannels / kSliceChannels;
inline constexpr int32_t kSliceColumns = 8;  ///< Tensor Memory columns of one A slice: 32 bytes a row
static_assert(kChunkChannels * 2 == layout::kSwizzle128RowBytes, "a chunk of 16-bit channels fills one 128-byte swizzled row");
static_assert(kSliceChannels * 2 == layout::kMmaRowBytes, "tcgen05.mma consumes 32 bytes of every row (PTX ISA table 39)");

inline constexpr uint32_t kWindowBytes = kWindowLanes * layout::kSwizzle128RowBytes;
inline constexpr uint32_t kOperandStageBytes = kTensorLanes * layout::kSwizzle128RowBytes;

// Tensor Memory: two accumulators of tileN columns, then the operand slots.
inline constexpr int32_t kTensorColumns = 512;
inline constexpr int32_t kAccumulators = 2;
inline constexpr int32_t kOperandSlots = 4;
inline constexpr int32_t kSlotColumns = kChunkSlices * kSliceColumns;
inline constexpr int32_t kMaximumTileN = 192;
/// Columns from one accumulator to the next. Accumulators start at multiples of 32 columns: any alignment that hardware may ask
/// for is met (no public document states one).
SHIFTCONV_HOST_DEVICE constexpr int32_t accumulatorColumns(int32_t tileN) { return (tileN + 31) / 32 * 32; }
static_assert(kAccumulators * accumulatorColumns(kMaximumTileN) + kOperandSlots * kSlotColumns <= kTensorColumns,
              "accumulators and operand slots share the 512 columns of Tensor Memory");

inline constexpr int32_t kMaximumFilterExtent = 7;  ///< of R and S
inline constexpr int32_t kMaximumOperandStages = 8;
inline constexpr int32_t kMaximumFilterStages = 64;
inline constexpr int32_t kMaskStages = 2;

struct ShiftWindowParams {
  void* output = nullptr;       ///< NPQK, 16-byte aligned
  const float* bias = nullptr;  ///< f32[K], 16-byte aligned, or null

  int32_t height = 0, width = 0;              ///< H, W
  int32_t outputHeight = 0, outputWidth = 0;  ///< P, Q
  int32_t filterHeight = 0, filterWidth = 0;  ///< R, S
  int32_t dilationH = 1, padTop = 0, padLeft = 0;
  int32_t anchors = 0;         ///< N*H*W
  int32_t outputChannels = 0;  ///< K
  int64_t outputPitch = 0;     ///< elements between neighbouring output pixels

  int32_t channelChunks = 0;    ///< ceil(C / 64)
  int32_t lastChunkSlices = 0;  ///< 16-channel slices in the last chunk, 1..4
  int32_t tileN = 0;            ///< output channels per pass, multiple of 16
  int32_t tiles = 0;            ///< tiles of 4 * usefulLanes(S) anchors

  int32_t operandStages = 0;    ///< shared-memory stages of 16 KiB for activations
  int32_t filterStages = 0;     ///< shared-memory stages of tileN * 128 bytes; R*S*channelChunks when resident
  bool filterResident = false;  ///< every stage is loaded once and kept
  bool relu = false;
  uint32_t instructionDescriptor = 0;

  layout::FastDivisor byWidth, byImage;  ///< W and H*W
};

/// Bytes of shared memory in front of the stages: barriers and masks.
inline constexpr uint32_t kControlBytes = 2048;

/// Dynamic shared memory of a launch. The stages need 1024-byte alignment, which the runtime does not promise.
SHIFTCONV_HOST_DEVICE constexpr uint32_t sharedBytes(int32_t operandStages, int32_t filterStages, int32_t tileN) {
  return layout::kSwizzle128AtomBytes + kControlBytes + static_cast<uint32_t>(operandStages) * kOperandStageBytes +
         static_cast<uint32_t>(filterStages) * static_cast<uint32_t>(tileN) * layout::kSwizzle128RowBytes;
}

}  // namespace shiftconv::kernels
