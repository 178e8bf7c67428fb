// The lanes of a halo CTA that serve a multiplying warpgroup each with tiles of the residual, and, but where output is staged over
// a box, store its output.
#pragma once

#include <cstdint>

#include "common/gemm/ring.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/mbarrier.cuh"
#include "conv/algorithms/halo/frame.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/kernels/staged_residual.cuh"

namespace shiftconv::kernels::halo {

template <class S>
class Residuals : protected Frame<S> {
  using Base = Frame<S>;

 public:
  using Base::Base;

 protected:
  using Base::boxAddress;
  using Base::control_;
  using Base::originOf;
  using Base::outputMap_;
  using Base::ownerOf;
  using Base::p_;
  using Base::rank_;
  using Base::residualMap_;
  using Base::staging_;
  using Base::storeTile;
  using Base::tiles;

  /// Where a warpgroup's tile of one channel block waits.
  __device__ uint32_t stagingAddress(uint32_t consumer, const gemm::RingPosition& buffer) const {
    return staging_ + (consumer * static_cast<uint32_t>(p_.residual.stagings) + static_cast<uint32_t>(buffer.index)) *
                          p_.residual.stagingBytes;
  }

  __device__ void prepareResiduals(uint32_t consumer) const {
    ptx::prefetchTensorMap(&residualMap_);
    control_->residuals[consumer].initialise(S::kOverBox ? 1 : p_.residual.stagings, 1, 4);
    ptx::fenceMbarrierInit();
  }

  /// Before the CTAs of a cluster meet behind their products.
  __device__ void loadFirst(uint32_t consumer) const {
    ptx::awaitPrerequisites();
    if constexpr (!S::kOverBox)
      loadFirstResiduals(control_->residuals[consumer], p_.residual.stagings, pieces(consumer), p_.residual.bytes,
                         [&](int32_t piece, const gemm::RingPosition& buffer) { load(consumer, piece, buffer); });
  }
  /// And behind that.
  __device__ void serve(uint32_t consumer) const {
    if constexpr (S::kOverBox) {
      loadOverBoxes(consumer);
    } else {
      storeAndLoadResiduals(
          control_->residuals[consumer], p_.residual.stagings, pieces(consumer), p_.residual.bytes,
          [&](int32_t piece, const gemm::RingPosition& buffer) { load(consumer, piece, buffer); },
          [&](int32_t piece, const gemm::RingPosition& buffer) {
            storeTile(origin(consumer, piece), blockChannel(consumer, piece), stagingAddress(consumer, buffer));
          });
    }
  }

 private:
  static __device__ int32_t blocks(uint32_t consumer) { return consumer == 0 ? S::kFirstBlocks : S::kSecondBlocks; }
  /// Channel blocks of tiles that the warpgroup finishes, in its order.
  __device__ int32_t pieces(uint32_t consumer) const {
    const bool finishes = p_.split == 1 || (S::kMayHalve && p_.halves) || rank_ == ownerOf(consumer);
    return finishes ? tiles().own() * blocks(consumer) : 0;
  }
  __device__ TileOrigin origin(uint32_t consumer, int32_t piece) const {
    TileOrigin origin = originOf(tiles().first + piece / blocks(consumer) * tiles().step, consumer);
    if (S::kMayHalve && p_.halves) origin.row += rank_ * (p_.tileRows / 2);
    return origin;
  }
  static __device__ int32_t blockChannel(uint32_t consumer, int32_t piece) {
    const int32_t firstBlock = S::kSeparate || consumer == 0 ? 0 : S::kFirstBlocks;
    return (firstBlock + piece % blocks(consumer)) * kBlockChannels;
  }

  __device__ void loadTile(const TileOrigin& origin, int32_t blockChannel, uint32_t destination, uint32_t barrier) const {
    ptx::loadTile4d(destination, &residualMap_, origin.channel + blockChannel, origin.column, origin.image, origin.row, barrier);
  }
  __device__ void load(uint32_t consumer, int32_t piece, const gemm::RingPosition& buffer) const {
    loadTile(origin(consumer, piece), blockChannel(consumer, piece), stagingAddress(consumer, buffer),
             control_->residuals[consumer].full(buffer));
  }

  /// Each when everybody has read the box. Whoever fills the slot again stores the output.
  __device__ void loadOverBoxes(uint32_t consumer) const {
    constexpr uint32_t kMembers = S::kSeparate ? 2 : 1;
    gemm::RingPosition slot, only;
    const auto& boxes = control_->residuals[consumer];
    for (uint32_t i = 0; i < consumer; ++i) slot.advance(p_.patchSlots);
    for (const int32_t tile : tiles()) {
      boxes.awaitEmpty({0, only.parity ^ 1});
      ptx::mbarrierArriveExpectBytes(boxes.full(only), p_.residual.bytes);
      loadTile(originOf(tile, consumer), 0, boxAddress(static_cast<uint32_t>(slot.index)), boxes.full(only));
      only.advance(1);
      for (uint32_t i = 0; i < kMembers; ++i) slot.advance(p_.patchSlots);
    }
  }
};

}  // namespace shiftconv::kernels::halo
