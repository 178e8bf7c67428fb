// Copies by the bulk copy engine between global and shared memory (PTX ISA 9.7.9.25.4 and 9.7.9.25.5). One executing thread
// issues one copy.
#pragma once

#include <cstdint>

namespace shiftconv::ptx {

__device__ __forceinline__ void prefetchTensorMap(const void* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<uint64_t>(map)) : "memory");
}

/// Whose barrier a load counts towards: one of the CTA that it fills, or, for a pair of CTAs (tcgen05 cta_group::2), the one that
/// `barrier` of mapToCta() names, in either of them.
enum class CountedBy : bool { FilledCta, EitherOfPair };

namespace detail {
template <CountedBy>
struct LoadForm {
  static constexpr char kDestination[] = "shared::cta", kGroup[] = "";
};
template <>
struct LoadForm<CountedBy::EitherOfPair> {
  static constexpr char kDestination[] = "shared::cluster", kGroup[] = ".cta_group::2";
};
}  // namespace detail

/// Loads the box at (x0, x1), innermost coordinate first, to `destination` (128-byte aligned; 1024 for 128-byte swizzle).
/// Elements outside the tensor, negative coordinates included, become zero. The whole box counts towards `barrier`.
template <CountedBy kCountedBy = CountedBy::FilledCta>
__device__ __forceinline__ void loadTile2d(uint32_t destination, const void* map, int32_t x0, int32_t x1, uint32_t barrier) {
  using Form = detail::LoadForm<kCountedBy>;
  asm volatile(
      "cp.async.bulk.tensor.2d.%5.global.tile.mbarrier::complete_tx::bytes%6 [%0], [%1, {%2, %3}], [%4];" ::"r"(destination),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(barrier), "C"(Form::kDestination), "C"(Form::kGroup)
      : "memory");
}
template <CountedBy kCountedBy = CountedBy::FilledCta>
__device__ __forceinline__ void loadTile3d(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2,
                                           uint32_t barrier) {
  using Form = detail::LoadForm<kCountedBy>;
  asm volatile(
      "cp.async.bulk.tensor.3d.%6.global.tile.mbarrier::complete_tx::bytes%7 [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(destination),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(x2), "r"(barrier), "C"(Form::kDestination), "C"(Form::kGroup)
      : "memory");
}
__device__ __forceinline__ void loadTile4d(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2, int32_t x3,
                                           uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(
          destination),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(barrier)
      : "memory");
}
/// As above, with a policy of cache_policy.cuh.
__device__ __forceinline__ void loadTile4d(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2, int32_t x3,
                                           uint32_t barrier, uint64_t cachePolicy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cta.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(destination),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(barrier), "l"(cachePolicy)
      : "memory");
}
template <CountedBy kCountedBy = CountedBy::FilledCta>
__device__ __forceinline__ void loadTile5d(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2, int32_t x3,
                                           int32_t x4, uint32_t barrier) {
  using Form = detail::LoadForm<kCountedBy>;
  asm volatile(
      "cp.async.bulk.tensor.5d.%8.global.tile.mbarrier::complete_tx::bytes%9 [%0], [%1, {%2, %3, %4, %5, %6}], [%7];" ::"r"(
          destination),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(barrier), "C"(Form::kDestination),
      "C"(Form::kGroup)
      : "memory");
}

/// As loadTile2d, into the same offset of the shared memory of every CTA of the cluster whose rank is a bit of `ctas`. Each of them
/// has the whole box count towards its own barrier at the offset of `barrier`; with EitherOfPair, towards the one at that offset in
/// the CTA of its pair that has the parity of the CTA that `barrier` is in (PTX ISA 9.7.9.25.5.2).
template <CountedBy kCountedBy = CountedBy::FilledCta>
__device__ __forceinline__ void loadTile2dMulticast(uint32_t destination, const void* map, int32_t x0, int32_t x1, uint32_t barrier,
                                                    uint16_t ctas) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster%6 "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(destination),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(barrier), "h"(ctas), "C"(detail::LoadForm<kCountedBy>::kGroup)
      : "memory");
}
template <CountedBy kCountedBy = CountedBy::FilledCta>
__device__ __forceinline__ void loadTile3dMulticast(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2,
                                                    uint32_t barrier, uint16_t ctas) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster%7 "
      "[%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(destination),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(x2), "r"(barrier), "h"(ctas),
      "C"(detail::LoadForm<kCountedBy>::kGroup)
      : "memory");
}
__device__ __forceinline__ void loadTile4dMulticast(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2,
                                                    int32_t x3, uint32_t barrier, uint16_t ctas) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(destination),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(barrier), "h"(ctas)
      : "memory");
}

/// Loads a column of pixels through an im2col map: from the pixel at (x1, x2) of image `x3` on, or (x1, x2, x3) of `x4`, along the
/// map's bounding box; of each the channels from x0 on at the offsets from there, which move the access but not the walk. Offsets
/// are below 256 in four and below 32 in five dimensions (PTX ISA 5.5.4).
template <CountedBy kCountedBy = CountedBy::FilledCta>
__device__ __forceinline__ void loadPixels4d(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2, int32_t x3,
                                             uint16_t offset1, uint16_t offset2, uint32_t barrier) {
  using Form = detail::LoadForm<kCountedBy>;
  asm volatile(
      "cp.async.bulk.tensor.4d.%9.global.im2col.mbarrier::complete_tx::bytes%10 "
      "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::"r"(destination),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(barrier), "h"(offset1), "h"(offset2),
      "C"(Form::kDestination), "C"(Form::kGroup)
      : "memory");
}
template <CountedBy kCountedBy = CountedBy::FilledCta>
__device__ __forceinline__ void loadPixels5d(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2, int32_t x3,
                                             int32_t x4, uint16_t offset1, uint16_t offset2, uint16_t offset3, uint32_t barrier) {
  using Form = detail::LoadForm<kCountedBy>;
  asm volatile(
      "cp.async.bulk.tensor.5d.%11.global.im2col.mbarrier::complete_tx::bytes%12 "
      "[%0], [%1, {%2, %3, %4, %5, %6}], [%7], {%8, %9, %10};" ::"r"(destination),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(barrier), "h"(offset1), "h"(offset2),
      "h"(offset3), "C"(Form::kDestination), "C"(Form::kGroup)
      : "memory");
}

/// As loadPixels4d, into the same offset of the shared memory of every CTA of `ctas`, as loadTile2dMulticast has it.
__device__ __forceinline__ void loadPixels4dMulticast(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2,
                                                      int32_t x3, uint16_t offset1, uint16_t offset2, uint32_t barrier,
                                                      uint16_t ctas) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8}, %9;" ::"r"(destination),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(barrier), "h"(offset1), "h"(offset2), "h"(ctas)
      : "memory");
}
__device__ __forceinline__ void loadPixels5dMulticast(uint32_t destination, const void* map, int32_t x0, int32_t x1, int32_t x2,
                                                      int32_t x3, int32_t x4, uint16_t offset1, uint16_t offset2, uint16_t offset3,
                                                      uint32_t barrier, uint16_t ctas) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3, %4, %5, %6}], [%7], {%8, %9, %10}, %11;" ::"r"(destination),
      "l"(reinterpret_cast<uint64_t>(map)), "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(barrier), "h"(offset1), "h"(offset2),
      "h"(offset3), "h"(ctas)
      : "memory");
}

/// Copies `bytes` (a multiple of 16; both ends 16-byte aligned) as they are.
__device__ __forceinline__ void loadBytes(uint32_t destination, const void* source, uint32_t bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(destination),
               "l"(__cvta_generic_to_global(source)), "r"(bytes), "r"(barrier)
               : "memory");
}

/// Stores the box at (x0, x1); elements outside the tensor are dropped. Completion through bulkCommitGroup.
__device__ __forceinline__ void storeTile2d(const void* map, int32_t x0, int32_t x1, uint32_t source) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(reinterpret_cast<uint64_t>(map)),
      "r"(x0), "r"(x1), "r"(source)
      : "memory");
}
__device__ __forceinline__ void storeTile3d(const void* map, int32_t x0, int32_t x1, int32_t x2, uint32_t source) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(reinterpret_cast<uint64_t>(map)),
      "r"(x0), "r"(x1), "r"(x2), "r"(source)
      : "memory");
}
__device__ __forceinline__ void storeTile4d(const void* map, int32_t x0, int32_t x1, int32_t x2, int32_t x3, uint32_t source) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(
                   reinterpret_cast<uint64_t>(map)),
               "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(source)
               : "memory");
}
__device__ __forceinline__ void storeTile5d(const void* map, int32_t x0, int32_t x1, int32_t x2, int32_t x3, int32_t x4,
                                            uint32_t source) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3, %4, %5}], [%6];" ::"l"(
                   reinterpret_cast<uint64_t>(map)),
               "r"(x0), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(source)
               : "memory");
}
/// Closes the group of this thread's earlier bulk stores.
__device__ __forceinline__ void bulkCommitGroup() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Until at most `kPending` groups of this thread still read their sources.
template <int kPending>
__device__ __forceinline__ void bulkWaitGroupRead() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
/// Until at most `kPending` groups of this thread are incomplete.
template <int kPending>
__device__ __forceinline__ void bulkWaitGroup() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Publishes this thread's earlier stores to shared memory to bulk copies and matrix instructions (PTX ISA 9.7.13.4).
__device__ __forceinline__ void fenceProxyAsyncShared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace shiftconv::ptx
