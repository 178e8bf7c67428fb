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
//  - Where there are few pixels, all of which have to come at once, a tile may be 64 of them as rows of the product (operand A) by
//    32 channels: half the weights of a tile, and outputs that are stored from registers (PixelShare::AsRows).
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/warp.cuh"
#include "common/ptx/warpgroup.cuh"
#include "common/ptx/wgmma.cuh"
#include "conv/kernels/sm90/halo_epilogue.cuh"
#include "conv/kernels/sm90/halo_kinds.cuh"
#include "conv/kernels/sm90/halo_params.hpp"
#include "conv/kernels/sm90/halo_reduction.cuh"
#include "conv/kernels/sm90/halo_staging.cuh"

namespace shiftconv::kernels::halo {

// ---- What is fixed when a kernel is compiled -----------------------------------------------------------------------------------
enum class PixelShare { Common, Separate, AsRows };
/// Where a tile of output waits to be stored: in a buffer of its own, or over the box that it came from.
enum class Staging { Own, OverBox };

template <int kFirst, int kSecond, int kN, PixelShare kShare, Staging kStaging>
struct Shape {
  static constexpr int kFirstBlocks = kFirst, kSecondBlocks = kSecond;  ///< channel blocks of the two multiplying warpgroups
  static constexpr int kTileN = kN;                                     ///< pixels of a tile
  static constexpr bool kSeparate = kShare == PixelShare::Separate;
  static constexpr bool kPixelRows = kShare == PixelShare::AsRows;
  static constexpr bool kOverBox = kStaging == Staging::OverBox;
  static constexpr int kMmaN = kPixelRows ? kAsRowsChannels : kN;
  static constexpr int kSums = kMmaN / 2;  ///< of a thread, for each channel block
  static constexpr int kConsumers = kSecond == 0 ? 1 : 2;
  static constexpr int kThreads = 128 * (1 + kConsumers);
  static constexpr int kStageBlocks = kSeparate ? kFirst : kFirst + kSecond;  ///< channel blocks of a weight stage
  static constexpr uint32_t kStageBytes = kPixelRows ? kAsRowsChannels * kRowBytes : kStageBlocks * kBlockBytes;
  /// Whether two CTAs that split the reduction may finish half of the pixels each.
  static constexpr bool kMayHalve = kShare == PixelShare::Common && !kOverBox && kN <= 128 && kN % 16 == 0;
  static constexpr int kBoxReaders = 4 * (kSeparate ? 1 : kConsumers);  ///< warps that release a box
  // Of a thread; three warpgroups share 512. The loading lane that also stores needs the larger part.
  static constexpr int kLoadingRegisters = kOverBox ? 56 : 40, kMultiplyingRegisters = kOverBox ? 224 : 232;
  static_assert(!kSeparate || kFirst == kSecond, "warpgroups that own pixels share the weights");
  static_assert(!kOverBox || (kFirst == 1 && kStageBlocks == 1), "a slot takes the output of one channel block");
  static_assert(!kPixelRows || (kFirst == 1 && kSecond == 0 && kN == 64 && !kOverBox), "one wgmma has 64 rows");
  static_assert(kFirst * kN <= 384 && kSecond * kN <= 384, "at most 192 accumulator registers a thread");
};

// ---- Shared memory -------------------------------------------------------------------------------------------------------------
struct Control {
  gemm::Pipeline<kMaximumStages> boxes, weights;
  uint64_t sums[kMaximumBlocks];  ///< barriers: the other ranks' sums of a warpgroup, or of half a channel block, have come
  Tap tap[kMaximumTaps];          ///< Params::tap: an indexed constant that is not in the cache costs more than a whole tap
};
static_assert(sizeof(Control) <= kControlBytes, "the planner reserves kControlBytes in front of the boxes");

struct InputMaps {
  CUtensorMap of[kMaximumInputMaps];
};

/// What becomes of the sums: bias and ReLU in the operands' type, stored by the copy engine, or gemm::EpilogueParams.
enum class Epilogue { Plain, Full };

// ---- One CTA -------------------------------------------------------------------------------------------------------------------
template <class Kind, class S, Epilogue kEpilogue>
class Cta {
  using Element = typename Kind::Element;
  using Sum = typename Kind::Sum;
  static constexpr bool kFull = kEpilogue == Epilogue::Full;
  static_assert(!kFull || !S::kOverBox, "the whole epilogue stages its output elsewhere");

 public:
  __device__ Cta(const InputMaps& inputs, const CUtensorMap& filter, const CUtensorMap& output, const Params& params)
      : inputMaps_(inputs), filterMap_(filter), outputMap_(output), p_(params) {
    extern __shared__ uint8_t dynamicShared[];
    control_ = &gemm::alignedShared<Control>(dynamicShared);
    boxes_ = ptx::sharedAddress(control_) + kControlBytes;
    weights_ = boxes_ + p_.patchSlots * p_.patchSlotBytes;
    staging_ = weights_ + p_.weightStages * S::kStageBytes;
    rank_ = p_.split > 1 ? static_cast<int32_t>(ptx::clusterRank()) : 0;
    firstChunk_ = rank_ * p_.chunksPerRank;
    endChunk_ = min(p_.chunks, firstChunk_ + p_.chunksPerRank);
  }

  __device__ void run() {
    const uint32_t warpgroup = ptx::warpgroupIndex();
    if (warpgroup == 0) {
      if constexpr (S::kConsumers == 2) ptx::releaseRegistersDownTo<S::kLoadingRegisters>();
      const uint32_t warp = threadIdx.x / 32;
      if (warp == 0 && ptx::electOne()) prepareBoxes();
      if (warp == 1 && ptx::electOne()) prepareWeights();
      __syncwarp();
      // The loading lanes prepared the barriers that they use and go on at once, except where a box reaches into what the others
      // have zeroed. One barrier each way: compute-sanitizer wants a barrier of the whole CTA to be at one place in the program.
      ptx::namedBarrierArrive(kBegin, S::kThreads);
      if (p_.boxesDiffer) ptx::namedBarrierSync(kZeroed, S::kThreads);
      ptx::launchDependents();
      if (warp == 0 && ptx::electOne()) loadBoxes();
      if (warp == 1 && ptx::electOne()) loadWeights();
      __syncwarp();
      if (p_.split > 1) ptx::clusterBarrierSync();  // see multiply
    } else {
      if constexpr (S::kConsumers == 2) ptx::claimRegistersUpTo<S::kMultiplyingRegisters>();
      prepareShared();
      if (p_.boxesDiffer) ptx::namedBarrierArrive(kZeroed, S::kThreads);
      ptx::namedBarrierSync(kBegin, S::kThreads);
      ptx::launchDependents();
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

  __device__ uint32_t boxAddress(uint32_t slot) const { return boxes_ + slot * p_.patchSlotBytes; }
  __device__ uint32_t weightAddress(uint32_t stage) const { return weights_ + stage * S::kStageBytes; }

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
  /// The rank that has all sums of a warpgroup in the end, unless each has half.
  __device__ int32_t ownerOf(uint32_t consumer) const { return static_cast<int32_t>(consumer) * p_.split / S::kConsumers; }

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

  // ---- The order of work, the same for every role ------------------------------------------------------------------------------
  __device__ gemm::StaticTiles tiles() const {
    // A cluster that splits the reduction has one tile, after which its rings hold sums: its grid is as large as the work.
    const int32_t shift = __popc(p_.split - 1);  // of a power of two; a division takes a hundred clocks before the first load
    return {static_cast<int32_t>(blockIdx.x) >> shift, static_cast<int32_t>(gridDim.x) >> shift, p_.tiles};
  }

  /// `member`: which of the pair of boxes, with PixelShare::Separate. The second of the last pair may be outside the tensors, where
  /// loads give zeros and stores do nothing.
  __device__ TileOrigin originOf(int32_t tile, uint32_t member) const {
    uint32_t pixels = static_cast<uint32_t>(tile), channelTile = blockIdx.y;
    if (p_.channelTiles.divisor > 1) {
      pixels = p_.channelTiles.quotient(static_cast<uint32_t>(tile));
      channelTile = static_cast<uint32_t>(tile) - pixels * p_.channelTiles.divisor;
    }
    if constexpr (S::kSeparate) pixels = pixels * 2 + member;
    const uint32_t rows = p_.columnTiles.quotient(pixels), images = p_.rowTiles.quotient(rows);
    return {static_cast<int32_t>(pixels - rows * p_.columnTiles.divisor) * p_.tileColumns,
            static_cast<int32_t>(rows - images * p_.rowTiles.divisor) * p_.tileRows, static_cast<int32_t>(images) * p_.tileImages,
            static_cast<int32_t>(channelTile) * p_.tileChannels};
  }

  // ---- Input pixels: global -> shared ------------------------------------------------------------------------------------------
  __device__ void loadBoxes() const {
    constexpr uint32_t kMembers = S::kSeparate ? 2 : 1;
    ptx::awaitPrerequisites();
    gemm::RingPosition slot, previous;
    uint32_t number = 0;
    for (const int32_t tile : tiles()) {
      for (int32_t chunk = firstChunk_; chunk < endChunk_; ++chunk) {
        for (int32_t i = 0; i < p_.patches; ++i) {
          const Patch& patch = p_.patch[i];
#pragma unroll 1
          for (uint32_t member = 0; member < kMembers; ++member) {
            const TileOrigin origin = originOf(tile, member);
            control_->boxes.awaitEmpty(slot);
            // Where weights stay, boxes that are not needed yet wait for the first ones, so that those and the weights come soon.
            if (p_.weightsStay && number == kMembers) control_->boxes.awaitFull({static_cast<int32_t>(kMembers) - 1, 0});
            if constexpr (S::kOverBox) storeStaged(number, slot.index);
            // Slots of an odd number pass from one warpgroup to the other. Who has seen a box of his own looks next where the box
            // before it was: unless that has arrived, the parity of its phase is the one that he waits for.
            if (S::kSeparate && p_.patchSlots % 2 == 1 && number > 0) control_->boxes.awaitFull(previous);
            previous = slot;
            ++number;
            ptx::mbarrierArriveExpectBytes(control_->boxes.full(slot), patch.bytes);
            const int32_t channel = p_.groupChannels > 0 ? origin.channel : chunk * Kind::kChunkChannels;
            if (kFull && p_.deep) {  // compiled away from the plain epilogue, whose kernels are as short as they can be
              const int32_t image = static_cast<int32_t>(p_.planes.quotient(static_cast<uint32_t>(origin.image)));
              const int32_t plane = origin.image - image * static_cast<int32_t>(p_.planes.divisor);
              ptx::loadTile5d(boxAddress(slot.index), &inputMaps_.of[patch.map], channel, origin.column + patch.columnOffset,
                              origin.row + patch.rowOffset, plane * p_.planeStride + patch.planeOffset, image,
                              control_->boxes.full(slot));
            } else {
              ptx::loadTile4d(boxAddress(slot.index), &inputMaps_.of[patch.map], channel, origin.column + patch.columnOffset,
                              origin.image, origin.row + patch.rowOffset, control_->boxes.full(slot));
            }
            slot.advance(p_.patchSlots);
          }
        }
      }
    }
    if constexpr (S::kOverBox) {
      for (int32_t i = 0; i < p_.patchSlots; ++i) {
        control_->boxes.awaitEmpty(slot);
        storeStaged(number++, slot.index);
        slot.advance(p_.patchSlots);
      }
    }
  }

  /// The slot of box `number`, released by its readers, holds the output of the box that was `patchSlots` before it.
  __device__ void storeStaged(uint32_t number, uint32_t slot) const {
    constexpr uint32_t kMembers = S::kSeparate ? 2 : 1;
    const uint32_t slots = static_cast<uint32_t>(p_.patchSlots);
    if (number < slots) return;
    const uint32_t earlier = number - slots;
    const int32_t tile = static_cast<int32_t>(blockIdx.x + earlier / kMembers * gridDim.x);
    if (tile >= p_.tiles) return;  // fewer boxes than slots
    storeTile(originOf(tile, earlier % kMembers), 0, boxAddress(slot));
    ptx::bulkWaitGroupRead<0>();
  }

  // ---- Weights: global -> shared, once when resident ---------------------------------------------------------------------------
  __device__ void loadWeights() const {
    ptx::awaitPrerequisites();
    gemm::RingPosition stage;
    const auto loadAll = [&](int32_t tile) {
      const int32_t firstChannel = originOf(tile, 0).channel;
      for (int32_t chunk = firstChunk_; chunk < endChunk_; ++chunk) {
        for (int32_t t = 0; t < p_.taps; ++t) {
          control_->weights.awaitEmpty(stage);
          ptx::mbarrierArriveExpectBytes(control_->weights.full(stage), S::kStageBytes);
          for (uint32_t box = 0; box < p_.weightBoxes; ++box) {
            ptx::loadTile3d(weightAddress(stage.index) + box * p_.weightBoxBytes, &filterMap_, chunk * Kind::kChunkChannels,
                            p_.tap[t].filterIndex, firstChannel + static_cast<int32_t>(box * (p_.weightBoxBytes / kRowBytes)),
                            control_->weights.full(stage));
          }
          stage.advance(p_.weightStages);
        }
      }
    };
    if (p_.groupChannels > 0) {  // spread by the threads that read them
      for (int32_t i = 0; i < p_.weightStages; ++i, stage.advance(p_.weightStages)) {
        ptx::mbarrierArrive(control_->weights.full(stage));
      }
    } else if (p_.weightsStay) {
      if (tiles().own() > 0) loadAll(tiles().first);
    } else {
      for (const int32_t tile : tiles()) loadAll(tile);
    }
  }

  // ---- Multiplication ----------------------------------------------------------------------------------------------------------
  /// One warpgroup: channel blocks firstBlock.. of every tile of this CTA.
  template <int kBlocks>
  __device__ void multiply(uint32_t consumer, uint32_t firstBlock) {
    const bool releases = threadIdx.x % 32 == 0;
    const auto releaseBox = [&](const gemm::RingPosition& slot) {
      if (releases) ptx::mbarrierArrive(control_->boxes.empty(slot));
    };
    const auto releaseWeights = [&](const gemm::RingPosition& stage) {
      if (releases && !p_.weightsStay) ptx::mbarrierArrive(control_->weights.empty(stage));
    };
    gemm::RingPosition box, weight, heldBox, heldWeight;
    // From its second tile on the second warpgroup is some taps behind the first: each then multiplies alone, at full rate, while
    // the other is at its epilogue. (In the first tile both wait for the same loads, which would bring them together again; from
    // the second chunk of an only tile on, it gained nothing.)
    const int32_t lagTile = tiles().first + tiles().step;
    uint32_t largest = 0;
    if (S::kSeparate && consumer == 1) box.advance(p_.patchSlots);
    for (const int32_t tile : tiles()) {
      Sum d[kBlocks][S::kSums];
      uint32_t accumulate = 0;
      bool holdsBox = false;
      if (p_.weightsStay) weight = {};
      uint64_t pixels = 0;
      int32_t patch = 0, t = 0, endTap = 0;
      int32_t lag = S::kConsumers == 2 && tile == lagTile ? p_.lag : 0;
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
        ptx::wgmmaFence();
#pragma unroll
        for (int slice = 0; slice < kChunkSlices; ++slice) {
#pragma unroll
          for (int block = 0; block < kBlocks; ++block) {
            const uint64_t channels = layout::advanceDescriptor(a, block * kBlockBytes + slice * layout::kMmaRowBytes);
            const uint64_t ofPixels = layout::advanceDescriptor(b, slice * layout::kMmaRowBytes);
            Kind::template multiply<S::kMmaN>(d[block], S::kPixelRows ? ofPixels : channels, S::kPixelRows ? channels : ofPixels,
                                              slice == 0 ? accumulate : 1);
          }
        }
        ptx::wgmmaCommit();
        ptx::wgmmaWait<1>();  // what the tap before this one read may go
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
      if constexpr (kFull) hold(d);
      if (p_.split > 1) ptx::clusterBarrierSync();  // nobody multiplies any more: the rings are free for sums
      if constexpr (!kFull && S::kMayHalve) {
        if (p_.halves) {
          hold(d);
          addAndFinishHalf(d, originOf(tile, consumer), consumer, firstBlock);
          break;
        }
      }
      if (p_.split > 1 && !addUp(d, consumer)) break;
      if constexpr (kFull) {
        const uint32_t warp = threadIdx.x / 32 - 4;
        storeFull<kBlocks, S::kTileN>(p_, d, originOf(tile, consumer), static_cast<int32_t>(firstBlock),
                                      staging_ + warp * kTurningBytes, largest);
      } else {
        finish(d, originOf(tile, consumer), consumer, firstBlock, heldBox);
      }
    }
    if constexpr (kFull) {
      gemm::mergeLargest(p_.full.epilogue, largest);
    } else if constexpr (!S::kOverBox && !S::kPixelRows) {
      if (threadIdx.x % 128 == 0) ptx::bulkWaitGroupRead<0>();
    }
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
  __device__ void addAndFinishHalf(const Sum (&d)[kBlocks][S::kSums], TileOrigin origin, uint32_t consumer,
                                   uint32_t firstBlock) const {
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
      finishBlock<S::kTileN / 2, false, 1>(kept, origin, static_cast<int32_t>(piece) * kBlockChannels, consumer, staging);
    }
  }

  // ---- Epilogue ----------------------------------------------------------------------------------------------------------------
  template <int kBlocks>
  __device__ void finish(const float (&d)[kBlocks][S::kSums], const TileOrigin& origin, uint32_t consumer, uint32_t firstBlock,
                         const gemm::RingPosition& slot) const {
    if constexpr (S::kOverBox) {
      ptx::namedBarrierSync(kConsumer + consumer, 128);  // all four warps have read the box
      stageBlock<Element, S::kTileN>(p_, d[0], origin.channel, boxAddress(slot.index));
      ptx::fenceProxyAsyncShared();
      __syncwarp();
      if (threadIdx.x % 32 == 0) ptx::mbarrierArrive(control_->boxes.empty(slot));
    } else if constexpr (S::kPixelRows) {
      storePixelRows<Element>(p_, d[0], origin);
    } else {
      const uint32_t staging = staging_ + consumer * (S::kTileN * kRowBytes);
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        finishBlock<S::kTileN, true, 0>(d[block], origin, (static_cast<int32_t>(firstBlock) + block) * kBlockChannels, consumer,
                                        staging);
      }
    }
  }

  /// One channel block, through a buffer from which all but `kPendingStores` earlier stores have read.
  template <int kPixels, bool kMayBeFlat, int kPendingStores, int kRegisters>
  __device__ __forceinline__ void finishBlock(const float (&d)[kRegisters], const TileOrigin& origin, int32_t blockChannel,
                                              uint32_t consumer, uint32_t staging) const {
    const uint32_t barrier = kConsumer + consumer;
    const bool leads = threadIdx.x % 128 == 0;
    if (leads) ptx::bulkWaitGroupRead<kPendingStores>();
    ptx::namedBarrierSync(barrier, 128);
    stageBlock<Element, kPixels, kMayBeFlat>(p_, d, origin.channel + blockChannel, staging);
    ptx::fenceProxyAsyncShared();
    ptx::namedBarrierSync(barrier, 128);
    if (leads) storeTile(origin, blockChannel, staging);
  }

  __device__ void storeTile(const TileOrigin& origin, int32_t blockChannel, uint32_t source) const {
    ptx::storeTile4d(&outputMap_, origin.channel + blockChannel, origin.column, origin.image, origin.row, source);
    ptx::bulkCommitGroup();
  }

  const InputMaps& inputMaps_;
  const CUtensorMap& filterMap_;
  const CUtensorMap& outputMap_;
  const Params& p_;
  Control* control_;
  uint32_t boxes_, weights_, staging_;
  int32_t rank_, firstChunk_, endChunk_;
};

}  // namespace shiftconv::kernels::halo

/// SHIFTCONV_HALO_KERNEL(halo_sm90_f16_k128_n224, F16, 1, 1, 224, Common, Own)
#define SHIFTCONV_HALO_KERNEL(NAME, KIND, FIRST, SECOND, N, SHARE, STAGING)                                                      \
  extern "C" __global__ void __launch_bounds__(                                                                                  \
      (shiftconv::kernels::halo::Shape<FIRST, SECOND, N, shiftconv::kernels::halo::PixelShare::SHARE,                            \
                                       shiftconv::kernels::halo::Staging::STAGING>::kThreads),                                   \
      1) NAME(const __grid_constant__ shiftconv::kernels::halo::InputMaps inputMaps, const __grid_constant__ CUtensorMap filter, \
              const __grid_constant__ CUtensorMap output, const __grid_constant__ shiftconv::kernels::halo::Params params) {     \
    using namespace shiftconv::kernels::halo;                                                                                    \
    Cta<KIND, Shape<FIRST, SECOND, N, PixelShare::SHARE, Staging::STAGING>, Epilogue::Plain>(inputMaps, filter, output, params)  \
        .run();                                                                                                                  \
  }

/// The same with the whole epilogue, which needs no map of the output.
/// SHIFTCONV_HALO_FULL_KERNEL(halo_sm90_f16_f16_full_k128_n128, F16, 1, 1, 128, Common)
#define SHIFTCONV_HALO_FULL_KERNEL(NAME, KIND, FIRST, SECOND, N, SHARE)                                                           \
  extern "C" __global__ void __launch_bounds__(                                                                                   \
      (shiftconv::kernels::halo::Shape<FIRST, SECOND, N, shiftconv::kernels::halo::PixelShare::SHARE,                             \
                                       shiftconv::kernels::halo::Staging::Own>::kThreads),                                        \
      1) NAME(const __grid_constant__ shiftconv::kernels::halo::InputMaps inputMaps, const __grid_constant__ CUtensorMap filter,  \
              const __grid_constant__ shiftconv::kernels::halo::Params params) {                                                  \
    using namespace shiftconv::kernels::halo;                                                                                     \
    Cta<KIND, Shape<FIRST, SECOND, N, PixelShare::SHARE, Staging::Own>, Epilogue::Full>(inputMaps, filter, filter, params).run(); \
  }
