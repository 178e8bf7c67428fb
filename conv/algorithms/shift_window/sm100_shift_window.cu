// shift_window: implicit-GEMM forward convolution whose activations live in Tensor Memory and slide along the filter width.
//
// GEMM view: M = pixels, N = output channels K, reduction over (t, r, chunk of 128 bytes of c, s). Activations are a flat matrix of
// N*D*H*W rows of C channels; the output at anchor row o needs, for tap (t, r, s), row
//   o + ((t*dilationD - padFront)*H + r*dilationH - padTop)*W + s - padLeft.
// So going from s to s+1 means that every lane takes the row of its upper neighbour: `.ashift` on the MMA of tap s does just that
// for the next one. Rows that belong to another image row, plane or image are masked with disable-output-lane.
//
// NOTES
//  - A run is one (t, r, chunk): one load of 4 windows x 32 rows into shared memory, one copy into a Tensor Memory slot, S taps.
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
//  - A pair of CTAs has twice the windows and half of B in each. One thread multiplies for both, with the masks of both.
//  - `site:` names a statement that tests break (tests/edited_copy).
#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "common/gemm/sm100/mainloop.cuh"
#include "common/gemm/sm100/row_store.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "common/ptx/masked_pair.cuh"
#include "common/ptx/shared_memory.cuh"
#include "conv/algorithms/shift_window/params.hpp"

namespace shiftconv::kernels {
namespace {

using gemm::RingPosition;
using gemm::sm100::CtaPair;
using gemm::sm100::SingleCta;

// ---- Roles -------------------------------------------------------------------------------------------------------------------
// Warp, OperandPath and threadsOf() stand in shift_window_params.hpp, because the planner launches and names the warps by them.

// ---- Shared memory -----------------------------------------------------------------------------------------------------------
/// Of one CTA. A filter of one depth tap reaches no other plane, and has no mask for it.
struct TileMasks {
  ptx::LaneMask column[kMaximumFilterExtent];  // [s]: column outside the image, or no anchor in this lane; a word a window
  ptx::LaneMask row[kMaximumFilterExtent];     // [r]: row outside the image
  ptx::LaneMask plane[kMaximumFilterExtent];   // [t]: plane outside the image
};

template <class Group>
struct Control {
  gemm::Pipeline<kMaximumOperandStages, Group::kArrivals> operands;  // activations in shared memory
  gemm::Pipeline<kOperandSlots> slots;                               // activations in Tensor Memory; full only with RegisterStore
  gemm::Pipeline<kMaximumFilterStages, Group::kArrivals> filters;    // filter taps in shared memory
  gemm::Pipeline<kMaskStages> masksOfTiles;
  gemm::Pipeline<kAccumulators, Group::kArrivals> accumulators;
  alignas(16) TileMasks masks[kMaskStages][Group::kCtas];
  uint32_t tensorMemory;
};

struct PixelPosition {
  int32_t image, plane, row, column;
};

/// Position of a flat pixel index in N x D x H x W.
__device__ __forceinline__ PixelPosition pixelOf(const ShiftWindowParams& p, int32_t anchor) {
  const uint32_t flat = static_cast<uint32_t>(anchor);
  const uint32_t planes = p.byPlane.quotient(flat), inPlane = flat - planes * p.byPlane.divisor;
  const uint32_t image = p.byDepth.quotient(planes), row = p.byWidth.quotient(inPlane);
  return {static_cast<int32_t>(image), static_cast<int32_t>(planes - image * p.byDepth.divisor), static_cast<int32_t>(row),
          static_cast<int32_t>(inPlane - row * p.byWidth.divisor)};
}

/// The MMAs of one tap of one chunk.
template <class Group>
struct Tap {
  uint32_t accumulator, operand;  // Tensor Memory
  uint64_t filter;                // matrix descriptor of the first slice
  int32_t slices;
  bool shifts;  // another tap of the chunk follows
  ptx::LaneMask disabled[Group::kCtas];
};

// ---- One CTA -----------------------------------------------------------------------------------------------------------------
template <class Group>
class ShiftWindowCta {
 public:
  __device__ ShiftWindowCta(const CUtensorMap& inputMap, const CUtensorMap& filterMap, const ShiftWindowParams& params)
      : inputMap_(inputMap), filterMap_(filterMap), p_(params) {
    extern __shared__ uint8_t dynamicShared[];
    static_assert(sizeof(Control<Group>) <= controlBytes(Group::kCtas), "the planner reserves controlBytes in front of the stages");
    control_ = &gemm::alignedShared<Control<Group>>(dynamicShared);
    operandStages_ = ptx::sharedAddress(control_) + controlBytes(Group::kCtas);
    filterStages_ = operandStages_ + static_cast<uint32_t>(p_.operandStages) * kOperandStageBytes;
    filterStageBytes_ = filterStageBytes(p_.tileN, Group::kCtas);
    anchorsPerWindow_ = usefulLanes(p_.filterWidth);
    runs_ = p_.filterDepth * p_.filterHeight * p_.channelChunks;
    tiles_ = {static_cast<int32_t>(blockIdx.x) / Group::kCtas, static_cast<int32_t>(gridDim.x) / Group::kCtas, p_.tiles};
    firstOutputChannel_ = static_cast<int32_t>(blockIdx.y) * p_.tileN;
  }

  __device__ void run() {
    const uint32_t warp = threadIdx.x / 32;
    if (warp == kOperandLoadWarp && ptx::electOne()) initialiseBarriers();
    accumulators_ = gemm::sm100::enter<Group>(control_->tensorMemory, allocatedColumns(), warp == kMaskWarp);
    slots_ = accumulators_ + static_cast<uint32_t>(kAccumulators * accumulatorColumns(p_.tileN));
    if (warp == kOperandLoadWarp) {
      if (ptx::electOne()) loadOperands();
    } else if (warp == kMmaWarp) {
      if (Group::isLeader() && ptx::electOne()) multiply();
    } else if (warp == kMaskWarp) {
      if (Group::isLeader()) buildMasks();
    } else if (warp == kFilterLoadWarp) {
      if (ptx::electOne()) loadFilter();
    } else if (warp < kStagingWarps) {
      drainAccumulators(warp % 4);
    } else if constexpr (Group::kCtaGroup == 1) {
      stageOperands(warp % 4);
    }
    gemm::sm100::leave<Group>(accumulators_, allocatedColumns(), warp == kMaskWarp);  // site: leave
  }

 private:
  // ---- Setup -------------------------------------------------------------------------------------------------------------------
  __device__ uint32_t allocatedColumns() const {
    const uint32_t needed = static_cast<uint32_t>(kAccumulators * accumulatorColumns(p_.tileN) + kOperandSlots * kSlotColumns);
    return needed <= 256 ? 256 : 512;  // a power of two; at least 2*32 + 128; site: allocated_columns
  }

  __device__ void initialiseBarriers() {
    ptx::prefetchTensorMap(&inputMap_);
    ptx::prefetchTensorMap(&filterMap_);
    const uint32_t stagers = isCopied() ? 1 : kWindows;
    control_->operands.initialise(kMaximumOperandStages, 1, stagers);
    control_->slots.initialise(kOperandSlots, stagers, 1);
    control_->filters.initialise(p_.filterStages, 1, 1);
    control_->masksOfTiles.initialise(kMaskStages, 1, 1);
    control_->accumulators.initialise(kAccumulators, 1, Group::kCtaGroup * kWindows);
    ptx::fenceMbarrierInit();
  }

  /// Pairs always copy.
  __device__ bool isCopied() const { return Group::kCtaGroup == 2 || p_.path == OperandPath::TensorCopy; }

  // ---- Places ------------------------------------------------------------------------------------------------------------------
  __device__ int32_t slicesOf(int32_t chunk) const {
    return chunk + 1 == p_.channelChunks ? p_.lastChunkSlices : gemm::sm100::kChunkSlices;
  }
  __device__ int32_t firstAnchor(int32_t tile, uint32_t rank) const {
    return (tile * Group::kCtas + static_cast<int32_t>(rank)) * kWindows * anchorsPerWindow_;
  }
  /// Calls body(t, r) for every filter row.
  template <class Body>
  __device__ void forEachFilterRow(Body&& body) const {
#pragma unroll 1
    for (int32_t t = 0; t < p_.filterDepth; ++t)
#pragma unroll 1
      for (int32_t r = 0; r < p_.filterHeight; ++r) body(t, r);
  }
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
      forEachFilterRow([&](int32_t t, int32_t r) {
        const int32_t rows = (t * p_.dilationDepth - p_.padFront) * p_.height + r * p_.dilationH - p_.padTop;
        const int32_t firstRow = firstAnchor(tile, Group::rank()) + rows * p_.width - p_.padLeft;
#pragma unroll 1
        for (int32_t chunk = 0; chunk < p_.channelChunks; ++chunk) {
          control_->operands.awaitEmpty(stage);
          if (Group::isLeader())
            ptx::mbarrierArriveExpectBytes(control_->operands.full(stage),
                                           Group::kCtaGroup * kOperandStageBytes);  // site: operand_bytes
          const uint32_t full = Group::atLeader(control_->operands.full(stage));
#pragma unroll 1
          for (int32_t window = 0; window < kWindows; ++window) {
            Group::load(operandStageAddress(stage.index) + static_cast<uint32_t>(window) * kWindowBytes, &inputMap_,
                        chunk * p_.chunkElements, firstRow + window * anchorsPerWindow_, full);
          }
          stage.advance(p_.operandStages);
        }
      });
    }
    control_->operands.awaitReleases(stage, p_.operandStages);
  }

  // ---- Filters: global -> shared, once when resident ---------------------------------------------------------------------------
  __device__ void loadFilter() const {
    RingPosition stage;
    const int32_t share = p_.tileN / Group::kCtaGroup,
                  firstColumn = firstOutputChannel_ + static_cast<int32_t>(Group::rank()) * share;
    const auto loadAll = [&] {
      forEachFilterRow([&](int32_t t, int32_t r) {
#pragma unroll 1
        for (int32_t chunk = 0; chunk < p_.channelChunks; ++chunk) {
#pragma unroll 1
          for (int32_t s = 0; s < p_.filterWidth; ++s) {
            control_->filters.awaitEmpty(stage);
            if (Group::isLeader())
              ptx::mbarrierArriveExpectBytes(control_->filters.full(stage),
                                             Group::kCtaGroup * filterStageBytes_);  // site: filter_bytes
            Group::load(filterStages_ + static_cast<uint32_t>(stage.index) * filterStageBytes_, &filterMap_,
                        chunk * p_.chunkElements, (t * p_.filterHeight + r) * p_.filterWidth + s, firstColumn,
                        Group::atLeader(control_->filters.full(stage)));
            stage.advance(p_.filterStages);
          }
        }
      });
    };
    if (p_.filterResident) {
      if (tiles_.own() > 0) loadAll();  // site: filter_resident
    } else {
      for ([[maybe_unused]] const int32_t tile : tiles_) loadAll();
      control_->filters.awaitReleases(stage, p_.filterStages);
    }
  }

  // ---- Lane masks: one warp, for all CTAs of the group -----------------------------------------------------------------------
  __device__ void buildMasks() const {
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
    RingPosition stage;
    for (const int32_t tile : tiles_) {
      control_->masksOfTiles.awaitEmpty(stage);  // site: masks_free
#pragma unroll 1
      for (int32_t index = 0; index < Group::kCtas * kWindows; ++index) {
        const int32_t rank = index / kWindows, window = index % kWindows;
        TileMasks& masks = control_->masks[stage.index][rank];
        const auto store = [&](ptx::LaneMask& mask, bool enabled) {
          const uint32_t disabled = __ballot_sync(0xffffffffu, !enabled);
          if (lane == 0) mask.word[window] = disabled;
        };
        const int32_t anchor = firstAnchor(tile, static_cast<uint32_t>(rank)) + window * anchorsPerWindow_ + lane;
        const bool hasAnchor = lane < anchorsPerWindow_ && anchor < p_.anchors;  // site: enabled_lanes
        const PixelPosition pixel = pixelOf(p_, hasAnchor ? anchor : 0);
#pragma unroll 1
        for (int32_t s = 0; s < p_.filterWidth; ++s)
          store(masks.column[s], hasAnchor && isInside(pixel.column + s - p_.padLeft, p_.width));  // site: column_mask
#pragma unroll 1
        for (int32_t r = 0; r < p_.filterHeight; ++r)
          store(masks.row[r], isInside(pixel.row + r * p_.dilationH - p_.padTop, p_.height));  // site: row_mask
        if (p_.filterDepth == 1) continue;
#pragma unroll 1
        for (int32_t t = 0; t < p_.filterDepth; ++t)
          store(masks.plane[t], isInside(pixel.plane + t * p_.dilationDepth - p_.padFront, p_.depth));
      }
      if (lane == 0) ptx::mbarrierArrive(control_->masksOfTiles.full(stage));
      stage.advance(kMaskStages);
    }
  }
  static __device__ bool isInside(int32_t place, int32_t extent) {
    return static_cast<uint32_t>(place) < static_cast<uint32_t>(extent);
  }

  // ---- Activations: shared -> Tensor Memory by threads (every step observed on hardware by vendor examples) -------------------
  __device__ void stageOperands(uint32_t window) const {
    const uint32_t lane = threadIdx.x % 32;
    RingPosition stage, slot;
    for ([[maybe_unused]] const int32_t tile : tiles_) {
#pragma unroll 1
      for (int32_t run = 0; run < runs_; ++run) {
        control_->operands.awaitFull(stage);
        control_->slots.awaitEmpty(slot);
        ptx::tensorFenceAfterThreadSync();
        const uint32_t row = operandStageAddress(stage.index) + window * kWindowBytes + lane * layout::kSwizzle128RowBytes;
        const uint32_t destination = slotAddress(slot.index) + ((window * kWindowLanes) << 16);
        const int32_t slices = slicesOf(run % p_.channelChunks);
#pragma unroll 1
        for (int32_t slice = 0; slice < slices; ++slice) {
          const uint32_t source = row + static_cast<uint32_t>(slice) * layout::kMmaRowBytes;
          uint32_t words[gemm::sm100::kSliceColumns];
          ptx::loadShared16Bytes(layout::swizzle128(source), words[0], words[1], words[2], words[3]);
          ptx::loadShared16Bytes(layout::swizzle128(source + 16), words[4], words[5], words[6], words[7]);
          ptx::tensorStore8(destination + static_cast<uint32_t>(slice) * gemm::sm100::kSliceColumns, words);
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
    control_->slots.awaitEmpty(slot);   // site: slot_free
    ptx::tensorFenceAfterThreadSync();  // site: slot_fence
    gemm::sm100::copyOperand<Group>(0, slotAddress(slot.index),
                                    layout::swizzle128KMajorDescriptor(operandStageAddress(stage.index)),
                                    slicesOf(run % p_.channelChunks));
    Group::commitRelease(control_->operands.empty(stage));  // site: operands_released
    stage.advance(p_.operandStages);
    slot.advance(kOperandSlots);
  }

  template <layout::MmaKind kKind, ptx::OperandShift kShift>
  __device__ void multiplySlices(const Tap<Group>& tap) const {
    const auto multiplySlice = [&](uint32_t slice) {
      const ptx::TensorOperand operand{tap.operand + slice * gemm::sm100::kSliceColumns};
      const uint64_t filter = layout::advanceDescriptor(tap.filter, slice * layout::kMmaRowBytes);
      if constexpr (Group::kCtaGroup == 2) {
        ptx::mmaMasked<kKind, kShift>(tap.accumulator, operand, filter, p_.instructionDescriptor, tap.disabled[0], tap.disabled[1]);
      } else {
        ptx::mmaMasked<kKind, kShift>(tap.accumulator, operand, filter, p_.instructionDescriptor, tap.disabled[0]);
      }
    };
    // The full chunk is unrolled: a thread that loops around every MMA cannot keep the tensor core busy.
    if (tap.slices == gemm::sm100::kChunkSlices) {
#pragma unroll
      for (uint32_t slice = 0; slice < gemm::sm100::kChunkSlices; ++slice) multiplySlice(slice);
    } else {
#pragma unroll 1
      for (uint32_t slice = 0; slice < static_cast<uint32_t>(tap.slices); ++slice) multiplySlice(slice);
    }
  }
  template <layout::MmaKind kKind>
  __device__ void multiplyTapIn(const Tap<Group>& tap) const {
    if (tap.shifts) {
      multiplySlices<kKind, ptx::OperandShift::DownAfterRead>(tap);
    } else {
      multiplySlices<kKind, ptx::OperandShift::Keep>(tap);
    }
  }
  /// The kind is chosen once a tap, which costs a branch and saves a kernel for each.
  __device__ void multiplyTap(const Tap<Group>& tap) const {
    using layout::MmaKind;
    switch (p_.kind) {
      case MmaKind::F16:
        return multiplyTapIn<MmaKind::F16>(tap);
      case MmaKind::TF32:
        return multiplyTapIn<MmaKind::TF32>(tap);
      case MmaKind::F8F6F4:
        return multiplyTapIn<MmaKind::F8F6F4>(tap);
      case MmaKind::I8:
        // The planner refuses it on sm_103a, whose assembler does not know it (PTX ISA 9.7.16.10).
        multiplyTapIn<MmaKind::I8>(tap);
        return;
      default:
        return;  // block-scaled kinds have no .ashift (PTX ISA 9.7.16.10.9.2)
    }
  }

  __device__ void multiply() const {
    RingPosition copyStage, copySlot, slot, filterStage, maskStage, accumulator;
    const int32_t runsToCopy = tiles_.own() * runs_;
    int32_t nextCopy = 0;
    const auto copyNext = [&] {
      if (nextCopy < runsToCopy) copyRun(copyStage, copySlot, nextCopy++);
    };
    if (isCopied()) copyNext();  // site: first_copy

    const uint64_t firstFilter = layout::swizzle128KMajorDescriptor(filterStages_);
    bool filterLoaded = false;  // only meaningful with a resident filter: every stage has been waited for once
    for ([[maybe_unused]] const int32_t tile : tiles_) {
      control_->masksOfTiles.awaitFull(maskStage);
      control_->accumulators.awaitEmpty({accumulator.index, accumulator.parity ^ 1});  // the epilogue offers them from the start
      ptx::tensorFenceAfterThreadSync();
      const TileMasks(&masks)[Group::kCtas] = control_->masks[maskStage.index];
      Tap<Group> tap;
      tap.accumulator = accumulatorAddress(accumulator.index);  // site: tile_begins
      forEachFilterRow([&](int32_t t, int32_t r) {
        ptx::LaneMask rowMasks[Group::kCtas];
#pragma unroll
        for (int32_t rank = 0; rank < Group::kCtas; ++rank) {
          rowMasks[rank] = masks[rank].row[r];
          if (p_.filterDepth > 1) rowMasks[rank] = rowMasks[rank] | masks[rank].plane[t];
        }
#pragma unroll 1
        for (int32_t chunk = 0; chunk < p_.channelChunks; ++chunk) {
          if (isCopied()) {
            copyNext();
          } else {
            control_->slots.awaitFull(slot);
            ptx::tensorFenceAfterThreadSync();
          }
          tap.slices = slicesOf(chunk);
          tap.operand = slotAddress(slot.index);
#pragma unroll 1
          for (int32_t s = 0; s < p_.filterWidth; ++s) {  // site: taps
            if (!filterLoaded) control_->filters.awaitFull(filterStage);
#pragma unroll
            for (int32_t rank = 0; rank < Group::kCtas; ++rank) tap.disabled[rank] = masks[rank].column[s] | rowMasks[rank];
            tap.filter = layout::advanceDescriptor(firstFilter, static_cast<uint32_t>(filterStage.index) * filterStageBytes_);
            tap.shifts = s + 1 < p_.filterWidth;                                                 // site: tap_shifts
            multiplyTap(tap);                                                                    // site: tap_multiplied
            if (!p_.filterResident) Group::commitRelease(control_->filters.empty(filterStage));  // site: filter_released
            filterStage.advance(p_.filterStages);
          }
          ptx::tensorCommit<Group::kCtaGroup>(control_->slots.empty(slot));
          slot.advance(kOperandSlots);
        }
      });
      Group::commitResult(control_->accumulators.full(accumulator));  // site: result_committed
      ptx::mbarrierArrive(control_->masksOfTiles.empty(maskStage));   // site: masks_released
      filterLoaded = p_.filterResident;
      maskStage.advance(kMaskStages);
      accumulator.advance(kAccumulators);
    }
    if (isCopied()) control_->slots.awaitReleases(copySlot, kOperandSlots);
  }

  // ---- Epilogue -----------------------------------------------------------------------------------------------------------------
  /// Zeroes this warp's window of an accumulator and hands it to the MMA warp.
  __device__ void offerEmptyAccumulator(const RingPosition& accumulator, uint32_t window) const {
    const uint32_t address = accumulatorAddress(accumulator.index) + ((window * kWindowLanes) << 16);
#pragma unroll 1
    for (int32_t column = 0; column < p_.tileN; column += 16)
      ptx::tensorFill16(address + static_cast<uint32_t>(column), 0);  // site: accumulator_zeroed
    ptx::tensorStoreWait();                                           // site: zeroes_awaited
    ptx::tensorFenceBeforeThreadSync();
    __syncwarp();
    if (threadIdx.x % 32 == 0) Group::arriveAtLeader(control_->accumulators.empty(accumulator));
  }

  __device__ void drainAccumulators(uint32_t window) const {
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
#pragma unroll 1
    for (int32_t index = 0; index < kAccumulators; ++index) offerEmptyAccumulator({index, 0}, window);
    uint32_t largest = 0;
    RingPosition accumulator;
    for (const int32_t tile : tiles_) {
      control_->accumulators.awaitFull(accumulator);  // site: accumulator_full
      ptx::tensorFenceAfterThreadSync();
      const int32_t anchor =
          firstAnchor(tile, Group::rank()) + static_cast<int32_t>(window) * anchorsPerWindow_ + lane;  // site: drained_anchor
      const bool hasAnchor = lane < anchorsPerWindow_ && anchor < p_.anchors;
      gemm::sm100::storeRow(p_.epilogue, accumulatorAddress(accumulator.index) + ((window * kWindowLanes) << 16),
                            hasAnchor ? outputPixel(anchor) : -1, firstOutputChannel_, p_.tileN, largest);  // site: row_stored
      offerEmptyAccumulator(accumulator, window);  // site: accumulator_offered
      accumulator.advance(kAccumulators);
    }
    gemm::mergeLargest(p_.epilogue, largest);
  }
  /// The output at an anchor, or -1 where it has none.
  __device__ int32_t outputPixel(int32_t anchor) const {
    const PixelPosition pixel = pixelOf(p_, anchor);
    if (pixel.plane >= p_.outputDepth || pixel.row >= p_.outputHeight || pixel.column >= p_.outputWidth) return -1;
    return ((pixel.image * p_.outputDepth + pixel.plane) * p_.outputHeight + pixel.row) * p_.outputWidth + pixel.column;
  }

  const CUtensorMap& inputMap_;
  const CUtensorMap& filterMap_;
  const ShiftWindowParams& p_;
  Control<Group>* control_;
  uint32_t operandStages_, filterStages_, filterStageBytes_;  // shared-window addresses; bytes
  uint32_t accumulators_ = 0, slots_ = 0;                     // Tensor Memory addresses
  int32_t anchorsPerWindow_, runs_, firstOutputChannel_;
  gemm::StaticTiles tiles_;  // the order of work, the same for every role
};

}  // namespace

// ---- Kernels: shift_window_sm100_<group> ---------------------------------------------------------------------------------------
// Types and the way into Tensor Memory are fields of the launch.
#define SHIFTCONV_SHIFT_WINDOW_KERNEL(NAME, GROUP, PATH)                                                \
  extern "C" __global__ void __launch_bounds__(threadsOf(OperandPath::PATH), 1)                         \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap filterMap, \
           const __grid_constant__ ShiftWindowParams params) {                                          \
    ShiftWindowCta<GROUP>(inputMap, filterMap, params).run();                                           \
  }

SHIFTCONV_SHIFT_WINDOW_KERNEL(shift_window_sm100_single, SingleCta, RegisterStore)
SHIFTCONV_SHIFT_WINDOW_KERNEL(shift_window_sm100_pair, CtaPair, TensorCopy)  // site: kernel_of_pairs

}  // namespace shiftconv::kernels
