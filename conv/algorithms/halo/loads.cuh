// The loading lanes of a halo CTA: boxes of pixels and weights into their rings, and, where output is staged over a box, its store.
#pragma once

#include <cstdint>

#include "common/gemm/ring.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/mbarrier.cuh"
#include "conv/algorithms/halo/frame.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/residual.cuh"
#include "conv/algorithms/halo/tile.cuh"

namespace shiftconv::kernels::halo {

/// kAnyInput: planes, and inputs in two tensors.
template <class Kind, class S, bool kAnyInput>
class Loads : protected Residuals<S> {
  using Base = Residuals<S>;

 public:
  using Base::Base;

 protected:
  using Base::boxAddress;
  using Base::control_;
  using Base::endChunk_;
  using Base::filterMap_;
  using Base::firstChunk_;
  using Base::inputMaps_;
  using Base::originOf;
  using Base::p_;
  using Base::storeTile;
  using Base::tiles;
  using Base::weightAddress;

  // ---- Input pixels: global -> shared ------------------------------------------------------------------------------------------
  __device__ void loadBoxes() const {
    constexpr uint32_t kMembers = S::kSeparate ? 2 : 1;
    ptx::awaitPrerequisites();
    ptx::launchDependents();
    gemm::RingPosition slot, previous;
    uint32_t number = 0;
    for (const int32_t tile : tiles()) {
      for (int32_t chunk = firstChunk_; chunk < endChunk_; ++chunk) {
        for (int32_t i = 0; i < p_.patches; ++i) {
          const Patch& patch = p_.patch[i];
#pragma unroll 1
          for (uint32_t member = 0; member < kMembers; ++member) {
            const TileOrigin origin = originOf(tile, member);
            control_->boxes.awaitEmpty(slot);
            // Where weights stay, boxes that are not needed yet wait for the first ones, so that those and the weights come soon.
            if (p_.weightsStay && number == kMembers)
              control_->boxes.awaitFull({static_cast<int32_t>(kMembers) - 1, 0});  // site: first_boxes_awaited
            if constexpr (S::kOverBox) storeStaged(number, slot.index);
            // Slots of an odd number pass from one warpgroup to the other. Who has seen a box of his own looks next where the box
            // before it was: unless that has arrived, the parity of its phase is the one that he waits for.
            if (S::kSeparate && p_.patchSlots % 2 == 1 && number > 0) control_->boxes.awaitFull(previous);
            previous = slot;
            ++number;
            ptx::mbarrierArriveExpectBytes(control_->boxes.full(slot), patch.bytes);
            const int32_t channel = p_.groupChannels > 0 ? origin.channel : chunk * chunkChannels(Kind::kElementBytes);
            if constexpr (kAnyInput)
              loadAnyBox(patch, origin, chunk, channel, slot);
            else
              ptx::loadTile4d(boxAddress(slot.index), &inputMaps_.of[patch.map], channel, origin.column + patch.columnOffset,
                              origin.image, origin.row + patch.rowOffset, control_->boxes.full(slot));
            slot.advance(p_.patchSlots);
          }
        }
      }
    }
    if constexpr (S::kOverBox) {
      for (int32_t i = 0; i < p_.patchSlots; ++i) {
        control_->boxes.awaitEmpty(slot);
        storeStaged(number++, slot.index);
        slot.advance(p_.patchSlots);
      }
    }
  }

  /// A box of planes, or of an input in two tensors.
  __device__ __forceinline__ void loadAnyBox(const Patch& patch, const TileOrigin& origin, int32_t chunk, int32_t channel,
                                             const gemm::RingPosition& slot) const {
    int32_t map = patch.map;
    if (p_.inputSplit.chunks != 0) {
      const gemm::WindowSource from = sourceOf(chunk);
      channel = from.channel;
      if (from.isSecond) map += p_.firstMaps;
    }
    if (p_.deep) {
      const int32_t image = static_cast<int32_t>(p_.planes.quotient(static_cast<uint32_t>(origin.image)));
      int32_t plane = (origin.image - image * static_cast<int32_t>(p_.planes.divisor)) * p_.planeStride + patch.planeOffset;
      if (const int32_t first = p_.inputSplit.planes; first != 0 && plane >= first) plane -= first, map += p_.firstMaps;
      ptx::loadTile5d(boxAddress(slot.index), &inputMaps_.of[map], channel, origin.column + patch.columnOffset,
                      origin.row + patch.rowOffset, plane, image, control_->boxes.full(slot));
    } else {
      ptx::loadTile4d(boxAddress(slot.index), &inputMaps_.of[map], channel, origin.column + patch.columnOffset, origin.image,
                      origin.row + patch.rowOffset, control_->boxes.full(slot));
    }
  }

  __device__ __forceinline__ gemm::WindowSource sourceOf(int32_t chunk) const {
    return p_.inputSplit.sourceOf(chunk, chunkChannels(Kind::kElementBytes), 0, 0);
  }

  /// The slot of box `number`, released by its readers, holds the output of the box that was `patchSlots` before it.
  __device__ void storeStaged(uint32_t number, uint32_t slot) const {
    constexpr uint32_t kMembers = S::kSeparate ? 2 : 1;
    const uint32_t slots = static_cast<uint32_t>(p_.patchSlots);
    if (number < slots) return;
    const uint32_t earlier = number - slots;
    const int32_t tile = static_cast<int32_t>(blockIdx.x + earlier / kMembers * gridDim.x);
    if (tile >= p_.tiles) return;  // fewer boxes than slots
    storeTile(originOf(tile, earlier % kMembers), 0, boxAddress(slot));
    ptx::bulkWaitGroupRead<0>();
  }

  // ---- Weights: global -> shared, once when resident ---------------------------------------------------------------------------
  __device__ void loadWeights() const {
    ptx::awaitPrerequisites();
    gemm::RingPosition stage;
    const auto loadAll = [&](int32_t tile) {
      const int32_t firstChannel = originOf(tile, 0).channel;
      for (int32_t chunk = firstChunk_; chunk < endChunk_; ++chunk) {
        const int32_t channel = kAnyInput ? sourceOf(chunk).tapChannel : chunk * chunkChannels(Kind::kElementBytes);
        for (int32_t t = 0; t < p_.taps; ++t) {
          control_->weights.awaitEmpty(stage);  // site: weight_stage_free
          ptx::mbarrierArriveExpectBytes(control_->weights.full(stage), S::kStageBytes);
          for (uint32_t box = 0; box < p_.weightBoxes; ++box) {
            ptx::loadTile3d(weightAddress(stage.index) + box * p_.weightBoxBytes, &filterMap_, channel, p_.tap[t].filterIndex,
                            firstChannel + static_cast<int32_t>(box * (p_.weightBoxBytes / kRowBytes)),
                            control_->weights.full(stage));  // site: weights_loaded
          }
          stage.advance(p_.weightStages);
        }
      }
    };
    if (p_.groupChannels > 0) {  // spread by the threads that read them
      for (int32_t i = 0; i < p_.weightStages; ++i, stage.advance(p_.weightStages)) {
        ptx::mbarrierArrive(control_->weights.full(stage));
      }
    } else if (p_.weightsStay) {
      if (tiles().own() > 0) loadAll(tiles().first);
    } else {
      for (const int32_t tile : tiles()) loadAll(tile);
    }
  }
};

}  // namespace shiftconv::kernels::halo
