// How the CTAs of a cluster that share the reduction of a tile add their sums up. Sums travel to the shared memory of the CTA that
// adds them: to a place of their own, or to where its operands were, once all have passed a cluster barrier after their last
// multiplication. Stores that count themselves towards a barrier need no fence: with fences a tile of halo of 320 x 128 took 1 us
// more (H200).
#pragma once

#include <cstdint>

#include "common/ptx/cluster_store.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/synchronisation.cuh"
#include "conv/kernels/wgmma_kinds.cuh"

namespace shiftconv::kernels {

/// From one group of 4 sums of a thread to its next; the groups of a warpgroup's 128 threads follow each other.
inline constexpr uint32_t kVectorStride = 128 * 16;

/// This thread's first group of piece `piece`, each with `vectors` groups of every thread.
__device__ __forceinline__ uint32_t receivedPiece(uint32_t place, uint32_t piece, uint32_t vectors) {
  return place + piece * vectors * kVectorStride + threadIdx.x % 128 * 16;
}

template <int kSums, class Sum>
__device__ __forceinline__ void addReceived(Sum* sums, uint32_t source) {
#pragma unroll
  for (int v = 0; v < kSums / 4; ++v) {
    uint32_t bits[4];
    ptx::loadShared16Bytes(source + v * kVectorStride, bits[0], bits[1], bits[2], bits[3]);
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[4 * v + i] += sumOf<Sum>(bits[i]);
  }
}

/// All kSums sums of every thread of a warpgroup, in the order of ranks. True in the rank `owner`, which has them afterwards, and
/// whose barrier `arrived` expects the bytes of the others.
template <int kSums, class Sum>
__device__ __forceinline__ bool addUpAtOwner(Sum* sums, uint32_t place, int32_t rank, int32_t split, int32_t owner,
                                             uint32_t arrived) {
  if (rank != owner) {
    const uint32_t sender = static_cast<uint32_t>(rank < owner ? rank : rank - 1);
    const uint32_t destination = ptx::mapToCta(receivedPiece(place, sender, kSums / 4), static_cast<uint32_t>(owner));
    const uint32_t barrier = ptx::mapToCta(arrived, static_cast<uint32_t>(owner));
#pragma unroll
    for (int v = 0; v < kSums / 4; ++v) {
      ptx::storeClusterCounted16Bytes(destination + v * kVectorStride, barrier, bitsOf(sums[4 * v]), bitsOf(sums[4 * v + 1]),
                                      bitsOf(sums[4 * v + 2]), bitsOf(sums[4 * v + 3]));
    }
    return false;
  }
  ptx::mbarrierWaitInCluster(arrived, 0);
  for (int32_t sender = 0; sender + 1 < split; ++sender)
    addReceived<kSums>(sums, receivedPiece(place, static_cast<uint32_t>(sender), kSums / 4));
  return true;
}

/// Between two ranks, the first of which keeps the first half of the sums, the second the other: sends what the other rank keeps,
/// as its piece `piece`, and counts it towards the barrier at the same place as `arrived`.
template <int kSums, class Sum>
__device__ __forceinline__ void sendHalf(const Sum (&sums)[kSums], uint32_t place, int32_t rank, uint32_t piece, uint32_t arrived) {
  constexpr int kHalf = kSums / 2, kVectors = kHalf / 4;
  const uint32_t other = static_cast<uint32_t>(rank) ^ 1;
  const uint32_t destination = ptx::mapToCta(receivedPiece(place, piece, kVectors), other);
  const uint32_t barrier = ptx::mapToCta(arrived, other);
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    uint32_t bits[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) bits[i] = bitsOf(rank == 0 ? sums[kHalf + 4 * v + i] : sums[4 * v + i]);
    ptx::storeClusterCounted16Bytes(destination + v * kVectorStride, barrier, bits[0], bits[1], bits[2], bits[3]);
  }
}

/// The half that this rank keeps, with what the other has sent.
template <int kSums, class Sum>
__device__ __forceinline__ void keepHalf(const Sum (&sums)[kSums], uint32_t place, int32_t rank, uint32_t piece, uint32_t arrived,
                                         Sum (&kept)[kSums / 2]) {
  constexpr int kHalf = kSums / 2;
#pragma unroll
  for (int i = 0; i < kHalf; ++i) kept[i] = rank == 0 ? sums[i] : sums[kHalf + i];
  ptx::mbarrierWaitInCluster(arrived, 0);
  addReceived<kHalf>(kept, receivedPiece(place, piece, kHalf / 4));
}

}  // namespace shiftconv::kernels
