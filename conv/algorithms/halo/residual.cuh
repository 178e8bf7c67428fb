// The lanes of a halo CTA that serve a multiplying warpgroup each with tiles of the residual, and, but where output is staged over
// a box, store its output.
#pragma once

#include <cstdint>

#include "common/gemm/ring.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/mbarrier.cuh"
#include "conv/algorithms/halo/cta.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/kernels/staged_residual.cuh"

namespace shiftconv::kernels::halo {

/// The pieces of the tiles that a warpgroup finishes, in its order.
template <class Cta>
struct Pieces {
  using S = typename Cta::S;
  const Cta& cta;
  uint32_t consumer;

  __device__ int32_t ofTile() const { return consumer == 0 ? S::kFirstPieces : S::kSecondPieces; }
  __device__ int32_t count() const {
    const bool finishes = cta.params.split == 1 || cta.halves() || cta.rank == cta.ownerOf(consumer);
    return finishes ? cta.tiles().own() * ofTile() : 0;
  }
  __device__ TileOrigin origin(int32_t piece) const {
    TileOrigin origin = cta.originOf(cta.tiles().first + piece / ofTile() * cta.tiles().step, consumer);
    if (cta.halves()) origin.row += cta.rank * (cta.params.tileRows / 2);
    return origin;
  }
  __device__ int32_t blockChannel(int32_t piece) const {
    const int32_t firstBlock = S::kSeparate || consumer == 0 ? 0 : S::kFirstBlocks;
    return firstBlock * kBlockChannels + piece % ofTile() * S::kPieceChannels;
  }
};

template <class Cta>
__device__ void prepareResiduals(const Cta& cta, uint32_t consumer) {
  ptx::prefetchTensorMap(&cta.residualMap);
  cta.control->residuals[consumer].initialise(Cta::S::kOverBox ? 1 : cta.params.residual.stagings, 1, 4);
  ptx::fenceMbarrierInit();
}

template <class Cta>
__device__ void loadResidualTile(const Cta& cta, const TileOrigin& origin, int32_t blockChannel, uint32_t destination,
                                 uint32_t barrier) {
  ptx::loadTile4d(destination, &cta.residualMap, origin.channel + blockChannel, origin.column, origin.image, origin.row, barrier);
}
template <class Cta>
__device__ void loadResidual(const Pieces<Cta>& pieces, int32_t piece, const gemm::RingPosition& buffer) {
  loadResidualTile(pieces.cta, pieces.origin(piece), pieces.blockChannel(piece), pieces.cta.stagingAddress(pieces.consumer, buffer),
                   pieces.cta.control->residuals[pieces.consumer].full(buffer));
}

/// Each when everybody has read the box. Whoever fills the slot again stores the output.
template <class Cta>
__device__ void loadResidualsOverBoxes(const Cta& cta, uint32_t consumer) {
  gemm::RingPosition slot, only;
  const auto& boxes = cta.control->residuals[consumer];
  for (uint32_t i = 0; i < consumer; ++i) slot.advance(cta.params.patchSlots);
  for (const int32_t tile : cta.tiles()) {
    boxes.awaitEmpty({0, only.parity ^ 1});
    ptx::mbarrierArriveExpectBytes(boxes.full(only), cta.params.residual.bytes);
    loadResidualTile(cta, cta.originOf(tile, consumer), 0, cta.boxAddress(static_cast<uint32_t>(slot.index)), boxes.full(only));
    only.advance(1);
    for (uint32_t i = 0; i < Cta::kMembers; ++i) slot.advance(cta.params.patchSlots);
  }
}

/// Before the CTAs of a cluster meet after their products.
template <class Cta>
__device__ void loadFirstResiduals(const Cta& cta, uint32_t consumer) {
  ptx::awaitPrerequisites();
  const ResidualTiles& tiles = cta.params.residual;
  const Pieces<Cta> pieces{cta, consumer};
  if constexpr (!Cta::S::kOverBox)
    kernels::loadFirstResiduals(cta.control->residuals[consumer], tiles.stagings, pieces.count(), tiles.bytes,
                                [&](int32_t piece, const gemm::RingPosition& buffer) { loadResidual(pieces, piece, buffer); });
}
/// And after that.
template <class Cta>
__device__ void serveResiduals(const Cta& cta, uint32_t consumer) {
  const ResidualTiles& tiles = cta.params.residual;
  const Pieces<Cta> pieces{cta, consumer};
  if constexpr (Cta::S::kOverBox) {
    loadResidualsOverBoxes(cta, consumer);
  } else {
    storeAndLoadResiduals(
        cta.control->residuals[consumer], tiles.stagings, pieces.count(), tiles.bytes,
        [&](int32_t piece, const gemm::RingPosition& buffer) { loadResidual(pieces, piece, buffer); },
        [&](int32_t piece, const gemm::RingPosition& buffer) {
          cta.storeTile(pieces.origin(piece), pieces.blockChannel(piece), cta.stagingAddress(consumer, buffer));
        });
  }
}

}  // namespace shiftconv::kernels::halo
