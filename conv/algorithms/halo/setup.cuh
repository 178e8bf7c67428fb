// Before the roles of a halo CTA begin: barriers, and what threads write into shared memory.
#pragma once

#include <cstdint>

#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/synchronisation.cuh"
#include "conv/algorithms/halo/cta.cuh"
#include "conv/algorithms/halo/params.hpp"

namespace shiftconv::kernels::halo {

template <class Cta>
__device__ void prepareBoxes(const Cta& cta) {
  const Params& p = cta.params;
#pragma unroll 1  // or the code is long, and comes from far
  for (int32_t i = 0; i < p.inputMaps; ++i) ptx::prefetchTensorMap(&cta.inputMaps.of[i]);
  cta.control->boxes.initialise(p.patchSlots, 1, Cta::S::kBoxReaders * (Cta::kShares ? 2 : 1));
  ptx::fenceMbarrierInit();
}

template <class Cta>
__device__ void expectSums(const Cta& cta, uint32_t piece, uint32_t bytes) {
  ptx::mbarrierInit(cta.sumsBarrier(piece), 1);
  ptx::mbarrierArriveExpectBytes(cta.sumsBarrier(piece), bytes);
}
template <class Cta>
__device__ void prepareWeights(const Cta& cta) {
  using S = typename Cta::S;
  const Params& p = cta.params;
  ptx::prefetchTensorMap(&cta.filterMap);
  cta.control->weights.initialise(p.weightStages, 1, 4 * S::kConsumers);
  if (p.split > 1) {
    constexpr uint32_t kBytes = S::kSums * 128 * sizeof(typename Cta::Sum);  // of a channel block
    if (cta.halves()) {
      for (uint32_t block = 0; block < S::kStageBlocks; ++block) expectSums(cta, block, kBytes / 2);
    } else {
      const uint32_t others = static_cast<uint32_t>(p.split - 1);
      for (uint32_t consumer = 0; consumer < S::kConsumers; ++consumer)
        if (cta.rank == cta.ownerOf(consumer))
          expectSums(cta, consumer, others * kBytes * (consumer == 0 ? S::kFirstBlocks : S::kSecondBlocks));
    }
  }
  ptx::fenceMbarrierInit();
  if constexpr (!Cta::kFull) ptx::prefetchTensorMap(&cta.outputMap);
}

/// The 8 channels of a row of such a matrix from the filter's row, of which a group of 2 or 4 channels fills 4 or 8 bytes.
__device__ __forceinline__ uint4 narrowGroup(const Params& p, uint32_t row, uint32_t column, uint32_t filterRow) {
  const uint32_t words = static_cast<uint32_t>(p.groupChannels) / 2;
  const uint32_t first = row / static_cast<uint32_t>(p.groupChannels) * words - column * 4;  // of the group, from this vector on
  const auto* const from = static_cast<const uint32_t*>(p.filter) + filterRow * words;
  uint32_t value[4];
#pragma unroll
  for (uint32_t i = 0; i < 4; ++i) value[i] = i - first < words ? from[i - first] : 0;
  return make_uint4(value[0], value[1], value[2], value[3]);
}

/// Vector v of the block-diagonal matrices of all taps, which follow one another, each with a row of 128 bytes for every channel of
/// the tile. kNarrow: of groups of 2 and 4 channels. Of wider ones something is loaded in any case: with branches around them loads
/// are not on their way together.
template <class Cta, bool kNarrow>
__device__ __forceinline__ uint4 groupedVector(const Params& p, uint32_t v) {
  constexpr uint32_t kRows = Cta::S::kStageBytes / kRowBytes, kVectorChannels = 16 / Cta::Kind::kElementBytes;
  const uint32_t tap = v / (8 * kRows), row = v / 8 % kRows, column = v % 8;
  const uint32_t channel = blockIdx.y * kRows + row;
  const bool exists = channel < static_cast<uint32_t>(p.channels);
  const uint32_t filterRow = channel * static_cast<uint32_t>(p.taps) + p.tap[tap].filterIndex;
  if constexpr (kNarrow) return exists ? narrowGroup(p, row, column, filterRow) : make_uint4(0, 0, 0, 0);
  const uint32_t groupVectors = static_cast<uint32_t>(p.groupChannels) / kVectorChannels;
  const uint32_t inGroup = column - row / static_cast<uint32_t>(p.groupChannels) * groupVectors;
  const bool isInGroup = exists && inGroup < groupVectors;
  const uint4 value = static_cast<const uint4*>(p.filter)[isInGroup ? filterRow * groupVectors + inGroup : 0];
  return isInGroup ? value : make_uint4(0, 0, 0, 0);
}

/// The block-diagonal matrices, one for each tap, in the layout of the copy engine's 128-byte swizzle. Loads are on their way
/// several at a time: on an H200 a layer with groups of 4 channels took 8.0 us, not 10.6. Those of wider groups have not been timed
/// so; one after the other, in a tree that also differed elsewhere, such layers took 1.2 to 1.8 times as long as recorded before.
template <bool kNarrow, class Cta>
__device__ __forceinline__ void spreadGroups(const Cta& cta, uint32_t helper, uint32_t helpers) {
  constexpr uint32_t kBatch = kNarrow ? 4 : 8, kMatrixVectors = Cta::S::kStageBytes / 16;
  const Params& p = cta.params;
  const uint32_t vectors = static_cast<uint32_t>(p.weightStages) * kMatrixVectors;
  for (uint32_t first = helper; first < vectors; first += kBatch * helpers) {
    uint4 value[kBatch];
#pragma unroll
    for (uint32_t i = 0; i < kBatch; ++i) value[i] = groupedVector<Cta, kNarrow>(p, min(first + i * helpers, vectors - 1));
#pragma unroll
    for (uint32_t i = 0; i < kBatch; ++i) {
      const uint32_t v = first + i * helpers;
      if (v < vectors)
        ptx::storeShared16Bytes(layout::swizzle128(cta.weightAddress(v / kMatrixVectors) + v % kMatrixVectors * 16), value[i].x,
                                value[i].y, value[i].z, value[i].w);
    }
  }
}
template <class Cta>
__device__ void spreadGroupedWeights(const Cta& cta, uint32_t helper, uint32_t helpers) {
  ptx::awaitPrerequisites();
  if constexpr (Cta::Kind::kElementBytes > 1)
    if (cta.params.groupChannels < 8) return spreadGroups<true>(cta, helper, helpers);
  spreadGroups<false>(cta, helper, helpers);
}

/// The multiplying warpgroups, while the others prepare their barriers.
template <class Cta>
__device__ void prepareShared(const Cta& cta) {
  using S = typename Cta::S;
  const Params& p = cta.params;
  constexpr uint32_t kHelpers = 128 * S::kConsumers;
  const uint32_t helper = threadIdx.x - 128;
  for (int32_t i = static_cast<int32_t>(helper); i < p.taps; i += kHelpers) cta.control->tap[i] = p.tap[i];
  // Flat tiles read the pad after their last row there, which has to be zero; other tiles read it for positions that are no
  // output.
  for (int32_t slot = 0; slot < p.patchSlots; ++slot)
    for (uint32_t byte = p.filledBytes + helper * 16; byte < p.patchSlotBytes; byte += kHelpers * 16)
      ptx::storeShared16Bytes(cta.boxAddress(slot) + byte, 0, 0, 0, 0);
  if constexpr (Cta::kResidual && !S::kOverBox) {  // rows that are no output have no residual, but are read and added to
    for (int32_t i = 0; i < S::kConsumers * p.residual.stagings; ++i)
      for (uint32_t byte = p.residual.bytes + helper * 16; byte < p.residual.stagingBytes; byte += kHelpers * 16)
        ptx::storeShared16Bytes(cta.staging + static_cast<uint32_t>(i) * p.residual.stagingBytes + byte, 0, 0, 0, 0);
  }
  if (p.groupChannels > 0) spreadGroupedWeights(cta, helper, kHelpers);
  ptx::fenceProxyAsyncShared();
}

}  // namespace shiftconv::kernels::halo
