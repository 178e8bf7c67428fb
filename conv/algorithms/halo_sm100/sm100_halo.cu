// halo: implicit-GEMM forward convolution in which all taps of a filter read one patch of the input in shared memory.
//
// GEMM view: M = output pixels, N = output channels K, reduction over (t, c chunk, r, s). An operand A of 128 rows is 8 columns
// times 16 rows of output pixels (or fewer rows of several images). Its input pixels with all that the taps reach around them are
// one box, loaded once; tap (r, s) reads it from another start address.
//
// NOTES
//  - Pixels of a patch are 128 bytes apart, swizzled by their address. Operands may start at any of them, because the swizzle
//    follows the address (observed on H200 with base offset 0 for wgmma, whose descriptors and swizzles tcgen05 took over). The
//    distance of its 8-row groups is that of the patch's image rows.
//  - Zeros fill what lies outside of the image, so padding needs no masks.
//  - Strides: the taps that read the same phase of rows and columns share a patch of their own, of every strideH-th row and every
//    strideW-th column. Within it they are neighbours.
//  - Filters stay in shared memory if they fit; else the taps of a channel chunk are loaded again for every tile.
//  - Scale factors of a block belong to pixels, not to rows of an operand: the factors of the pixels that a tap reads are gathered
//    into a tile of their own for every tap, beside the tap's, and copied to Tensor Memory in front of its MMAs.
//  - The 32 rows of an epilogue warp are a box of the output, which a tensor store takes from shared memory and clips; where the
//    output's rows are no whole 16 bytes, or no room is left for it, each lane stores the row of its pixel.
//  - K above tileN: blockIdx.y selects the pass.
//  - Row streams (row_streams/row_streams.cuh) are another way through the same tiles, with kernels of their own.
//  - `site:` names a statement that tests speak of (tests/edited_copy, tests/hazards/mutation).
#include <cuda.h>

#include <cstdint>

#include "common/gemm/sm100/kinds.cuh"
#include "common/gemm/sm100/mainloop.cuh"
#include "common/gemm/sm100/operand_load.cuh"
#include "common/gemm/sm100/skeleton.cuh"
#include "common/gemm/sm100/stages.cuh"
#include "common/gemm/sm100/window_load.cuh"
#include "conv/algorithms/halo_sm100/cta.cuh"
#include "conv/algorithms/halo_sm100/epilogue.cuh"
#include "conv/algorithms/halo_sm100/row_streams/row_streams.cuh"

namespace shiftconv::kernels::halo_sm100 {

// ---- Patches: global -> shared: one thread -------------------------------------------------------------------------------------
template <class Group>
__device__ __forceinline__ void loadOperands(const Cta<Group, false>& cta) {
  if (!ptx::electOne()) return;
  ptx::prefetchTensorMap(&cta.inputMap);
  const HaloParams& p = cta.params;
  RingPosition stage;
  for (const int32_t tile : cta.tiles) {
    const Place place = cta.placeOf(cta.operandOf(tile));
    const int32_t x = place.column * p.strideW - p.padLeft, y = place.row * p.strideH - p.padTop;
    const int32_t z = place.depth * p.strideDepth - p.padFront;
    cta.forEachRun([&](int32_t depthTap, int32_t chunk) {
      cta.control->patches.awaitEmpty(stage);
      const uint32_t full = gemm::sm100::expectBytes<Group>(
          cta.control->patches, stage, Group::kCtaGroup * static_cast<uint32_t>(p.patches) * p.patchCountedBytes);
#pragma unroll 1
      for (int32_t patch = 0; patch < p.patches; ++patch)
        Group::load(cta.patchStage(stage) + static_cast<uint32_t>(patch) * p.patchBytes, &cta.inputMap,
                    chunk * cta.gemm.a.chunkElements, x + p.origins[patch].x, place.image, y + p.origins[patch].y,
                    z + depthTap * p.dilationDepth, full);
      stage.advance(p.patchStages);
    });
  }
  cta.control->patches.awaitReleases(stage, p.patchStages);
}

// ---- Filters: global -> shared: one thread --------------------------------------------------------------------------------------
/// In the order (t, chunk, r, s).
template <class Group, bool kStreams, class Body>
__device__ __forceinline__ void forEachTap(const Cta<Group, kStreams>& cta, Body&& body) {
  cta.forEachRun([&](int32_t depthTap, int32_t chunk) {
#pragma unroll 1
    for (int32_t index = 0; index < cta.params.filter.taps; ++index) body(gemm::sm100::FilterTap{depthTap, chunk, index});
  });
}
template <class Group, bool kStreams, class Body>
__device__ __forceinline__ void forEachTapOfTile(const Cta<Group, kStreams>& cta, int32_t, Body&& body) {
  forEachTap(cta, body);
}
template <class Group, bool kStreams>
__device__ __forceinline__ void loadFilter(const Cta<Group, kStreams>& cta) {
  gemm::sm100::loadFilterRing(cta);
}

// ---- Scale factors: global -> shared: 128 threads, a pixel of the operand each --------------------------------------------------
template <class Group>
__device__ __forceinline__ void arrangeScales(const Cta<Group, false>& cta) {
  using gemm::sm100::kNoScaleRow;
  const HaloParams& p = cta.params;
  const gemm::sm100::GemmParams& g = cta.gemm;
  const uint32_t thread = threadIdx.x - gemm::sm100::kScaleWarps * 32;
  RingPosition stage;
  for (const int32_t tile : cta.tiles) {
    const int32_t pixel = cta.pixelOf(tile, static_cast<int32_t>(thread), 0);
    forEachTap(cta, [&](const gemm::sm100::FilterTap& of) {
      cta.control->scales.awaitEmpty(stage);
      gemm::sm100::WindowTap tap;
      tap.index = of.depthTap * p.filter.taps + of.index;
      tap.z = of.depthTap, tap.y = of.index / p.filterWidth, tap.x = of.index - tap.y * p.filterWidth;
      tap.chunk = of.chunk;
      gemm::sm100::buildScales(g, g.scaleA, cta.scaleStage(stage), of.chunk, 0, thread,
                               [&](int32_t) { return pixel < 0 ? kNoScaleRow : gemm::sm100::windowPixel(g.window, tap, pixel); });
      const uint32_t scalesB = cta.scaleStage(stage) + cta.scaleAtoms() * gemm::sm100::kScaleAtomBytes;
      gemm::sm100::buildScales(g, g.scaleB, scalesB, of.chunk, cta.firstOutputChannel, thread, [&](int32_t channel) {
        return channel < g.n ? channel * p.filterDepth * p.filter.taps + tap.index : kNoScaleRow;
      });
      gemm::sm100::publishStage<Group>(cta.control->scales, stage);
      stage.advance(p.scaleStages);
    });
  }
  cta.control->scales.awaitReleases(stage, p.scaleStages);
}

// ---- The tensor core: one thread ------------------------------------------------------------------------------------------------
template <class Group>
__device__ __forceinline__ void multiply(const Cta<Group, false>& cta) {
  const HaloParams& p = cta.params;
  const gemm::sm100::GemmParams& g = cta.gemm;
  Control<Group>& control = *cta.control;
  RingPosition patch, filter, scales, accumulator;
  gemm::sm100::awaitResidentFilter(cta);
  for ([[maybe_unused]] const int32_t tile : cta.tiles) {
    control.accumulators.awaitEmpty(accumulator);
    gemm::sm100::Chunk multiplied{};
    multiplied.accumulator = cta.accumulator(accumulator.index);
    int32_t index = 0;
    cta.forEachRun([&](int32_t, int32_t chunk) {
      control.patches.awaitFull(patch);
      multiplied.slices = gemm::sm100::slicesOf(chunk, g.lineChunks, g.lastChunkSlices);
#pragma unroll 1
      for (int32_t tap = 0; tap < p.filter.taps; ++tap) {
        if (!p.filter.resident) control.filter.taps.awaitFull(filter);
        if (cta.isScaled()) control.scales.awaitFull(scales);
        ptx::tensorFenceAfterThreadSync();  // after the accumulator's readers, and the MMAs that read these columns of scales
        multiplied.a = layout::descriptorAt(g.a.descriptor, cta.patchStage(patch) + p.tapOffsets[tap]);
        multiplied.b = layout::descriptorAt(g.b.descriptor, filterStage(cta, p.filter.resident ? index : filter.index));
        multiplied.accumulates = index != 0;
        if (cta.isScaled()) {
          multiplied.scaleA = cta.scaleColumns(scales.index);
          multiplied.scaleB = multiplied.scaleA + cta.scaleAtoms() * gemm::sm100::kScaleAtomColumns;
          gemm::sm100::copyScales<Group>(g, multiplied, cta.scaleStage(scales));
        }
        gemm::sm100::multiplyChunk<Group>(g, multiplied);
        ++index;
        if (cta.isScaled()) {
          Group::commitRelease(control.scales.empty(scales));
          scales.advance(p.scaleStages);
        }
        if (p.filter.resident) continue;
        Group::commitRelease(control.filter.taps.empty(filter));
        filter.advance(p.filter.stages);
      }
      Group::commitRelease(control.patches.empty(patch));
      patch.advance(p.patchStages);
    });
    Group::commitResult(control.accumulators.full(accumulator));
    accumulator.advance(g.accumulators);
  }
}

// ---- Kernels: halo_sm100_<group> and, of row streams, halo_sm100_rows_<group> ---------------------------------------------------
// Types are fields of the launch. Row streams take no block scales.
#define SHIFTCONV_HALO_KERNEL(NAME, GROUP, STREAMS)                                                     \
  extern "C" __global__ void __launch_bounds__(gemm::sm100::threadsOf(!STREAMS), 1)                     \
      NAME(const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap filterMap, \
           const __grid_constant__ CUtensorMap outputMap, const __grid_constant__ HaloParams params) {  \
    Cta<GROUP, STREAMS> cta(inputMap, filterMap, outputMap, params);                                    \
    gemm::sm100::runRoles(cta);                                                                         \
  }

SHIFTCONV_HALO_KERNEL(halo_sm100_single, gemm::sm100::SingleCta, false)
SHIFTCONV_HALO_KERNEL(halo_sm100_pair, gemm::sm100::CtaPair, false)
SHIFTCONV_HALO_KERNEL(halo_sm100_rows_single, gemm::sm100::SingleCta, true)
SHIFTCONV_HALO_KERNEL(halo_sm100_rows_pair, gemm::sm100::CtaPair, true)

}  // namespace shiftconv::kernels::halo_sm100
