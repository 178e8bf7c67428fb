// Row streams, an experiment with kernels of its own: the 16 groups of an operand are 16 streams of input rows. One row of each is
// loaded at a time, and is operand A of all R filter rows in turn, for R output rows, before the next one comes: the collector
// buffer holds it meanwhile, and shared memory is read once instead of R times.
#pragma once

#include <cstdint>

#include "common/gemm/sm100/kinds.cuh"
#include "common/gemm/sm100/stages.cuh"
#include "common/ptx/tensor_core_collector.cuh"
#include "conv/algorithms/halo_sm100/cta.cuh"

namespace shiftconv::kernels::halo_sm100 {

/// The filter rows that read a row of a patch: `first`, for output row `outputRow` of the tile, and more at the steps of the
/// launch.
struct RowTaps {
  int32_t first, outputRow, count;
};
__device__ __forceinline__ RowTaps tapsOfRow(const HaloParams& p, int32_t row) {
#pragma unroll 1
  for (int32_t first = 0; first < p.filterHeight && first * p.dilationH <= row; ++first) {
    const int32_t distance = row - first * p.dilationH, outputRow = distance / p.strideH;
    if (outputRow * p.strideH != distance || outputRow >= p.tileRows) continue;
    return {first, outputRow, min((p.filterHeight - 1 - first) / p.filterRowStep, outputRow / p.outputRowStep) + 1};
  }
  return {0, 0, 0};  // between the rows that a stride leaves out
}
/// Calls body(run, row, taps) for every row that is loaded for a tile; a run is a channel chunk of a depth tap.
template <class Group, class Body>
__device__ __forceinline__ void forEachRow(const Cta<Group, true>& cta, Body&& body) {
  const HaloParams& p = cta.params;
  const int32_t runs = p.filterDepth * cta.gemm.lineChunks;
#pragma unroll 1
  for (int32_t first = 0; first < runs; first += p.rowRuns)
#pragma unroll 1
    for (int32_t row = 0; row < p.patchRows; ++row) {
      const RowTaps taps = tapsOfRow(p, row);
      if (taps.count == 0) continue;
#pragma unroll 1
      for (int32_t run = first; run < first + p.rowRuns; ++run) body(run, row, taps);
    }
}

/// A lane for each stream. Every lane waits for the stage itself; bytes may arrive before they are expected.
template <class Group>
__device__ __forceinline__ void loadOperands(const Cta<Group, true>& cta) {
  const HaloParams& p = cta.params;
  const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
  ptx::prefetchTensorMap(&cta.inputMap);
  RingPosition stage;
  for (const int32_t tile : cta.tiles) {
    const Place place = cta.placeOf(cta.operandOf(tile) * kGroups + lane);
    const int32_t x = place.column * p.strideW - p.padLeft, y = place.row * p.strideH - p.padTop;
    const int32_t z = place.depth * p.strideDepth - p.padFront;
    forEachRow(cta, [&](int32_t run, int32_t row, const RowTaps&) {
      cta.control->patches.awaitEmpty(stage);
      if (lane == 0)
        gemm::sm100::expectBytes<Group>(cta.control->patches, stage,
                                        Group::kCtaGroup * static_cast<uint32_t>(p.patches) * p.patchCountedBytes);
      const uint32_t full = Group::atLeader(cta.control->patches.full(stage));
      const int32_t depthTap = run / cta.gemm.lineChunks, chunk = run - depthTap * cta.gemm.lineChunks;
      if (lane < kGroups) {
#pragma unroll 1
        for (int32_t patch = 0; patch < p.patches; ++patch)
          Group::load(
              cta.patchStage(stage) + static_cast<uint32_t>(patch) * p.patchBytes + static_cast<uint32_t>(lane) * p.groupBytes,
              &cta.inputMap, chunk * cta.gemm.a.chunkElements, x + p.origins[patch].x, place.image, y + row,
              z + depthTap * p.dilationDepth, full);
      }
      stage.advance(p.patchStages);
    });
  }
  cta.control->patches.awaitReleases(stage, p.patchStages);
}

__device__ __forceinline__ RingPosition ahead(const RingPosition& from, int32_t steps, int32_t stages) {
  const int32_t place = from.index + steps, rounds = place / stages;
  return {place - rounds * stages, from.parity ^ (static_cast<uint32_t>(rounds) & 1)};
}

/// A row of a patch and what multiplies it.
struct RowWork {
  uint32_t patch;  ///< shared memory
  RowTaps taps;
  int32_t accumulator;  ///< of the first of them
  int32_t filter;       ///< stage of tap 0
  int32_t slices;
  bool begins;  ///< the first of them writes over its accumulator
};

/// All filter rows in turn multiply the same slice: the first has the collector buffer filled with it.
template <layout::MmaKind kKind, class Group>
__device__ __forceinline__ void multiplyRow(const Cta<Group, true>& cta, const RowWork& work) {
  using ptx::Collector;
  const HaloParams& p = cta.params;
#pragma unroll 1
  for (int32_t s = 0; s < p.filterWidth; ++s) {
    const uint64_t row = layout::descriptorAt(cta.gemm.a.descriptor, work.patch + p.tapOffsets[s]);
#pragma unroll 1
    for (int32_t slice = 0; slice < work.slices; ++slice) {
      const uint64_t a = layout::advanceDescriptor(row, static_cast<uint32_t>(slice) * layout::kMmaRowBytes);
      int32_t filterRow = work.taps.first, accumulator = work.accumulator;
#pragma unroll 1
      for (int32_t left = work.taps.count; left > 0; --left) {
        int32_t stage = work.filter + filterRow * p.filterWidth + s;
        if (stage >= p.filter.stages) stage -= p.filter.stages;
        const uint64_t b =
            layout::advanceDescriptor(layout::descriptorAt(cta.gemm.b.descriptor, gemm::sm100::filterStage(cta, stage)),
                                      static_cast<uint32_t>(slice) * layout::kMmaRowBytes);
        const uint32_t d = cta.accumulator(accumulator);
        const bool first = left == work.taps.count;
        const bool accumulate = !(work.begins && first && s == 0 && slice == 0);
        constexpr int kCtas = Group::kCtaGroup;
        const uint32_t instruction = cta.gemm.instructionDescriptor;
        if (first && left == 1) {
          ptx::mmaCollected<kKind, kCtas, Collector::Discard>(d, a, b, instruction, accumulate);
        } else if (first) {
          ptx::mmaCollected<kKind, kCtas, Collector::Fill>(d, a, b, instruction, accumulate);
        } else if (left == 1) {
          ptx::mmaCollected<kKind, kCtas, Collector::LastUse>(d, a, b, instruction, accumulate);
        } else {
          ptx::mmaCollected<kKind, kCtas, Collector::Use>(d, a, b, instruction, accumulate);
        }
        filterRow += p.filterRowStep;
        accumulator -= p.outputRowStep;
        if (accumulator < 0) accumulator += cta.gemm.accumulators;
      }
    }
  }
}

template <class Group>
__device__ __forceinline__ void multiply(const Cta<Group, true>& cta) {
  const HaloParams& p = cta.params;
  Control<Group>& control = *cta.control;
  RingPosition patch, filter, accumulator;  // of the tile's first output row
  gemm::sm100::awaitResidentFilter(cta);
  for ([[maybe_unused]] const int32_t tile : cta.tiles) {
    forEachRow(cta, [&](int32_t run, int32_t row, const RowTaps& taps) {
      control.patches.awaitFull(patch);
      if (!p.filter.resident && row == 0) {
#pragma unroll 1
        for (int32_t tap = 0; tap < p.filter.taps; ++tap) control.filter.taps.awaitFull(ahead(filter, tap, p.filter.stages));
      }
      RowWork work;
      work.begins = run == 0 && taps.first == 0;
      const RingPosition first = ahead(accumulator, taps.outputRow, cta.gemm.accumulators);
      if (work.begins) control.accumulators.awaitEmpty(first);
      ptx::tensorFenceAfterThreadSync();  // after the accumulator's readers
      work.patch = cta.patchStage(patch);
      work.taps = taps;
      work.accumulator = first.index;
      work.filter = p.filter.resident ? run * p.filter.taps : filter.index;
      work.slices = gemm::sm100::slicesOf(run % cta.gemm.lineChunks, cta.gemm.lineChunks, cta.gemm.lastChunkSlices);
      // Block-scaled operands have no row streams.
      gemm::sm100::inKind<gemm::sm100::Kinds::Dense>(cta.gemm.kind,
                                                     [&]<layout::MmaKind kKind>() { multiplyRow<kKind>(cta, work); });
      Group::commitRelease(control.patches.empty(patch));
      patch.advance(p.patchStages);
      const int32_t more = taps.count - 1;
      if (run + 1 == p.filterDepth * cta.gemm.lineChunks && taps.first + more * p.filterRowStep == p.filterHeight - 1)
        Group::commitResult(
            control.accumulators.full(ahead(accumulator, taps.outputRow - more * p.outputRowStep, cta.gemm.accumulators)));
      if (p.filter.resident || row + 1 != p.patchRows) return;
#pragma unroll 1
      for (int32_t tap = 0; tap < p.filter.taps; ++tap) {
        Group::commitRelease(control.filter.taps.empty(filter));
        filter.advance(p.filter.stages);
      }
    });
    accumulator = ahead(accumulator, p.tileRows, cta.gemm.accumulators);
  }
}

}  // namespace shiftconv::kernels::halo_sm100
