// im2col_sm90: convolution on wgmma whose pixels the copy engine gathers (TMA im2col): any filter, stride, dilation and padding
// within the limits of an im2col map, one to three dimensions; in kernels of their own, phases of transposed ones (phase.hpp). One
// tile a CTA, nothing persistent: what runs once is short.
//
// GEMM view: M = output pixels (operand A), 64 for each warpgroup; N = output channels (operand B); reduction over filter taps and
// chunks of 128 bytes of input channels. A stage of the ring has the pixels of a chunk at a tap, and the weights of the chunk at
// that tap.
//
// Roles: the last warp loads, the others multiply, one warpgroup 64 pixels by all channels of the tile.
//
// NOTES
//  - Taps that lie outside of the image for every pixel of the tile are neither loaded nor multiplied.
//  - Channels beyond C arrive as zeros and are multiplied: a branch among the slices of a stage costs ptxas its view of which wgmma
//    are under way (C7519).
//  - A stage is released one step late, so that a product is always under way after the one that is waited for.
//  - The lane that loads prepares the barriers and goes on at once; nobody else holds it up.
//  - An input in two tensors has a map for each. A chunk has channels of one of them: the first tensor's last chunk may be short.
//    The second's first one begins at its first channel. Of an input split along the depth each tile has one slice of the output,
//    so that all of its pixels are in the same tensor at a tap.
//  - In some kernels the chunks of a tile are split over the CTAs of a cluster. A warpgroup's sums are added by one of them, in the
//  order of
//    ranks: the same bits every time. They travel to a place of their own, so that nobody waits for the others' products; the one
//    barrier of the cluster says that the receiver has prepared its own.
//  - In some kernels the CTAs of a cluster share operands: see shared_operands.cuh. Nobody leaves before everybody has
//    read what it loaded, and has told it so. A tile beyond the last one takes part with zeros.
//  - blockIdx.y is the group: a tile has channels of one. What follows a group's channels in its last chunk has to be zeros: those
//    of the filter would not stop a neighbour's infinities. So there the map has groups in place of images, and images in place of
//    planes, or of rows where those are single ones. A tile's last rows of the filter may be the next group's; their sums are not
//    stored.
//  - Residual and bias come to shared memory while operands do. See epilogue.cuh for what follows the sums.
//  - The next kernel may start when the one before this has ended, and not earlier: kernels that are two ahead would take places
//    that this one's CTAs are spread over, and come to lie unevenly (observed on an H200: 0.62 to 0.97 of the speed).
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/pipeline.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/dependent_launch.cuh"
#include "common/ptx/mbarrier.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/wgmma.cuh"
#include "conv/algorithms/im2col_sm90/epilogue.cuh"
#include "conv/algorithms/im2col_sm90/params.hpp"
#include "conv/algorithms/im2col_sm90/phase.cuh"
#include "conv/algorithms/im2col_sm90/products.cuh"
#include "conv/algorithms/im2col_sm90/shared_operands.cuh"
#include "conv/kernels/cluster_sums.cuh"
#include "conv/kernels/left_out.cuh"
#include "conv/kernels/wgmma_kinds.cuh"

namespace shiftconv::kernels::im2col {

template <class Kind, int kGroups, int kChannels, InCluster kInCluster, bool kIsLean, class Outputs>
class Cta {
  static constexpr bool kSplits = kInCluster == InCluster::Reduction, kShares = kInCluster == InCluster::Operands;
  static constexpr int32_t kPixels = kGroups * kGroupPixels;
  static constexpr uint32_t kPixelBytes = kPixels * kRowBytes, kStageBytes = stageBytes(kGroups, kChannels);
  static constexpr uint32_t kConsumers = kGroups * 128;
  static constexpr uint32_t kControlBytes = controlBytes(kChannels);
  static constexpr int32_t kChunkChannels = chunkChannels(Kind::kElementBytes);
  using Finish = Epilogue<Kind, kGroups, kChannels, kIsLean, Outputs>;
  static_assert(sizeof(Control<kChannels>) <= kControlBytes, "the planner reserves controlBytes in front of the stages");

 public:
  __device__ Cta(const CUtensorMap& input, const CUtensorMap& filter, const Params& params, const Outputs& outputs)
      : inputMap_(input), filterMap_(filter), p_(params), outputs_(outputs) {
    extern __shared__ uint8_t dynamicShared[];
    control_ = &gemm::alignedShared<Control<kChannels>>(dynamicShared);
    stages_ = ptx::sharedAddress(control_) + kControlBytes;
    const SharedOperands shared(p_);
    uint32_t tile = kShares ? shared.cluster() : kSplits ? blockIdx.x >> p_.splitShift : blockIdx.x;
    if constexpr (Outputs::kArePhase) tile = outputs_.ownTile(tile);
    const uint32_t ofPixels = p_.channelTiles.quotient(tile), pixelTile = kShares ? shared.pixelTile(ofPixels) : ofPixels;
    firstPixel_ = p_.window.split.planes == 0 ? static_cast<int32_t>(pixelTile) * kPixels : firstPixelOfSlices(pixelTile);
    const uint32_t channelTile = tile - ofPixels * p_.channelTiles.divisor;
    firstChannel_ = convolutionGroup() * p_.groupColumns +
                    static_cast<int32_t>(kShares ? shared.channelTile(channelTile) : channelTile) * kChannels;
  }

  __device__ void run() {
    const uint32_t warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0);
    if (p_.window.isUsed) reach();
    if (warp == kGroups * 4) {
      if (ptx::electOne()) {
        ptx::prefetchTensorMap(&inputMap_);
        ptx::prefetchTensorMap(&filterMap_);
        control_->operands.initialise(p_.stages, 1, kGroups * 4 * (kShares ? SharedOperands(p_).readers() : 1));
        if constexpr (kSplits) {
          ptx::mbarrierInit(sumsBarrier(), 1);
          ptx::mbarrierArriveExpectBytes(sumsBarrier(), static_cast<uint32_t>(receivedBytes(split(), kChannels)));
        }
        ptx::fenceMbarrierInit();
      }
      __syncwarp();  // site: barriers_ready
      if constexpr (!kShares) ptx::namedBarrierArrive(kBegin, kConsumers + 32);
      if constexpr (kSplits || kShares) ptx::clusterBarrierArriveRelaxed();
      if constexpr (kShares) ptx::clusterBarrierWait();  // site: peers_ready
      if (p_.filterAhead && ptx::electOne()) loadFilterAhead();
      if (ptx::electOne()) load();
      if constexpr (kSplits) {
        __syncwarp();               // site: loader_leaves
        ptx::clusterBarrierWait();  // site: loader_leaves
      }
    } else {
      if constexpr (!kShares) ptx::namedBarrierSync(kBegin, kConsumers + 32);
      if constexpr (kSplits || kShares) ptx::clusterBarrierArriveRelaxed();
      ptx::awaitPrerequisitesWith<true>(control_, p_);
      multiply(warp / 4, epilogue().fetch(warp, finishes(warp / 4)));
    }
  }

 private:
  enum NamedBarrier : uint32_t { kBegin = 1, kMultiplied };

  // ---- The part of a CTA in a cluster that shares a tile -------------------------------------------------------------------
  __device__ __forceinline__ int32_t split() const { return kSplits ? 1 << p_.splitShift : 1; }
  __device__ __forceinline__ int32_t rank() const { return kSplits ? static_cast<int32_t>(blockIdx.x) & (split() - 1) : 0; }
  /// Of a tap's chunks this CTA has those from firstChunk(rank()) to firstChunk(rank() + 1).
  __device__ __forceinline__ int32_t firstChunk(int32_t rank) const {
    return kSplits ? p_.chunks * rank >> p_.splitShift : p_.chunks * rank;
  }
  __device__ __forceinline__ uint32_t sumsBarrier() const { return ptx::sharedAddress(&control_->sums); }
  __device__ __forceinline__ int32_t owner(uint32_t group) const { return ownerOf(static_cast<int32_t>(group), kGroups, split()); }
  __device__ __forceinline__ bool finishes(uint32_t group) const { return owner(group) == rank(); }

  /// Of the convolution's, not of warps.
  static __device__ __forceinline__ int32_t convolutionGroup() { return static_cast<int32_t>(blockIdx.y); }

  // ---- The taps of a tile --------------------------------------------------------------------------------------------------
  struct Position {
    int32_t x, y, z, image;
  };
  /// Where tiles end with each slice of the output.
  __device__ int32_t firstPixelOfSlices(uint32_t pixelTile) const {
    const uint32_t slice = p_.sliceTiles.quotient(pixelTile), tile = pixelTile - slice * p_.sliceTiles.divisor;
    return static_cast<int32_t>(slice * p_.slicePixels.divisor) + static_cast<int32_t>(tile) * kPixels;
  }
  /// The first pixel that is not of this tile, or of none.
  __device__ __forceinline__ int32_t endPixel() const {
    if constexpr (Outputs::kArePhase) return outputs_.pixels();
    if (p_.window.split.planes == 0) return p_.epilogue.rows;
    const layout::FastDivisor& pixels = p_.slicePixels;
    return static_cast<int32_t>((pixels.quotient(static_cast<uint32_t>(firstPixel_)) + 1) * pixels.divisor);
  }
  __device__ Position positionOf(int32_t pixel) const {
    const uint32_t index = static_cast<uint32_t>(pixel), row = p_.positionsX.quotient(index), plane = p_.positionsY.quotient(row),
                   image = p_.positionsZ.quotient(plane);
    return {static_cast<int32_t>(index - row * p_.positionsX.divisor), static_cast<int32_t>(row - plane * p_.positionsY.divisor),
            static_cast<int32_t>(plane - image * p_.positionsZ.divisor), static_cast<int32_t>(image)};
  }
  /// The range of positions that the tile has along each axis: one position, those between two, or all. Tiles that share a filter
  /// have the range of all of them, as they read it at the same taps.
  __device__ void reach() {
    int32_t from = firstPixel_, pixels = kPixels;
    if constexpr (kShares) {
      const SharedOperands shared(p_);
      from -= shared.tilesBefore() * kPixels;
      pixels = shared.tilesOfFilter() * kPixels;
    }
    const Position first = positionOf(from), last = positionOf(min(from + pixels, endPixel()) - 1);
    const auto range = [](const gemm::WindowAxis& axis, int32_t from, int32_t to, bool all, int32_t& low, int32_t& high) {
      low = axis.first + (all ? 0 : from) * axis.stride;
      high = axis.first + (all ? axis.positions - 1 : to) * axis.stride;
    };
    const bool images = first.image != last.image, planes = images || first.z != last.z, rows = planes || first.y != last.y;
    range(p_.window.z, first.z, last.z, images, low_[2], high_[2]);
    range(p_.window.y, first.y, last.y, planes, low_[1], high_[1]);
    range(p_.window.x, first.x, last.x, rows, low_[0], high_[0]);
    if constexpr (Outputs::kArePhase) {
      const int32_t before[3] = {outputs_.x().before, outputs_.y().before, outputs_.z().before};
#pragma unroll
      for (int32_t i = 0; i < 3; ++i) low_[i] += before[i], high_[i] += before[i];
    }
  }
  static __device__ __forceinline__ bool reads(const gemm::WindowAxis& axis, int32_t low, int32_t high, int32_t tap) {
    return high + tap * axis.step >= 0 && low + tap * axis.step < axis.extent;
  }

  /// Calls body(tap, x, y, z) for each tap that reads inside of the image, in order; for the last one when none does, so that the
  /// sums begin with something.
  template <class Body>
  __device__ __forceinline__ void forEachTap(Body&& body) const {
    const gemm::WindowAxis &ax = p_.window.x, &ay = p_.window.y, &az = p_.window.z;
    bool any = false;
    int32_t tap = 0;
#pragma unroll 1
    for (int32_t z = 0; z < outputs_.tapsZ(az); ++z)
#pragma unroll 1
      for (int32_t y = 0; y < outputs_.tapsY(ay); ++y)
#pragma unroll 1
        for (int32_t x = 0; x < outputs_.tapsX(ax); ++x, ++tap) {
          const bool isLast = z == outputs_.tapsZ(az) - 1 && y == outputs_.tapsY(ay) - 1 && x == outputs_.tapsX(ax) - 1;
          if (!(reads(ax, low_[0], high_[0], x) && reads(ay, low_[1], high_[1], y) && reads(az, low_[2], high_[2], z)) &&
              !(isLast && !any))
            continue;
          any = true;
          if constexpr (Outputs::kArePhase)
            body(outputs_.filterTap(x, y, z), x, y, z);
          else
            body(tap, x, y, z);
        }
  }

  struct VolumePosition {
    int32_t channel, x, y, z, image;
  };
  struct VolumeOffsets {
    uint16_t x, y, z;
  };
  static __device__ __forceinline__ void loadVolume(uint32_t pixels, const CUtensorMap* map, const VolumePosition& at,
                                                    const VolumeOffsets& tap, uint32_t full, const OperandPart& part) {
    if (kShares && part.isShared)
      ptx::loadPixels5dMulticast(pixels, map, at.channel, at.x, at.y, at.z, at.image, tap.x, tap.y, tap.z, full, part.ctas);
    else
      ptx::loadPixels5d(pixels, map, at.channel, at.x, at.y, at.z, at.image, tap.x, tap.y, tap.z, full);
  }
  static __device__ __forceinline__ void loadPlane(uint32_t pixels, const CUtensorMap* map, int32_t channel, int32_t x, int32_t y,
                                                   int32_t image, uint16_t tapX, uint16_t tapY, uint32_t full,
                                                   const OperandPart& part) {
    if (kShares && part.isShared)
      ptx::loadPixels4dMulticast(pixels, map, channel, x, y, image, tapX, tapY, full, part.ctas);
    else
      ptx::loadPixels4d(pixels, map, channel, x, y, image, tapX, tapY, full);
  }
  static __device__ __forceinline__ void loadRows(uint32_t pixels, const CUtensorMap* map, int32_t channel, int32_t first,
                                                  uint32_t full, const OperandPart& part) {
    if (kShares && part.isShared)
      ptx::loadTile2dMulticast(pixels, map, channel, first, full, part.ctas);
    else
      ptx::loadTile2d(pixels, map, channel, first, full);
  }

  // ---- What this CTA loads of the tile ---------------------------------------------------------------------------------------
  __device__ __forceinline__ OperandPart pixelPart() const {
    if constexpr (kShares) return SharedOperands(p_).pixels(kPixels);
    return {0, false, 1};
  }
  __device__ __forceinline__ OperandPart filterPart() const {
    if constexpr (kShares) return SharedOperands(p_).filter(kChannels);
    return {0, false, 1};
  }
  /// Of a part that begins behind the last pixel, which nobody misses, another one.
  __device__ __forceinline__ Position firstOf(const OperandPart& pixels) const {
    return positionOf(kShares ? min(firstPixel_ + pixels.first, endPixel() - 1) : firstPixel_);
  }

  // ---- Loads: one thread ---------------------------------------------------------------------------------------------------
  /// Of a constant filter, what the first round of stages holds.
  __device__ void loadFilterAhead() const {
    const Position at = positionOf(firstPixel_);
    const OperandPart part = filterPart();
    gemm::RingPosition stage;
    int32_t left = p_.stages;
    forEachTap([&](int32_t tap, int32_t, int32_t, int32_t z) {
#pragma unroll 1
      for (int32_t chunk = firstChunk(rank()), end = firstChunk(rank() + 1); chunk < end && left > 0; ++chunk, --left) {
        ptx::mbarrierArriveExpectBytes(control_->operands.full(stage), kStageBytes);
        loadFilter(stage, tap, sourceOf(chunk, at, z).tapChannel, part);
        stage.advance(p_.stages);
      }
    });
  }
  __device__ __forceinline__ gemm::WindowSource sourceOf(int32_t chunk, const Position& at, int32_t tapZ) const {
    const gemm::WindowAxis& z = p_.window.z;
    return p_.window.split.sourceOf(chunk, kChunkChannels, at.image, z.first + at.z * z.stride + tapZ * z.step);
  }
  __device__ __forceinline__ uint32_t stageAddress(const gemm::RingPosition& stage) const {
    return stages_ + static_cast<uint32_t>(stage.index) * kStageBytes;
  }
  __device__ __forceinline__ void loadFilter(const gemm::RingPosition& stage, int32_t tap, int32_t channel,
                                             const OperandPart& part) const {
    const uint32_t filter = stageAddress(stage) + kPixelBytes + static_cast<uint32_t>(part.first * kRowBytes);
    const int32_t first = firstChannel_ + part.first;
    if (kShares && part.isShared)
      ptx::loadTile3dMulticast(filter, &filterMap_, channel, tap, first, control_->operands.full(stage),
                               part.ctas);  // site: filter_for_both
    else
      ptx::loadTile3d(filter, &filterMap_, channel, tap, first, control_->operands.full(stage));
  }
  /// How the copy engine finds a tile's pixels: as rows of a matrix where every output pixel is an input pixel, else walking along
  /// the pixels of a plane or a volume.
  enum class Found : uint8_t { InRows, InPlane, InVolume };

  /// A loop for each kind of map, which looks up nothing that its steps have in common. One thread loads, and a warpgroup
  /// multiplies a step of 112 channels in 224 clocks: with 75 instructions a step the loads took longer (observed on an H200: a 1x1
  /// layer of 2048 to 448 channels took 1.1 times as long as with 37).
  __device__ void load() const {
    gemm::RingPosition stage;
    if (!p_.window.isUsed)
      loadAll<Found::InRows>(stage);
    else if (p_.window.hasDepth)
      loadAll<Found::InVolume>(stage);
    else
      loadAll<Found::InPlane>(stage);
    if constexpr (kShares) control_->operands.awaitReleases(stage, p_.stages);  // site: reads_awaited
  }
  /// The first chunk after `chunk` that is in another tensor than it, or `end`.
  __device__ __forceinline__ int32_t endOfTensor(int32_t chunk, int32_t end) const {
    const int32_t first = p_.window.split.chunks;
    return chunk < first ? min(first, end) : end;
  }
  /// `stage` is where to begin, and then the one after the last.
  template <Found kFound>
  __device__ __forceinline__ void loadAll(gemm::RingPosition& stage) const {
    const OperandPart part = pixelPart(), ofFilter = filterPart();
    const Position at = firstOf(part);
    const gemm::WindowParams& w = p_.window;
    const int32_t x0 = w.x.first + at.x * w.x.stride, y0 = w.y.first + at.y * w.y.stride, z0 = w.z.first + at.z * w.z.stride;
    const int32_t image = at.image + convolutionGroup() * p_.groupImages;
    const auto* const second = reinterpret_cast<const CUtensorMap*>(&p_.secondMap);
    int32_t ahead = p_.filterAhead ? p_.stages : 0;  // stages that expect their bytes and get their filter already
    bool waits = true;
    forEachTap([&](int32_t tap, int32_t x, int32_t y, int32_t z) {
      auto dx = static_cast<uint16_t>(x * w.x.step), dy = static_cast<uint16_t>(y * w.y.step),
           dz = static_cast<uint16_t>(z * w.z.step);
      if constexpr (Outputs::kArePhase) dx += outputs_.x().before, dy += outputs_.y().before, dz += outputs_.z().before;
      const int32_t end = firstChunk(rank() + 1);
#pragma unroll 1
      for (int32_t chunk = firstChunk(rank()); chunk < end;) {
        // A matrix is not split along the depth: what a split reads of the position is not computed.
        const gemm::WindowSource from =
            kFound == Found::InRows ? w.split.sourceOf(chunk, kChunkChannels, 0, 0) : sourceOf(chunk, at, z);
        const CUtensorMap* const map = from.isSecond ? second : &inputMap_;
        int32_t channel = from.channel + convolutionGroup() * p_.groupChannels, tapChannel = from.tapChannel;
        const int32_t imageOfPlane = from.image + convolutionGroup() * p_.groupImages;
        const int32_t endOfMap = endOfTensor(chunk, end);
#pragma unroll 1
        for (; chunk < endOfMap; ++chunk, channel += kChunkChannels, tapChannel += kChunkChannels) {
          control_->operands.awaitEmpty(stage);
          const uint32_t full = control_->operands.full(stage);
          const uint32_t pixels = stageAddress(stage) + static_cast<uint32_t>(part.first * kRowBytes);
          // Here and not earlier: what comes before has been fetched, and has run, when the run ahead ends.
          if (waits) {
            ptx::awaitPrerequisites();
            ptx::launchDependents();
            waits = false;
          }
          if (ahead > 0) {
            --ahead;
          } else {
            ptx::mbarrierArriveExpectBytes(full, kStageBytes);
            loadFilter(stage, tap, tapChannel, ofFilter);
          }
          if constexpr (kFound == Found::InRows)
            loadRows(pixels, map, channel, firstPixel_ + part.first, full, part);
          else if constexpr (kFound == Found::InVolume)
            loadVolume(pixels, map, {channel, x0, y0, z0, image}, {dx, dy, dz}, full, part);
          else
            loadPlane(pixels, map, channel, x0, y0, imageOfPlane, dx, dy, full, part);
          stage.advance(p_.stages);
        }
      }
    });
  }

  // ---- Products: a warpgroup -------------------------------------------------------------------------------------------------
  __device__ void multiply(uint32_t group, const typename Finish::Fetched& fetched) {
    typename Kind::Sum d[kChannels / 2];
    gemm::RingPosition stage, held;
    uint32_t accumulate = 0;
    const bool releases = threadIdx.x % 32 < (kShares ? SharedOperands(p_).readers() : 1);
    uint32_t told = 0;  // the first of the empty barriers of the CTA that this lane tells what has been read
    if constexpr (kShares) {
      told = SharedOperands(p_).toldBy(threadIdx.x % 32, control_->operands.empty({}));
      ptx::clusterBarrierWait();  // site: peers_ready
    }
    const auto release = [&](const gemm::RingPosition& read) {
      if (!releases) return;
      if constexpr (kShares)
        ptx::mbarrierArriveAtPeer(told + static_cast<uint32_t>(read.index) * sizeof(uint64_t));
      else
        ptx::mbarrierArrive(control_->operands.empty(read));
    };
    forEachTap([&](int32_t, int32_t, int32_t, int32_t) {
      int32_t left = firstChunk(rank() + 1) - firstChunk(rank());
      do {
        control_->operands.awaitFull(stage);
        const uint32_t pixels = stageAddress(stage);
        ptx::wgmmaFence();  // site: products_fence
        const StageOperands operands(pixels + group * (kGroupPixels * kRowBytes), pixels + kPixelBytes);
#pragma unroll
        for (int32_t slice = 0; slice < kChunkSlices; ++slice)
          operands.multiply<Kind, kChannels>(d, slice, slice == 0 ? accumulate : 1);
        ptx::wgmmaCommit();
        ptx::wgmmaWait<1>();
        if (accumulate != 0) release(held);
        accumulate = 1;
        held = stage;
        stage.advance(p_.stages);
      } while (--left > 0);
    });
    ptx::wgmmaWait<0>();
#pragma unroll
    for (auto& sum : d) ptx::wgmmaHold(sum);
    if constexpr (kShares) release(held);
    epilogue().keep(fetched);
    // Everything that was loaded has been multiplied by everybody: the stages become the place of the outputs.
    ptx::namedBarrierSync(kMultiplied, kConsumers);
    if constexpr (kSplits) {
      ptx::clusterBarrierWait();  // site: receiver_ready
      const uint32_t received = stages_ + static_cast<uint32_t>(p_.receivedOffset);
      if (!addUpAtOwner<kChannels / 2>(d, received, rank(), split(), owner(group), sumsBarrier())) return;
    }
    epilogue().finish(d);
  }
  __device__ __forceinline__ Finish epilogue() const {
    const int32_t endRow = Outputs::kArePhase ? p_.epilogue.rows : endPixel();
    return {p_, *control_, stages_, firstPixel_, endRow, firstChannel_, (convolutionGroup() + 1) * p_.groupColumns, outputs_};
  }

  const CUtensorMap& inputMap_;
  const CUtensorMap& filterMap_;
  const Params& p_;
  [[no_unique_address]] Outputs outputs_;
  Control<kChannels>* control_;
  uint32_t stages_;
  int32_t firstPixel_, firstChannel_;
  int32_t low_[3] = {}, high_[3] = {};  ///< where tap 0 reads along x, y and z
};

}  // namespace shiftconv::kernels::im2col

// Tiles of PIXELS output pixels x CHANNELS output channels. IN_CLUSTER: of InCluster.
#define SHIFTCONV_IM2COL_KERNEL_OF(NAME, KIND, PIXELS, CHANNELS, IN_CLUSTER, CTAS, IS_LEAN)                                  \
  SHIFTCONV_KERNEL(                                                                                                          \
      NAME, extern "C" __global__ void __launch_bounds__(shiftconv::kernels::im2col::threads(PIXELS / 64), CTAS) NAME(       \
                const __grid_constant__ CUtensorMap inputMap, const __grid_constant__ CUtensorMap filterMap,                 \
                const __grid_constant__ shiftconv::kernels::im2col::Params params) {                                         \
        using namespace shiftconv::kernels::im2col;                                                                          \
        Cta<KIND, PIXELS / 64, CHANNELS, InCluster::IN_CLUSTER, IS_LEAN, AllOutputs>(inputMap, filterMap, params, {}).run(); \
      })
/// The kernel of lean epilogues, and that of the others.
#define SHIFTCONV_IM2COL_KERNEL(NAME, KIND, PIXELS, CHANNELS, IN_CLUSTER, CTAS)           \
  SHIFTCONV_IM2COL_KERNEL_OF(NAME##_lean, KIND, PIXELS, CHANNELS, IN_CLUSTER, CTAS, true) \
  SHIFTCONV_IM2COL_KERNEL_OF(NAME, KIND, PIXELS, CHANNELS, IN_CLUSTER, CTAS, false)
