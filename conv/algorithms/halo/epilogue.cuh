// The whole fused epilogue after halo: gemm::EpilogueParams, every output type, any number of channels.
//
// A thread has the sums of two channels and of many pixels, but the epilogue wants neighbouring channels of a pixel. Each warp
// turns 16 channels x 32 pixels at a time through shared memory of its own, so that no warp waits for another, and stores from
// registers. Two lanes have a pixel, 8 channels each.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/epilogue/store.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/wgmma_store.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/tile.cuh"
#include "conv/kernels/wgmma_kinds.cuh"

namespace shiftconv::kernels::halo {

/// A warpgroup's sums of channel blocks firstBlock.. of a tile. `turning`: kTurningBytes of shared memory for this warp, 16-byte
/// aligned.
template <int kBlocks, int kTileN, class Sum>
__device__ __forceinline__ void storeFull(const Params& p, const Sum (&d)[kBlocks][kTileN / 2], const TileOrigin& origin,
                                          int32_t firstBlock, uint32_t turning, uint32_t& largest) {
  static_assert(kTileN % kTurnedPixels == 0);
  constexpr int kPieces = kTileN / kTurnedPixels;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll 1
  for (int piece = 0; piece < kBlocks * kPieces; ++piece) {
    // Sums are indexed by constants only, so that they stay in registers.
#pragma unroll
    for (int own = 0; own < kBlocks * kPieces; ++own) {
      if (own != piece) continue;
#pragma unroll
      for (int i = 0; i < kTurnedPixels / 2; ++i) {
        const uint32_t pixel = static_cast<uint32_t>(i / 4 * 8 + i % 2) + 2 * (lane % 4);
        const uint32_t channel = static_cast<uint32_t>(i / 2 % 2) * 8 + lane / 4;
        ptx::wgmmaStoreShared(turning + pixel * kTurningPitch + channel * 4,
                              d[own / kPieces][own % kPieces * (kTurnedPixels / 2) + i]);
      }
    }
    __syncwarp();
    const int32_t column =
        origin.channel + (firstBlock + piece / kPieces) * kBlockChannels + static_cast<int32_t>(warp * 16 + lane % 2 * kSegment);
#pragma unroll 1
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t pixel = half * (kTurnedPixels / 2) + lane / 2;
      const uint32_t source = turning + pixel * kTurningPitch + lane % 2 * (kSegment * 4);
      uint32_t bits[kSegment];
      ptx::loadShared16Bytes(source, bits[0], bits[1], bits[2], bits[3]);
      ptx::loadShared16Bytes(source + 16, bits[4], bits[5], bits[6], bits[7]);
      const int32_t row = outputPixel(p, origin, static_cast<uint32_t>(piece % kPieces * kTurnedPixels) + pixel);
      float values[kSegment];
      gemm::computeSegment(p.full.epilogue, row, column, bits, values, largest);
      gemm::storeSegment(p.full.epilogue, row, column, values);
    }
    __syncwarp();
  }
}

}  // namespace shiftconv::kernels::halo
