// The products of a halo tile: one warpgroup, every tap of every box, as both arrive.
#pragma once

#include <cstdint>
#include <utility>

#include "common/gemm/ring.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/wgmma.cuh"
#include "conv/algorithms/halo/cta.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/kernels/wgmma_kinds.cuh"

namespace shiftconv::kernels::halo {

/// Nothing that reads the sums may be moved in front of here.
template <class Sum, int kBlocks, int kSums>
__device__ __forceinline__ void hold(Sum (&d)[kBlocks][kSums]) {
#pragma unroll
  for (int i = 0; i < kBlocks * kSums; ++i) ptx::wgmmaHold(d[i / kSums][i % kSums]);
}

/// One slice of a tap: its pixels and weights by descriptors of their first slice.
template <class Cta, int kBlocks>
__device__ __forceinline__ void multiplySlice(const Cta& cta, typename Cta::Sum (&d)[kBlocks][Cta::S::kSums], uint64_t pixels,
                                              uint64_t weights, uint32_t slice, uint32_t accumulate) {
  using S = typename Cta::S;
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
    const uint32_t inSlice = slice * layout::kMmaRowBytes;
    if constexpr (S::kPixelsAreA) {
      const uint32_t groups = block * (kBlockPixels / 8) * cta.params.groupStrideBytes;
      Cta::Kind::template multiply<S::kWidth>(d[block], layout::advanceDescriptor(pixels, groups + inSlice),
                                              layout::advanceDescriptor(weights, inSlice), accumulate);
    } else {
      Cta::Kind::template multiply<S::kWidth>(d[block], layout::advanceDescriptor(weights, block * kBlockBytes + inSlice),
                                              layout::advanceDescriptor(pixels, inSlice), accumulate);
    }
  }
}

/// The sums of a tile over the chunks from `first` to `end`, from the first kSlices slices of each; where the last box was, which
/// is not released yet when its output will be staged over it. kContinues: added to those of earlier chunks. `lags`: the second
/// warpgroup falls Params::lag taps behind the first, and the third behind the second.
template <int kSlices, bool kContinues, class Cta, int kBlocks>
__device__ __forceinline__ gemm::RingPosition multiplyChunks(const Cta& cta, typename Cta::Sum (&d)[kBlocks][Cta::S::kSums],
                                                             gemm::RingPosition& box, gemm::RingPosition& weight, uint32_t consumer,
                                                             uint32_t firstBlock, bool lags, int32_t first, int32_t end) {
  using S = typename Cta::S;
  const Params& p = cta.params;
  Control& control = *cta.control;
  const uint32_t lane = threadIdx.x % 32;
  const bool releases = lane == 0;
  // Where a pair shares boxes, the first two lanes tell a CTA each.
  const uint32_t toldOfBoxes = Cta::kShares ? ptx::mapToCta(control.boxes.empty({}), (blockIdx.x ^ lane) & 1) : 0;
  const auto releaseBox = [&](const gemm::RingPosition& slot) {
    if constexpr (Cta::kShares) {
      if (lane < 2) ptx::mbarrierArriveAtPeer(toldOfBoxes + static_cast<uint32_t>(slot.index) * sizeof(uint64_t));
    } else {
      if (releases) ptx::mbarrierArrive(control.boxes.empty(slot));
    }
  };
  const auto releaseWeights = [&](const gemm::RingPosition& stage) {
    if (releases && !p.weightsResident) ptx::mbarrierArrive(control.weights.empty(stage));
  };
  gemm::RingPosition heldBox, heldWeight;
  uint32_t accumulate = 0;
  bool holdsBox = false;
  if (!kContinues && p.weightsResident) weight = {};
  uint64_t pixels = 0;
  // Of groups a block of channels reads its own part of a row.
  const uint32_t ownBytes = Cta::kMayHaveFewSlices ? firstBlock * p.blockInputBytes : 0;
  int32_t patch = 0, t = 0, endTap = 0;
  int32_t lag = S::kConsumers > 1 && lags ? p.lag : 0;
  const bool isLast = consumer == S::kConsumers - 1, isFirst = S::kConsumers == 2 ? !isLast : consumer == 0;
  if (lag > 0 && !isFirst) {
    ptx::namedBarrierSync(cta.lagBarrier(consumer - 1), 256);  // site: lag_awaited
    if (isLast) lag = 0;
  }
  int32_t steps = (end - first) * p.taps;  // at least one: said by the form of the loop, or ptxas serialises wgmma
  do {
    if (t == endTap) {  // the next box
      if (t == p.taps) patch = t = 0;
      endTap = p.patch[patch++].endTap;
      control.boxes.awaitFull(box);
      pixels = layout::wgmmaSwizzle128Descriptor(cta.boxAddress(box.index) + ownBytes, p.groupStrideBytes);
    }
    const uint64_t tapPixels = layout::advanceDescriptor(pixels, control.tap[t].row * kRowBytes);
    control.weights.awaitFull(weight);
    const uint64_t weights =
        layout::wgmmaSwizzle128Descriptor(cta.weightAddress(weight.index) + firstBlock * kBlockBytes + ownBytes);
    ptx::wgmmaFence();  // site: tap_fence
#pragma unroll
    for (int slice = 0; slice < kSlices; ++slice)
      multiplySlice(cta, d, tapPixels, weights, slice, slice == 0 && !kContinues ? accumulate : 1);
    ptx::wgmmaCommit();
    ptx::wgmmaWait<1>();  // what the tap before this one read may go; site: tap_before_awaited
    if (accumulate != 0) releaseWeights(heldWeight);
    if (holdsBox) releaseBox(heldBox);
    accumulate = 1;
    heldWeight = weight;
    weight.advance(p.weightStages);
    heldBox = box;
    holdsBox = ++t == endTap;
    if (holdsBox) {
      box.advance(p.patchSlots);
      if constexpr (S::kSeparate) box.advance(p.patchSlots);
    }
    if (lag > 0 && --lag == 0) ptx::namedBarrierArrive(cta.lagBarrier(consumer), 256);
  } while (--steps > 0);
  ptx::wgmmaWait<0>();
  releaseWeights(heldWeight);
  if constexpr (!S::kOverBox) releaseBox(heldBox);
  return heldBox;
}

/// The same, of as many slices of chunks as have channels.
template <class Cta, int kBlocks>
__device__ __forceinline__ gemm::RingPosition multiplyTaps(const Cta& cta, typename Cta::Sum (&d)[kBlocks][Cta::S::kSums],
                                                           gemm::RingPosition& box, gemm::RingPosition& weight, uint32_t consumer,
                                                           uint32_t firstBlock, bool lags) {
  const auto allOf = [&]<int kSlices>() {
    return multiplyChunks<kSlices, false>(cta, d, box, weight, consumer, firstBlock, lags, cta.firstChunk, cta.endChunk);
  };
  if constexpr (Cta::kMayHaveFewSlices) {
    if (cta.params.lastSlices == 1) return allOf.template operator()<1>();
    if (cta.params.lastSlices == 2) return allOf.template operator()<2>();
    if (cta.params.lastSlices == 3) return allOf.template operator()<3>();
  } else if constexpr (Cta::S::kPixelsAreA) {
    // Between the two the tensor core drains. In one loop, with a choice for each tap, ptxas has wgmma wait for each other.
    const bool endsInHalf = cta.params.lastSlices < kChunkSlices && cta.endChunk == cta.params.chunks;
    const int32_t half = cta.endChunk - endsInHalf;
    if (half == cta.firstChunk)
      return multiplyChunks<kChunkSlices / 2, false>(cta, d, box, weight, consumer, firstBlock, lags, half, cta.endChunk);
    const gemm::RingPosition last =
        multiplyChunks<kChunkSlices, false>(cta, d, box, weight, consumer, firstBlock, lags, cta.firstChunk, half);
    hold(d);
    if (!endsInHalf) return last;
    return multiplyChunks<kChunkSlices / 2, true>(cta, d, box, weight, consumer, firstBlock, false, half, cta.endChunk);
  }
  return allOf.template operator()<kChunkSlices>();
}

/// All sums of a tile that has whole images, for a 3x3 filter with a box for each of its columns. In the last output rows the
/// last filter row is outside the image, so its taps multiply fewer pixels. Between products of different width the tensor core
/// has to be waited for; hence the order of the nine taps, in which such taps meet. (Leaving out the first output row under the
/// first filter row as well, ptxas makes all wgmma wait: their sums would begin at another register.)
template <class Cta>
__device__ __forceinline__ void multiplyWholeImages(const Cta& cta, typename Cta::Sum (&d)[Cta::S::kSums], gemm::RingPosition& box,
                                                    gemm::RingPosition& weight, uint32_t firstBlock) {
  using S = typename Cta::S;
  const Params& p = cta.params;
  Control& control = *cta.control;
  const bool releases = threadIdx.x % 32 == 0;
  uint32_t accumulate = 0;
  uint64_t pixels = 0;
  gemm::RingPosition held, heldBox;
  const auto tap = [&]<int kTap>() {
    constexpr int kN = S::kTileN - (leavesTailOut(kTap) ? S::kTail : 0);
    if constexpr (kTap % 3 == 0) {
      control.boxes.awaitFull(box);
      pixels = layout::wgmmaSwizzle128Descriptor(cta.boxAddress(box.index), p.groupStrideBytes);
    }
    const uint64_t b = layout::advanceDescriptor(pixels, control.tap[kTap].row * kRowBytes);
    control.weights.awaitFull(weight);
    const uint64_t a = layout::wgmmaSwizzle128Descriptor(cta.weightAddress(weight.index) + firstBlock * kBlockBytes);
    ptx::wgmmaFence();  // site: whole_images_fence
#pragma unroll
    for (int slice = 0; slice < kChunkSlices; ++slice) {
      Cta::Kind::template multiply<kN>(
          reinterpret_cast<typename Cta::Sum(&)[kN / 2]>(d), layout::advanceDescriptor(a, slice * layout::kMmaRowBytes),
          layout::advanceDescriptor(b, slice * layout::kMmaRowBytes), kTap > 0 || slice > 0 ? 1 : accumulate);
    }
    ptx::wgmmaCommit();  // site: whole_images_commit
    // Whether the tap before was left running, and whether this one is.
    constexpr bool kHeld = kTap > 0 && leavesTailOut(kTap - 1) == leavesTailOut(kTap);
    constexpr bool kHold = kTap + 1 < kWholeImageTaps && leavesTailOut(kTap + 1) == leavesTailOut(kTap);
    if constexpr (kHold) {
      if constexpr (kHeld) ptx::wgmmaWait<1>();
    } else {
      ptx::wgmmaWait<0>();
    }
    if (releases) {
      if constexpr (kHeld) ptx::mbarrierArrive(control.weights.empty(held));
      if constexpr (!kHold) ptx::mbarrierArrive(control.weights.empty(weight));
      if constexpr (kHeld && kTap % 3 == 0) ptx::mbarrierArrive(control.boxes.empty(heldBox));
      if constexpr (!kHold && kTap % 3 == 2) ptx::mbarrierArrive(control.boxes.empty(box));
    }
    held = weight;
    weight.advance(p.weightStages);
    if constexpr (kTap % 3 == 2) {
      heldBox = box;
      box.advance(p.patchSlots);
    }
  };
  int32_t chunks = cta.endChunk - cta.firstChunk;
  do {
    [&]<int... kTap>(std::integer_sequence<int, kTap...>) { (tap.template operator()<kTap>(), ...); }
    (std::make_integer_sequence<int, kWholeImageTaps>());
    accumulate = 1;
  } while (--chunks > 0);
}

}  // namespace shiftconv::kernels::halo
