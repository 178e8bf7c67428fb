// shift_stream: implicit-GEMM forward convolution in which every input row is copied to Tensor Memory once and feeds all R*S taps.
//
// GEMM view: M = output pixels, N = output channels K, reduction over (t, r, s, c). Input rows stream down the image. An input row
// that lies in Tensor Memory, one pixel a lane, is multiplied by the taps (r, s = 0) of all filter rows r, each into the
// accumulator of the output row that it belongs to; then tcgen05.shift moves it by one pixel, every lane taking its upper
// neighbour's, and the taps (r, s = 1) follow, and so on. The accumulators of at most R output rows are live at once.
//
// NOTES
//  - Lanes hold pieces of image rows (LaneMap): one in a window of 32 lanes, or several side by side, or as many as fit into all
//    lanes. A piece is loaded as a box that may begin or end outside of the image, where zeros fill it: padding needs no masks and
//    may be of any width. Rows above and below the image are left out where that leaves every output row something to begin with;
//    a 3-D filter loads its depth taps one after the other, outside ones as zeros.
//  - Or rows lie end to end without padding (LaneMap::isMasked), and lanes whose tap lies beside their row are disabled. The first
//    products of an output row are disabled in no lane: they begin with the tap that lies in the image for every column. The taps
//    in front of it take a second copy of the row. Later chunks of channels take all taps from one copy.
//  - A shift leaves the last lane of a window as it was. Either one tcgen05.cp.4x256b behind each shift brings these lanes the four
//    pixels that come next, which are loaded once more beside the row. Or lanes with such stale rows are disabled, but not with the
//    first tap: every lane's accumulator then holds a number. What they miss is nobody's tap or padding, or is not stored.
//  - mma -> shift, shift -> mma and cp -> mma of one thread are ordered, whatever the accumulators (PTX ISA 9.7.16.6.2); mma -> cp
//    into the same slot is not: hence the commit behind a row's last MMA. `.ashift` would be ordered against MMAs of its own
//    accumulator only, so it cannot be used here.
//  - Slices are the outer loop: while the shift of one slice is on its way the MMAs of the next ones keep the tensor core busy.
//  - Filters stay in shared memory if they fit; else the taps of a row are loaded again for every input row.
//  - Block-scaled kinds: warps of their own arrange the scale factors of pixels beside the rows, which move along with them (see
//    shift_stream_scales.cuh). Those of the filter stay in shared memory, and in Tensor Memory if there is room; else a ring of two
//    tap columns takes them in turn. These kinds have no lane masks: stale lanes are multiplied and not stored.
//  - K above tileN: blockIdx.y selects the pass; rows are copied again for each, because the shifts consume them.
#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "common/gemm/sm100/filter_ring.cuh"
#include "common/gemm/sm100/mainloop.cuh"
#include "common/gemm/sm100/row_store.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "conv/algorithms/shift_stream/columns.cuh"
#include "conv/algorithms/shift_stream/frame.cuh"
#include "conv/algorithms/shift_stream/rows.hpp"
#include "conv/algorithms/shift_stream/scales.cuh"

namespace shiftconv::kernels {
namespace {

using gemm::RingPosition;

// ---- One CTA -----------------------------------------------------------------------------------------------------------------
template <class Group, bool kScaled>
class ShiftStreamCta : ShiftStreamFrame<Group, kScaled> {
  using Frame = ShiftStreamFrame<Group, kScaled>;
  using Frame::initialiseBarriers, Frame::clearUnloadedLanes, Frame::operandStage, Frame::stageRefill, Frame::stageScales,
      Frame::filterStage, Frame::slot, Frame::filterScaleTile, Frame::scaleColumns, Frame::slicesOf, Frame::placeIn, Frame::rowsOf,
      Frame::forEachStep, Frame::forEachRun, Frame::inputMap_, Frame::refillMap_, Frame::filterMap_, Frame::p_, Frame::control_,
      Frame::tiles_, Frame::firstOutputChannel_, Frame::operandStages_, Frame::filterStages_, Frame::filterScales_,
      Frame::accumulators_, Frame::slots_, Frame::scaleEntries_;

 public:
  using Frame::Frame;

  __device__ void run() {
    const uint32_t warp = threadIdx.x / 32;
    if (warp == kOperandLoadWarp && ptx::electOne()) initialiseBarriers();
    if (warp >= kEpilogueWarps && warp < kScaleWarps) clearUnloadedLanes();
    accumulators_ = gemm::sm100::enter<Group>(control_->tensorMemory, p_.allocatedColumns, warp == kMmaWarp);
    slots_ = accumulators_ + static_cast<uint32_t>(p_.accumulators) * p_.accumulatorColumns;
    scaleEntries_ = slots_ + static_cast<uint32_t>(p_.slots) * p_.slotColumns;
    if (warp == kOperandLoadWarp) {
      loadOperands();
    } else if (warp == kMmaWarp) {
      if (Group::isLeader() && ptx::electOne()) multiply();
    } else if (warp == kFilterLoadWarp) {
      if (ptx::electOne()) loadFilter();
    } else if (warp >= kEpilogueWarps && warp < kScaleWarps) {
      drain(warp % 4);
    } else if (kScaled && warp >= kScaleWarps) {
      arrangeScales();
    }
    gemm::sm100::leave<Group>(accumulators_, p_.allocatedColumns, warp == kMmaWarp);
  }

 private:
  // ---- Activations: global -> shared: one warp finds places, one thread of it loads -------------------------------------------
  __device__ BoxPlace boxPlace(int32_t tile, const PieceLane& first) const {
    const Place place = placeIn(tile, first.piece);
    return {place.column - p_.padLeft + p_.lanes.firstTap + first.offset, place.firstInputRow,
            place.depth * p_.strideDepth - p_.padFront, place.image};
  }
  /// Pieces behind the last belong to an image that does not exist: zeros.
  __device__ void findBoxes(int32_t tile) const {
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
    if (lane < p_.lanes.pieces()) control_->pieces[lane] = boxPlace(tile, {lane, 0});
    if (lane < p_.lanes.refills(p_.filterWidth))
      control_->refills[lane] = boxPlace(tile, refillOf(p_.lanes, lane % kStreamWindows, lane / kStreamWindows + 1));
    if constexpr (!kScaled)
      if (lane < p_.lanes.edges()) control_->edges[lane] = boxPlace(tile, edgePixel(p_.lanes, lane).from);
  }

  __device__ void loadOperands() const {
    ptx::prefetchTensorMap(&inputMap_);
    RingPosition stage;  // of the elected thread, which is always the same
    for (const int32_t tile : tiles_) {
      findBoxes(tile);
      __syncwarp();
      if (ptx::electOne())
        forEachStep(rowsOf(tile), [&](int32_t t, const Contribution&) {
          forEachRun([&](int32_t depthTap, int32_t chunk) {
            control_->operands.awaitEmpty(stage);
            if (Group::isLeader())
              ptx::mbarrierArriveExpectBytes(control_->operands.full(stage), Group::kCtaGroup * p_.operandCountedBytes);
            loadRow(stage, t, depthTap, chunk);
            stage.advance(p_.operandStages);
          });
        });
      __syncwarp();
    }
    if (ptx::electOne()) control_->operands.awaitReleases(stage, p_.operandStages);
  }
  __device__ void loadRow(const RingPosition& stage, int32_t t, int32_t depthTap, int32_t chunk) const {
    const uint32_t full = Group::atLeader(control_->operands.full(stage));
    const auto load = [&](const CUtensorMap& map, uint32_t destination, const BoxPlace& place) {
      Group::load(destination, &map, chunk * p_.chunkElements, place.x, place.y + t * p_.dilationH,
                  place.z + depthTap * p_.dilationDepth, place.image, full);
    };
    const BoxPlace* place = control_->pieces;
#pragma unroll 1
    for (int32_t frame = 0; frame < kStreamLanes; frame += p_.lanes.frameLanes)
#pragma unroll 1
      for (int32_t piece = 0; piece < p_.lanes.framePieces; ++piece) {
        const int32_t lane = frame + piece * p_.lanes.pieceLanes;
        load(inputMap_, operandStage(stage) + static_cast<uint32_t>(lane) * layout::kSwizzle128RowBytes, *place++);
      }
    if (!p_.lanes.isRefilled) return;
    place = control_->refills;
#pragma unroll 1
    for (int32_t s = 0; s + 1 < p_.filterWidth; ++s)
#pragma unroll 1
      for (uint32_t window = 0; window < kStreamWindows; ++window)
        load(refillMap_, stageRefill(stage, s) + window * layout::kSwizzle128RowBytes, *place++);
    if constexpr (!kScaled) loadEdges(load, stage);
  }
  /// Of rows end to end, which need lane masks.
  template <class Load>
  __device__ void loadEdges(const Load& load, const RingPosition& stage) const {
#pragma unroll 1
    for (int32_t edge = 0; edge < p_.lanes.edges(); ++edge) {
      const auto lane = static_cast<uint32_t>(edgePixel(p_.lanes, edge).lane);
      load(refillMap_, operandStage(stage) + lane * layout::kSwizzle128RowBytes, control_->edges[edge]);
    }
  }

  // ---- Filters: global -> shared: one thread -----------------------------------------------------------------------------------
  __device__ void loadTap(int32_t index, int32_t depthTap, int32_t chunk, int32_t r, int32_t s, uint32_t full) const {
    const int32_t share = p_.tileN / Group::kCtaGroup;
    Group::load(filterStage(index), &filterMap_, chunk * p_.chunkElements, (depthTap * p_.filterHeight + r) * p_.filterWidth + s,
                firstOutputChannel_ + static_cast<int32_t>(Group::rank()) * share, full);
  }

  __device__ void loadFilter() const {
    ptx::prefetchTensorMap(&filterMap_);
    if (p_.filterResident) {
      if (tiles_.own() != 0) loadResidentFilter();
      return;
    }
    RingPosition stage;
    for (const int32_t tile : tiles_) {
      const TileRows span = rowsOf(tile);
      forEachStep(span, [&](int32_t t, const Contribution& rows) {
        forEachRun([&](int32_t depthTap, int32_t chunk) {
          const bool opens = depthTap == 0 && chunk == 0;
#pragma unroll 1
          for (int32_t range = 0; range < tapRanges(p_.lanes, opens); ++range) {
            const TapRange taps = tapRange(p_.lanes, p_.filterWidth, opens, range);
#pragma unroll 1
            for (int32_t s = taps.begin; s < taps.end; ++s)
#pragma unroll 1
              for (int32_t i = 0; i < rows.count; ++i) {
                gemm::sm100::expectFilterStage<Group>(*control_, stage, p_.filterCountedBytes);
                loadTap(stage.index, depthTap, chunk, t - (rows.first + i) * p_.strideH, s,
                        Group::atLeader(control_->filters.full(stage)));
                stage.advance(p_.filterStages);
              }
          }
        });
      });
    }
    control_->filters.awaitReleases(stage, p_.filterStages);
  }

  /// Taps in the order (t, chunk, r, s).
  __device__ void loadResidentFilter() const {
    const uint32_t full = gemm::sm100::expectResidentFilter<Group>(*control_, p_.filterStages, p_.filterCountedBytes);
    int32_t index = 0;
    forEachRun([&](int32_t depthTap, int32_t chunk) {
#pragma unroll 1
      for (int32_t r = 0; r < p_.filterHeight; ++r)
#pragma unroll 1
        for (int32_t s = 0; s < p_.filterWidth; ++s) loadTap(index++, depthTap, chunk, r, s, full);
    });
  }

  // ---- Scale factors: global -> shared: four warps -----------------------------------------------------------------------------
  __device__ void arrangeScales() const {
    const uint32_t thread = threadIdx.x - kScaleWarps * 32, lane = thread % 32;
    const auto publish = [&](uint32_t barrier) {
      ptx::fenceProxyAsyncShared();
      __syncwarp();
      if (lane == 0) Group::arriveAtLeader(barrier);
    };
    if (tiles_.own() == 0) return;
    int32_t run = 0;
    forEachRun([&](int32_t depthTap, int32_t chunk) {
#pragma unroll 1
      for (int32_t r = 0; r < p_.filterHeight; ++r)
#pragma unroll 1
        for (int32_t s = 0; s < p_.filterWidth; ++s)
          arrangeFilterScales(p_, (depthTap * p_.filterHeight + r) * p_.filterWidth + s, chunk, firstOutputChannel_,
                              filterScaleTile(run, r, s), thread);
      ++run;
    });
    publish(control_->filterScales.full(RingPosition{}));

    const PieceLane own = ctaPieceLane(p_.lanes, static_cast<int32_t>(thread));
    RingPosition stage;
    for (const int32_t tile : tiles_) {
      const TileRows span = rowsOf(tile);
      const Place place = placeIn(tile, own.piece);
      forEachStep(span, [&](int32_t t, const Contribution&) {
        forEachRun([&](int32_t depthTap, int32_t chunk) {
          control_->operands.awaitEmpty(stage);
          arrangeInputScales(p_, place, own.offset, place.firstInputRow + t * p_.dilationH, depthTap, chunk, stageScales(stage),
                             thread);
          publish(control_->operands.full(stage));
          stage.advance(p_.operandStages);
        });
      });
    }
  }

  // ---- The tensor core: one thread ---------------------------------------------------------------------------------------------
  /// The first products of an input row come in two ranges of taps. Kinds without lane masks have no such map.
  __device__ bool hasTwoRanges() const { return !kScaled && p_.lanes.firstTap != 0; }
  /// Goes through all input rows ahead of the MMAs and brings them from shared to Tensor Memory.
  struct Copier {
    RingPosition stage, slot;
    int64_t left;  // copies to go
    int32_t chunk = 0;
    int32_t run;  // of its row
    bool opens;   // the first range of its row's taps, of two
  };
  __device__ int64_t ownCopies() const {
    int64_t steps = 0;
    for (const int32_t tile : tiles_) {
      const TileRows span = rowsOf(tile);
      steps += stepsBefore(p_, span.end) - stepsBefore(p_, span.begin);
    }
    return steps * (p_.filterDepth * p_.channelChunks + (hasTwoRanges() ? 1 : 0));
  }
  __device__ void copyNext(Copier& copier) const {
    if (copier.left == 0) return;
    control_->operands.awaitFull(copier.stage);
    control_->slots.awaitEmpty(copier.slot);  // site: slot_free
    ptx::tensorFenceAfterThreadSync();        // site: slot_fence
    // Rows are swizzled by their addresses, so a copy may begin with any of them.
    const auto front = static_cast<uint32_t>(copier.opens ? 0 : p_.lanes.firstTap) * layout::kSwizzle128RowBytes;
    gemm::sm100::copyOperand<Group>(p_.expandedBitsA, slot(copier.slot),
                                    layout::swizzle128KMajorDescriptor(operandStage(copier.stage) - front), slicesOf(copier.chunk));
    if constexpr (kScaled)
      copyScaleTiles<Group>(p_.kind, static_cast<uint32_t>(p_.scaleCopies), slot(copier.slot) + gemm::sm100::kOperandColumns,
                            stageScales(copier.stage));
    if (!p_.lanes.isRefilled) Group::commitRelease(control_->operands.empty(copier.stage));
    copier.slot.advance(p_.slots);
    --copier.left;
    if (copier.opens) {
      copier.opens = false;
      return;
    }
    copier.stage.advance(p_.operandStages);
    copier.chunk = copier.chunk + 1 == p_.channelChunks ? 0 : copier.chunk + 1;
    copier.run = copier.run + 1 == p_.filterDepth * p_.channelChunks ? 0 : copier.run + 1;
    copier.opens = copier.run == 0 && hasTwoRanges();
  }

  /// The filter's scale factors of a tap column, for `count` filter rows r = first, first - step .., to an entry.
  __device__ void copyFilterScales(int32_t entry, int32_t run, int32_t s, int32_t first, int32_t step, int32_t count) const {
#pragma unroll 1
    for (int32_t i = 0, r = first; i < count; ++i, r -= step)
      copyScaleTiles<Group>(p_.kind, static_cast<uint32_t>(p_.filterScales.rowTiles), scaleColumns(entry, r),
                            filterScaleTile(run, r, s));
  }
  __device__ void copyAllFilterScales() const {
    int32_t run = 0;
    forEachRun([&](int32_t, int32_t) {
#pragma unroll 1
      for (int32_t s = 0; s < p_.filterWidth; ++s)
        copyFilterScales(run * p_.filterWidth + s, run, s, p_.filterHeight - 1, 1, p_.filterHeight);
      ++run;
    });
  }
  /// Every factor takes its neighbour's, behind the MMAs of all slices.
  __device__ void shiftScales(uint32_t address) const {
#pragma unroll 1
    for (uint32_t column = 0; column < scaleTileColumns(p_.kind); column += gemm::sm100::kSliceColumns)
      ptx::tensorShiftDown<Group::kCtaGroup>(address + column);
  }

  __device__ void multiply() const {
    Copier copier{{}, {}, ownCopies(), 0, 0, hasTwoRanges()};
    RingPosition slotUse, stageUse, filter, opened, closed;  // opened, closed: accumulators that rows have been given and have left
    if (p_.filterResident && tiles_.own() != 0) control_->residentFilter.awaitFull(RingPosition{});
    if constexpr (kScaled) {
      if (tiles_.own() != 0) control_->filterScales.awaitFull(RingPosition{});
      if (tiles_.own() != 0 && p_.scalesResident) copyAllFilterScales();
    }
    RingPosition scaleEntry;
    copyNext(copier);  // site: first_copy
    for (const int32_t tile : tiles_) {
      const TileRows span = rowsOf(tile);
      int32_t rowsOpened = 0, maskPhases[Group::kCtas] = {};
      if constexpr (!kScaled)
        for (int32_t rank = 0; rank < Group::kCtas; ++rank) maskPhases[rank] = (tile * Group::kCtas + rank) % p_.maskPhases;
      forEachStep(span, [&](int32_t t, const Contribution& rows) {
        for (; rowsOpened < rows.first + rows.count; ++rowsOpened) {
          control_->accumulators.awaitEmpty(opened);  // site: row_opened
          opened.advance(p_.accumulators);
        }
        // Rows whose first step inside of the image is this one.
        const int32_t newest = rows.first + rows.count - 1;
        const int32_t fresh = t == span.begin ? 0 : newest * p_.strideH == t ? rows.count - 1 : rows.count;
        int32_t run = 0;
        forEachRun([&](int32_t, int32_t chunk) {
          TapColumn<Group> column;
          column.accumulators = accumulators_;
          column.filters = filterStages_;
          column.slices = slicesOf(chunk);
          column.accumulator = closed.index;
          column.count = rows.count;
          const int32_t filterRow = t - rows.first * p_.strideH;  // of the first output row
          const int32_t ranges = kScaled ? 1 : tapRanges(p_.lanes, run == 0);
#pragma unroll 1
          for (int32_t range = 0; range < ranges; ++range) {
            if (p_.copiesAhead) copyNext(copier);
            ptx::tensorFenceAfterThreadSync();  // behind the readers of the accumulators
            column.operand = slot(slotUse);
            const TapRange taps = tapRange(p_.lanes, p_.filterWidth, run == 0, range);
#pragma unroll 1
            for (int32_t s = taps.begin; s < taps.end; ++s) {
              column.freshFrom = run == 0 && s == p_.lanes.firstTap ? fresh : rows.count;
              column.shifts = s + 1 < taps.end;
              column.refill = p_.lanes.isRefilled && column.shifts ? stageRefill(stageUse, s) : 0;
              if constexpr (kScaled) {
                if (!p_.scalesResident) {
                  control_->scaleEntries.awaitEmpty(scaleEntry);
                  ptx::tensorFenceAfterThreadSync();
                  copyFilterScales(scaleEntry.index, run, s, filterRow, p_.strideH, rows.count);
                }
                const uint32_t tapColumns = static_cast<uint32_t>(p_.filterScales.rowTiles) * scaleTileColumns(p_.kind);
                column.scaleA = column.operand + gemm::sm100::kOperandColumns +
                                (p_.scaleCopies == 1 ? 0 : static_cast<uint32_t>(s) * gemm::sm100::kScaleAtomColumns);
                column.scaleB = scaleColumns(p_.scalesResident ? run * p_.filterWidth + s : scaleEntry.index, filterRow);
                column.scaleStepB = 0u - static_cast<uint32_t>(p_.strideH) * tapColumns;
              } else {
                for (int32_t rank = 0; rank < Group::kCtas; ++rank) {
                  const DisabledLanes& lanes = p_.disabled[maskPhases[rank]][s];
                  column.disabled[rank] = {{lanes.window[0], lanes.window[1], lanes.window[2], lanes.window[3]}};
                }
              }
              if (p_.filterResident) {
                column.filter = (run * p_.filterHeight + filterRow) * p_.filterWidth + s;
                column.filterStep = -p_.strideH * p_.filterWidth;
                multiplyColumn<Group, kScaled>(p_, column);
              } else {
                column.filter = filter.index;
                column.filterStep = 1;
                RingPosition tap = filter;
#pragma unroll 1
                for (int32_t i = 0; i < rows.count; ++i) {
                  control_->filters.awaitFull(tap);
                  tap.advance(p_.filterStages);
                }
                ptx::tensorFenceAfterThreadSync();  // site: taps_fence
                multiplyColumn<Group, kScaled>(p_, column);
#pragma unroll 1
                for (int32_t i = 0; i < rows.count; ++i) {
                  Group::commitRelease(control_->filters.empty(filter));
                  filter.advance(p_.filterStages);
                }
              }
              if constexpr (kScaled) {
                if (!p_.scalesResident) {
                  ptx::tensorCommit<Group::kCtaGroup>(control_->scaleEntries.empty(scaleEntry));
                  scaleEntry.advance(p_.scaleEntries);
                }
                if (column.shifts && p_.scaleCopies == 1) shiftScales(column.scaleA);
              }
            }
            ptx::tensorCommit<Group::kCtaGroup>(control_->slots.empty(slotUse));
            slotUse.advance(p_.slots);
            if (p_.lanes.isRefilled && range + 1 == ranges) {
              Group::commitRelease(control_->operands.empty(stageUse));
              stageUse.advance(p_.operandStages);
            }
            if (!p_.copiesAhead) copyNext(copier);
          }
          ++run;
        });
        // Rows whose last step inside of the image is this one.
        int32_t finished = t - rows.first * p_.strideH == p_.filterHeight - 1 ? 1 : 0;
        if (t + 1 == span.end) finished = rows.count;
        for (; finished > 0; --finished) {
          Group::commitResult(control_->accumulators.full(closed));
          closed.advance(p_.accumulators);
        }
      });
    }
    control_->slots.awaitReleases(copier.slot, p_.slots);
    if constexpr (kScaled)
      if (!p_.scalesResident) control_->scaleEntries.awaitReleases(scaleEntry, p_.scaleEntries);
  }

  // ---- Epilogue: one warp for each window --------------------------------------------------------------------------------------
  __device__ void drain(uint32_t window) const {
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
    const PieceLane own = ctaPieceLane(p_.lanes, static_cast<int32_t>(window) * kStreamWindowLanes + lane);
    uint32_t largest = 0;
    RingPosition accumulator;
    for (const int32_t tile : tiles_) {
      const TileRows span = rowsOf(tile);
      const Place place = placeIn(tile, own.piece);
      const int32_t column = place.column + own.offset;
      const bool isOutput = own.offset < p_.lanes.pieceOutputs && column < p_.outputWidth;  // of the rows that the piece has
      const int32_t plane = place.image * p_.outputDepth + place.depth;
#pragma unroll 1
      for (int32_t i = 0; i < span.outputRows; ++i) {
        const int32_t row = place.firstOutputRow + i * rowStep(p_);
        const int32_t pixel = isOutput && i < place.outputRows ? (plane * p_.outputHeight + row) * p_.outputWidth + column : -1;
        control_->accumulators.awaitFull(accumulator);
        ptx::tensorFenceAfterThreadSync();
        const uint32_t source = accumulators_ + static_cast<uint32_t>(accumulator.index) * p_.accumulatorColumns +
                                ((window * kStreamWindowLanes) << 16);
        gemm::sm100::storeRow(p_.epilogue, source, pixel, firstOutputChannel_, p_.tileN, largest);  // site: row_stored
        ptx::tensorFenceBeforeThreadSync();
        __syncwarp();
        if (lane == 0) Group::arriveAtLeader(control_->accumulators.empty(accumulator));
        accumulator.advance(p_.accumulators);
      }
    }
    gemm::mergeLargest(p_.epilogue, largest);
  }
};

}  // namespace

// ---- Kernels: shift_stream_sm100_<operands>_<group>
// ------------------------------------------------------------------------------ Types and lane maps are fields of the launch.
#define SHIFTCONV_SHIFT_STREAM_KERNEL(NAME, GROUP, SCALED)                                                    \
  extern "C" __global__ void __launch_bounds__(streamThreads(SCALED), 1)                                      \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap refillMap,       \
           const __grid_constant__ CUtensorMap filterMap, const __grid_constant__ ShiftStreamParams params) { \
    ShiftStreamCta<GROUP, SCALED>(inputMap, refillMap, filterMap, params).run();                              \
  }

SHIFTCONV_SHIFT_STREAM_KERNEL(shift_stream_sm100_dense_single, gemm::sm100::SingleCta, false)
SHIFTCONV_SHIFT_STREAM_KERNEL(shift_stream_sm100_dense_pair, gemm::sm100::CtaPair, false)
SHIFTCONV_SHIFT_STREAM_KERNEL(shift_stream_sm100_scaled_single, gemm::sm100::SingleCta, true)
SHIFTCONV_SHIFT_STREAM_KERNEL(shift_stream_sm100_scaled_pair, gemm::sm100::CtaPair, true)

}  // namespace shiftconv::kernels
