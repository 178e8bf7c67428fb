// halo: forward convolution on wgmma in which one box of input pixels in shared memory serves every filter tap.
//
// GEMM view: M = output channels (weights are operand A), N = output pixels (operand B), reduction over chunks of 64 input channels
// and filter taps. Operand B of tap (r, s) is the box that the copy engine brought, started r rows and s pixels further: the
// descriptor's start moves by whole 128-byte rows and nothing is copied again (exact on H200 at any start and any stride of 8-row
// groups, base offset 0). The copy engine fills what lies outside the image with zeros, so there are no masks.
//
// NOTES
//  - Which boxes there are and which taps read them is data (Params::patch and tap): 8-pixel columns, whole rows with the pads
//    between them shared ("flat"), a dense box for each filter column, or a box for each parity of a stride of 2. The planner
//    chooses; the kernel knows only rows of 128 bytes.
//  - Warpgroup 0 loads: warp 0 the boxes, warp 1 the weights, a lane each, so that neither waits for the other's ring. The other
//    warpgroups, one to three, multiply. They read the same boxes and own output channels each (PixelShare::Common), or own pixels
//    each and read the same weights (PixelShare::Separate).
//  - A box is released one tap late, after the first tap of the next, so that the tensor core never drains between them.
//  - Where a tile has one box, its output may be written over it (Staging::OverBox). The loading lane stores it when it is to fill
//    the slot again, and warpgroups that own pixels drift apart, so that one multiplies while the other is at its epilogue.
//  - The reduction may be split over the CTAs of a cluster. Each warpgroup's sums are then added by one CTA in the order of ranks:
//    the same bits every time. Or, between two CTAs, each adds half of the pixels of every block, as that is half as long: of a
//    tile of 320 x 128 the transfer alone takes thousands of clocks.
//  - Of large 1x1 layers two CTAs, a cluster, may have the same pixels and neighbouring tiles of channels (Cta::kShares). They load
//    boxes in turns, for both (multicast), and each tells both what it has read. Weights are each one's own.
//  - With pixels as operand A (PixelShape) nothing is multiplied in vain of few output channels, or of a number that 64 does not
//    divide. Boxes, rings and weights are the same; slices of a last chunk that are zeros are left out.
//  - An activation, alpha, scales of channels and a bias act on the sums in their registers
//    (Epilogue::Activated): kernels of their own, too. So do, in others, an output scale and outputs of another type than the
//    operands' (Epilogue::Converted), which also find the largest output.
//  - A residual of the output's type comes by the copy engine to where the output will be staged (Epilogue::Residual): kernels of
//    their own, as the others are to stay as short as they are.
//  - Where every tile has whole images, the last rows of output find nothing under the last filter row, and its taps leave them out
//    (Shape::kTail): of nine taps on 7 x 7 images 5 %.
#pragma once

#include <cstdint>

#include "common/gemm/ring.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/warp.cuh"
#include "common/ptx/warpgroup.cuh"
#include "conv/algorithms/halo/cta.cuh"
#include "conv/algorithms/halo/epilogue.cuh"
#include "conv/algorithms/halo/loads.cuh"
#include "conv/algorithms/halo/output.cuh"
#include "conv/algorithms/halo/own_channels.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/pixel_output.cuh"
#include "conv/algorithms/halo/products.cuh"
#include "conv/algorithms/halo/residual.cuh"
#include "conv/algorithms/halo/setup.cuh"
#include "conv/algorithms/halo/shape.cuh"
#include "conv/kernels/left_out.cuh"
#include "conv/kernels/wgmma_kinds.cuh"

namespace shiftconv::kernels::halo {

using kernels::BF16, kernels::F16;  // for the macros below

// ---- Multiplication ------------------------------------------------------------------------------------------------------------
/// One warpgroup: channel blocks firstBlock.. of every tile of this CTA.
template <int kBlocks, class Cta>
__device__ void multiply(const Cta& cta, uint32_t consumer, uint32_t firstBlock) {
  using S = typename Cta::S;
  const Params& p = cta.params;
  gemm::RingPosition box, weight, heldBox;
  typename Cta::ResidualPosition residual;
  // From its second tile on a warpgroup is some taps behind the one before it: each then multiplies alone, at full rate, while
  // another is at its epilogue. (In the first tile all wait for the same loads, which would bring them together again; from
  // the second chunk of an only tile on, it gained nothing.)
  const int32_t lagTile = cta.tiles().first + cta.tiles().step;
  typename Cta::Largest largest{};
  if (S::kSeparate && consumer == 1) box.advance(p.patchSlots);
  if constexpr (!Cta::kFull) ptx::awaitPrerequisites();  // bias and scales may be what the run ahead writes
  for (const int32_t tile : cta.tiles()) {
    const auto own = ownOf<kBlocks>(cta, tile, firstBlock);
    typename Cta::Sum d[kBlocks][S::kSums];
    if constexpr (S::kTail > 0) {
      multiplyWholeImages(cta, d[0], box, weight, firstBlock);
    } else {
      heldBox = multiplyTaps(cta, d, box, weight, consumer, firstBlock, tile == lagTile);
    }
    if constexpr (Cta::kFull || Cta::kActivated || Cta::Kind::kElementBytes == 1 || S::kPixelsAreA) hold(d);
    const bool splits = !Cta::kShares && p.split > 1;
    if (splits) ptx::clusterBarrierSync();  // nobody multiplies any more: the rings are free for sums
    if constexpr (!Cta::kFull && S::kMayHalve && !Cta::kShares) {
      if (p.halves) {
        hold(d);
        addAndFinishHalf(cta, d, own, cta.originOf(tile, consumer), consumer, firstBlock, residual, largest);
        break;
      }
    }
    if (splits && !addUp(cta, d, consumer)) break;
    if constexpr (Cta::kFull) {
      const uint32_t warp = threadIdx.x / 32 - 4;
      storeFull<kBlocks, S::kTileN>(p, d, cta.originOf(tile, consumer), static_cast<int32_t>(firstBlock),
                                    cta.staging + warp * kTurningBytes, largest);
    } else if constexpr (S::kPixelsAreA) {
      finishPixels(cta, d, own, cta.originOf(tile, consumer), consumer, residual);
    } else {
      finish(cta, d, own, cta.originOf(tile, consumer), consumer, firstBlock, heldBox, residual, largest);
    }
  }
  if constexpr (Cta::kFull || Cta::kConverts) gemm::mergeLargest(p.full.epilogue, largest);
  if constexpr (!Cta::kFull && !S::kOverBox && !Cta::kResidual) {
    if (threadIdx.x % 128 == 0) ptx::bulkWaitGroupRead<0>();
  }
  if constexpr (Cta::kShares) {
    __syncwarp();               // site: pair_leaves
    ptx::clusterBarrierSync();  // nobody loads for, or tells, a CTA that has left; site: pair_leaves
  }
}

// ---- Roles: a warpgroup of lanes that load, and those that multiply ------------------------------------------------------------
template <class Cta>
__device__ void runRoles(const Cta& cta) {
  using S = typename Cta::S;
  const uint32_t warpgroup = ptx::warpgroupIndex();
  if (warpgroup == 0) {
    if constexpr (S::kConsumers > 1) ptx::releaseRegistersDownTo<Cta::kLoadingRegisters>();
    const uint32_t warp = threadIdx.x / 32;
    if (warp == 0 && ptx::electOne()) prepareBoxes(cta);
    if (warp == 1 && ptx::electOne()) prepareWeights(cta);
    const bool serves = Cta::kResidual && warp >= 2 && warp < 2 + S::kConsumers;
    if (serves && ptx::electOne()) prepareResiduals(cta, warp - 2);
    __syncwarp();  // site: barriers_ready
    if constexpr (Cta::kShares) ptx::clusterBarrierArriveRelaxed();
    // The loading lanes prepared the barriers that they use and go on at once, except where a box reaches into what the others
    // have zeroed. One barrier each way: compute-sanitizer wants a barrier of the whole CTA to be at one place in the program.
    ptx::namedBarrierArrive(kBegin, S::kThreads);
    if (cta.params.boxesDiffer) ptx::namedBarrierSync(kZeroed, S::kThreads);
    if constexpr (Cta::kShares) ptx::clusterBarrierWait();  // site: peer_ready
    if (warp == 0 && ptx::electOne()) loadBoxes(cta);
    if (warp == 1 && ptx::electOne()) loadWeights(cta);
    if (serves && ptx::electOne()) loadFirstResiduals(cta, warp - 2);
    __syncwarp();                                                         // site: loads_issued
    if (Cta::kShares || cta.params.split > 1) ptx::clusterBarrierSync();  // see multiply; site: loaders_meet_cluster
    if (serves && ptx::electOne()) serveResiduals(cta, warp - 2);
  } else {
    if constexpr (S::kConsumers > 1) ptx::claimRegistersUpTo<Cta::kMultiplyingRegisters>();
    prepareShared(cta);
    if (cta.params.boxesDiffer) ptx::namedBarrierArrive(kZeroed, S::kThreads);
    ptx::namedBarrierSync(kBegin, S::kThreads);
    if constexpr (Cta::kShares) {
      ptx::clusterBarrierArriveRelaxed();
      ptx::clusterBarrierWait();  // site: peer_ready
    }
    if constexpr (S::kFirstBlocks == S::kSecondBlocks || S::kConsumers == 1) {
      multiply<S::kFirstBlocks>(cta, warpgroup - 1, S::kSeparate ? 0 : (warpgroup - 1) * S::kFirstBlocks);
    } else {
      if (warpgroup == 1)
        multiply<S::kFirstBlocks>(cta, 0, 0);
      else
        multiply<S::kSecondBlocks>(cta, 1, S::kFirstBlocks);
    }
  }
}

}  // namespace shiftconv::kernels::halo

// A kernel of a shape, Shape<...> or PixelShape<...>, and an epilogue that needs no residual; and one with a residual.
#define SHIFTCONV_HALO_KERNEL_OF(NAME, KIND, EPILOGUE, ...)                                                                        \
  SHIFTCONV_KERNEL(                                                                                                                \
      NAME, extern "C" __global__ void __launch_bounds__((shiftconv::kernels::halo::__VA_ARGS__::kThreads), 1) NAME(               \
                const __grid_constant__ shiftconv::kernels::halo::InputMaps inputMaps, const __grid_constant__ CUtensorMap filter, \
                const __grid_constant__ CUtensorMap output, const __grid_constant__ shiftconv::kernels::halo::Params params) {     \
        using namespace shiftconv::kernels::halo;                                                                                  \
        runRoles(Cta<KIND, __VA_ARGS__, Epilogue::EPILOGUE>(inputMaps, filter, output, output, params));                           \
      })
#define SHIFTCONV_HALO_RESIDUAL_KERNEL_OF(NAME, KIND, ...)                                                                         \
  SHIFTCONV_KERNEL(                                                                                                                \
      NAME, extern "C" __global__ void __launch_bounds__((shiftconv::kernels::halo::__VA_ARGS__::kThreads), 1) NAME(               \
                const __grid_constant__ shiftconv::kernels::halo::InputMaps inputMaps, const __grid_constant__ CUtensorMap filter, \
                const __grid_constant__ CUtensorMap output, const __grid_constant__ CUtensorMap residual,                          \
                const __grid_constant__ shiftconv::kernels::halo::Params params) {                                                 \
        using namespace shiftconv::kernels::halo;                                                                                  \
        runRoles(Cta<KIND, __VA_ARGS__, Epilogue::Residual>(inputMaps, filter, output, residual, params));                         \
      })
#define SHIFTCONV_HALO_SHAPE(FIRST, SECOND, N, SHARE, STAGING, ...) \
  Shape<FIRST, SECOND, N, shiftconv::kernels::halo::PixelShare::SHARE, shiftconv::kernels::halo::Staging::STAGING, __VA_ARGS__>

/// SHIFTCONV_HALO_KERNEL(halo_sm90_f16_k128_n224, F16, 1, 1, 224, Common, Own, 0, Plain), or with Activated.
#define SHIFTCONV_HALO_KERNEL(NAME, KIND, FIRST, SECOND, N, SHARE, STAGING, TAIL, EPILOGUE) \
  SHIFTCONV_HALO_KERNEL_OF(NAME, KIND, EPILOGUE, SHIFTCONV_HALO_SHAPE(FIRST, SECOND, N, SHARE, STAGING, TAIL))

/// Of pairs of CTAs that load boxes for each other. SHIFTCONV_HALO_SHARED_KERNEL(halo_sm90_f16_shared_k128_n200, F16, 200, 2)
#define SHIFTCONV_HALO_SHARED_KERNEL(NAME, KIND, N, MULTIPLYING)                                                                   \
  SHIFTCONV_KERNEL(                                                                                                                \
      NAME, extern "C" __global__ void __launch_bounds__(128 * (1 + MULTIPLYING), 1) NAME(                                         \
                const __grid_constant__ shiftconv::kernels::halo::InputMaps inputMaps, const __grid_constant__ CUtensorMap filter, \
                const __grid_constant__ CUtensorMap output, const __grid_constant__ shiftconv::kernels::halo::Params params) {     \
        using namespace shiftconv::kernels::halo;                                                                                  \
        runRoles(Cta<KIND, SHIFTCONV_HALO_SHAPE(1, 1, N, Common, Own, 0, MULTIPLYING), Epilogue::Plain, true>(                     \
            inputMaps, filter, output, output, params));                                                                           \
      })

/// With three multiplying warpgroups. SHIFTCONV_HALO_WIDE_KERNEL(halo_sm90_f16_k192_n200, F16, 200, Plain), or with Activated.
#define SHIFTCONV_HALO_WIDE_KERNEL(NAME, KIND, N, EPILOGUE) \
  SHIFTCONV_HALO_KERNEL_OF(NAME, KIND, EPILOGUE, SHIFTCONV_HALO_SHAPE(1, 1, N, Common, Own, 0, 3))

/// With pixels as operand A. SHIFTCONV_HALO_PIXEL_KERNEL(halo_sm90_f16_m128x2_k48, F16, 2, 48, Plain), or with Activated.
#define SHIFTCONV_HALO_PIXEL_KERNEL(NAME, KIND, PIXEL_BLOCKS, CHANNELS, EPILOGUE) \
  SHIFTCONV_HALO_KERNEL_OF(NAME, KIND, EPILOGUE, PixelShape<PIXEL_BLOCKS, CHANNELS>)

/// With a residual. SHIFTCONV_HALO_RESIDUAL_KERNEL(halo_sm90_f16_residual_k128_n224, F16, 1, 1, 224, Common, Own)
#define SHIFTCONV_HALO_RESIDUAL_KERNEL(NAME, KIND, FIRST, SECOND, N, SHARE, STAGING) \
  SHIFTCONV_HALO_RESIDUAL_KERNEL_OF(NAME, KIND, SHIFTCONV_HALO_SHAPE(FIRST, SECOND, N, SHARE, STAGING, 0))

/// And pixels as operand A. SHIFTCONV_HALO_PIXEL_RESIDUAL_KERNEL(halo_sm90_f16_residual_m64x2_k64, F16, 1, 64)
#define SHIFTCONV_HALO_PIXEL_RESIDUAL_KERNEL(NAME, KIND, PIXEL_BLOCKS, CHANNELS) \
  SHIFTCONV_HALO_RESIDUAL_KERNEL_OF(NAME, KIND, PixelShape<PIXEL_BLOCKS, CHANNELS>)

/// With the whole epilogue, which needs no map of the output.
/// SHIFTCONV_HALO_FULL_KERNEL(halo_sm90_f16_f16_full_k128_n128, F16, 1, 1, 128, Common)
#define SHIFTCONV_HALO_FULL_KERNEL(NAME, KIND, FIRST, SECOND, N, SHARE)                                                          \
  SHIFTCONV_KERNEL(                                                                                                              \
      NAME,                                                                                                                      \
      extern "C" __global__ void __launch_bounds__(                                                                              \
          (shiftconv::kernels::halo::Shape<FIRST, SECOND, N, shiftconv::kernels::halo::PixelShare::SHARE,                        \
                                           shiftconv::kernels::halo::Staging::Own>::kThreads),                                   \
          1) NAME(const __grid_constant__ shiftconv::kernels::halo::InputMaps inputMaps,                                         \
                  const __grid_constant__ CUtensorMap filter, const __grid_constant__ shiftconv::kernels::halo::Params params) { \
        using namespace shiftconv::kernels::halo;                                                                                \
        runRoles(Cta<KIND, Shape<FIRST, SECOND, N, PixelShare::SHARE, Staging::Own>, Epilogue::Full>(inputMaps, filter, filter,  \
                                                                                                     filter, params));           \
      })
