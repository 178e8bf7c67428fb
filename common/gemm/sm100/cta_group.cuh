// What differs between a CTA that works alone, CTAs of a cluster that share loads, and a pair of CTAs that multiply together
// (tcgen05 cta_group::2); and the frame of all: Tensor Memory from the first barrier of a kernel to its last.
#pragma once

#include <cstdint>

#include "common/gemm/pipeline.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/tensor_core.cuh"
#include "common/ptx/tensor_memory.cuh"

namespace shiftconv::gemm::sm100 {

/// Loads of tensor maps' boxes into this CTA, which count towards a barrier that atLeader() gave.
template <ptx::CountedBy kBarrier>
struct Loads {
  static constexpr ptx::CountedBy kCountedBy = kBarrier;
  static __device__ void load(uint32_t destination, const void* map, int32_t x0, int32_t x1, uint32_t barrier) {
    ptx::loadTile2d<kCountedBy>(destination, map, x0, x1, barrier);
  }
  static __device__ void load(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2, uint32_t barrier) {
    ptx::loadTile3d<kCountedBy>(destination, map, x0, x1, x2, barrier);
  }
  static __device__ void load(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2, int32_t x3, int32_t x4,
                              uint32_t barrier) {
    ptx::loadTile5d<kCountedBy>(destination, map, x0, x1, x2, x3, x4, barrier);
  }
};

/// A CTA on its own.
struct SingleCta : Loads<ptx::CountedBy::FilledCta> {
  static constexpr int kCtas = 1;      ///< of a cluster
  static constexpr int kCtaGroup = 1;  ///< that multiply together
  static constexpr bool kSharesB = false;
  static constexpr Arrivals kArrivals = Arrivals::OfThisCta;

  static __device__ uint32_t rank() { return 0; }
  static __device__ bool isLeader() { return true; }
  /// All threads of the cluster: what each has done before is visible to all afterwards.
  static __device__ void synchronise() { __syncthreads(); }
  /// The barrier at the offset of `barrier` in the CTA whose thread multiplies.
  static __device__ uint32_t atLeader(uint32_t barrier) { return barrier; }
  static __device__ void arriveAtLeader(uint32_t barrier) { ptx::mbarrierArrive(barrier); }
  /// One arrive wherever a CTA waits before it refills what earlier tensor operations of this thread read, once they are complete.
  static __device__ void commitRelease(uint32_t barrier) { ptx::tensorCommit(barrier); }
  /// One arrive wherever a part of the accumulator is, once earlier tensor operations of this thread are complete.
  static __device__ void commitResult(uint32_t barrier) { ptx::tensorCommit(barrier); }
  /// A load into all CTAs of the cluster, at the same offset; each counts it.
  static __device__ void loadForAll(uint32_t destination, const void* map, int32_t x0, int32_t x1, uint32_t barrier) {
    load(destination, map, x0, x1, barrier);
  }
  static __device__ void loadForAll(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2, uint32_t barrier) {
    load(destination, map, x0, x1, x2, barrier);
  }
};

/// What the two groups of two CTAs have in common.
template <ptx::CountedBy kBarrier>
struct TwoCtas : Loads<kBarrier> {
  static constexpr int kCtas = 2;
  static constexpr Arrivals kArrivals = Arrivals::OfTheCluster;
  static constexpr uint16_t kBothCtas = 0b11;

  static __device__ uint32_t rank() { return ptx::clusterRank(); }
  static __device__ void synchronise() { ptx::clusterBarrierSync(); }
  static __device__ void loadForAll(uint32_t destination, const void* map, int32_t x0, int32_t x1, uint32_t barrier) {
    ptx::loadTile2dMulticast<kBarrier>(destination, map, x0, x1, barrier, kBothCtas);
  }
  static __device__ void loadForAll(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2, uint32_t barrier) {
    ptx::loadTile3dMulticast<kBarrier>(destination, map, x0, x1, x2, barrier, kBothCtas);
  }
};

/// Two CTAs of a cluster with different rows and the same columns, each multiplying on its own: each loads half of the rows of B
/// into both.
struct SharingCtas : TwoCtas<ptx::CountedBy::FilledCta> {
  static constexpr int kCtaGroup = 1;
  static constexpr bool kSharesB = true;

  static __device__ bool isLeader() { return true; }
  static __device__ uint32_t atLeader(uint32_t barrier) { return barrier; }
  static __device__ void arriveAtLeader(uint32_t barrier) { ptx::mbarrierArrive(barrier); }
  static __device__ void commitRelease(uint32_t barrier) { ptx::tensorCommitMulticast(barrier, kBothCtas); }
  static __device__ void commitResult(uint32_t barrier) { ptx::tensorCommit(barrier); }
};

/// Two CTAs of a cluster that multiply together (cta_group::2). Each has its rows of A and its part of the accumulator, and half of
/// the rows of B; the even one leads: its thread multiplies for both, and its barriers count for both.
struct CtaPair : TwoCtas<ptx::CountedBy::EitherOfPair> {
  static constexpr int kCtaGroup = 2;
  static constexpr bool kSharesB = false;
  static constexpr uint32_t kLeader = 0;

  static __device__ bool isLeader() { return ptx::clusterRank() == kLeader; }
  static __device__ uint32_t atLeader(uint32_t barrier) { return ptx::mapToCta(barrier, kLeader); }
  static __device__ void arriveAtLeader(uint32_t barrier) { ptx::mbarrierArriveInCluster(atLeader(barrier)); }
  static __device__ void commitRelease(uint32_t barrier) { ptx::tensorCommitMulticast<2>(barrier, kBothCtas); }
  static __device__ void commitResult(uint32_t barrier) { ptx::tensorCommitMulticast<2>(barrier, kBothCtas); }
};

/// All threads, once the barriers of this CTA have been initialised: a whole warp, the owner, takes `columns` columns (a power of
/// two, 32..512) of Tensor Memory. Returns their address; afterwards the barriers of the whole group may be used. `slot` is in
/// shared memory.
template <class Group>
__device__ __forceinline__ uint32_t enter(uint32_t& slot, uint32_t columns, bool isOwner) {
  if (isOwner) {
    ptx::tensorMemoryAllocate<Group::kCtaGroup>(ptx::sharedAddress(&slot), columns);
    ptx::tensorMemoryRelinquish<Group::kCtaGroup>();
  }
  Group::synchronise();
  return slot;
}

/// All threads, at the end: nobody uses the memory of the group any longer once all are here, so the owner gives the columns back.
template <class Group>
__device__ __forceinline__ void leave(uint32_t tensorMemory, uint32_t columns, bool isOwner) {
  Group::synchronise();
  if (isOwner) ptx::tensorMemoryFree<Group::kCtaGroup>(tensorMemory, columns);
}

}  // namespace shiftconv::gemm::sm100
