// The multiplying thread of shift_stream: input rows from shared to Tensor Memory, and the products of all taps that read them.
#pragma once

#include <cstdint>

#include "common/gemm/sm100/filter_ring.cuh"
#include "common/gemm/sm100/mainloop.cuh"
#include "conv/algorithms/shift_stream/columns.cuh"
#include "conv/algorithms/shift_stream/cta.cuh"

namespace shiftconv::kernels::shift_stream {

/// The first products of an input row come in two ranges of taps. Kinds without lane masks have no such map.
template <class Group, bool kScaled>
__device__ __forceinline__ bool hasTwoRanges(const Cta<Group, kScaled>& cta) {
  return !kScaled && cta.params.lanes.firstTap != 0;
}

// ---- Copies to Tensor Memory ----------------------------------------------------------------------------------------------------
/// Goes through all input rows ahead of the MMAs and brings them from shared to Tensor Memory.
struct Copier {
  RingPosition stage, slot;
  int64_t left;  // copies to go
  int32_t chunk = 0;
  int32_t run;  // of its row
  bool opens;   // the first range of its row's taps, of two
};
template <class Group, bool kScaled>
__device__ __forceinline__ Copier makeCopier(const Cta<Group, kScaled>& cta) {
  const ShiftStreamParams& p = cta.params;
  int64_t steps = 0;
  for (const int32_t tile : cta.tiles) {
    const TileRows span = cta.rowsOf(tile);
    steps += stepsBefore(p, span.end) - stepsBefore(p, span.begin);
  }
  return {{}, {}, steps * (p.filterDepth * p.channelChunks + (hasTwoRanges(cta) ? 1 : 0)), 0, 0, hasTwoRanges(cta)};
}
template <class Group, bool kScaled>
__device__ __forceinline__ void copyNext(const Cta<Group, kScaled>& cta, Copier& copier) {
  if (copier.left == 0) return;
  const ShiftStreamParams& p = cta.params;
  Control<Group>& control = *cta.control;
  control.operands.awaitFull(copier.stage);
  control.slots.awaitEmpty(copier.slot);  // site: slot_free
  ptx::tensorFenceAfterThreadSync();      // site: slot_fence
  // Rows are swizzled by their addresses, so a copy may begin with any of them.
  const auto front = static_cast<uint32_t>(copier.opens ? 0 : p.lanes.firstTap) * layout::kSwizzle128RowBytes;
  gemm::sm100::copyOperand<Group>(p.expandedBitsA, cta.slot(copier.slot),
                                  layout::swizzle128KMajorDescriptor(cta.operandStage(copier.stage) - front),
                                  cta.slicesOf(copier.chunk));
  if constexpr (kScaled)
    copyScaleTiles<Group>(p.kind, static_cast<uint32_t>(p.scaleCopies), cta.slot(copier.slot) + gemm::sm100::kOperandColumns,
                          cta.stageScales(copier.stage));
  if (!p.lanes.isRefilled) Group::commitRelease(control.operands.empty(copier.stage));
  copier.slot.advance(p.slots);
  --copier.left;
  if (copier.opens) {
    copier.opens = false;
    return;
  }
  copier.stage.advance(p.operandStages);
  copier.chunk = copier.chunk + 1 == p.channelChunks ? 0 : copier.chunk + 1;
  copier.run = copier.run + 1 == p.filterDepth * p.channelChunks ? 0 : copier.run + 1;
  copier.opens = copier.run == 0 && hasTwoRanges(cta);
}

/// The filter's scale factors of a tap column, for `count` filter rows r = first, first - step .., to an entry.
template <class Group>
__device__ __forceinline__ void copyFilterScales(const Cta<Group, true>& cta, int32_t entry, int32_t run, int32_t s, int32_t first,
                                                 int32_t step, int32_t count) {
  const ShiftStreamParams& p = cta.params;
#pragma unroll 1
  for (int32_t i = 0, r = first; i < count; ++i, r -= step)
    copyScaleTiles<Group>(p.kind, static_cast<uint32_t>(p.filterScales.rowTiles), cta.scaleColumns(entry, r),
                          cta.filterScaleTile(run, r, s));
}
template <class Group>
__device__ __forceinline__ void copyAllFilterScales(const Cta<Group, true>& cta) {
  const ShiftStreamParams& p = cta.params;
  int32_t run = 0;
  cta.forEachRun([&](int32_t, int32_t) {
#pragma unroll 1
    for (int32_t s = 0; s < p.filterWidth; ++s)
      copyFilterScales(cta, run * p.filterWidth + s, run, s, p.filterHeight - 1, 1, p.filterHeight);
    ++run;
  });
}
/// Every factor takes its neighbour's, after the MMAs of all slices.
template <class Group>
__device__ __forceinline__ void shiftScales(const ShiftStreamParams& p, uint32_t address) {
#pragma unroll 1
  for (uint32_t column = 0; column < scaleTileColumns(p.kind); column += gemm::sm100::kSliceColumns)
    ptx::tensorShiftDown<Group::kCtaGroup>(address + column);
}

// ---- Products -------------------------------------------------------------------------------------------------------------------
/// Where the thread is in its rings.
struct Rings {
  RingPosition slot, stage, tap, scaleEntry;
  RingPosition opened, closed;  // accumulators that rows have been given, and have left
};
/// What one run of an input row multiplies.
struct RowRun {
  Contribution rows;
  int32_t run, chunk;
  int32_t filterRow;  // of the first output row
  int32_t fresh;      // output rows from here on begin with this input row
};

/// The block scale factors of a tap column.
template <class Group>
__device__ __forceinline__ void takeScales(const Cta<Group, true>& cta, const Rings& rings, const RowRun& row, int32_t s,
                                           TapColumn<Group>& column) {
  const ShiftStreamParams& p = cta.params;
  if (!p.scalesResident) {
    cta.control->scaleEntries.awaitEmpty(rings.scaleEntry);
    ptx::tensorFenceAfterThreadSync();
    copyFilterScales(cta, rings.scaleEntry.index, row.run, s, row.filterRow, p.strideH, row.rows.count);
  }
  const uint32_t tapColumns = static_cast<uint32_t>(p.filterScales.rowTiles) * scaleTileColumns(p.kind);
  column.scaleA = column.operand + gemm::sm100::kOperandColumns +
                  (p.scaleCopies == 1 ? 0 : static_cast<uint32_t>(s) * gemm::sm100::kScaleAtomColumns);
  column.scaleB = cta.scaleColumns(p.scalesResident ? row.run * p.filterWidth + s : rings.scaleEntry.index, row.filterRow);
  column.scaleStepB = 0u - static_cast<uint32_t>(p.strideH) * tapColumns;
}
template <class Group>
__device__ __forceinline__ void leaveScales(const Cta<Group, true>& cta, Rings& rings, const TapColumn<Group>& column) {
  const ShiftStreamParams& p = cta.params;
  if (!p.scalesResident) {
    ptx::tensorCommit<Group::kCtaGroup>(cta.control->scaleEntries.empty(rings.scaleEntry));
    rings.scaleEntry.advance(p.scaleEntries);
  }
  if (column.shifts && p.scaleCopies == 1) shiftScales<Group>(p, column.scaleA);
}

/// One tap column, with the filter's taps where they are: resident, or as they stream by.
template <class Group, bool kScaled>
__device__ __forceinline__ void multiplyTaps(const Cta<Group, kScaled>& cta, Rings& rings, const RowRun& row, int32_t s,
                                             TapColumn<Group>& column) {
  const ShiftStreamParams& p = cta.params;
  if (p.filter.resident) {
    column.filter = (row.run * p.filterHeight + row.filterRow) * p.filterWidth + s;
    column.filterStep = -p.strideH * p.filterWidth;
    multiplyColumn<kScaled>(p, column);
    return;
  }
  column.filter = rings.tap.index;
  column.filterStep = 1;
  RingPosition tap = rings.tap;
#pragma unroll 1
  for (int32_t i = 0; i < row.rows.count; ++i) {
    cta.control->filter.taps.awaitFull(tap);
    tap.advance(p.filter.stages);
  }
  ptx::tensorFenceAfterThreadSync();  // site: taps_fence
  multiplyColumn<kScaled>(p, column);
#pragma unroll 1
  for (int32_t i = 0; i < row.rows.count; ++i) {
    Group::commitRelease(cta.control->filter.taps.empty(rings.tap));
    rings.tap.advance(p.filter.stages);
  }
}

/// A range of the taps of a run, from one copy of its row.
template <class Group, bool kScaled>
__device__ __forceinline__ void multiplyRange(const Cta<Group, kScaled>& cta, Rings& rings, const RowRun& row, const TapRange& taps,
                                              const int32_t (&maskPhases)[Group::kCtas]) {
  const ShiftStreamParams& p = cta.params;
  TapColumn<Group> column;
  column.accumulators = cta.tensorMemory;
  column.filters = cta.filterStages;
  column.slices = cta.slicesOf(row.chunk);
  column.accumulator = rings.closed.index;
  column.count = row.rows.count;
  column.operand = cta.slot(rings.slot);
#pragma unroll 1
  for (int32_t s = taps.begin; s < taps.end; ++s) {
    column.freshFrom = row.run == 0 && s == p.lanes.firstTap ? row.fresh : row.rows.count;
    column.shifts = s + 1 < taps.end;
    column.refill = p.lanes.isRefilled && column.shifts ? cta.stageRefill(rings.stage, s) : 0;
    if constexpr (kScaled) {
      takeScales(cta, rings, row, s, column);
    } else {
      for (int32_t rank = 0; rank < Group::kCtas; ++rank) {
        const DisabledLanes& lanes = p.disabled[maskPhases[rank]][s];
        column.disabled[rank] = {{lanes.window[0], lanes.window[1], lanes.window[2], lanes.window[3]}};
      }
    }
    multiplyTaps(cta, rings, row, s, column);
    if constexpr (kScaled) leaveScales(cta, rings, column);
  }
}

/// All products of a run, and the next copies.
template <class Group, bool kScaled>
__device__ __forceinline__ void multiplyRun(const Cta<Group, kScaled>& cta, Copier& copier, Rings& rings, const RowRun& row,
                                            const int32_t (&maskPhases)[Group::kCtas]) {
  const ShiftStreamParams& p = cta.params;
  const int32_t ranges = kScaled ? 1 : tapRanges(p.lanes, row.run == 0);
#pragma unroll 1
  for (int32_t range = 0; range < ranges; ++range) {
    if (p.copiesAhead) copyNext(cta, copier);
    ptx::tensorFenceAfterThreadSync();  // after the readers of the accumulators
    multiplyRange(cta, rings, row, tapRange(p.lanes, p.filterWidth, row.run == 0, range), maskPhases);
    ptx::tensorCommit<Group::kCtaGroup>(cta.control->slots.empty(rings.slot));
    rings.slot.advance(p.slots);
    if (p.lanes.isRefilled && range + 1 == ranges) {
      Group::commitRelease(cta.control->operands.empty(rings.stage));
      rings.stage.advance(p.operandStages);
    }
    if (!p.copiesAhead) copyNext(cta, copier);
  }
}

template <class Group, bool kScaled>
__device__ __forceinline__ void multiply(const Cta<Group, kScaled>& cta) {
  const ShiftStreamParams& p = cta.params;
  Control<Group>& control = *cta.control;
  Copier copier = makeCopier(cta);
  Rings rings;
  gemm::sm100::awaitResidentFilter(cta);
  if constexpr (kScaled) {
    if (cta.tiles.own() != 0) control.filterScales.awaitFull(RingPosition{});
    if (cta.tiles.own() != 0 && p.scalesResident) copyAllFilterScales(cta);
  }
  copyNext(cta, copier);  // site: first_copy
  for (const int32_t tile : cta.tiles) {
    const TileRows span = cta.rowsOf(tile);
    int32_t rowsOpened = 0, maskPhases[Group::kCtas] = {};
    if constexpr (!kScaled)
      for (int32_t rank = 0; rank < Group::kCtas; ++rank) maskPhases[rank] = (tile * Group::kCtas + rank) % p.maskPhases;
    cta.forEachStep(span, [&](int32_t t, const Contribution& rows) {
      for (; rowsOpened < rows.first + rows.count; ++rowsOpened) {
        control.accumulators.awaitEmpty(rings.opened);  // site: row_opened
        rings.opened.advance(p.accumulators);
      }
      RowRun row{rows, 0, 0, t - rows.first * p.strideH, 0};
      // Rows whose first step inside of the image is this one.
      const int32_t newest = rows.first + rows.count - 1;
      row.fresh = t == span.begin ? 0 : newest * p.strideH == t ? rows.count - 1 : rows.count;
      cta.forEachRun([&](int32_t, int32_t chunk) {
        row.chunk = chunk;
        multiplyRun(cta, copier, rings, row, maskPhases);
        ++row.run;
      });
      // Rows whose last step inside of the image is this one.
      int32_t finished = row.filterRow == p.filterHeight - 1 ? 1 : 0;
      if (t + 1 == span.end) finished = rows.count;
      for (; finished > 0; --finished) {
        Group::commitResult(control.accumulators.full(rings.closed));
        rings.closed.advance(p.accumulators);
      }
    });
  }
  control.slots.awaitReleases(copier.slot, p.slots);
  if constexpr (kScaled)
    if (!p.scalesResident) control.scaleEntries.awaitReleases(rings.scaleEntry, p.scaleEntries);
}

}  // namespace shiftconv::kernels::shift_stream
