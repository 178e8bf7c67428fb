// From the sums of a tile whose pixels were operand A (PixelShape) to its output: bias and ReLU, or what goes with a short
// activation, and conversion to the operands' type, staged as rows of up to 64 channels, one for each pixel. A thread has two
// neighbouring channels of a pixel, as rows want them.
//
// The copy engine stores the rows and drops what is outside the output. Where rows of the output are no multiple of 16 bytes, which
// it cannot store, threads do, neighbours in a row or, of few channels, neighbours in rows that follow each other.
#pragma once

#include <cstdint>
#include <utility>

#include "common/gemm/epilogue/activation.cuh"
#include "common/gemm/epilogue/compute.cuh"
#include "common/gemm/ring.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/matrix_move.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/synchronisation.cuh"
#include "conv/algorithms/halo/cta.cuh"
#include "conv/algorithms/halo/own_channels.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/pixel_bytes.cuh"
#include "conv/algorithms/halo/pixel_rows.cuh"
#include "conv/algorithms/halo/staging.cuh"
#include "conv/algorithms/halo/tile.cuh"
#include "conv/kernels/packing.cuh"

namespace shiftconv::kernels::halo {

/// What becomes of the sums: ReLU or nothing, also after a bias; a bias and SiLU, also with a residual between them; alpha, a bias
/// and gemm::Ramp; everything that kernels with an activation do.
enum class PixelForm { Rectified, Bias, Silu, ResidualSilu, Ramp, Activated };

/// What is done to the sums of this lane's channels of two groups of 8: those that follow channel `first` of the tile, and 8
/// further.
template <class Cta, PixelForm kForm>
struct PixelEpilogue {
  float scale[4] = {1.0f, 1.0f, 1.0f, 1.0f}, bias[4] = {};

  __device__ __forceinline__ PixelEpilogue(const Params& p, const SpreadBias<Cta::S::kWidth>& own, int32_t tileChannel, int first) {
    const gemm::EpilogueParams& e = p.full.epilogue;
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t further = lane % 4 * 2 + static_cast<uint32_t>(i / 2 * 8 + i % 2);
      if constexpr (kForm != PixelForm::Rectified && kForm != PixelForm::Activated) {
        bias[i] = own.at(first, further);
      } else if constexpr (kForm == PixelForm::Activated) {
        const int32_t channel = tileChannel + first + static_cast<int32_t>(further);
        scale[i] = e.alpha;
        if (channel >= p.channels) continue;
        if (e.columnScale != nullptr) scale[i] *= e.columnScale[channel];
        if (e.bias != nullptr) bias[i] = biasNumber(biasOf(e), channel);
      }
    }
  }

  /// Of every block of pixels kTogether sums: of the first group the two pixels of this lane, two channels each, and of the second.
  template <int kTogether, int kNumbers>
  __device__ __forceinline__ void apply(const Params& p, float (&v)[kNumbers]) const {
    const gemm::Ramp ramp(p.full.epilogue);
#pragma unroll
    for (int i = 0; i < kNumbers; ++i) {
      const int channel = i % kTogether / 4 * 2 + i % 2;
      if constexpr (kForm == PixelForm::Activated)
        v[i] = fmaf(v[i], scale[channel], bias[channel]);
      else if constexpr (kForm == PixelForm::Ramp)
        v[i] = ramp.of(fmaf(v[i], p.full.epilogue.alpha, bias[channel]));
      else if constexpr (kForm != PixelForm::Rectified)
        v[i] += bias[channel];
    }
    if constexpr (kForm == PixelForm::Activated) gemm::activate(p.full.epilogue, v);
    if constexpr (kForm == PixelForm::Silu) gemm::silu(v);
  }
};

/// Groups of 8 channels of a tile from kFirst to kEnd, in rows that begin with the first of them. A residual is there already, in
/// the same form: each matrix is read, added to, and written in its place by the same warp.
template <PixelForm kForm, int kFirst, int kEnd, class Cta, int kBlocks>
__device__ __forceinline__ void stagePixels(const Cta& cta, const typename Cta::Sum (&d)[kBlocks][Cta::S::kSums],
                                            const SpreadBias<Cta::S::kWidth>& own, int32_t firstChannel, uint32_t destination) {
  using S = typename Cta::S;
  using Element = typename Cta::Element;
  const Params& p = cta.params;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
  // Matrix m of a store: pixels 8 * (m % 2).. of the warp's 16, channels 8 * (m / 2).. of 16. This lane gives the address of
  // pixel lane % 8 of matrix lane / 8.
  const uint32_t matrix = lane / 8;
  uint32_t row[kBlocks];
#pragma unroll
  for (int block = 0; block < kBlocks; ++block)
    row[block] = stagedRow(p, block * kBlockPixels + warp * 16 + matrix % 2 * 8 + lane % 8);
  constexpr int kVectors = S::kStagedRowBytes / 16;      // groups of a staged row
  constexpr int kTogether = kEnd - kFirst == 1 ? 4 : 8;  // sums of a thread of two groups, for each block
  static_assert(!Cta::kResidual || kTogether == 8, "four matrices a time");
  const auto sumsOf = [&](int group, float(&v)[kBlocks * kTogether]) {
#pragma unroll
    for (int i = 0; i < kBlocks * kTogether; ++i) v[i] = d[i / kTogether][group * 4 + i % kTogether];
  };
  const auto address = [&](int group, int block) {
    const uint32_t piece = destination + (group - kFirst) / kVectors * S::kPieceBytes;
    return pixelVector<S::kStagedRowBytes>(piece, row[block], kTogether == 4 ? 0 : group % kVectors + matrix / 2);
  };
  uint32_t residual[2][kBlocks][4] = {};  // of a pair of groups and, under way, of the next
  const auto loadResidual = [&](int group) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block)
      if (group < kEnd) ptx::loadMatrices(residual[group / 2 % 2][block], address(group, block));
  };
  const auto stageGroups = [&](int group, float(&v)[kBlocks * kTogether]) {
    PixelEpilogue<Cta, kForm>(p, own, firstChannel, group * 8).template apply<kTogether>(p, v);
    const auto add = [&](int block, int i) {
      const int first = block * kTogether + i * 2;
      addResidual<Element>(v[first], v[first + 1], p.residual.beta, residual[group / 2 % 2][block][i]);
    };
    if constexpr (kForm == PixelForm::ResidualSilu) {
#pragma unroll
      for (int i = 0; i < kBlocks * kTogether / 2; ++i) add(i / (kTogether / 2), i % (kTogether / 2));
      gemm::silu(v);
    }
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      uint32_t packed[kTogether / 2];
#pragma unroll
      for (int i = 0; i < kTogether / 2; ++i) {
        const int first = block * kTogether + i * 2;
        if constexpr (Cta::kResidual && kForm != PixelForm::ResidualSilu) add(block, i);
        packed[i] = limited<Element>(packPair<Element>(v[first], v[first + 1]), p.limits);
      }
      if constexpr (kTogether == 4)
        ptx::storeMatrices(address(group, block), packed[0], packed[1]);
      else
        ptx::storeMatrices(address(group, block), packed);
    }
  };
  if constexpr (kForm == PixelForm::Activated) {
    // Activations are long: once in the program. Sums are indexed by constants only, so that they stay in registers.
#pragma unroll 1
    for (int group = kFirst; group < kEnd; group += 2) {
      float v[kBlocks * kTogether];
#pragma unroll
      for (int own = kFirst; own < kEnd; own += 2)
        if (own == group) sumsOf(own, v);
      stageGroups(group, v);
    }
  } else {
    if constexpr (Cta::kResidual) loadResidual(kFirst);
#pragma unroll
    for (int group = kFirst; group < kEnd; group += 2) {
      if constexpr (Cta::kResidual) loadResidual(group + 2);
      if ((kForm == PixelForm::Silu || kForm == PixelForm::ResidualSilu) && group > kFirst &&
          group * 4 * kBlocks % kSiluSums == 0 && firstChannel + group * 8 >= p.channels)
        return;
      float v[kBlocks * kTogether];
      sumsOf(group, v);
      stageGroups(group, v);
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
  const uint32_t elements = channels * S::kPixelOutputBytes / sizeof(Stored);
  auto* const output = static_cast<uint8_t*>(p.full.epilogue.output) + static_cast<int64_t>(origin.channel) * S::kPixelOutputBytes;
#pragma unroll 1
  for (uint32_t position = thread / lanes; position < S::kTileN; position += pixels) {
    const int32_t pixel = outputPixel(p, origin, position);
    if (pixel < 0) continue;
    const uint32_t row = stagedRow(p, position);
    auto* const to = reinterpret_cast<Stored*>(output + pixel * p.full.epilogue.outputPitch);
#pragma unroll 1
    for (uint32_t element = lane; element < elements; element += lanes) {
      const uint32_t byte = element * sizeof(Stored), piece = byte / S::kStagedRowBytes, inRow = byte % S::kStagedRowBytes;
      const uint32_t from = pixelVector<S::kStagedRowBytes>(staging + piece * S::kPieceBytes, row, inRow / 16);
      to[element] = static_cast<Stored>(ptx::loadShared4Bytes(from + (inRow % 16 & ~3u)) >> (inRow % 4 * 8));
    }
  }
}

/// A warpgroup's tile, each piece through the buffer where its residual has come.
template <class Cta, int kBlocks, class Own>
__device__ __forceinline__ void addToResiduals(const Cta& cta, const typename Cta::Sum (&d)[kBlocks][Cta::S::kSums], const Own& own,
                                               const TileOrigin& origin, uint32_t consumer, gemm::RingPosition& buffer) {
  using S = typename Cta::S;
  constexpr int kGroups = S::kWidth / 8, kOfPiece = S::kPieceChannels / 8;
  const auto& residuals = cta.control->residuals[consumer];
  const auto piece = [&]<int kPiece>() {
    constexpr int kFirst = kPiece * kOfPiece, kEnd = kFirst + kOfPiece <= kGroups ? kFirst + kOfPiece : kGroups;
    residuals.awaitFull(buffer);
    const uint32_t staging = cta.stagingAddress(consumer, buffer);
    if constexpr (Cta::Kind::kElementBytes == 1)
      stagePixelBytes<kFirst / 2, kEnd / 2>(cta, d, own, staging);
    else if (cta.params.residual.order == ResidualOrder::Alone)
      stagePixels<PixelForm::Bias, kFirst, kEnd>(cta, d, own, origin.channel, staging);
    else if (cta.params.residual.order == ResidualOrder::AfterSilu)
      stagePixels<PixelForm::Silu, kFirst, kEnd>(cta, d, own, origin.channel, staging);
    else
      stagePixels<PixelForm::ResidualSilu, kFirst, kEnd>(cta, d, own, origin.channel, staging);
    ptx::fenceProxyAsyncShared();
    release(residuals.empty(buffer));
    buffer.advance(cta.params.residual.stagings);
  };
  [&]<int... kPiece>(std::integer_sequence<int, kPiece...>) { (piece.template operator()<kPiece>(), ...); }
  (std::make_integer_sequence<int, S::kFirstPieces>());
}

/// A warpgroup's tile, through a buffer of its own.
template <class Cta, int kBlocks, class Own>
__device__ void finishPixels(const Cta& cta, const typename Cta::Sum (&d)[kBlocks][Cta::S::kSums], const Own& own,
                             const TileOrigin& origin, uint32_t consumer, typename Cta::ResidualPosition& buffer) {
  using S = typename Cta::S;
  if constexpr (Cta::kResidual) {
    addToResiduals(cta, d, own, origin, consumer, buffer);
    return;
  }
  const Params& p = cta.params;
  constexpr int kGroups = S::kWidth / 8;
  const uint32_t barrier = kConsumer + consumer, staging = cta.staging + consumer * S::kStagingBytes;
  const bool leads = threadIdx.x % 128 == 0;
  if (leads) ptx::bulkWaitGroupRead<0>();  // site: staging_read
  ptx::namedBarrierSync(barrier, 128);     // site: staging_free
  if constexpr (Cta::Kind::kElementBytes == 1) {
    stagePixelBytes<0, S::kWidth / 16>(cta, d, own, staging);
  } else if constexpr (Cta::kActivated) {
    if (p.full.lean == Lean::Silu)
      stagePixels<PixelForm::Silu, 0, kGroups>(cta, d, own, origin.channel, staging);
    else if (p.full.lean == Lean::Ramp)
      stagePixels<PixelForm::Ramp, 0, kGroups>(cta, d, own, origin.channel, staging);
    else
      stagePixels<PixelForm::Activated, 0, kGroups>(cta, d, own, origin.channel, staging);
  } else if (p.bias.numbers != nullptr) {
    stagePixels<PixelForm::Bias, 0, kGroups>(cta, d, own, origin.channel, staging);
  } else {
    stagePixels<PixelForm::Rectified, 0, kGroups>(cta, d, own, origin.channel, staging);
  }
  if (p.storingLanes == 0) {
    ptx::fenceProxyAsyncShared();
    ptx::namedBarrierSync(barrier, 128);
    if (leads)
      for (int32_t piece = 0; piece < S::kFirstPieces; ++piece)
        cta.storeTile(origin, piece * S::kPieceChannels, staging + piece * S::kPieceBytes);
  } else {
    ptx::namedBarrierSync(barrier, 128);  // site: rows_staged
    if (p.storedBytes == 4)
      storeRows<uint32_t>(cta, origin, staging);
    else if (S::kPixelOutputBytes == 2 || p.storedBytes == 2)
      storeRows<uint16_t>(cta, origin, staging);
    else
      storeRows<uint8_t>(cta, origin, staging);
  }
}

}  // namespace shiftconv::kernels::halo
