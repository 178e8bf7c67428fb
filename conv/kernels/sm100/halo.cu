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
//  - K above tileN: blockIdx.y selects the pass.
#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/sm100/cta_group.cuh"
#include "common/gemm/sm100/mainloop.cuh"
#include "common/gemm/sm100/row_store.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "conv/kernels/sm100/halo_params.hpp"

namespace shiftconv::kernels::halo_sm100 {
namespace {

using gemm::RingPosition;

// ---- Roles -------------------------------------------------------------------------------------------------------------------
enum Warp : uint32_t {
  kPatchLoadWarp = 0,
  kMmaWarp = 1,  // owns the Tensor Memory allocation
  kFilterLoadWarp = 2,
  kEpilogueWarps = 4,  // 4..7: warp w may touch Tensor Memory lanes 32*(w%4).. only (PTX ISA 9.7.16.8.1)
};
constexpr uint32_t kEpilogueWarpCount = 4;

// ---- Shared memory -----------------------------------------------------------------------------------------------------------
template <class Group>
struct Control {
  gemm::Pipeline<kMaximumPatchStages, Group::kArrivals> patches;
  gemm::Pipeline<kMaximumFilterStages, Group::kArrivals> filters;  // taps in shared memory, as they stream by
  gemm::Pipeline<1, Group::kArrivals> residentFilter;              // all taps of the pass; never released
  gemm::Pipeline<kAccumulators, Group::kArrivals> accumulators;
  uint32_t tensorMemory;
};

// ---- One CTA -----------------------------------------------------------------------------------------------------------------
template <class Group>
class HaloCta {
 public:
  __device__ HaloCta(const CUtensorMap& inputMap, const CUtensorMap& filterMap, const HaloParams& params)
      : inputMap_(inputMap), filterMap_(filterMap), p_(params), g_(params.gemm) {
    extern __shared__ uint8_t dynamicShared[];
    static_assert(sizeof(Control<Group>) <= kControlBytes, "the planner reserves kControlBytes in front of the stages");
    control_ = &gemm::alignedShared<Control<Group>>(dynamicShared);
    patchStages_ = ptx::sharedAddress(control_) + kControlBytes;
    filterStages_ = patchStages_ + static_cast<uint32_t>(p_.patchStages) * p_.patchStageBytes;
    tiles_ = {static_cast<int32_t>(blockIdx.x) / Group::kCtas, static_cast<int32_t>(gridDim.x) / Group::kCtas, p_.tiles};
    firstOutputChannel_ = static_cast<int32_t>(blockIdx.y) * g_.tileN;
  }

  __device__ void run() {
    const uint32_t warp = threadIdx.x / 32;
    if (warp == kPatchLoadWarp && ptx::electOne()) initialiseBarriers();
    accumulators_ = gemm::sm100::enter<Group>(control_->tensorMemory, g_.allocatedColumns, warp == kMmaWarp);
    if (warp == kPatchLoadWarp) {
      if (ptx::electOne()) loadPatches();
    } else if (warp == kMmaWarp) {
      if (Group::isLeader() && ptx::electOne()) multiply();
    } else if (warp == kFilterLoadWarp) {
      if (ptx::electOne()) loadFilter();
    } else if (warp >= kEpilogueWarps) {
      drain(warp % 4);
    }
    gemm::sm100::leave<Group>(accumulators_, g_.allocatedColumns, warp == kMmaWarp);
  }

 private:
  // ---- Setup -------------------------------------------------------------------------------------------------------------------
  __device__ void initialiseBarriers() {
    control_->patches.initialise(p_.patchStages, 1, 1);
    if (!p_.filterResident) control_->filters.initialise(p_.filterStages, 1, 1);
    control_->residentFilter.initialise(1, 1, 1);
    control_->accumulators.initialise(kAccumulators, 1, Group::kCtaGroup * kEpilogueWarpCount);
    ptx::fenceMbarrierInit();
  }

  // ---- Places ------------------------------------------------------------------------------------------------------------------
  __device__ uint32_t patchStage(const RingPosition& stage) const {
    return patchStages_ + static_cast<uint32_t>(stage.index) * p_.patchStageBytes;
  }
  __device__ uint32_t filterStage(int32_t index) const { return filterStages_ + static_cast<uint32_t>(index) * g_.b.stageBytes; }

  /// First output pixel of this CTA's operand; images from `images` on do not exist.
  struct Place {
    int32_t image, depth, row, column;
  };
  __device__ Place placeOf(int32_t tile) const {
    const int32_t unit = tile * Group::kCtas + static_cast<int32_t>(Group::rank());
    const int32_t line = unit / p_.columnBlocks, plane = line / p_.rowBlocks, group = plane / p_.outputDepth;
    return {group * p_.tileImages, plane - group * p_.outputDepth, (line - plane * p_.rowBlocks) * p_.tileRows,
            (unit - line * p_.columnBlocks) * kGroupPixels};
  }
  /// Calls body(depthTap, chunk) for everything that is loaded for a tile.
  template <class Body>
  __device__ void forEachRun(Body&& body) const {
#pragma unroll 1
    for (int32_t depthTap = 0; depthTap < p_.filterDepth; ++depthTap)
#pragma unroll 1
      for (int32_t chunk = 0; chunk < g_.lineChunks; ++chunk) body(depthTap, chunk);
  }

  // ---- Patches: global -> shared: one thread -----------------------------------------------------------------------------------
  __device__ void loadPatches() const {
    ptx::prefetchTensorMap(&inputMap_);
    RingPosition stage;
    for (const int32_t tile : tiles_) {
      const Place place = placeOf(tile);
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
          control_->filters.awaitEmpty(stage);
          if (Group::isLeader())
            ptx::mbarrierArriveExpectBytes(control_->filters.full(stage), Group::kCtaGroup * p_.filterCountedBytes);
          loadTap(stage.index, depthTap, chunk, tap, Group::atLeader(control_->filters.full(stage)));
          stage.advance(p_.filterStages);
        }
      });
    control_->filters.awaitReleases(stage, p_.filterStages);
  }

  /// Taps in the order (t, chunk, r, s).
  __device__ void loadResidentFilter() const {
    const RingPosition once;
    if (Group::isLeader())
      ptx::mbarrierArriveExpectBytes(control_->residentFilter.full(once),
                                     Group::kCtaGroup * static_cast<uint32_t>(p_.filterStages) * p_.filterCountedBytes);
    const uint32_t full = Group::atLeader(control_->residentFilter.full(once));
    int32_t index = 0;
    forEachRun([&](int32_t depthTap, int32_t chunk) {
#pragma unroll 1
      for (int32_t tap = 0; tap < p_.taps; ++tap) loadTap(index++, depthTap, chunk, tap, full);
    });
  }

  // ---- The tensor core: one thread ---------------------------------------------------------------------------------------------
  __device__ void multiply() const {
    RingPosition patch, filter, accumulator;
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
          ptx::tensorFenceAfterThreadSync();  // behind the accumulator's readers
          multiplied.a = layout::descriptorAt(g_.a.descriptor, patchStage(patch) + p_.tapOffsets[tap]);
          multiplied.b = layout::descriptorAt(g_.b.descriptor, filterStage(p_.filterResident ? index : filter.index));
          multiplied.accumulates = index != 0;
          gemm::sm100::multiply<Group>(g_, multiplied);
          ++index;
          if (p_.filterResident) continue;
          Group::commitRelease(control_->filters.empty(filter));
          filter.advance(p_.filterStages);
        }
        Group::commitRelease(control_->patches.empty(patch));
        patch.advance(p_.patchStages);
      });
      Group::commitResult(control_->accumulators.full(accumulator));
      accumulator.advance(kAccumulators);
    }
  }

  // ---- Epilogue: one warp for each window of 32 lanes ---------------------------------------------------------------------------
  __device__ void drain(uint32_t window) const {
    const int32_t lane = static_cast<int32_t>(threadIdx.x % 32);
    const int32_t group = static_cast<int32_t>(window) * (32 / kGroupPixels) + lane / kGroupPixels;
    const int32_t rowOfTile = group / p_.tileImages, imageOfTile = group - rowOfTile * p_.tileImages;
    uint32_t largest = 0;
    RingPosition accumulator;
    for (const int32_t tile : tiles_) {
      const Place place = placeOf(tile);
      const int32_t image = place.image + imageOfTile, row = place.row + rowOfTile, column = place.column + lane % kGroupPixels;
      const bool stored = image < p_.images && row < p_.outputHeight && column < p_.outputWidth;
      const int32_t pixel =
          stored ? ((image * p_.outputDepth + place.depth) * p_.outputHeight + row) * p_.outputWidth + column : -1;
      control_->accumulators.awaitFull(accumulator);
      ptx::tensorFenceAfterThreadSync();
      const uint32_t source =
          accumulators_ + static_cast<uint32_t>(accumulator.index) * g_.accumulatorColumns + ((window * 32) << 16);
      gemm::sm100::storeRow(g_.epilogue, source, pixel, firstOutputChannel_, g_.tileN, largest);
      ptx::tensorFenceBeforeThreadSync();
      __syncwarp();
      if (lane == 0) Group::arriveAtLeader(control_->accumulators.empty(accumulator));
      accumulator.advance(kAccumulators);
    }
    gemm::mergeLargest(g_.epilogue, largest);
  }

  const CUtensorMap& inputMap_;
  const CUtensorMap& filterMap_;
  const HaloParams& p_;
  const gemm::sm100::GemmParams& g_;
  Control<Group>* control_;
  gemm::StaticTiles tiles_;
  int32_t firstOutputChannel_;
  uint32_t patchStages_, filterStages_;  // shared-window addresses
  uint32_t accumulators_ = 0;            // Tensor Memory address
};

}  // namespace

// ---- Kernels: halo_sm100_<group> -----------------------------------------------------------------------------------------------
// Types are fields of the launch.
#define SHIFTCONV_HALO_KERNEL(NAME, GROUP)                                                              \
  extern "C" __global__ void __launch_bounds__(kThreads, 1)                                             \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap filterMap, \
           const __grid_constant__ HaloParams params) {                                                 \
    HaloCta<GROUP>(inputMap, filterMap, params).run();                                                  \
  }

SHIFTCONV_HALO_KERNEL(halo_sm100_single, gemm::sm100::SingleCta)
SHIFTCONV_HALO_KERNEL(halo_sm100_pair, gemm::sm100::CtaPair)

}  // namespace shiftconv::kernels::halo_sm100
