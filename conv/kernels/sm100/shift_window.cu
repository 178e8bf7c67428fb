// shift_window: implicit-GEMM forward convolution whose activations live in Tensor Memory and slide along the filter width.
//
// GEMM view: M = pixels, N = output channels K, reduction over (r, chunk of 64 c, s). Activations are a flat matrix of N*H*W
// rows of C channels; the output at anchor row o needs, for tap (r, s), row o + (r*dilationH - padTop)*W + s - padLeft. So going
// from s to s+1 means that every lane takes the row of its upper neighbour: `.ashift` on the MMA of tap s does just that
// for the next one. Rows that belong to another image row or image are masked with disable-output-lane.
//
// NOTES
//  - A run is one (r, chunk): one load of 4 windows x 32 rows into shared memory, one copy into a Tensor Memory slot, S taps.
//    The copy of run i+1 is issued before the MMAs of run i, so that it overlaps them; four slots keep the slot that run i+1
//    takes three runs away from the MMAs in flight.
//  - cp -> mma and mma -> mma (same accumulator, same shape) are ordered by hardware (PTX ISA 9.7.16.6.2); mma -> cp into the
//    same slot is not, hence the commit into slotFree.
//  - A masked first MMA would leave old numbers in its masked lanes. So the epilogue warps store zeros into an accumulator
//    after draining it, and every MMA accumulates. The other way, the tap that is valid at every anchor first, unmasked and from
//    an operand of its own, was tried: equally exact, but it needs one more run a tile (1x56x56x64, 3x3, emulated: 1.85 instead
//    of 1.42 MB loaded and 432 instead of 324 tcgen05.cp) and a padTop that dilationH divides.
//  - Lanes past the last anchor of a window hold rows that a shift left stale; they are masked in every tap.
//  - K above tileN: blockIdx.y selects the pass; A is copied again for each, because `.ashift` consumes it.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "common/ptx/shared_memory.cuh"
#include "conv/kernels/sm100/shift_window_epilogue.cuh"
#include "conv/kernels/sm100/shift_window_params.hpp"

namespace shiftconv::kernels {
namespace {

using gemm::RingPosition;
using Group = gemm::sm100::SingleCta;

// ---- Roles -------------------------------------------------------------------------------------------------------------------
// Warp, OperandPath and threadsOf() stand in shift_window_params.hpp, because the planner launches and names the warps by them.

// ---- Shared memory -----------------------------------------------------------------------------------------------------------
struct TileMasks {
  ptx::LaneMask column[kMaximumFilterExtent];  // [s]: column outside the image, or no anchor in this lane; a word a window
  ptx::LaneMask row[kMaximumFilterExtent];     // [r]: row outside the image
};

struct Control {
  gemm::Pipeline<kMaximumOperandStages> operands;  // activations in shared memory
  gemm::Pipeline<kOperandSlots> slots;             // activations in Tensor Memory; full only with RegisterStore
  gemm::Pipeline<kMaximumFilterStages> filters;    // filter taps in shared memory
  gemm::Pipeline<kMaskStages> masksOfTiles;
  gemm::Pipeline<kAccumulators> accumulators;
  alignas(16) TileMasks masks[kMaskStages];
  uint32_t tensorMemory;
};
static_assert(sizeof(Control) <= kControlBytes, "the planner reserves kControlBytes in front of the stages");

// ---- One CTA -----------------------------------------------------------------------------------------------------------------
template <OperandPath kPath, class Output>
class ShiftWindowCta {
 public:
  __device__ ShiftWindowCta(const CUtensorMap& inputMap, const CUtensorMap& filterMap, const ShiftWindowParams& params)
      : inputMap_(inputMap), filterMap_(filterMap), p_(params) {
    extern __shared__ uint8_t dynamicShared[];
    control_ = &gemm::alignedShared<Control>(dynamicShared);
    operandStages_ = ptx::sharedAddress(control_) + kControlBytes;
    filterStages_ = operandStages_ + static_cast<uint32_t>(p_.operandStages) * kOperandStageBytes;
    filterStageBytes_ = static_cast<uint32_t>(p_.tileN) * layout::kSwizzle128RowBytes;
    anchorsPerWindow_ = usefulLanes(p_.filterWidth);
    anchorsPerTile_ = kWindows * anchorsPerWindow_;
    runs_ = p_.filterHeight * p_.channelChunks;
    tiles_ = gemm::StaticTiles::ofGrid(p_.tiles);
  }

  __device__ void run() {
    const uint32_t warp = threadIdx.x / 32;
    if (warp == kOperandLoadWarp && ptx::electOne()) initialiseBarriers();
    accumulators_ = gemm::sm100::enter<Group>(control_->tensorMemory, allocatedColumns(), warp == kMaskWarp);
    slots_ = accumulators_ + static_cast<uint32_t>(kAccumulators * accumulatorColumns(p_.tileN));
    if (warp == kOperandLoadWarp) {
      if (ptx::electOne()) loadOperands();
    } else if (warp == kMmaWarp) {
      if (ptx::electOne()) multiply();
    } else if (warp == kMaskWarp) {
      buildMasks();
    } else if (warp == kFilterLoadWarp) {
      if (ptx::electOne()) loadFilter();
    } else if (warp < kStagingWarps) {
      drainAccumulators(warp % 4);
    } else if constexpr (kPath == OperandPath::RegisterStore) {
      stageOperands(warp % 4);
    }
    gemm::sm100::leave<Group>(accumulators_, allocatedColumns(), warp == kMaskWarp);
  }

 private:
  // ---- Setup -------------------------------------------------------------------------------------------------------------------
  __device__ uint32_t allocatedColumns() const {
    const uint32_t needed = static_cast<uint32_t>(kAccumulators * accumulatorColumns(p_.tileN) + kOperandSlots * kSlotColumns);
    return needed <= 256 ? 256 : 512;  // a power of two; at least 2*32 + 128
  }

  __device__ void initialiseBarriers() {
    ptx::prefetchTensorMap(&inputMap_);
    ptx::prefetchTensorMap(&filterMap_);
    constexpr uint32_t kStagers = kPath == OperandPath::RegisterStore ? kWindows : 1;
    control_->operands.initialise(kMaximumOperandStages, 1, kStagers);
    control_->slots.initialise(kOperandSlots, kStagers, 1);
    control_->filters.initialise(p_.filterStages, 1, 1);
    control_->masksOfTiles.initialise(kMaskStages, 1, 1);
    control_->accumulators.initialise(kAccumulators, 1, kWindows);
    ptx::fenceMbarrierInit();
  }

  // ---- Places ------------------------------------------------------------------------------------------------------------------
  __device__ int32_t slicesOf(int32_t chunk) const { return chunk + 1 == p_.channelChunks ? p_.lastChunkSlices : kChunkSlices; }
  __device__ uint32_t accumulatorAddress(int32_t index) const {
    return accumulators_ + static_cast<uint32_t>(index * accumulatorColumns(p_.tileN));
  }
  __device__ uint32_t slotAddress(int32_t index) const { return slots_ + static_cast<uint32_t>(index * kSlotColumns); }
  __device__ uint32_t operandStageAddress(int32_t index) const {
    return operandStages_ + static_cast<uint32_t>(index) * kOperandStageBytes;
  }

  // ---- Activations: global -> shared -----------------------------------------------------------------------------------------
  __device__ void loadOperands() const {
    RingPosition stage;
    for (const int32_t tile : tiles_) {
      for (int32_t r = 0; r < p_.filterHeight; ++r) {
        const int32_t firstRow = tile * anchorsPerTile_ + (r * p_.dilationH - p_.padTop) * p_.width - p_.padLeft;
        for (int32_t chunk = 0; chunk < p_.channelChunks; ++chunk) {
          const uint32_t full = control_->operands.full(stage);
          control_->operands.awaitEmpty(stage);
          ptx::mbarrierArriveExpectBytes(full, kOperandStageBytes);
          for (int32_t window = 0; window < kWindows; ++window) {
            ptx::loadTile2d(operandStageAddress(stage.index) + static_cast<uint32_t>(window) * kWindowBytes, &inputMap_,
                            chunk * kChunkChannels, firstRow + window * anchorsPerWindow_, full);
          }
          stage.advance(p_.operandStages);
        }
      }
    }
    control_->operands.awaitReleases(stage, p_.operandStages);
  }

  // ---- Filters: global -> shared, once when resident ---------------------------------------------------------------------------
  __device__ void loadFilter() const {
    RingPosition stage;
    const int32_t firstOutputChannel = static_cast<int32_t>(blockIdx.y) * p_.tileN;
    const auto loadAll = [&] {
      for (int32_t r = 0; r < p_.filterHeight; ++r) {
        for (int32_t chunk = 0; chunk < p_.channelChunks; ++chunk) {
          for (int32_t s = 0; s < p_.filterWidth; ++s) {
            const uint32_t full = control_->filters.full(stage);
            control_->filters.awaitEmpty(stage);
            ptx::mbarrierArriveExpectBytes(full, filterStageBytes_);
            ptx::loadTile3d(filterStages_ + static_cast<uint32_t>(stage.index) * filterStageBytes_, &filterMap_,
                            chunk * kChunkChannels, r * p_.filterWidth + s, firstOutputChannel, full);
            stage.advance(p_.filterStages);
          }
        }
      }
    };
    if (p_.filterResident) {
      if (tiles_.own() > 0) loadAll();
    } else {
      for ([[maybe_unused]] const int32_t tile : tiles_) loadAll();
      control_->filters.awaitReleases(stage, p_.filterStages);
    }
  }

  // ---- Lane masks --------------------------------------------------------------------------------------------------------------
  __device__ void buildMasks() const {
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
    RingPosition stage;
    for (const int32_t tile : tiles_) {
      control_->masksOfTiles.awaitEmpty(stage);
      TileMasks& masks = control_->masks[stage.index];
      for (int32_t window = 0; window < kWindows; ++window) {
        const int32_t anchor = tile * anchorsPerTile_ + window * anchorsPerWindow_ + lane;
        const bool hasAnchor = lane < anchorsPerWindow_ && anchor < p_.anchors;
        const PixelPosition pixel = pixelOf(p_, hasAnchor ? anchor : 0);
        for (int32_t s = 0; s < p_.filterWidth; ++s) {
          const bool inside = static_cast<uint32_t>(pixel.column + s - p_.padLeft) < static_cast<uint32_t>(p_.width);
          const uint32_t disabled = __ballot_sync(0xffffffffu, !(hasAnchor && inside));
          if (lane == 0) masks.column[s].word[window] = disabled;
        }
        for (int32_t r = 0; r < p_.filterHeight; ++r) {
          const bool inside = static_cast<uint32_t>(pixel.row + r * p_.dilationH - p_.padTop) < static_cast<uint32_t>(p_.height);
          const uint32_t disabled = __ballot_sync(0xffffffffu, !inside);
          if (lane == 0) masks.row[r].word[window] = disabled;
        }
      }
      if (lane == 0) ptx::mbarrierArrive(control_->masksOfTiles.full(stage));
      stage.advance(kMaskStages);
    }
  }

  // ---- Activations: shared -> Tensor Memory by threads (every step observed on hardware by vendor examples) -------------------
  __device__ void stageOperands(uint32_t window) const {
    const uint32_t lane = threadIdx.x % 32;
    RingPosition stage, slot;
    for ([[maybe_unused]] const int32_t tile : tiles_) {
      for (int32_t run = 0; run < runs_; ++run) {
        control_->operands.awaitFull(stage);
        control_->slots.awaitEmpty(slot);
        ptx::tensorFenceAfterThreadSync();
        const uint32_t row = operandStageAddress(stage.index) + window * kWindowBytes + lane * layout::kSwizzle128RowBytes;
        const uint32_t destination = slotAddress(slot.index) + ((window * kWindowLanes) << 16);
        const int32_t slices = slicesOf(run % p_.channelChunks);
        for (int32_t slice = 0; slice < slices; ++slice) {
          const uint32_t source = row + static_cast<uint32_t>(slice) * layout::kMmaRowBytes;
          uint32_t words[kSliceColumns];
          ptx::loadShared16Bytes(layout::swizzle128(source), words[0], words[1], words[2], words[3]);
          ptx::loadShared16Bytes(layout::swizzle128(source + 16), words[4], words[5], words[6], words[7]);
          ptx::tensorStore8(destination + static_cast<uint32_t>(slice * kSliceColumns), words);
        }
        ptx::tensorStoreWait();
        ptx::tensorFenceBeforeThreadSync();
        __syncwarp();
        if (lane == 0) {
          ptx::mbarrierArrive(control_->slots.full(slot));
          ptx::mbarrierArrive(control_->operands.empty(stage));
        }
        stage.advance(p_.operandStages);
        slot.advance(kOperandSlots);
      }
    }
    control_->slots.awaitReleases(slot, kOperandSlots);
  }

  // ---- The tensor core: one thread ----------------------------------------------------------------------------------------------
  /// Brings one run into its slot with tcgen05.cp.
  __device__ void copyRun(RingPosition& stage, RingPosition& slot, int32_t run) const {
    control_->operands.awaitFull(stage);
    control_->slots.awaitEmpty(slot);
    ptx::tensorFenceAfterThreadSync();
    const uint64_t source = layout::swizzle128KMajorDescriptor(operandStageAddress(stage.index));
    const int32_t slices = slicesOf(run % p_.channelChunks);
    for (int32_t slice = 0; slice < slices; ++slice) {
      ptx::tensorCopy128x256(slotAddress(slot.index) + static_cast<uint32_t>(slice * kSliceColumns),
                             layout::advanceDescriptor(source, static_cast<uint32_t>(slice) * layout::kMmaRowBytes));
    }
    ptx::tensorCommit(control_->operands.empty(stage));
    stage.advance(p_.operandStages);
    slot.advance(kOperandSlots);
  }

  /// One tap of one chunk. The full chunk is unrolled: a thread that loops around every MMA cannot keep the tensor core busy.
  template <ptx::OperandShift kShift>
  __device__ void multiplyTap(uint32_t accumulator, uint32_t operand, uint64_t filter, int32_t slices,
                              const ptx::LaneMask& disabled) const {
    const auto multiplySlice = [&](int32_t slice) {
      ptx::mmaMasked<layout::MmaKind::F16, kShift>(
          accumulator, ptx::TensorOperand{operand + static_cast<uint32_t>(slice * kSliceColumns)},
          layout::advanceDescriptor(filter, static_cast<uint32_t>(slice) * layout::kMmaRowBytes), p_.instructionDescriptor,
          disabled);
    };
    if (slices == kChunkSlices) {
#pragma unroll
      for (int32_t slice = 0; slice < kChunkSlices; ++slice) multiplySlice(slice);
    } else {
#pragma unroll 1
      for (int32_t slice = 0; slice < slices; ++slice) multiplySlice(slice);
    }
  }

  __device__ void multiply() const {
    RingPosition copyStage, copySlot, slot, filterStage, maskStage, accumulator;
    const int32_t runsToCopy = tiles_.own() * runs_;
    int32_t nextCopy = 0;
    const auto copyNext = [&] {
      if (nextCopy < runsToCopy) copyRun(copyStage, copySlot, nextCopy++);
    };
    if constexpr (kPath == OperandPath::TensorCopy) copyNext();

    const uint64_t firstFilter = layout::swizzle128KMajorDescriptor(filterStages_);
    bool filterLoaded = false;  // only meaningful with a resident filter: every stage has been waited for once
    for ([[maybe_unused]] const int32_t tile : tiles_) {
      control_->masksOfTiles.awaitFull(maskStage);
      ptx::mbarrierWait(control_->accumulators.empty(accumulator), accumulator.parity);  // the epilogue offers them from the start
      ptx::tensorFenceAfterThreadSync();
      const TileMasks& masks = control_->masks[maskStage.index];
      const uint32_t target = accumulatorAddress(accumulator.index);
      for (int32_t r = 0; r < p_.filterHeight; ++r) {
        const ptx::LaneMask rowMask = masks.row[r];
        for (int32_t chunk = 0; chunk < p_.channelChunks; ++chunk) {
          if constexpr (kPath == OperandPath::TensorCopy) {
            copyNext();
          } else {
            control_->slots.awaitFull(slot);
            ptx::tensorFenceAfterThreadSync();
          }
          const int32_t slices = slicesOf(chunk);
          const uint32_t operand = slotAddress(slot.index);
#pragma unroll 1
          for (int32_t s = 0; s < p_.filterWidth; ++s) {
            if (!filterLoaded) control_->filters.awaitFull(filterStage);
            const ptx::LaneMask disabled = masks.column[s] | rowMask;
            const uint64_t filter =
                layout::advanceDescriptor(firstFilter, static_cast<uint32_t>(filterStage.index) * filterStageBytes_);
            if (s + 1 < p_.filterWidth) {
              multiplyTap<ptx::OperandShift::DownAfterRead>(target, operand, filter, slices, disabled);
            } else {
              multiplyTap<ptx::OperandShift::Keep>(target, operand, filter, slices, disabled);
            }
            if (!p_.filterResident) ptx::tensorCommit(control_->filters.empty(filterStage));
            filterStage.advance(p_.filterStages);
          }
          ptx::tensorCommit(control_->slots.empty(slot));
          slot.advance(kOperandSlots);
        }
      }
      ptx::tensorCommit(control_->accumulators.full(accumulator));
      ptx::mbarrierArrive(control_->masksOfTiles.empty(maskStage));
      filterLoaded = p_.filterResident;
      maskStage.advance(kMaskStages);
      accumulator.advance(kAccumulators);
    }
    if constexpr (kPath == OperandPath::TensorCopy) control_->slots.awaitReleases(copySlot, kOperandSlots);
  }

  // ---- Epilogue -----------------------------------------------------------------------------------------------------------------
  /// Zeroes this warp's window of an accumulator and hands it to the MMA warp.
  __device__ void offerEmptyAccumulator(const RingPosition& accumulator, uint32_t window) const {
    const uint32_t address = accumulatorAddress(accumulator.index) + ((window * kWindowLanes) << 16);
    for (int32_t column = 0; column < p_.tileN; column += 16) ptx::tensorFill16(address + static_cast<uint32_t>(column), 0);
    ptx::tensorStoreWait();
    ptx::tensorFenceBeforeThreadSync();
    __syncwarp();
    if (threadIdx.x % 32 == 0) ptx::mbarrierArrive(control_->accumulators.empty(accumulator));
  }

  __device__ void drainAccumulators(uint32_t window) const {
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
    for (int32_t index = 0; index < kAccumulators; ++index) offerEmptyAccumulator({index, 0}, window);
    RingPosition accumulator;
    for (const int32_t tile : tiles_) {
      control_->accumulators.awaitFull(accumulator);
      ptx::tensorFenceAfterThreadSync();
      const int32_t anchor = tile * anchorsPerTile_ + static_cast<int32_t>(window) * anchorsPerWindow_ + lane;
      const bool hasAnchor = lane < anchorsPerWindow_ && anchor < p_.anchors;
      storePixel<Output>(p_, accumulatorAddress(accumulator.index) + ((window * kWindowLanes) << 16),
                         static_cast<int32_t>(blockIdx.y) * p_.tileN, hasAnchor, anchor);
      offerEmptyAccumulator(accumulator, window);
      accumulator.advance(kAccumulators);
    }
  }

  const CUtensorMap& inputMap_;
  const CUtensorMap& filterMap_;
  const ShiftWindowParams& p_;
  Control* control_;
  uint32_t operandStages_, filterStages_, filterStageBytes_;  // shared-window addresses; bytes
  uint32_t accumulators_ = 0, slots_ = 0;                     // Tensor Memory addresses
  int32_t anchorsPerWindow_, anchorsPerTile_, runs_;
  gemm::StaticTiles tiles_;  // the order of work, the same for every role
};

}  // namespace

// ---- Kernels: those of SHIFTCONV_SHIFT_WINDOW_KERNELS ----------------------------------------------------------------------
// The input type (f16 or bf16) is a field of the instruction descriptor, so it needs no kernel of its own.
using OutputF16 = __half;
using OutputBF16 = __nv_bfloat16;
using OutputF32 = float;

#define SHIFTCONV_SHIFT_WINDOW_KERNEL(NAME, PATH, OUTPUT)                                               \
  extern "C" __global__ void __launch_bounds__(threadsOf(OperandPath::PATH), 1)                         \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap filterMap, \
           const __grid_constant__ ShiftWindowParams params) {                                          \
    ShiftWindowCta<OperandPath::PATH, Output##OUTPUT>(inputMap, filterMap, params).run();               \
  }

SHIFTCONV_SHIFT_WINDOW_KERNELS(SHIFTCONV_SHIFT_WINDOW_KERNEL)

}  // namespace shiftconv::kernels
