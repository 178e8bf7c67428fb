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
//    warpgroups multiply. Both read the same boxes and own output channels each (PixelShare::Common), or own pixels each and read
//    the same weights (PixelShare::Separate).
//  - A box is released one tap late, behind the first tap of the next, so that the tensor core never drains between them.
//  - Where a tile has one box, its output may be written over it (Staging::OverBox). The loading lane stores it when it is to fill
//    the slot again, and warpgroups that own pixels drift apart, so that one multiplies while the other is at its epilogue.
//  - The reduction may be split over the CTAs of a cluster. Each warpgroup's sums are then added by one CTA in the order of ranks:
//    the same bits every time. Or, between two CTAs, each adds half of the pixels of every block, as that is half as long: of a
//    tile of 320 x 128 the transfer alone takes thousands of clocks.
//  - A short activation, alpha, scales of channels and a bias of another type act on the sums in their registers
//    (Epilogue::Activated): kernels of their own, too.
//  - A residual of the operands' type comes by the copy engine to where the output will be staged (Epilogue::Residual): kernels of
//    their own, as the others are to stay as short as they are.
//  - Where every tile has whole images, the last rows of output find nothing under the last filter row, and its taps leave them out
//    (Shape::kTail): of nine taps on 7 x 7 images 5 %.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "common/gemm/ring.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/warp.cuh"
#include "common/ptx/warpgroup.cuh"
#include "common/ptx/wgmma.cuh"
#include "conv/algorithms/halo/activation.cuh"
#include "conv/algorithms/halo/epilogue.cuh"
#include "conv/algorithms/halo/loads.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/reduction.cuh"
#include "conv/algorithms/halo/shape.cuh"
#include "conv/algorithms/halo/staging.cuh"
#include "conv/kernels/wgmma_kinds.cuh"

namespace shiftconv::kernels::halo {

using kernels::BF16, kernels::F16;  // for the macros below

// ---- One CTA -------------------------------------------------------------------------------------------------------------------
template <class Kind, class S, Epilogue kEpilogue>
class Cta : Loads<Kind, S, takesAnyInput(kEpilogue)> {
  using Base = Loads<Kind, S, takesAnyInput(kEpilogue)>;
  using Base::boxAddress;
  using Base::boxes_;
  using Base::control_;
  using Base::endChunk_;
  using Base::filterMap_;
  using Base::firstChunk_;
  using Base::inputMaps_;
  using Base::loadBoxes;
  using Base::loadWeights;
  using Base::originOf;
  using Base::outputMap_;
  using Base::ownerOf;
  using Base::p_;
  using Base::rank_;
  using Base::staging_;
  using Base::storeTile;
  using Base::tiles;
  using Base::weightAddress;
  using Base::weights_;
  using Element = typename Kind::Element;
  using Sum = typename Kind::Sum;
  static constexpr bool kFull = kEpilogue == Epilogue::Full, kResidual = kEpilogue == Epilogue::Residual;
  static constexpr bool kActivated = kEpilogue == Epilogue::Activated;
  static_assert(!kFull || !S::kOverBox, "the whole epilogue stages its output elsewhere");
  /// Of a warpgroup among its tiles of residual. Other kernels have none at all: with one that is not used, ptxas made their loops
  /// another way.
  struct Nowhere {};
  using ResidualPosition = std::conditional_t<kResidual, gemm::RingPosition, Nowhere>;

 public:
  using Base::Base;

  __device__ void run() {
    const uint32_t warpgroup = ptx::warpgroupIndex();
    if (warpgroup == 0) {
      if constexpr (S::kConsumers == 2) ptx::releaseRegistersDownTo<S::kLoadingRegisters>();
      const uint32_t warp = threadIdx.x / 32;
      if (warp == 0 && ptx::electOne()) prepareBoxes();
      if (warp == 1 && ptx::electOne()) prepareWeights();
      const bool serves = kResidual && warp >= 2 && warp < 2 + S::kConsumers;
      if (serves && ptx::electOne()) this->prepareResiduals(warp - 2);
      __syncwarp();  // site: barriers_ready
      // The loading lanes prepared the barriers that they use and go on at once, except where a box reaches into what the others
      // have zeroed. One barrier each way: compute-sanitizer wants a barrier of the whole CTA to be at one place in the program.
      ptx::namedBarrierArrive(kBegin, S::kThreads);
      if (p_.boxesDiffer) ptx::namedBarrierSync(kZeroed, S::kThreads);
      if (warp == 0 && ptx::electOne()) loadBoxes();
      if (warp == 1 && ptx::electOne()) loadWeights();
      if (serves && ptx::electOne()) this->loadFirst(warp - 2);
      __syncwarp();                                 // site: loads_issued
      if (p_.split > 1) ptx::clusterBarrierSync();  // see multiply; site: loaders_meet_cluster
      if (serves && ptx::electOne()) this->serve(warp - 2);
    } else {
      if constexpr (S::kConsumers == 2) ptx::claimRegistersUpTo<S::kMultiplyingRegisters>();
      prepareShared();
      if (p_.boxesDiffer) ptx::namedBarrierArrive(kZeroed, S::kThreads);
      ptx::namedBarrierSync(kBegin, S::kThreads);
      if constexpr (S::kFirstBlocks == S::kSecondBlocks || S::kConsumers == 1) {
        multiply<S::kFirstBlocks>(warpgroup - 1, S::kSeparate ? 0 : (warpgroup - 1) * S::kFirstBlocks);
      } else {
        if (warpgroup == 1)
          multiply<S::kFirstBlocks>(0, 0);
        else
          multiply<S::kSecondBlocks>(1, S::kFirstBlocks);
      }
    }
  }

 private:
  // ---- Setup -------------------------------------------------------------------------------------------------------------------
  enum NamedBarrier : uint32_t { kBegin = 1, kZeroed, kLag, kConsumer };  // two from kConsumer on, each for a warpgroup

  /// Whether each of two ranks finishes half of the pixels. Compiled away from most kernels.
  __device__ bool halves() const { return !kFull && S::kMayHalve && p_.halves; }

  __device__ void prepareBoxes() {
#pragma unroll 1  // or the code is long, and comes from far
    for (int32_t i = 0; i < p_.inputMaps; ++i) ptx::prefetchTensorMap(&inputMaps_.of[i]);
    control_->boxes.initialise(p_.patchSlots, 1, S::kBoxReaders);
    ptx::fenceMbarrierInit();
  }
  __device__ void prepareWeights() {
    ptx::prefetchTensorMap(&filterMap_);
    control_->weights.initialise(p_.weightStages, 1, 4 * S::kConsumers);
    if (p_.split > 1) {
      constexpr uint32_t kBytes = S::kSums * 128 * sizeof(Sum);  // of a channel block
      if (halves()) {
        for (uint32_t block = 0; block < S::kStageBlocks; ++block) expectSums(block, kBytes / 2);
      } else {
        const uint32_t others = static_cast<uint32_t>(p_.split - 1);
        for (uint32_t consumer = 0; consumer < S::kConsumers; ++consumer)
          if (rank_ == ownerOf(consumer))
            expectSums(consumer, others * kBytes * (consumer == 0 ? S::kFirstBlocks : S::kSecondBlocks));
      }
    }
    ptx::fenceMbarrierInit();
    if constexpr (!kFull) ptx::prefetchTensorMap(&outputMap_);
  }

  __device__ uint32_t sumsBarrier(uint32_t piece) const { return ptx::sharedAddress(&control_->sums[piece]); }
  __device__ void expectSums(uint32_t piece, uint32_t bytes) const {
    ptx::mbarrierInit(sumsBarrier(piece), 1);
    ptx::mbarrierArriveExpectBytes(sumsBarrier(piece), bytes);
  }

  /// The multiplying warpgroups, while the others prepare their barriers.
  __device__ void prepareShared() {
    constexpr uint32_t kHelpers = 128 * S::kConsumers;
    const uint32_t helper = threadIdx.x - 128;
    for (int32_t i = static_cast<int32_t>(helper); i < p_.taps; i += kHelpers) control_->tap[i] = p_.tap[i];
    // Flat tiles read the pad behind their last row there, which has to be zero; other tiles read it for positions that are no
    // output.
    for (int32_t slot = 0; slot < p_.patchSlots; ++slot)
      for (uint32_t byte = p_.filledBytes + helper * 16; byte < p_.patchSlotBytes; byte += kHelpers * 16)
        ptx::storeShared16Bytes(boxAddress(slot) + byte, 0, 0, 0, 0);
    if constexpr (kResidual && !S::kOverBox) {  // rows that are no output have no residual, but are read and added to
      for (int32_t i = 0; i < S::kConsumers * p_.residual.stagings; ++i)
        for (uint32_t byte = p_.residual.bytes + helper * 16; byte < p_.residual.stagingBytes; byte += kHelpers * 16)
          ptx::storeShared16Bytes(staging_ + static_cast<uint32_t>(i) * p_.residual.stagingBytes + byte, 0, 0, 0, 0);
    }
    if (p_.groupChannels > 0) spreadGroupedWeights(helper, kHelpers);
    ptx::fenceProxyAsyncShared();
  }

  /// Block-diagonal 64 x 64 matrices, one for each tap, in the layout of the copy engine's 128-byte swizzle.
  __device__ void spreadGroupedWeights(uint32_t helper, uint32_t helpers) {
    ptx::awaitPrerequisites();
    const uint32_t vectors = static_cast<uint32_t>(p_.weightStages) * (kBlockBytes / 16);  // of 8 channels
    const uint32_t groupVectors = static_cast<uint32_t>(p_.groupChannels) / 8;
    const uint4* filter = static_cast<const uint4*>(p_.filter);
    for (uint32_t v = helper; v < vectors; v += helpers) {
      const uint32_t tap = v / (kBlockBytes / 16), row = v / 8 % kBlockChannels, column = v % 8;
      const uint32_t inGroup = column - row / static_cast<uint32_t>(p_.groupChannels) * groupVectors;
      const uint32_t channel = blockIdx.y * kBlockChannels + row;
      uint4 value = make_uint4(0, 0, 0, 0);
      if (inGroup < groupVectors && channel < static_cast<uint32_t>(p_.channels))
        value = filter[(channel * static_cast<uint32_t>(p_.taps) + p_.tap[tap].filterIndex) * groupVectors + inGroup];
      ptx::storeShared16Bytes(layout::swizzle128(weightAddress(tap) + row * kRowBytes + column * 16), value.x, value.y, value.z,
                              value.w);
    }
  }

  // ---- Multiplication ----------------------------------------------------------------------------------------------------------
  /// One warpgroup: channel blocks firstBlock.. of every tile of this CTA.
  template <int kBlocks>
  __device__ void multiply(uint32_t consumer, uint32_t firstBlock) {
    gemm::RingPosition box, weight, heldBox;
    ResidualPosition residual;
    // From its second tile on the second warpgroup is some taps behind the first: each then multiplies alone, at full rate, while
    // the other is at its epilogue. (In the first tile both wait for the same loads, which would bring them together again; from
    // the second chunk of an only tile on, it gained nothing.)
    const int32_t lagTile = tiles().first + tiles().step;
    uint32_t largest = 0;
    if (S::kSeparate && consumer == 1) box.advance(p_.patchSlots);
    for (const int32_t tile : tiles()) {
      Sum d[kBlocks][S::kSums];
      if constexpr (S::kTail > 0) {
        multiplyWholeImages(d[0], box, weight, firstBlock);
      } else {
        heldBox = multiplyTaps(d, box, weight, consumer, firstBlock, tile == lagTile);
      }
      if constexpr (kFull || kActivated) hold(d);
      if (p_.split > 1) ptx::clusterBarrierSync();  // nobody multiplies any more: the rings are free for sums
      if constexpr (!kFull && S::kMayHalve) {
        if (p_.halves) {
          hold(d);
          addAndFinishHalf(d, originOf(tile, consumer), consumer, firstBlock, residual);
          break;
        }
      }
      if (p_.split > 1 && !addUp(d, consumer)) break;
      if constexpr (kFull) {
        const uint32_t warp = threadIdx.x / 32 - 4;
        storeFull<kBlocks, S::kTileN>(p_, d, originOf(tile, consumer), static_cast<int32_t>(firstBlock),
                                      staging_ + warp * kTurningBytes, largest);
      } else {
        finish(d, originOf(tile, consumer), consumer, firstBlock, heldBox, residual);
      }
    }
    if constexpr (kFull) {
      gemm::mergeLargest(p_.full.epilogue, largest);
    } else if constexpr (!S::kOverBox && !kResidual) {
      if (threadIdx.x % 128 == 0) ptx::bulkWaitGroupRead<0>();
    }
  }

  /// All sums of a tile; where the last box was, which is not released yet when its output will be staged over it. `lagOfTile`:
  /// taps that the second warpgroup stays behind the first.
  template <int kBlocks>
  __device__ __forceinline__ gemm::RingPosition multiplyTaps(Sum (&d)[kBlocks][S::kSums], gemm::RingPosition& box,
                                                             gemm::RingPosition& weight, uint32_t consumer, uint32_t firstBlock,
                                                             bool lags) {
    const bool releases = threadIdx.x % 32 == 0;
    const auto releaseBox = [&](const gemm::RingPosition& slot) {
      if (releases) ptx::mbarrierArrive(control_->boxes.empty(slot));
    };
    const auto releaseWeights = [&](const gemm::RingPosition& stage) {
      if (releases && !p_.weightsStay) ptx::mbarrierArrive(control_->weights.empty(stage));
    };
    gemm::RingPosition heldBox, heldWeight;
    uint32_t accumulate = 0;
    bool holdsBox = false;
    if (p_.weightsStay) weight = {};
    uint64_t pixels = 0;
    int32_t patch = 0, t = 0, endTap = 0;
    int32_t lag = S::kConsumers == 2 && lags ? p_.lag : 0;
    if (lag > 0 && consumer == 1) {
      ptx::namedBarrierSync(kLag, 256);
      lag = 0;
    }
    int32_t steps = (endChunk_ - firstChunk_) * p_.taps;  // at least one: said by the form of the loop, or ptxas serialises wgmma
    do {
      if (t == endTap) {  // the next box
        if (t == p_.taps) patch = t = 0;
        endTap = p_.patch[patch++].endTap;
        control_->boxes.awaitFull(box);
        pixels = layout::wgmmaSwizzle128Descriptor(boxAddress(box.index), p_.groupStrideBytes);
      }
      const uint64_t b = layout::advanceDescriptor(pixels, control_->tap[t].row * kRowBytes);
      control_->weights.awaitFull(weight);
      const uint64_t a = layout::wgmmaSwizzle128Descriptor(weightAddress(weight.index) + firstBlock * kBlockBytes);
      ptx::wgmmaFence();  // site: tap_fence
#pragma unroll
      for (int slice = 0; slice < kChunkSlices; ++slice) {
#pragma unroll
        for (int block = 0; block < kBlocks; ++block) {
          const uint64_t channels = layout::advanceDescriptor(a, block * kBlockBytes + slice * layout::kMmaRowBytes);
          const uint64_t ofPixels = layout::advanceDescriptor(b, slice * layout::kMmaRowBytes);
          Kind::template multiply<S::kTileN>(d[block], channels, ofPixels, slice == 0 ? accumulate : 1);
        }
      }
      ptx::wgmmaCommit();
      ptx::wgmmaWait<1>();  // what the tap before this one read may go; site: tap_before_awaited
      if (accumulate != 0) releaseWeights(heldWeight);
      if (holdsBox) releaseBox(heldBox);
      accumulate = 1;
      heldWeight = weight;
      weight.advance(p_.weightStages);
      heldBox = box;
      holdsBox = ++t == endTap;
      if (holdsBox) {
        box.advance(p_.patchSlots);
        if constexpr (S::kSeparate) box.advance(p_.patchSlots);
      }
      if (lag > 0 && --lag == 0) ptx::namedBarrierArrive(kLag, 256);
    } while (--steps > 0);
    ptx::wgmmaWait<0>();
    releaseWeights(heldWeight);
    if constexpr (!S::kOverBox) releaseBox(heldBox);
    return heldBox;
  }

  /// All sums of a tile that has whole images, for a 3x3 filter with a box for each of its columns. In the last output rows the
  /// last filter row is outside the image, so its taps multiply fewer pixels. Between products of different width the tensor core
  /// has to be waited for; hence the order of the nine taps, in which such taps meet. (Leaving out the first output row under the
  /// first filter row as well, ptxas makes all wgmma wait: their sums would begin at another register.)
  __device__ __forceinline__ void multiplyWholeImages(Sum (&d)[S::kSums], gemm::RingPosition& box, gemm::RingPosition& weight,
                                                      uint32_t firstBlock) {
    const bool releases = threadIdx.x % 32 == 0;
    uint32_t accumulate = 0;
    uint64_t pixels = 0;
    gemm::RingPosition held, heldBox;
    const auto tap = [&]<int kTap>() {
      constexpr int kN = S::kTileN - (leavesTailOut(kTap) ? S::kTail : 0);
      if constexpr (kTap % 3 == 0) {
        control_->boxes.awaitFull(box);
        pixels = layout::wgmmaSwizzle128Descriptor(boxAddress(box.index), p_.groupStrideBytes);
      }
      const uint64_t b = layout::advanceDescriptor(pixels, control_->tap[kTap].row * kRowBytes);
      control_->weights.awaitFull(weight);
      const uint64_t a = layout::wgmmaSwizzle128Descriptor(weightAddress(weight.index) + firstBlock * kBlockBytes);
      ptx::wgmmaFence();  // site: whole_images_fence
#pragma unroll
      for (int slice = 0; slice < kChunkSlices; ++slice) {
        Kind::template multiply<kN>(reinterpret_cast<Sum(&)[kN / 2]>(d), layout::advanceDescriptor(a, slice * layout::kMmaRowBytes),
                                    layout::advanceDescriptor(b, slice * layout::kMmaRowBytes),
                                    kTap > 0 || slice > 0 ? 1 : accumulate);
      }
      ptx::wgmmaCommit();  // site: whole_images_commit
      // Whether the tap before was left running, and whether this one is.
      constexpr bool kHeld = kTap > 0 && leavesTailOut(kTap - 1) == leavesTailOut(kTap);
      constexpr bool kHold = kTap + 1 < kWholeImageTaps && leavesTailOut(kTap + 1) == leavesTailOut(kTap);
      if constexpr (kHold) {
        if constexpr (kHeld) ptx::wgmmaWait<1>();
      } else {
        ptx::wgmmaWait<0>();
      }
      if (releases) {
        if constexpr (kHeld) ptx::mbarrierArrive(control_->weights.empty(held));
        if constexpr (!kHold) ptx::mbarrierArrive(control_->weights.empty(weight));
        if constexpr (kHeld && kTap % 3 == 0) ptx::mbarrierArrive(control_->boxes.empty(heldBox));
        if constexpr (!kHold && kTap % 3 == 2) ptx::mbarrierArrive(control_->boxes.empty(box));
      }
      held = weight;
      weight.advance(p_.weightStages);
      if constexpr (kTap % 3 == 2) {
        heldBox = box;
        box.advance(p_.patchSlots);
      }
    };
    int32_t chunks = endChunk_ - firstChunk_;
    do {
      [&]<int... kTap>(std::integer_sequence<int, kTap...>) { (tap.template operator()<kTap>(), ...); }
      (std::make_integer_sequence<int, kWholeImageTaps>());
      accumulate = 1;
    } while (--chunks > 0);
  }

  /// Nothing that reads the sums may be moved in front of here.
  template <int kBlocks>
  static __device__ __forceinline__ void hold(Sum (&d)[kBlocks][S::kSums]) {
#pragma unroll
    for (int i = 0; i < kBlocks * S::kSums; ++i) ptx::wgmmaHold(d[i / S::kSums][i % S::kSums]);
  }

  // ---- Reduction over the cluster ----------------------------------------------------------------------------------------------
  /// True in the CTA that has this warpgroup's sums of all ranks afterwards.
  template <int kBlocks>
  __device__ bool addUp(Sum (&d)[kBlocks][S::kSums], uint32_t consumer) const {
    return addUpAtOwner<kBlocks * S::kSums>(&d[0][0], boxes_, rank_, p_.split, ownerOf(consumer), sumsBarrier(consumer));
  }

  /// Between two ranks: the first finishes the first half of the rows of every block, the second the other half.
  template <int kBlocks>
  __device__ void addAndFinishHalf(const Sum (&d)[kBlocks][S::kSums], TileOrigin origin, uint32_t consumer, uint32_t firstBlock,
                                   ResidualPosition& buffer) const {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block)
      sendHalf(d[block], boxes_, rank_, firstBlock + block, sumsBarrier(firstBlock + block));
    origin.row += rank_ * (p_.tileRows / 2);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      const uint32_t piece = firstBlock + block;
      Sum kept[S::kSums / 2];
      keepHalf(d[block], boxes_, rank_, piece, sumsBarrier(piece), kept);
      // Two halves have room in the buffer of a whole block.
      const uint32_t staging = staging_ + (2 * consumer + block % 2) * (S::kTileN / 2 * kRowBytes);
      finishBlock<S::kTileN / 2, false, 1>(kept, origin, static_cast<int32_t>(piece) * kBlockChannels, consumer, staging, buffer);
    }
  }

  // ---- Epilogue ----------------------------------------------------------------------------------------------------------------
  template <int kBlocks>
  __device__ void finish(const float (&d)[kBlocks][S::kSums], const TileOrigin& origin, uint32_t consumer, uint32_t firstBlock,
                         const gemm::RingPosition& slot, ResidualPosition& buffer) const {
    if constexpr (S::kOverBox) {
      if constexpr (kResidual) {
        if (threadIdx.x % 32 == 0) ptx::mbarrierArrive(control_->residuals[consumer].empty(buffer));  // this warp has read the box
        control_->residuals[consumer].awaitFull(buffer);
        buffer.advance(1);
      } else {
        ptx::namedBarrierSync(kConsumer + consumer, 128);  // all four warps have read the box
      }
      stage<S::kTileN, true>(d[0], origin.channel, boxAddress(slot.index));
      ptx::fenceProxyAsyncShared();
      release(control_->boxes.empty(slot));
    } else {
      const uint32_t staging = staging_ + consumer * (S::kTileN * kRowBytes);
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        finishBlock<S::kTileN, true, 0>(d[block], origin, (static_cast<int32_t>(firstBlock) + block) * kBlockChannels, consumer,
                                        staging, buffer);
      }
    }
  }

  template <int kPixels, bool kMayBeFlat, int kRegisters>
  __device__ __forceinline__ void stage(const float (&d)[kRegisters], int32_t firstChannel, uint32_t destination) const {
    if constexpr (kActivated) {
      float v[kRegisters];
#pragma unroll
      for (int i = 0; i < kRegisters; ++i) v[i] = d[i];
      activate(p_.full.epilogue, v, firstChannel);
      stageBlock<Element, kPixels, kMayBeFlat, kEpilogue>(p_, v, firstChannel, destination);
    } else {
      stageBlock<Element, kPixels, kMayBeFlat, kEpilogue>(p_, d, firstChannel, destination);
    }
  }

  /// A warp is done with what the barrier is of.
  static __device__ void release(uint32_t barrier) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) ptx::mbarrierArrive(barrier);
  }

  /// One channel block, through a buffer from which all but `kPendingStores` earlier stores have read; or, with a residual, through
  /// the one where that has come.
  template <int kPixels, bool kMayBeFlat, int kPendingStores, int kRegisters>
  __device__ __forceinline__ void finishBlock(const float (&d)[kRegisters], const TileOrigin& origin, int32_t blockChannel,
                                              uint32_t consumer, uint32_t staging, ResidualPosition& buffer) const {
    if constexpr (kResidual) {
      const auto& residuals = control_->residuals[consumer];
      residuals.awaitFull(buffer);
      stage<kPixels, kMayBeFlat>(d, origin.channel + blockChannel, this->stagingAddress(consumer, buffer));
      ptx::fenceProxyAsyncShared();
      release(residuals.empty(buffer));
      buffer.advance(p_.residual.stagings);
      return;
    }
    const uint32_t barrier = kConsumer + consumer;
    const bool leads = threadIdx.x % 128 == 0;
    if (leads) ptx::bulkWaitGroupRead<kPendingStores>();  // site: staging_read
    ptx::namedBarrierSync(barrier, 128);                  // site: staging_free
    stage<kPixels, kMayBeFlat>(d, origin.channel + blockChannel, staging);
    ptx::fenceProxyAsyncShared();
    ptx::namedBarrierSync(barrier, 128);
    if (leads) storeTile(origin, blockChannel, staging);
  }
};

}  // namespace shiftconv::kernels::halo

/// SHIFTCONV_HALO_KERNEL(halo_sm90_f16_k128_n224, F16, 1, 1, 224, Common, Own, 0, Plain), or with Activated.
#define SHIFTCONV_HALO_KERNEL(NAME, KIND, FIRST, SECOND, N, SHARE, STAGING, TAIL, EPILOGUE)                                      \
  extern "C" __global__ void __launch_bounds__(                                                                                  \
      (shiftconv::kernels::halo::Shape<FIRST, SECOND, N, shiftconv::kernels::halo::PixelShare::SHARE,                            \
                                       shiftconv::kernels::halo::Staging::STAGING>::kThreads),                                   \
      1) NAME(const __grid_constant__ shiftconv::kernels::halo::InputMaps inputMaps, const __grid_constant__ CUtensorMap filter, \
              const __grid_constant__ CUtensorMap output, const __grid_constant__ shiftconv::kernels::halo::Params params) {     \
    using namespace shiftconv::kernels::halo;                                                                                    \
    Cta<KIND, Shape<FIRST, SECOND, N, PixelShare::SHARE, Staging::STAGING, TAIL>, Epilogue::EPILOGUE>(inputMaps, filter, output, \
                                                                                                      output, params)            \
        .run();                                                                                                                  \
  }

/// The same with a residual. SHIFTCONV_HALO_RESIDUAL_KERNEL(halo_sm90_f16_residual_k128_n224, F16, 1, 1, 224, Common, Own)
#define SHIFTCONV_HALO_RESIDUAL_KERNEL(NAME, KIND, FIRST, SECOND, N, SHARE, STAGING)                                             \
  extern "C" __global__ void __launch_bounds__(                                                                                  \
      (shiftconv::kernels::halo::Shape<FIRST, SECOND, N, shiftconv::kernels::halo::PixelShare::SHARE,                            \
                                       shiftconv::kernels::halo::Staging::STAGING>::kThreads),                                   \
      1) NAME(const __grid_constant__ shiftconv::kernels::halo::InputMaps inputMaps, const __grid_constant__ CUtensorMap filter, \
              const __grid_constant__ CUtensorMap output, const __grid_constant__ CUtensorMap residual,                          \
              const __grid_constant__ shiftconv::kernels::halo::Params params) {                                                 \
    using namespace shiftconv::kernels::halo;                                                                                    \
    Cta<KIND, Shape<FIRST, SECOND, N, PixelShare::SHARE, Staging::STAGING>, Epilogue::Residual>(inputMaps, filter, output,       \
                                                                                                residual, params)                \
        .run();                                                                                                                  \
  }

/// The same with the whole epilogue, which needs no map of the output.
/// SHIFTCONV_HALO_FULL_KERNEL(halo_sm90_f16_f16_full_k128_n128, F16, 1, 1, 128, Common)
#define SHIFTCONV_HALO_FULL_KERNEL(NAME, KIND, FIRST, SECOND, N, SHARE)                                                            \
  extern "C" __global__ void __launch_bounds__(                                                                                    \
      (shiftconv::kernels::halo::Shape<FIRST, SECOND, N, shiftconv::kernels::halo::PixelShare::SHARE,                              \
                                       shiftconv::kernels::halo::Staging::Own>::kThreads),                                         \
      1) NAME(const __grid_constant__ shiftconv::kernels::halo::InputMaps inputMaps, const __grid_constant__ CUtensorMap filter,   \
              const __grid_constant__ shiftconv::kernels::halo::Params params) {                                                   \
    using namespace shiftconv::kernels::halo;                                                                                      \
    Cta<KIND, Shape<FIRST, SECOND, N, PixelShare::SHARE, Staging::Own>, Epilogue::Full>(inputMaps, filter, filter, filter, params) \
        .run();                                                                                                                    \
  }
