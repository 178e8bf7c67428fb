// Outputs of 8 bits of a tile whose pixels were operand A (PixelShape), as rows of channels in shared memory, one for each pixel.
//
// A thread has two neighbouring channels of a pixel, and two that are 8 further: once they are bytes, half of a word each. Two
// shuffles in the four lanes of a pixel bring each lane four neighbouring channels, a word of the row.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/ptx/matrix_move.cuh"
#include "conv/algorithms/halo/own_channels.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/pixel_rows.cuh"
#include "conv/kernels/byte_channels.cuh"

namespace shiftconv::kernels::halo {

/// Of words with channels 2t, 2t + 1, 2t + 8 and 2t + 9 (t = lane % 4): channels 4t to 4t + 3.
__device__ __forceinline__ uint32_t neighbouringBytes(uint32_t word) {
  constexpr uint32_t kAll = 0xffffffffu, kFirstHalves = 0x5410, kSecondHalves = 0x7632;
  const uint32_t lane = threadIdx.x % 32, even = (lane & ~3u) | (lane % 2 * 2);
  const uint32_t low = __shfl_sync(kAll, word, static_cast<int>(even)), high = __shfl_sync(kAll, word, static_cast<int>(even + 1));
  return __byte_perm(low, high, lane % 4 < 2 ? kFirstHalves : kSecondHalves);
}

/// The opposite.
__device__ __forceinline__ uint32_t ownBytes(uint32_t word) {
  constexpr uint32_t kAll = 0xffffffffu, kFirstHalves = 0x5410, kSecondHalves = 0x7632;
  const uint32_t lane = threadIdx.x % 32, first = (lane & ~3u) | (lane % 4 / 2);
  const uint32_t low = __shfl_sync(kAll, word, static_cast<int>(first)),
                 high = __shfl_sync(kAll, word, static_cast<int>(first + 2));
  return __byte_perm(low, high, lane % 2 == 0 ? kFirstHalves : kSecondHalves);
}

/// Vectors of 16 channels of a tile from kFirst to kEnd, in pieces of which the first begins with kFirst. A residual is there
/// already: each matrix is read, added to, and written in its place by the same warp.
template <int kFirst, int kEnd, class Cta, int kBlocks>
__device__ __forceinline__ void stagePixelBytes(const Cta& cta, const typename Cta::Sum (&d)[kBlocks][Cta::S::kSums],
                                                const SpreadChannels<Cta::S::kWidth>& own, uint32_t destination) {
  using S = typename Cta::S;
  constexpr bool kIntegers = std::is_same_v<typename Cta::Sum, int32_t>;
  constexpr int kPixels = 2 * kBlocks;                  // of a lane, 8 or 64 apart
  constexpr int kRowVectors = S::kStagedRowBytes / 16;  // of a staged row
  static_assert(S::kWidth % 16 == 0 && kBlocks <= 2, "four matrices at most");
  const Params& p = cta.params;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  // Matrix m of a store: of block m / 2, pixels 8 * (m % 2).. of the warp's 16. This lane gives the address of pixel lane % 8 of
  // matrix lane / 8.
  const uint32_t matrix = lane / 8 % kPixels;
  const uint32_t row = stagedRow(p, matrix / 2 * kBlockPixels + warp * 16 + matrix % 2 * 8 + lane % 8);
  const auto take = [&](int vector, ByteChannel(&channels)[4], float(&v)[4 * kPixels]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) channels[i] = own.at(vector * 16, lane % 4 * 2 + static_cast<uint32_t>(i / 2 * 8 + i % 2));
#pragma unroll
    for (int i = 0; i < 4 * kPixels; ++i) v[i] = static_cast<float>(d[i / 8][vector * 8 + i % 4 / 2 * 4 + i / 4 % 2 * 2 + i % 2]);
  };
  const auto address = [&](int vector) {
    const uint32_t piece = destination + (vector - kFirst) / kRowVectors * S::kPieceBytes;
    return pixelVector<S::kStagedRowBytes>(piece, row, vector % kRowVectors);
  };
  const auto stageVector = [&](int vector, uint32_t(&words)[kPixels]) {
#pragma unroll
    for (uint32_t& word : words) word = neighbouringBytes(word);
    const uint32_t to = address(vector);
    if constexpr (kPixels == 4)
      ptx::storeMatrices(to, words);
    else
      ptx::storeMatrices(to, words[0], words[1]);
  };
  const auto loadResidual = [&](int vector, uint32_t(&words)[kPixels]) {
    uint32_t matrices[4];
    if constexpr (kPixels == 4)
      ptx::loadMatrices(matrices, address(vector));
    else
      ptx::loadTwoMatrices(matrices, address(vector));
#pragma unroll
    for (int i = 0; i < kPixels; ++i) words[i] = ownBytes(matrices[i]);
  };
  const auto stageEach = [&](auto&& pack) {
#pragma unroll
    for (int vector = kFirst; vector < kEnd; ++vector) {
      ByteChannel channels[4];
      float v[4 * kPixels];
      uint32_t words[kPixels] = {};
      if constexpr (Cta::kResidual) loadResidual(vector, words);
      take(vector, channels, v);
      pack(channels, v, words);
      stageVector(vector, words);
    }
  };
  const gemm::EpilogueParams& e = p.full.epilogue;
  using FourChannels = const ByteChannel(&)[4];
  using Numbers = float(&)[4 * kPixels];
  using Words = uint32_t(&)[kPixels];
  const auto stageLean = [&]<Lean kLean>() {
    stageEach([&](FourChannels channels, Numbers v, Words words) { packChannels<kIntegers, kLean>(e, channels, v, words); });
  };
  if constexpr (Cta::kResidual) {
    if (p.residual.order == ResidualOrder::AfterSilu)
      stageLean.template operator()<Lean::SiluResidual>();
    else
      stageLean.template operator()<Lean::Residual>();
  } else if (p.full.lean == Lean::Rectified) {
    stageLean.template operator()<Lean::Rectified>();
  } else if (p.full.lean == Lean::Silu) {
    stageLean.template operator()<Lean::Silu>();
  } else if (p.full.lean == Lean::Ramp) {
    stageLean.template operator()<Lean::Ramp>();
  } else if (p.full.lean == Lean::Clamp) {
    stageLean.template operator()<Lean::Clamp>();
  } else {
    // Activations are long: once in the program. Sums are indexed by constants only, so that they stay in registers.
#pragma unroll 1
    for (int vector = kFirst; vector < kEnd; ++vector) {
      ByteChannel channels[4];
      float v[4 * kPixels];
#pragma unroll
      for (int taken = kFirst; taken < kEnd; ++taken)
        if (taken == vector) take(taken, channels, v);
      uint32_t words[kPixels];
      packChannels<kIntegers, Lean::No>(e, channels, v, words);
      stageVector(vector, words);
    }
  }
}

}  // namespace shiftconv::kernels::halo
