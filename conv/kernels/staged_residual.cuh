// Tiles of a residual that come to where the output will be staged: the copy engine loads the residual, the threads that have the
// sums add it and leave the output in its place, and the copy engine stores that. One lane of a warp that does not multiply issues
// both, so that the residual of the next tile is under way while this one's products are.
//
// NOTES
//  - What the copy engine has loaded needs no fence to be read after its barrier. What threads have written there does, before its
//    store.
//  - Into a buffer that a store has read, the same lane loads: it alone can wait for the store.
#pragma once

#include <cstdint>

#include "common/gemm/ring.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/mbarrier.cuh"

namespace shiftconv::kernels {

/// The serving lane, first: as many of `pieces` as there are buffers. load(piece, buffer) issues the copy of a tile, counted by
/// stagings.full(buffer).
template <class Stagings, class Load>
__device__ __forceinline__ void loadFirstResiduals(const Stagings& stagings, int32_t buffers, int32_t pieces, uint32_t bytes,
                                                   Load&& load) {
#pragma unroll 1
  for (int32_t piece = 0; piece < min(buffers, pieces); ++piece) {
    const gemm::RingPosition buffer{piece, 0};
    ptx::mbarrierArriveExpectBytes(stagings.full(buffer), bytes);
    load(piece, buffer);
  }
}

/// Then: stores each piece when it is staged, and loads the one that follows it in its buffer. store(piece, buffer) issues a store
/// and closes its group.
template <class Stagings, class Load, class Store>
__device__ __forceinline__ void storeAndLoadResiduals(const Stagings& stagings, int32_t buffers, int32_t pieces, uint32_t bytes,
                                                      Load&& load, Store&& store) {
  gemm::RingPosition buffer;
#pragma unroll 1
  for (int32_t piece = 0; piece < pieces; ++piece) {
    stagings.awaitEmpty({buffer.index, buffer.parity ^ 1});  // of this round
    store(piece, buffer);
    ptx::bulkWaitGroupRead<0>();
    if (piece + buffers < pieces) {
      ptx::mbarrierArriveExpectBytes(stagings.full(buffer), bytes);
      load(piece + buffers, buffer);
    }
    buffer.advance(buffers);
  }
}

}  // namespace shiftconv::kernels
