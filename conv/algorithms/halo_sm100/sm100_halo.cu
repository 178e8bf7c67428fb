// halo: implicit-GEMM forward convolution in which all taps of a filter read one patch of the input in shared memory.
//
// GEMM view: M = output pixels, N = output channels K, reduction over (t, c chunk, r, s). An operand A of 128 rows is 8 columns
// times 16 rows of output pixels (or fewer rows of several images). Its input pixels with all that the taps reach around them are
// one box, loaded once; tap (r, s) reads it from another start address.
//
// NOTES
//  - Pixels of a patch are 128 bytes apart, swizzled by their address. Operands may start at any of them, because the swizzle
//  follows
//    the address (observed on H200 with base offset 0 for wgmma, whose descriptors and swizzles tcgen05 took over). The distance of
//    its 8-row groups is that of the patch's image rows.
//  - Zeros fill what lies outside of the image, so padding needs no masks.
//  - Strides: the taps that read the same phase of rows and columns share a patch of their own, of every strideH-th row and every
//    strideW-th column. Within it they are neighbours.
//  - Filters stay in shared memory if they fit; else the taps of a channel chunk are loaded again for every tile.
//  - Scale factors of a block belong to pixels, not to rows of an operand: the factors of the pixels that a tap reads are gathered
//    into a tile of their own for every tap, beside the tap's, and copied to Tensor Memory in front of its MMAs.
//  - K above tileN: blockIdx.y selects the pass.
//  - Row streams are another way through the same tiles: the 16 groups of an operand are 16 streams of input rows. One row of each
//    is loaded at a time, and is operand A of all R filter rows in turn, for R output rows, before the next one comes: the
//    collector buffer holds it meanwhile, and shared memory is read once instead of R times.
#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "common/gemm/sm100/filter_ring.cuh"
#include "common/gemm/sm100/mainloop.cuh"
#include "common/gemm/sm100/operand_load.cuh"
#include "common/gemm/sm100/row_store.cuh"
#include "common/gemm/sm100/window_load.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "common/ptx/tensor_core_collector.cuh"
#include "conv/algorithms/halo_sm100/frame.cuh"
#include "conv/algorithms/halo_sm100/params.hpp"

namespace shiftconv::kernels::halo_sm100 {
namespace {

using gemm::RingPosition;

// ---- One CTA -----------------------------------------------------------------------------------------------------------------
template <class Group>
class HaloCta : HaloFrame<Group> {
  using Frame = HaloFrame<Group>;
  using Frame::initialiseBarriers, Frame::patchStage, Frame::filterStage, Frame::isScaled, Frame::scaleStage, Frame::scaleAtoms,
      Frame::operandOf, Frame::placeOf, Frame::pixelOf, Frame::forEachRun, Frame::inputMap_, Frame::filterMap_, Frame::p_,
      Frame::g_, Frame::control_, Frame::tiles_, Frame::firstOutputChannel_, Frame::patchStages_, Frame::filterStages_,
      Frame::scaleStages_, Frame::accumulators_;
  using typename Frame::Place;

 public:
  using Frame::Frame;

  __device__ void run() {
    const uint32_t warp = threadIdx.x / 32;
    if (warp == kPatchLoadWarp && ptx::electOne()) initialiseBarriers();
    accumulators_ = gemm::sm100::enter<Group>(control_->tensorMemory, g_.allocatedColumns, warp == kMmaWarp);
    if (warp == kPatchLoadWarp) {
      if (p_.streamsRows) {
        loadRows();
      } else if (ptx::electOne()) {
        loadPatches();
      }
    } else if (warp == kMmaWarp) {
      if (Group::isLeader() && ptx::electOne()) {
        if (p_.streamsRows) {
          multiplyRows();
        } else {
          multiply();
        }
      }
    } else if (warp == kFilterLoadWarp) {
      if (ptx::electOne()) loadFilter();
    } else if (warp >= kScaleWarps) {
      buildScales();
    } else if (warp >= kEpilogueWarps) {
      drain(warp % 4);
    }
    gemm::sm100::leave<Group>(accumulators_, g_.allocatedColumns, warp == kMmaWarp);
  }

 private:
  // ---- Patches: global -> shared: one thread -----------------------------------------------------------------------------------
  __device__ void loadPatches() const {
    ptx::prefetchTensorMap(&inputMap_);
    RingPosition stage;
    for (const int32_t tile : tiles_) {
      const Place place = placeOf(operandOf(tile));
      const int32_t x = place.column * p_.strideW - p_.padLeft, y = place.row * p_.strideH - p_.padTop;
      const int32_t z = place.depth * p_.strideDepth - p_.padFront;
      forEachRun([&](int32_t depthTap, int32_t chunk) {
        control_->patches.awaitEmpty(stage);
        if (Group::isLeader())
          ptx::mbarrierArriveExpectBytes(control_->patches.full(stage),
                                         Group::kCtaGroup * static_cast<uint32_t>(p_.patches) * p_.patchCountedBytes);
        const uint32_t full = Group::atLeader(control_->patches.full(stage));
#pragma unroll 1
        for (int32_t patch = 0; patch < p_.patches; ++patch)
          Group::load(patchStage(stage) + static_cast<uint32_t>(patch) * p_.patchBytes, &inputMap_, chunk * g_.a.chunkElements,
                      x + p_.origins[patch].x, place.image, y + p_.origins[patch].y, z + depthTap * p_.dilationDepth, full);
        stage.advance(p_.patchStages);
      });
    }
    control_->patches.awaitReleases(stage, p_.patchStages);
  }

  // ---- Row streams -------------------------------------------------------------------------------------------------------------
  /// The filter rows that read a row of a patch: `first`, for output row `outputRow` of the tile, and more at the steps of the
  /// launch.
  struct RowTaps {
    int32_t first, outputRow, count;
  };
  __device__ RowTaps tapsOfRow(int32_t row) const {
#pragma unroll 1
    for (int32_t first = 0; first < p_.filterHeight && first * p_.dilationH <= row; ++first) {
      const int32_t distance = row - first * p_.dilationH, outputRow = distance / p_.strideH;
      if (outputRow * p_.strideH != distance || outputRow >= p_.tileRows) continue;
      return {first, outputRow, min((p_.filterHeight - 1 - first) / p_.filterRowStep, outputRow / p_.outputRowStep) + 1};
    }
    return {0, 0, 0};  // between the rows that a stride leaves out
  }
  /// Calls body(run, row, taps) for every row that is loaded for a tile; a run is a channel chunk of a depth tap.
  template <class Body>
  __device__ void forEachRow(Body&& body) const {
    const int32_t runs = p_.filterDepth * g_.lineChunks;
#pragma unroll 1
    for (int32_t first = 0; first < runs; first += p_.rowRuns)
#pragma unroll 1
      for (int32_t row = 0; row < p_.patchRows; ++row) {
        const RowTaps taps = tapsOfRow(row);
        if (taps.count == 0) continue;
#pragma unroll 1
        for (int32_t run = first; run < first + p_.rowRuns; ++run) body(run, row, taps);
      }
  }

  /// Whole warp: a lane for each stream. Every lane waits for the stage itself; bytes may arrive before they are expected.
  __device__ void loadRows() const {
    ptx::prefetchTensorMap(&inputMap_);
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
    RingPosition stage;
    for (const int32_t tile : tiles_) {
      const Place place = placeOf(operandOf(tile) * kGroups + lane);
      const int32_t x = place.column * p_.strideW - p_.padLeft, y = place.row * p_.strideH - p_.padTop;
      const int32_t z = place.depth * p_.strideDepth - p_.padFront;
      forEachRow([&](int32_t run, int32_t row, const RowTaps&) {
        control_->patches.awaitEmpty(stage);
        if (lane == 0 && Group::isLeader())
          ptx::mbarrierArriveExpectBytes(control_->patches.full(stage),
                                         Group::kCtaGroup * static_cast<uint32_t>(p_.patches) * p_.patchCountedBytes);
        const uint32_t full = Group::atLeader(control_->patches.full(stage));
        const int32_t depthTap = run / g_.lineChunks, chunk = run - depthTap * g_.lineChunks;
        if (lane < kGroups) {
#pragma unroll 1
          for (int32_t patch = 0; patch < p_.patches; ++patch)
            Group::load(
                patchStage(stage) + static_cast<uint32_t>(patch) * p_.patchBytes + static_cast<uint32_t>(lane) * p_.groupBytes,
                &inputMap_, chunk * g_.a.chunkElements, x + p_.origins[patch].x, place.image, y + row,
                z + depthTap * p_.dilationDepth, full);
        }
        stage.advance(p_.patchStages);
      });
    }
    control_->patches.awaitReleases(stage, p_.patchStages);
  }

  // ---- Filters: global -> shared: one thread -----------------------------------------------------------------------------------
  __device__ void loadTap(int32_t index, int32_t depthTap, int32_t chunk, int32_t tap, uint32_t full) const {
    Group::load(filterStage(index), &filterMap_, chunk * g_.b.chunkElements, depthTap * p_.taps + tap,
                firstOutputChannel_ + static_cast<int32_t>(Group::rank()) * g_.b.shareRows, full);
  }

  __device__ void loadFilter() const {
    ptx::prefetchTensorMap(&filterMap_);
    if (p_.filterResident) {
      if (tiles_.own() != 0) loadResidentFilter();
      return;
    }
    RingPosition stage;
    for ([[maybe_unused]] const int32_t tile : tiles_)
      forEachRun([&](int32_t depthTap, int32_t chunk) {
#pragma unroll 1
        for (int32_t tap = 0; tap < p_.taps; ++tap) {
          gemm::sm100::expectFilterStage<Group>(*control_, stage, p_.filterCountedBytes);
          loadTap(stage.index, depthTap, chunk, tap, Group::atLeader(control_->filters.full(stage)));
          stage.advance(p_.filterStages);
        }
      });
    control_->filters.awaitReleases(stage, p_.filterStages);
  }

  /// Taps in the order (t, chunk, r, s).
  __device__ void loadResidentFilter() const {
    const uint32_t full = gemm::sm100::expectResidentFilter<Group>(*control_, p_.filterStages, p_.filterCountedBytes);
    int32_t index = 0;
    forEachRun([&](int32_t depthTap, int32_t chunk) {
#pragma unroll 1
      for (int32_t tap = 0; tap < p_.taps; ++tap) loadTap(index++, depthTap, chunk, tap, full);
    });
  }

  // ---- Scale factors: global -> shared: 128 threads, a pixel of the operand each -----------------------------------------------
  __device__ void buildScales() const {
    const uint32_t thread = threadIdx.x - kScaleWarps * 32;
    RingPosition stage;
    for (const int32_t tile : tiles_) {
      const int32_t pixel = pixelOf(tile, static_cast<int32_t>(thread), 0);
      forEachRun([&](int32_t depthTap, int32_t chunk) {
#pragma unroll 1
        for (int32_t index = 0; index < p_.taps; ++index) {
          control_->scales.awaitEmpty(stage);
          gemm::sm100::WindowTap tap;
          tap.index = depthTap * p_.taps + index;
          tap.z = depthTap, tap.y = index / p_.filterWidth, tap.x = index - tap.y * p_.filterWidth;
          tap.chunk = chunk;
          gemm::sm100::buildScales(g_, g_.scaleA, scaleStage(stage), chunk, 0, thread, [&](int32_t) {
            return pixel < 0 ? gemm::sm100::kNoScaleRow : gemm::sm100::windowPixel(g_.window, tap, pixel);
          });
          const uint32_t scalesB = scaleStage(stage) + scaleAtoms() * gemm::sm100::kScaleAtomBytes;
          gemm::sm100::buildScales(g_, g_.scaleB, scalesB, chunk, firstOutputChannel_, thread, [&](int32_t channel) {
            return channel < g_.n ? channel * p_.filterDepth * p_.taps + tap.index : gemm::sm100::kNoScaleRow;
          });
          ptx::fenceProxyAsyncShared();
          __syncwarp();
          if (thread % 32 == 0) Group::arriveAtLeader(control_->scales.full(stage));
          stage.advance(p_.scaleStages);
        }
      });
    }
    control_->scales.awaitReleases(stage, p_.scaleStages);
  }

  // ---- The tensor core: one thread ---------------------------------------------------------------------------------------------
  __device__ void multiply() const {
    RingPosition patch, filter, scales, accumulator;
    if (p_.filterResident && tiles_.own() != 0) control_->residentFilter.awaitFull(RingPosition{});
    for ([[maybe_unused]] const int32_t tile : tiles_) {
      control_->accumulators.awaitEmpty(accumulator);
      gemm::sm100::Chunk multiplied{};
      multiplied.accumulator = accumulators_ + static_cast<uint32_t>(accumulator.index) * g_.accumulatorColumns;
      int32_t index = 0;
      forEachRun([&](int32_t, int32_t chunk) {
        control_->patches.awaitFull(patch);
        multiplied.slices = chunk + 1 == g_.lineChunks ? g_.lastChunkSlices : gemm::sm100::kChunkSlices;
#pragma unroll 1
        for (int32_t tap = 0; tap < p_.taps; ++tap) {
          if (!p_.filterResident) control_->filters.awaitFull(filter);
          if (isScaled()) control_->scales.awaitFull(scales);
          ptx::tensorFenceAfterThreadSync();  // behind the accumulator's readers, and the MMAs that read these columns of scales
          multiplied.a = layout::descriptorAt(g_.a.descriptor, patchStage(patch) + p_.tapOffsets[tap]);
          multiplied.b = layout::descriptorAt(g_.b.descriptor, filterStage(p_.filterResident ? index : filter.index));
          multiplied.accumulates = index != 0;
          if (isScaled()) {
            multiplied.scaleA = accumulators_ + static_cast<uint32_t>(g_.accumulators) * g_.accumulatorColumns +
                                static_cast<uint32_t>(scales.index) * g_.stageColumns;
            multiplied.scaleB = multiplied.scaleA + scaleAtoms() * gemm::sm100::kScaleAtomColumns;
            gemm::sm100::copyScales<Group>(g_, multiplied, scaleStage(scales));
          }
          gemm::sm100::multiply<Group>(g_, multiplied);
          ++index;
          if (isScaled()) {
            Group::commitRelease(control_->scales.empty(scales));
            scales.advance(p_.scaleStages);
          }
          if (p_.filterResident) continue;
          Group::commitRelease(control_->filters.empty(filter));
          filter.advance(p_.filterStages);
        }
        Group::commitRelease(control_->patches.empty(patch));
        patch.advance(p_.patchStages);
      });
      Group::commitResult(control_->accumulators.full(accumulator));
      accumulator.advance(g_.accumulators);
    }
  }

  static __device__ RingPosition ahead(const RingPosition& from, int32_t steps, int32_t stages) {
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
  template <layout::MmaKind kKind>
  __device__ void multiplyRow(const RowWork& work) const {
    using ptx::Collector;
#pragma unroll 1
    for (int32_t s = 0; s < p_.filterWidth; ++s) {
      const uint64_t row = layout::descriptorAt(g_.a.descriptor, work.patch + p_.tapOffsets[s]);
#pragma unroll 1
      for (int32_t slice = 0; slice < work.slices; ++slice) {
        const uint64_t a = layout::advanceDescriptor(row, static_cast<uint32_t>(slice) * layout::kMmaRowBytes);
        int32_t filterRow = work.taps.first, accumulator = work.accumulator;
#pragma unroll 1
        for (int32_t left = work.taps.count; left > 0; --left) {
          int32_t stage = work.filter + filterRow * p_.filterWidth + s;
          if (stage >= p_.filterStages) stage -= p_.filterStages;
          const uint64_t b = layout::advanceDescriptor(layout::descriptorAt(g_.b.descriptor, filterStage(stage)),
                                                       static_cast<uint32_t>(slice) * layout::kMmaRowBytes);
          const uint32_t d = accumulators_ + static_cast<uint32_t>(accumulator) * g_.accumulatorColumns;
          const bool first = left == work.taps.count;
          const bool accumulate = !(work.begins && first && s == 0 && slice == 0);
          constexpr int kCtas = Group::kCtaGroup;
          if (first && left == 1) {
            ptx::mmaCollected<kKind, kCtas, Collector::Discard>(d, a, b, g_.instructionDescriptor, accumulate);
          } else if (first) {
            ptx::mmaCollected<kKind, kCtas, Collector::Fill>(d, a, b, g_.instructionDescriptor, accumulate);
          } else if (left == 1) {
            ptx::mmaCollected<kKind, kCtas, Collector::LastUse>(d, a, b, g_.instructionDescriptor, accumulate);
          } else {
            ptx::mmaCollected<kKind, kCtas, Collector::Use>(d, a, b, g_.instructionDescriptor, accumulate);
          }
          filterRow += p_.filterRowStep;
          accumulator -= p_.outputRowStep;
          if (accumulator < 0) accumulator += g_.accumulators;
        }
      }
    }
  }
  __device__ void multiplyRowInKind(const RowWork& work) const {
    using layout::MmaKind;
    switch (g_.kind) {
      case MmaKind::F16:
        return multiplyRow<MmaKind::F16>(work);
      case MmaKind::TF32:
        return multiplyRow<MmaKind::TF32>(work);
      case MmaKind::F8F6F4:
        return multiplyRow<MmaKind::F8F6F4>(work);
      case MmaKind::I8:
        multiplyRow<MmaKind::I8>(work);
        return;
      default:  // block-scaled operands have no row streams
        return;
    }
  }

  __device__ void multiplyRows() const {
    RingPosition patch, filter, accumulator;  // of the tile's first output row
    if (p_.filterResident && tiles_.own() != 0) control_->residentFilter.awaitFull(RingPosition{});
    for ([[maybe_unused]] const int32_t tile : tiles_) {
      forEachRow([&](int32_t run, int32_t row, const RowTaps& taps) {
        control_->patches.awaitFull(patch);
        if (!p_.filterResident && row == 0) {
#pragma unroll 1
          for (int32_t tap = 0; tap < p_.taps; ++tap) control_->filters.awaitFull(ahead(filter, tap, p_.filterStages));
        }
        RowWork work;
        work.begins = run == 0 && taps.first == 0;
        const RingPosition first = ahead(accumulator, taps.outputRow, g_.accumulators);
        if (work.begins) control_->accumulators.awaitEmpty(first);
        ptx::tensorFenceAfterThreadSync();  // behind the accumulator's readers
        work.patch = patchStage(patch);
        work.taps = taps;
        work.accumulator = first.index;
        work.filter = p_.filterResident ? run * p_.taps : filter.index;
        work.slices = (run + 1) % g_.lineChunks == 0 ? g_.lastChunkSlices : gemm::sm100::kChunkSlices;
        multiplyRowInKind(work);
        Group::commitRelease(control_->patches.empty(patch));
        patch.advance(p_.patchStages);
        const int32_t more = taps.count - 1;
        if (run + 1 == p_.filterDepth * g_.lineChunks && taps.first + more * p_.filterRowStep == p_.filterHeight - 1)
          Group::commitResult(
              control_->accumulators.full(ahead(accumulator, taps.outputRow - more * p_.outputRowStep, g_.accumulators)));
        if (p_.filterResident || row + 1 != p_.patchRows) return;
#pragma unroll 1
        for (int32_t tap = 0; tap < p_.taps; ++tap) {
          Group::commitRelease(control_->filters.empty(filter));
          filter.advance(p_.filterStages);
        }
      });
      accumulator = ahead(accumulator, p_.tileRows, g_.accumulators);
    }
  }

  // ---- Epilogue: one warp for each window of 32 lanes ---------------------------------------------------------------------------
  __device__ void drain(uint32_t window) const {
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
    uint32_t largest = 0;
    RingPosition accumulator;
    for (const int32_t tile : tiles_)
#pragma unroll 1
      for (int32_t drained = 0; drained < p_.accumulatorsOfTile; ++drained) {
        const int32_t pixel = pixelOf(tile, static_cast<int32_t>(window) * 32 + lane, drained);
        control_->accumulators.awaitFull(accumulator);
        ptx::tensorFenceAfterThreadSync();
        const uint32_t source =
            accumulators_ + static_cast<uint32_t>(accumulator.index) * g_.accumulatorColumns + ((window * 32) << 16);
        gemm::sm100::storeRow(g_.epilogue, source, pixel, firstOutputChannel_, g_.tileN, largest);  // site: row_stored
        ptx::tensorFenceBeforeThreadSync();
        __syncwarp();
        if (lane == 0) Group::arriveAtLeader(control_->accumulators.empty(accumulator));
        accumulator.advance(g_.accumulators);
      }
    gemm::mergeLargest(g_.epilogue, largest);
  }
};

}  // namespace

// ---- Kernels: halo_sm100_<group> -----------------------------------------------------------------------------------------------
// Types are fields of the launch.
#define SHIFTCONV_HALO_KERNEL(NAME, GROUP)                                                              \
  extern "C" __global__ void __launch_bounds__(kMaximumThreads, 1)                                      \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap filterMap, \
           const __grid_constant__ HaloParams params) {                                                 \
    HaloCta<GROUP>(inputMap, filterMap, params).run();                                                  \
  }

SHIFTCONV_HALO_KERNEL(halo_sm100_single, gemm::sm100::SingleCta)
SHIFTCONV_HALO_KERNEL(halo_sm100_pair, gemm::sm100::CtaPair)

}  // namespace shiftconv::kernels::halo_sm100
