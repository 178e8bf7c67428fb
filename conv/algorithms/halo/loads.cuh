// The loading lanes of a halo CTA: boxes of pixels and weights into their rings, and, where output is staged over a box, its store.
#pragma once

#include <cstdint>

#include "common/gemm/ring.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/cache_policy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/mbarrier.cuh"
#include "conv/algorithms/halo/cta.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/tile.cuh"

namespace shiftconv::kernels::halo {

// ---- Input pixels: global -> shared ------------------------------------------------------------------------------------------
template <class Cta>
__device__ __forceinline__ gemm::WindowSource sourceOf(const Cta& cta, int32_t chunk) {
  return cta.params.inputSplit.sourceOf(chunk, chunkChannels(Cta::Kind::kElementBytes), 0, 0);
}

/// `evictFirst`: the policy for inputs that leave L2 first. Others have none (cache_policy.cuh).
template <class Cta>
__device__ __forceinline__ void loadBox(const Cta& cta, int32_t map, const Patch& patch, const TileOrigin& origin, int32_t channel,
                                        const gemm::RingPosition& slot, uint64_t evictFirst) {
  const Params& p = cta.params;
  Control& control = *cta.control;
  if (!p.inputLeavesFirst)
    ptx::loadTile4d(cta.boxAddress(slot.index), &cta.inputMaps.of[map], channel, origin.column + patch.columnOffset, origin.image,
                    origin.row + patch.rowOffset, control.boxes.full(slot));
  else
    ptx::loadTile4d(cta.boxAddress(slot.index), &cta.inputMaps.of[map], channel, origin.column + patch.columnOffset, origin.image,
                    origin.row + patch.rowOffset, control.boxes.full(slot), evictFirst);
}

/// For both CTAs of a pair, whose tiles have the same pixels.
template <class Cta>
__device__ __forceinline__ void loadBoxForPair(const Cta& cta, const Patch& patch, const TileOrigin& origin, int32_t channel,
                                               const gemm::RingPosition& slot) {
  constexpr uint16_t kBothOfPair = 3;  // ranks
  ptx::loadTile4dMulticast(cta.boxAddress(slot.index), &cta.inputMaps.of[patch.map], channel, origin.column + patch.columnOffset,
                           origin.image, origin.row + patch.rowOffset, cta.control->boxes.full(slot), kBothOfPair);
}

/// A box of planes, or of an input in two tensors.
template <class Cta>
__device__ __forceinline__ void loadAnyBox(const Cta& cta, const Patch& patch, const TileOrigin& origin, int32_t chunk,
                                           int32_t channel, const gemm::RingPosition& slot, uint64_t evictFirst) {
  const Params& p = cta.params;
  Control& control = *cta.control;
  int32_t map = patch.map;
  if (p.inputSplit.chunks != 0) {
    const gemm::WindowSource from = sourceOf(cta, chunk);
    channel = from.channel;
    if (from.isSecond) map += p.firstMaps;
  }
  if (p.deep) {
    const int32_t image = static_cast<int32_t>(p.planes.quotient(static_cast<uint32_t>(origin.image)));
    int32_t plane = (origin.image - image * static_cast<int32_t>(p.planes.divisor)) * p.planeStride + patch.planeOffset;
    if (const int32_t first = p.inputSplit.planes; first != 0 && plane >= first) plane -= first, map += p.firstMaps;
    ptx::loadTile5d(cta.boxAddress(slot.index), &cta.inputMaps.of[map], channel, origin.column + patch.columnOffset,
                    origin.row + patch.rowOffset, plane, image, control.boxes.full(slot));
  } else {
    loadBox(cta, map, patch, origin, channel, slot, evictFirst);
  }
}

/// The slot of box `number`, released by its readers, holds the output of the box that was `patchSlots` before it.
template <class Cta>
__device__ void storeStaged(const Cta& cta, uint32_t number, uint32_t slot) {
  const Params& p = cta.params;
  const uint32_t slots = static_cast<uint32_t>(p.patchSlots);
  if (number < slots) return;
  const uint32_t earlier = number - slots;
  const int32_t tile = static_cast<int32_t>(blockIdx.x + earlier / Cta::kMembers * gridDim.x);
  if (tile >= p.tiles) return;  // fewer boxes than slots
  cta.storeTile(cta.originOf(tile, earlier % Cta::kMembers), 0, cta.boxAddress(slot));
  ptx::bulkWaitGroupRead<0>();
}

template <class Cta, bool kOnePatch>
__device__ __forceinline__ void loadBoxesOf(const Cta& cta) {
  using S = typename Cta::S;
  const Params& p = cta.params;
  Control& control = *cta.control;
  // Made here, it needs a register less than where it is used.
  const uint64_t evictFirst = ptx::evictFirst();
  gemm::RingPosition slot, previous;
  uint32_t number = 0;
  for (const int32_t tile : cta.tiles()) {
    for (int32_t chunk = cta.firstChunk; chunk < cta.endChunk; ++chunk) {
      for (int32_t i = 0; i < (kOnePatch ? 1 : p.patches); ++i) {
        const Patch& patch = p.patch[kOnePatch ? 0 : i];
#pragma unroll 1
        for (uint32_t member = 0; member < Cta::kMembers; ++member) {
          const TileOrigin origin = cta.originOf(tile, member);
          control.boxes.awaitEmpty(slot);
          // Where weights stay, boxes that are not needed yet wait for the first ones, so that those and the weights come soon.
          if (!Cta::kShares && p.weightsResident && number == Cta::kMembers)
            control.boxes.awaitFull({static_cast<int32_t>(Cta::kMembers) - 1, 0});  // site: first_boxes_awaited
          if constexpr (S::kOverBox) storeStaged(cta, number, slot.index);
          // Slots of an odd number pass from one warpgroup to the other. Who has seen a box of his own looks next where the box
          // before it was: unless that has arrived, the parity of its phase is the one that he waits for.
          if (S::kSeparate && p.patchSlots % 2 == 1 && number > 0) control.boxes.awaitFull(previous);
          previous = slot;
          // Here and not earlier: what comes before has been fetched, and has run, when the run ahead ends.
          if (number == 0) {
            ptx::awaitPrerequisites();
            ptx::launchDependents();
          }
          ++number;
          ptx::mbarrierArriveExpectBytes(control.boxes.full(slot), patch.bytes);
          const int32_t channel = p.groupChannels > 0 ? origin.channel : chunk * chunkChannels(Cta::Kind::kElementBytes);
          if constexpr (Cta::kShares) {
            if (cta.loadsForPair(number)) loadBoxForPair(cta, patch, origin, channel, slot);
          } else if constexpr (Cta::kAnyInput)
            loadAnyBox(cta, patch, origin, chunk, channel, slot, evictFirst);
          else
            loadBox(cta, patch.map, patch, origin, channel, slot, evictFirst);
          slot.advance(p.patchSlots);
        }
      }
    }
  }
  if constexpr (S::kOverBox) {
    for (int32_t i = 0; i < p.patchSlots; ++i) {
      control.boxes.awaitEmpty(slot);
      storeStaged(cta, number++, slot.index);
      slot.advance(p.patchSlots);
    }
  }
}

/// Where strides are 1 there is one patch, and nothing of it has to be looked up for each box. Some kernels lack the registers for
/// a loop of their own (ptxas spills): those that store over boxes, of five channel blocks, and with a residual and a box for each
/// warpgroup.
template <class Cta>
__device__ void loadBoxes(const Cta& cta) {
  using S = typename Cta::S;
  constexpr bool kHasRegisters = !S::kOverBox && S::kStageBlocks < 5 && !(Cta::kResidual && S::kSeparate && !S::kPixelsAreA);
  if (Cta::kShares || (kHasRegisters && cta.params.patches == 1))
    loadBoxesOf<Cta, true>(cta);
  else
    loadBoxesOf<Cta, false>(cta);
}

// ---- Weights: global -> shared, once when resident ---------------------------------------------------------------------------
template <class Cta>
__device__ void loadWeights(const Cta& cta) {
  const Params& p = cta.params;
  Control& control = *cta.control;
  bool waits = !p.filterAhead;
  gemm::RingPosition stage;
  const auto loadAll = [&](int32_t tile) {
    const int32_t firstChannel = cta.originOf(tile, 0).channel;
    for (int32_t chunk = cta.firstChunk; chunk < cta.endChunk; ++chunk) {
      const int32_t channel = Cta::kAnyInput ? sourceOf(cta, chunk).tapChannel : chunk * chunkChannels(Cta::Kind::kElementBytes);
      for (int32_t t = 0; t < p.taps; ++t) {
        control.weights.awaitEmpty(stage);  // site: weight_stage_free
        if (waits) ptx::awaitPrerequisites();
        waits = false;
        ptx::mbarrierArriveExpectBytes(control.weights.full(stage), Cta::S::kStageBytes);
#pragma unroll 1
        for (uint32_t box = 0; box < p.weightBoxes; ++box) {
          ptx::loadTile3d(cta.weightAddress(stage.index) + box * p.weightBoxBytes, &cta.filterMap, channel, p.tap[t].filterIndex,
                          firstChannel + static_cast<int32_t>(box * (p.weightBoxBytes / kRowBytes)),
                          control.weights.full(stage));  // site: weights_loaded
        }
        stage.advance(p.weightStages);
      }
    }
  };
  if (p.groupChannels > 0) {  // spread by the threads that read them
    for (int32_t i = 0; i < p.weightStages; ++i, stage.advance(p.weightStages)) {
      ptx::mbarrierArrive(control.weights.full(stage));
    }
  } else if (p.weightsResident) {
    if (cta.tiles().own() > 0) loadAll(cta.tiles().first);
  } else {
    for (const int32_t tile : cta.tiles()) loadAll(tile);
  }
}

}  // namespace shiftconv::kernels::halo
