// From the sums of a tile whose pixels were operand A (PixelShape) to its output: bias, ReLU and conversion to the operands' type,
// staged as rows of up to 64 channels, one for each pixel. A thread has two neighbouring channels of a pixel, as rows want them.
//
// The copy engine stores the rows and drops what is outside the output. Where rows of the output are no multiple of 16 bytes, which
// it cannot store, threads do, neighbours in a row or, of few channels, neighbours in rows that follow each other.
#pragma once

#include <cstdint>

#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/matrix_move.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/synchronisation.cuh"
#include "conv/algorithms/halo/cta.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/staging.cuh"
#include "conv/algorithms/halo/tile.cuh"
#include "conv/kernels/packing.cuh"

namespace shiftconv::kernels::halo {

/// Address of 16 bytes of channels of a staged row of kBytes, in the copy engine's swizzle of that width.
template <uint32_t kBytes>
__device__ __forceinline__ uint32_t pixelVector(uint32_t destination, uint32_t row, uint32_t vector) {
  constexpr uint32_t kVectors = kBytes / 16;  // the pattern repeats after 8 * kBytes
  return destination + row * kBytes + ((vector ^ (row * kVectors / 8 % kVectors)) * 16);
}

/// The staged row of a position of a tile: in flat tiles pixels come first.
__device__ __forceinline__ uint32_t stagedRow(const Params& p, uint32_t position) {
  return p.flatPitch.divisor == 1 ? position : flatRow(p, position);
}

template <bool kBias, class Cta, int kBlocks>
__device__ __forceinline__ void stagePixels(const Cta& cta, const typename Cta::Sum (&d)[kBlocks][Cta::S::kSums],
                                            int32_t firstChannel, uint32_t destination) {
  using S = typename Cta::S;
  using Element = typename Cta::Element;
  const Params& p = cta.params;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  const uint32_t least = leastPair<Element>(p.relu);
  // Matrix m of a store: pixels 8 * (m % 2).. of the warp's 16, channels 8 * (m / 2).. of 16. This lane gives the address of
  // pixel lane % 8 of matrix lane / 8.
  const uint32_t matrix = lane / 8;
  uint32_t row[kBlocks];
#pragma unroll
  for (int block = 0; block < kBlocks; ++block)
    row[block] = stagedRow(p, block * kBlockPixels + warp * 16 + matrix % 2 * 8 + lane % 8);
  constexpr int kGroups = S::kWidth / 8, kVectors = S::kStagedRowBytes / 16;  // of 8 channels: of a tile, and of a staged row
#pragma unroll
  for (int group = 0; group < kGroups; group += 2) {
    float bias[4] = {};
    if constexpr (kBias) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int32_t channel = firstChannel + (group + i / 2) * 8 + static_cast<int32_t>(lane % 4 * 2) + i % 2;
        if (channel < p.channels) bias[i] = p.bias[channel];
      }
    }
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const auto packed = [&](int further, int half) {
        const int first = (group + further) * 4 + half * 2;
        return atLeast<Element>(packPair<Element>(d[block][first] + bias[2 * further], d[block][first + 1] + bias[2 * further + 1]),
                                least);
      };
      const uint32_t part = destination + group / kVectors * (S::kTileN * S::kStagedRowBytes);
      if constexpr (kGroups == 1) {
        ptx::storeMatrices(pixelVector<S::kStagedRowBytes>(part, row[block], 0), packed(0, 0), packed(0, 1));
      } else {
        const uint32_t to = pixelVector<S::kStagedRowBytes>(part, row[block], group % kVectors + matrix / 2);
        ptx::storeMatrices(to, {packed(0, 0), packed(0, 1), packed(1, 0), packed(1, 1)});
      }
    }
  }
}

/// Staged rows, by ordinary stores of kElementBytes.
template <class Stored, class Cta>
__device__ void storeRows(const Cta& cta, const TileOrigin& origin, uint32_t staging) {
  using S = typename Cta::S;
  const Params& p = cta.params;
  const uint32_t lanes = static_cast<uint32_t>(p.storingLanes), thread = threadIdx.x % 128;
  const uint32_t lane = thread & (lanes - 1), pixels = 128 / lanes;
  const uint32_t channels = min(S::kWidth, p.channels - origin.channel);
  const uint32_t elements = channels * 2 / sizeof(Stored);
  auto* const output = static_cast<uint8_t*>(p.full.epilogue.output) + static_cast<int64_t>(origin.channel) * 2;
#pragma unroll 1
  for (uint32_t position = thread / lanes; position < S::kTileN; position += pixels) {
    const int32_t pixel = outputPixel(p, origin, position);
    if (pixel < 0) continue;
    const uint32_t row = stagedRow(p, position);
    auto* const to = reinterpret_cast<Stored*>(output + pixel * p.full.epilogue.outputPitch);
#pragma unroll 1
    for (uint32_t element = lane; element < elements; element += lanes) {
      const uint32_t byte = element * sizeof(Stored), part = byte / S::kStagedRowBytes, inRow = byte % S::kStagedRowBytes;
      const uint32_t from = pixelVector<S::kStagedRowBytes>(staging + part * (S::kTileN * S::kStagedRowBytes), row, inRow / 16);
      to[element] = static_cast<Stored>(ptx::loadShared4Bytes(from + (inRow % 16 & ~3u)) >> (inRow % 4 * 8));
    }
  }
}

/// A warpgroup's tile, through a buffer of its own.
template <class Cta, int kBlocks>
__device__ void finishPixels(const Cta& cta, const typename Cta::Sum (&d)[kBlocks][Cta::S::kSums], const TileOrigin& origin,
                             uint32_t consumer) {
  using S = typename Cta::S;
  const Params& p = cta.params;
  const uint32_t barrier = kConsumer + consumer, staging = cta.staging + consumer * S::kStagingBytes;
  const bool leads = threadIdx.x % 128 == 0;
  if (leads) ptx::bulkWaitGroupRead<0>();  // site: staging_read
  ptx::namedBarrierSync(barrier, 128);     // site: staging_free
  if (p.bias != nullptr)
    stagePixels<true>(cta, d, origin.channel, staging);
  else
    stagePixels<false>(cta, d, origin.channel, staging);
  if (p.storingLanes == 0) {
    ptx::fenceProxyAsyncShared();
    ptx::namedBarrierSync(barrier, 128);
    if (leads)
      for (int32_t channel = 0; channel < S::kWidth; channel += kBlockChannels)
        cta.storeTile(origin, channel, staging + channel / kBlockChannels * (S::kTileN * S::kStagedRowBytes));
  } else {
    ptx::namedBarrierSync(barrier, 128);  // site: rows_staged
    if (p.storedBytes == 4)
      storeRows<uint32_t>(cta, origin, staging);
    else
      storeRows<uint16_t>(cta, origin, staging);
  }
}

}  // namespace shiftconv::kernels::halo
