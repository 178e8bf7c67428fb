// From the sums of a halo tile to its output: added up over the cluster, staged, and stored by the copy engine.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "common/gemm/ring.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/wgmma.cuh"
#include "conv/algorithms/halo/activation.cuh"
#include "conv/algorithms/halo/bytes.cuh"
#include "conv/algorithms/halo/converted.cuh"
#include "conv/algorithms/halo/cta.cuh"
#include "conv/algorithms/halo/own_channels.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/products.cuh"
#include "conv/algorithms/halo/staging.cuh"
#include "conv/kernels/cluster_sums.cuh"
#include "conv/kernels/lean.cuh"

namespace shiftconv::kernels::halo {

// ---- Staging and storing ------------------------------------------------------------------------------------------------------
/// With scales, a bias and an activation: the most frequent ones in one piece with the stores, the others before them.
template <int kPixels, bool kMayBeFlat, class Cta, int kRegisters>
__device__ __forceinline__ void stageActivated(const Cta& cta, const typename Cta::Sum (&d)[kRegisters],
                                               const OwnChannelsOf<Cta>& own, int32_t firstChannel, uint32_t destination) {
  using Element = typename Cta::Element;
  constexpr bool kIntegers = std::is_same_v<typename Cta::Sum, int32_t>, kBytes = Cta::Kind::kElementBytes == 1;
  const Params& p = cta.params;
  const gemm::EpilogueParams& e = p.full.epilogue;
  if constexpr (kBytes) {
    const auto stageLean = [&]<Lean kLean>() {
      const LeanCodes<kIntegers, kLean> codes(e, own);
      stageCodes<kPixels, kMayBeFlat>(p, destination, [&](int i) { return codes.of(d, i); });
    };
    if (p.full.lean == Lean::Rectified) return stageLean.template operator()<Lean::Rectified>();
    if (p.full.lean == Lean::Silu) return stageLean.template operator()<Lean::Silu>();
    if (p.full.lean == Lean::Ramp) return stageLean.template operator()<Lean::Ramp>();
    if (p.full.lean == Lean::Clamp) return stageLean.template operator()<Lean::Clamp>();
  } else {
    if (p.full.lean == Lean::Silu) return stageBlock<Element, kPixels, kMayBeFlat, BlockForm::Silu>(p, d, own, destination);
    if (p.full.lean == Lean::Ramp)
      return stageBlock<Element, kPixels, kMayBeFlat, BlockForm::Ramp>(p, d, allOf(e, own, firstChannel), destination);
    if constexpr (Cta::S::kConsumers < 3)  // with three, ptxas spills
      if (e.activation == gemm::Activation::GeluErf)
        return stageBlock<Element, kPixels, kMayBeFlat, BlockForm::Gelu>(p, d, allOf(e, own, firstChannel), destination);
  }
  float v[kRegisters];
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) {
    if constexpr (kIntegers)
      v[i] = __int2float_rn(d[i]);
    else
      v[i] = d[i];
  }
  activate<Cta::S::kConsumers == 3 ? 8 : 16>(e, allOf(e, own, firstChannel), v);
  if constexpr (!kBytes)
    stageBlock<Element, kPixels, kMayBeFlat, BlockForm::Sums>(p, v, own, destination);
  else if (e.outputType == gemm::NumberType::F16)
    stageBlock<__half, kPixels, kMayBeFlat, BlockForm::Sums>(p, v, own, destination);
  else if (e.outputType == gemm::NumberType::BF16)
    stageBlock<__nv_bfloat16, kPixels, kMayBeFlat, BlockForm::Sums>(p, v, own, destination);
  else
    stageCodes<kPixels, kMayBeFlat>(
        p, destination, [&, codes = ByteCodes<kIntegers>(e)](int i) { return codes.of(v[i], v[i + 1], v[i + 2], v[i + 3]); });
}

/// Of bytes, over a residual.
template <Lean kLean, int kPixels, bool kMayBeFlat, class Cta, int kRegisters>
__device__ __forceinline__ void stageOverResidual(const Cta& cta, const typename Cta::Sum (&d)[kRegisters],
                                                  const OwnChannelsOf<Cta>& own, uint32_t destination) {
  const LeanCodes<std::is_same_v<typename Cta::Sum, int32_t>, kLean> codes(cta.params.full.epilogue, own);
  stageCodesOverResidual<kPixels, kMayBeFlat>(cta.params, destination,
                                              [&](int i, uint32_t residual) { return codes.of(d, i, residual); });
}

/// `blockChannel`: of the channel block, after the tile's first.
template <int kPixels, bool kMayBeFlat, class Cta, int kRegisters>
__device__ __forceinline__ void stage(const Cta& cta, const typename Cta::Sum (&d)[kRegisters], const OwnChannelsOf<Cta>& own,
                                      const TileOrigin& origin, int32_t blockChannel, uint32_t destination,
                                      typename Cta::Largest& largest) {
  using Element = typename Cta::Element;
  if constexpr (Cta::kConverts)
    stageConverted<kPixels, kMayBeFlat>(cta, d, own, origin, blockChannel, destination, largest);
  else if constexpr (Cta::kActivated)
    stageActivated<kPixels, kMayBeFlat>(cta, d, own, origin.channel + blockChannel, destination);
  else if constexpr (!Cta::kResidual)
    stageBlock<Element, kPixels, kMayBeFlat, BlockForm::Bias>(cta.params, d, own, destination);
  else if constexpr (Cta::Kind::kElementBytes == 1) {
    const FullEpilogue& full = cta.params.full;
    if (full.lean == Lean::Residual)
      stageOverResidual<Lean::Residual, kPixels, kMayBeFlat>(cta, d, own, destination);
    else if (full.lean == Lean::SiluResidual)
      stageOverResidual<Lean::SiluResidual, kPixels, kMayBeFlat>(cta, d, own, destination);
    else if constexpr (mayAddHalves(Cta::S::kTileN, Cta::S::kOverBox)) {
      if (full.epilogue.outputType == gemm::NumberType::F16)
        stageBlock<__half, kPixels, kMayBeFlat, BlockForm::ScaledResidual>(cta.params, d, own, destination);
      else
        stageBlock<__nv_bfloat16, kPixels, kMayBeFlat, BlockForm::ScaledResidual>(cta.params, d, own, destination);
    }
  } else if (cta.params.residual.order == ResidualOrder::Alone)
    stageBlock<Element, kPixels, kMayBeFlat, BlockForm::Residual>(cta.params, d, own, destination);
  else if constexpr (Cta::S::kStageBlocks < 5) {
    if (cta.params.residual.order == ResidualOrder::AfterSilu)
      stageBlock<Element, kPixels, kMayBeFlat, BlockForm::SiluResidual>(cta.params, d, own, destination);
    else
      stageBlock<Element, kPixels, kMayBeFlat, BlockForm::ResidualSilu>(cta.params, d, own, destination);
  }
}

/// One channel block, through a buffer from which all but `kPendingStores` earlier stores have read; or, with a residual, through
/// the one where that has come.
template <int kPixels, bool kMayBeFlat, int kPendingStores, class Cta, int kRegisters>
__device__ __forceinline__ void finishBlock(const Cta& cta, const typename Cta::Sum (&d)[kRegisters], const OwnChannelsOf<Cta>& own,
                                            const TileOrigin& origin, int32_t blockChannel, uint32_t consumer, uint32_t staging,
                                            typename Cta::ResidualPosition& buffer, typename Cta::Largest& largest) {
  if constexpr (Cta::kResidual) {
    const auto& residuals = cta.control->residuals[consumer];
    residuals.awaitFull(buffer);
    stage<kPixels, kMayBeFlat>(cta, d, own, origin, blockChannel, cta.stagingAddress(consumer, buffer), largest);
    ptx::fenceProxyAsyncShared();
    release(residuals.empty(buffer));
    buffer.advance(cta.params.residual.stagings);
    return;
  }
  const uint32_t barrier = kConsumer + consumer;
  const bool leads = threadIdx.x % 128 == 0;
  if (leads) ptx::bulkWaitGroupRead<kPendingStores>();  // site: staging_read
  ptx::namedBarrierSync(barrier, 128);                  // site: staging_free
  stage<kPixels, kMayBeFlat>(cta, d, own, origin, blockChannel, staging, largest);
  ptx::fenceProxyAsyncShared();
  ptx::namedBarrierSync(barrier, 128);
  if (leads) cta.template storeTile<kPixels>(origin, blockChannel, staging);
}

template <class Cta, int kBlocks>
__device__ void finish(const Cta& cta, const typename Cta::Sum (&d)[kBlocks][Cta::S::kSums], const OwnBlocks<kBlocks, Cta>& own,
                       const TileOrigin& origin, uint32_t consumer, uint32_t firstBlock, const gemm::RingPosition& slot,
                       typename Cta::ResidualPosition& buffer, typename Cta::Largest& largest) {
  using S = typename Cta::S;
  Control& control = *cta.control;
  if constexpr (S::kOverBox) {
    if constexpr (Cta::kResidual) {
      if (threadIdx.x % 32 == 0) ptx::mbarrierArrive(control.residuals[consumer].empty(buffer));  // this warp has read the box
      control.residuals[consumer].awaitFull(buffer);
      buffer.advance(1);
    } else {
      ptx::namedBarrierSync(kConsumer + consumer, 128);  // all four warps have read the box
    }
    stage<S::kTileN, true>(cta, d[0], own.of[0], origin, 0, cta.boxAddress(slot.index), largest);
    ptx::fenceProxyAsyncShared();
    release(control.boxes.empty(slot));
  } else {
    const uint32_t staging = cta.staging + consumer * cta.stagedBytes(S::kTileN);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      finishBlock<S::kTileN, true, 0>(cta, d[block], own.of[block], origin,
                                      (static_cast<int32_t>(firstBlock) + block) * kBlockChannels, consumer, staging, buffer,
                                      largest);
    }
  }
}

// ---- Reduction over the cluster ----------------------------------------------------------------------------------------------
/// True in the CTA that has this warpgroup's sums of all ranks afterwards.
template <class Cta, int kBlocks>
__device__ bool addUp(const Cta& cta, typename Cta::Sum (&d)[kBlocks][Cta::S::kSums], uint32_t consumer) {
  const uint32_t place = cta.receivedSums(consumer, accumulatorBytes(kBlocks, Cta::S::kWidth));
  return addUpAtOwner<kBlocks * Cta::S::kSums>(&d[0][0], place, cta.rank, cta.params.split, cta.ownerOf(consumer),
                                               cta.sumsBarrier(consumer));
}

/// Between two ranks: the first finishes the first half of the rows of every block, the second the other half.
template <class Cta, int kBlocks>
__device__ void addAndFinishHalf(const Cta& cta, const typename Cta::Sum (&d)[kBlocks][Cta::S::kSums],
                                 const OwnBlocks<kBlocks, Cta>& own, TileOrigin origin, uint32_t consumer, uint32_t firstBlock,
                                 typename Cta::ResidualPosition& buffer, typename Cta::Largest& largest) {
  using S = typename Cta::S;
#pragma unroll
  for (int block = 0; block < kBlocks; ++block)
    sendHalf(d[block], cta.boxes, cta.rank, firstBlock + block, cta.sumsBarrier(firstBlock + block));
  origin.row += cta.rank * (cta.params.tileRows / 2);
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
    const uint32_t piece = firstBlock + block;
    typename Cta::Sum kept[S::kSums / 2];
    keepHalf(d[block], cta.boxes, cta.rank, piece, cta.sumsBarrier(piece), kept);
    // Two halves have room in the buffer of a whole block.
    const uint32_t staging = cta.staging + (2 * consumer + block % 2) * cta.stagedBytes(S::kTileN / 2);
    finishBlock<S::kTileN / 2, false, 1>(cta, kept, own.of[block], origin, static_cast<int32_t>(piece) * kBlockChannels, consumer,
                                         staging, buffer, largest);
  }
}

}  // namespace shiftconv::kernels::halo
