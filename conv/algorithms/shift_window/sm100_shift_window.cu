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
//  - Outputs are staged where rows are as wide as those of the input (Q = W): the anchors of a window then are neighbours in the
//    output, too, but where a plane ends whose last rows have no outputs. There, and where rows are narrower, which have a gap
//    behind each: every lane stores its pixel.
//  - K above tileN: blockIdx.y selects the pass; A is copied again for each, because `.ashift` consumes it.
//  - A pair of CTAs has twice the windows and half of B in each. One thread multiplies for both, with the masks of both.
//  - `site:` names a statement that tests break (tests/edited_copy).
#include <cuda.h>

#include <cstdint>

#include "common/gemm/epilogue/store.cuh"
#include "common/gemm/sm100/kinds.cuh"
#include "common/gemm/sm100/mainloop.cuh"
#include "common/gemm/sm100/skeleton.cuh"
#include "common/gemm/sm100/staged_rows.cuh"
#include "common/gemm/sm100/stages.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/masked_pair.cuh"
#include "conv/algorithms/shift_window/cta.cuh"

namespace shiftconv::kernels::shift_window {

// ---- Activations: global -> shared ---------------------------------------------------------------------------------------------
template <class Group>
__device__ __forceinline__ void loadOperands(const Cta<Group>& cta) {
  if (!ptx::electOne()) return;
  const ShiftWindowParams& p = cta.params;
  ptx::prefetchTensorMap(&cta.inputMap);
  RingPosition stage;
  for (const int32_t tile : cta.tiles) {
    cta.forEachFilterRow([&](int32_t t, int32_t r) {
      const int32_t rows = (t * p.dilationDepth - p.padFront) * p.height + r * p.dilationH - p.padTop;
      const int32_t firstRow = cta.firstAnchor(tile, Group::rank()) + rows * p.width - p.padLeft;
#pragma unroll 1
      for (int32_t chunk = 0; chunk < p.channelChunks; ++chunk) {
        cta.control->operands.awaitEmpty(stage);
        const uint32_t full = gemm::sm100::expectBytes<Group>(cta.control->operands, stage,
                                                              Group::kCtaGroup * kOperandStageBytes);  // site: operand_bytes
#pragma unroll 1
        for (int32_t window = 0; window < kWindows; ++window)
          Group::load(cta.operandStage(stage.index) + static_cast<uint32_t>(window) * kWindowBytes, &cta.inputMap,
                      chunk * p.chunkElements, firstRow + window * cta.anchorsPerWindow, full);
        stage.advance(p.operandStages);
      }
    });
  }
  cta.control->operands.awaitReleases(stage, p.operandStages);
}

// ---- Filters: global -> shared, once when resident
// --------------------------------------------------------------------------------
/// In the order (t, r, chunk, s), which is that of the products, too.
template <class Group, class Body>
__device__ __forceinline__ void forEachTap(const Cta<Group>& cta, Body&& body) {
  cta.forEachFilterRow([&](int32_t t, int32_t r) {
#pragma unroll 1
    for (int32_t chunk = 0; chunk < cta.params.channelChunks; ++chunk)
#pragma unroll 1
      for (int32_t s = 0; s < cta.params.filterWidth; ++s) body(gemm::sm100::FilterTap{t, chunk, r * cta.params.filterWidth + s});
  });
}
template <class Group, class Body>
__device__ __forceinline__ void forEachTapOfTile(const Cta<Group>& cta, int32_t, Body&& body) {
  forEachTap(cta, body);
}
template <class Group>
__device__ __forceinline__ void loadFilter(const Cta<Group>& cta) {
  gemm::sm100::loadFilterRing(cta);
}

// ---- Lane masks: one warp, for all CTAs of the group
// ------------------------------------------------------------------------------
__device__ __forceinline__ bool isInside(int32_t place, int32_t extent) {
  return static_cast<uint32_t>(place) < static_cast<uint32_t>(extent);
}

/// Whole warp, a lane for each lane of Tensor Memory: the masks of a window of a tile.
template <class Group>
__device__ __forceinline__ void buildMasks(const Cta<Group>& cta, int32_t tile, int32_t rank, int32_t window, TileMasks& masks) {
  const ShiftWindowParams& p = cta.params;
  const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
  const auto store = [&](ptx::LaneMask& mask, bool enabled) {
    const uint32_t disabled = __ballot_sync(0xffffffffu, !enabled);
    if (lane == 0) mask.word[window] = disabled;
  };
  const int32_t anchor = cta.firstAnchor(tile, static_cast<uint32_t>(rank)) + window * cta.anchorsPerWindow + lane;
  const bool hasAnchor = lane < cta.anchorsPerWindow && anchor < p.anchors;  // site: enabled_lanes
  const PixelPosition pixel = cta.pixelOf(hasAnchor ? anchor : 0);
#pragma unroll 1
  for (int32_t s = 0; s < p.filterWidth; ++s)
    store(masks.column[s], hasAnchor && isInside(pixel.column + s - p.padLeft, p.width));  // site: column_mask
#pragma unroll 1
  for (int32_t r = 0; r < p.filterHeight; ++r)
    store(masks.row[r], isInside(pixel.row + r * p.dilationH - p.padTop, p.height));  // site: row_mask
  if (p.filterDepth == 1) return;
#pragma unroll 1
  for (int32_t t = 0; t < p.filterDepth; ++t)
    store(masks.plane[t], isInside(pixel.plane + t * p.dilationDepth - p.padFront, p.depth));
}

template <class Group>
__device__ __forceinline__ void announceTiles(const Cta<Group>& cta) {
  if (!Group::isLeader()) return;
  Control<Group>& control = *cta.control;
  RingPosition stage;
  for (const int32_t tile : cta.tiles) {
    control.masksOfTiles.awaitEmpty(stage);  // site: masks_free
#pragma unroll 1
    for (int32_t index = 0; index < Group::kCtas * kWindows; ++index) {
      const int32_t rank = index / kWindows;
      buildMasks(cta, tile, rank, index % kWindows, control.masks[stage.index][rank]);
    }
    if (threadIdx.x % 32 == 0) ptx::mbarrierArrive(control.masksOfTiles.full(stage));
    stage.advance(kMaskStages);
  }
}

// ---- The tensor core: one thread
// -------------------------------------------------------------------------------------------------
/// Brings the runs of all tiles into their slots, one after the other.
struct Copier {
  RingPosition stage, slot;
  int32_t next = 0, count;  // runs
};
template <class Group>
__device__ __forceinline__ void copyNext(const Cta<Group>& cta, Copier& copier) {
  if (copier.next >= copier.count) return;
  Control<Group>& control = *cta.control;
  control.operands.awaitFull(copier.stage);
  control.slots.awaitEmpty(copier.slot);  // site: slot_free
  ptx::tensorFenceAfterThreadSync();      // site: slot_fence
  gemm::sm100::copyOperand<Group>(0, cta.slot(copier.slot.index),
                                  layout::swizzle128KMajorDescriptor(cta.operandStage(copier.stage.index)),
                                  cta.slicesOf(copier.next++ % cta.params.channelChunks));
  Group::commitRelease(control.operands.empty(copier.stage));  // site: operands_released
  copier.stage.advance(cta.params.operandStages);
  copier.slot.advance(kOperandSlots);
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

template <layout::MmaKind kKind, ptx::OperandShift kShift, class Group>
__device__ __forceinline__ void multiplySlices(const ShiftWindowParams& p, const Tap<Group>& tap) {
  gemm::sm100::forEachSlice(tap.slices, [&](uint32_t slice) {
    const ptx::TensorOperand operand{tap.operand + slice * gemm::sm100::kSliceColumns};
    const uint64_t filter = layout::advanceDescriptor(tap.filter, slice * layout::kMmaRowBytes);
    if constexpr (Group::kCtaGroup == 2) {
      ptx::mmaMasked<kKind, kShift>(tap.accumulator, operand, filter, p.instructionDescriptor, tap.disabled[0], tap.disabled[1]);
    } else {
      ptx::mmaMasked<kKind, kShift>(tap.accumulator, operand, filter, p.instructionDescriptor, tap.disabled[0]);
    }
  });
}
/// Block-scaled kinds have no .ashift (PTX ISA 9.7.16.10.9.2).
template <class Group>
__device__ __forceinline__ void multiplyTap(const ShiftWindowParams& p, const Tap<Group>& tap) {
  gemm::sm100::inKind<gemm::sm100::Kinds::Dense>(p.kind, [&]<layout::MmaKind kKind>() {
    if (tap.shifts) {
      multiplySlices<kKind, ptx::OperandShift::DownAfterRead>(p, tap);
    } else {
      multiplySlices<kKind, ptx::OperandShift::Keep>(p, tap);
    }
  });
}

template <class Group>
__device__ __forceinline__ void multiply(const Cta<Group>& cta) {
  const ShiftWindowParams& p = cta.params;
  Control<Group>& control = *cta.control;
  RingPosition slot, filterStage, maskStage, accumulator;
  Copier copier;
  copier.count = cta.tiles.own() * p.filterDepth * p.filterHeight * p.channelChunks;
  copyNext(cta, copier);  // site: first_copy

  const uint64_t firstFilter = layout::swizzle128KMajorDescriptor(cta.filterStages);
  gemm::sm100::awaitResidentFilter(cta);
  for ([[maybe_unused]] const int32_t tile : cta.tiles) {
    control.masksOfTiles.awaitFull(maskStage);
    control.accumulators.awaitEmpty({accumulator.index, accumulator.parity ^ 1});  // the epilogue offers them from the start
    ptx::tensorFenceAfterThreadSync();
    const TileMasks(&masks)[Group::kCtas] = control.masks[maskStage.index];
    Tap<Group> tap;
    tap.accumulator = cta.accumulator(accumulator.index);  // site: tile_begins
    cta.forEachFilterRow([&](int32_t t, int32_t r) {
      ptx::LaneMask rowMasks[Group::kCtas];
#pragma unroll
      for (int32_t rank = 0; rank < Group::kCtas; ++rank) {
        rowMasks[rank] = masks[rank].row[r];
        if (p.filterDepth > 1) rowMasks[rank] = rowMasks[rank] | masks[rank].plane[t];
      }
#pragma unroll 1
      for (int32_t chunk = 0; chunk < p.channelChunks; ++chunk) {
        copyNext(cta, copier);
        tap.slices = cta.slicesOf(chunk);
        tap.operand = cta.slot(slot.index);
#pragma unroll 1
        for (int32_t s = 0; s < p.filterWidth; ++s) {  // site: taps
          if (!p.filter.resident) control.filter.taps.awaitFull(filterStage);
#pragma unroll
          for (int32_t rank = 0; rank < Group::kCtas; ++rank) tap.disabled[rank] = masks[rank].column[s] | rowMasks[rank];
          tap.filter = layout::advanceDescriptor(firstFilter, static_cast<uint32_t>(filterStage.index) * p.filter.stageBytes);
          tap.shifts = s + 1 < p.filterWidth;                                                    // site: tap_shifts
          multiplyTap(p, tap);                                                                   // site: tap_multiplied
          if (!p.filter.resident) Group::commitRelease(control.filter.taps.empty(filterStage));  // site: filter_released
          filterStage.advance(p.filter.stages);
        }
        ptx::tensorCommit<Group::kCtaGroup>(control.slots.empty(slot));
        slot.advance(kOperandSlots);
      }
    });
    Group::commitResult(control.accumulators.full(accumulator));  // site: result_committed
    ptx::mbarrierArrive(control.masksOfTiles.empty(maskStage));   // site: masks_released
    maskStage.advance(kMaskStages);
    accumulator.advance(kAccumulators);
  }
  control.slots.awaitReleases(copier.slot, kOperandSlots);
}

// ---- Epilogue
// ---------------------------------------------------------------------------------------------------------------------
/// Zeroes this warp's window of an accumulator and hands it to the MMA warp.
template <class Group>
__device__ __forceinline__ void offerEmptyAccumulator(const Cta<Group>& cta, const RingPosition& accumulator, uint32_t window) {
  const uint32_t address = cta.accumulator(accumulator.index) + gemm::sm100::windowLanes(window);
#pragma unroll 1
  for (int32_t column = 0; column < cta.params.tileN; column += 16)
    ptx::tensorFill16(address + static_cast<uint32_t>(column), 0);  // site: accumulator_zeroed
  ptx::tensorStoreWait();                                           // site: zeroes_awaited
  gemm::sm100::releaseAccumulator<Group>(cta.control->accumulators, accumulator);
}

/// The output at an anchor, or -1 where it has none.
template <class Group>
__device__ __forceinline__ int32_t outputPixel(const Cta<Group>& cta, int32_t anchor) {
  const ShiftWindowParams& p = cta.params;
  const PixelPosition pixel = cta.pixelOf(anchor);
  if (pixel.plane >= p.outputDepth || pixel.row >= p.outputHeight || pixel.column >= p.outputWidth) return -1;
  return ((pixel.image * p.outputDepth + pixel.plane) * p.outputHeight + pixel.row) * p.outputWidth + pixel.column;
}

/// Where the outputs of a window lie that are a box of the output, clipped to its line: pixels from `pixel` on of line `line`. The
/// corner of a box that is stored has no negative coordinates, so that a window across the end of a line is none.
struct WindowBox {
  bool isBox;
  int32_t pixel, line;  ///< line -1: its anchors have no outputs
};
template <class Group>
__device__ __forceinline__ WindowBox boxOf(const Cta<Group>& cta, int32_t firstAnchor) {
  const ShiftWindowParams& p = cta.params;
  if (p.stagingTileBytes == 0) return {false, 0, 0};
  const int32_t line = firstAnchor / p.staged.anchors, pixel = firstAnchor - line * p.staged.anchors;
  const int32_t image = line / p.staged.ofImage, inImage = line - image * p.staged.ofImage;
  const bool hasOutputs = firstAnchor < p.anchors && inImage < p.staged.withOutputs;
  const bool isBox = pixel <= p.staged.anchors - cta.anchorsPerWindow;  // site: whole_windows
  return {isBox, pixel, hasOutputs ? image * p.staged.withOutputs + inImage : -1};
}

template <class Group>
__device__ __forceinline__ void drain(const Cta<Group>& cta, uint32_t window) {
  const ShiftWindowParams& p = cta.params;
  const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
#pragma unroll 1
  for (int32_t index = 0; index < kAccumulators; ++index) offerEmptyAccumulator(cta, {index, 0}, window);
  gemm::sm100::StagingTiles staging(cta.staging + window * gemm::sm100::kStagingTiles * p.stagingTileBytes, p.stagingTileBytes);
  uint32_t largest = 0;
  RingPosition accumulator;
  for (const int32_t tile : cta.tiles) {
    const int32_t first = cta.firstAnchor(tile, Group::rank()) + static_cast<int32_t>(window) * cta.anchorsPerWindow;
    const WindowBox box = boxOf(cta, first);
    const int32_t anchor = first + lane;  // site: drained_anchor
    const bool hasAnchor = lane < cta.anchorsPerWindow && anchor < p.anchors;
    gemm::sm100::storeAccumulatorInBoxes(
        cta, accumulator, window, {hasAnchor ? outputPixel(cta, anchor) : -1, lane, box.isBox}, staging, largest,
        [&](const gemm::StagingTile& staged, int32_t channel) {
          if (box.line < 0) return;
          gemm::forStagedBoxes(p.epilogue, staged, gemm::sm100::kRowColumns, channel, [&](int32_t element, uint32_t source) {
            ptx::storeTile3d(&cta.outputMap, element, box.pixel, box.line, source);
          });
        });
    offerEmptyAccumulator(cta, accumulator, window);  // site: accumulator_offered
    accumulator.advance(kAccumulators);
  }
  gemm::mergeLargest(p.epilogue, largest);
  staging.awaitStores();
}

// ---- Kernels: shift_window_sm100_<group>
// ------------------------------------------------------------------------------------------ Types are fields of the launch.
#define SHIFTCONV_SHIFT_WINDOW_KERNEL(NAME, GROUP)                                                            \
  extern "C" __global__ void __launch_bounds__(gemm::sm100::threadsOf(false), 1)                              \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap filterMap,       \
           const __grid_constant__ CUtensorMap outputMap, const __grid_constant__ ShiftWindowParams params) { \
    Cta<GROUP> cta(inputMap, filterMap, outputMap, params);                                                   \
    gemm::sm100::runRoles(cta);                                                                               \
  }

SHIFTCONV_SHIFT_WINDOW_KERNEL(shift_window_sm100_single, gemm::sm100::SingleCta)
SHIFTCONV_SHIFT_WINDOW_KERNEL(shift_window_sm100_pair, gemm::sm100::CtaPair)  // site: kernel_of_pairs

}  // namespace shiftconv::kernels::shift_window
