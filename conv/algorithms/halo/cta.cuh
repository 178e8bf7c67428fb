// The context of a CTA of halo, which all its roles share: where things lie in its shared memory, its part of the reduction, and
// the order of work. Roles are functions over it.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <type_traits>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/ring.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/warp.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/shape.cuh"
#include "conv/algorithms/halo/tile.cuh"

namespace shiftconv::kernels::halo {

/// From kConsumer on, one for each multiplying warpgroup.
enum NamedBarrier : uint32_t { kBegin = 1, kZeroed, kLag, kConsumer, kSecondLag = kConsumer + kMostConsumers };

/// What kernels keep that have nothing to keep: with a position among tiles of residual that is not used, ptxas made their loops
/// another way.
struct Nowhere {};

template <class KindOf, class ShapeOf, Epilogue kEpilogueOf, bool kSharesOf = false>
struct Cta {
  using Kind = KindOf;
  using S = ShapeOf;
  using Element = typename Kind::Element;
  using Sum = typename Kind::Sum;
  static constexpr Epilogue kEpilogue = kEpilogueOf;
  static constexpr bool kFull = kEpilogue == Epilogue::Full, kResidual = kEpilogue == Epilogue::Residual;
  static constexpr bool kConverts = kEpilogue == Epilogue::Converted;
  static constexpr bool kActivated = kEpilogue == Epilogue::Activated || kConverts;
  /// Two CTAs, a cluster, have the same pixels and neighbouring tiles of channels: tiles 2i and 2i + 1. They load boxes in turns,
  /// for both.
  static constexpr bool kShares = kSharesOf;
  static constexpr bool kAnyInput = takesAnyInput(kEpilogue);
  static constexpr bool kMayHaveFewSlices = !kFull && Kind::kElementBytes == 1;
  /// Of a thread. A lane that serves residuals of 8 bits needs more than 40.
  static constexpr int kLoadingRegisters = kResidual && Kind::kElementBytes == 1 ? 56 : S::kLoadingRegisters;
  static constexpr int kMultiplyingRegisters = multiplyingRegisters(S::kConsumers, kLoadingRegisters);
  static constexpr uint32_t kMembers = S::kSeparate ? 2 : 1;  ///< boxes that a tile has for each patch
  static_assert(!kFull || !S::kOverBox, "the whole epilogue stages its output elsewhere");
  using ResidualPosition = std::conditional_t<kResidual, gemm::RingPosition, Nowhere>;
  /// Bits of the largest magnitude among a thread's outputs, of kernels that may be asked for it.
  using Largest = std::conditional_t<kFull || kConverts, uint32_t, Nowhere>;

  const InputMaps& inputMaps;
  const CUtensorMap& filterMap;
  const CUtensorMap& outputMap;
  const CUtensorMap& residualMap;
  const Params& params;
  Control* control;
  uint32_t boxes, weights, staging;  // shared-window addresses
  int32_t rank, firstChunk, endChunk;

  __device__ Cta(const InputMaps& inputs, const CUtensorMap& filter, const CUtensorMap& output, const CUtensorMap& residual,
                 const Params& p)
      : inputMaps(inputs), filterMap(filter), outputMap(output), residualMap(residual), params(p) {
    extern __shared__ uint8_t dynamicShared[];
    control = &gemm::alignedShared<Control>(dynamicShared);
    boxes = ptx::sharedAddress(control) + kControlBytes;
    weights = boxes + p.patchSlots * p.patchSlotBytes;
    staging = weights + p.weightStages * S::kStageBytes;
    rank = p.split > 1 ? static_cast<int32_t>(ptx::clusterRank()) : 0;
    firstChunk = rank * p.chunksPerRank;
    endChunk = min(p.chunks, firstChunk + p.chunksPerRank);
  }

  static __device__ __forceinline__ bool loadsForPair(uint32_t box) { return ((box ^ blockIdx.x) & 1) == 0; }

  __device__ uint32_t boxAddress(uint32_t slot) const { return boxes + slot * params.patchSlotBytes; }
  __device__ uint32_t weightAddress(uint32_t stage) const { return weights + stage * S::kStageBytes; }
  /// Where a warpgroup's tile of one channel block of residual waits.
  __device__ uint32_t stagingAddress(uint32_t consumer, const gemm::RingPosition& buffer) const {
    return staging + (consumer * static_cast<uint32_t>(params.residual.stagings) + static_cast<uint32_t>(buffer.index)) *
                         params.residual.stagingBytes;
  }
  /// Barrier: the other ranks' sums of a piece have come.
  __device__ uint32_t sumsBarrier(uint32_t piece) const { return ptx::sharedAddress(&control->sums[piece]); }

  __device__ gemm::StaticTiles tiles() const {
    // A cluster that splits the reduction has one tile, after which its rings hold sums: its grid is as large as the work.
    if constexpr (S::kPixelsAreA) {
      if (params.alternates) return {static_cast<int32_t>(blockIdx.x), 2 * static_cast<int32_t>(gridDim.x), params.tiles};
    }
    const int32_t shift = __popc(params.split - 1);  // of a power of two; a division takes a hundred clocks before the first load
    return {static_cast<int32_t>(blockIdx.x) >> shift, static_cast<int32_t>(gridDim.x) >> shift, params.tiles};
  }

  /// The rank that has all sums of a warpgroup in the end, unless each has half.
  __device__ int32_t ownerOf(uint32_t consumer) const { return static_cast<int32_t>(consumer) * params.split / S::kConsumers; }
  /// Between a multiplying warpgroup and the next.
  __device__ static uint32_t lagBarrier(uint32_t consumer) { return S::kConsumers == 2 || consumer == 0 ? kLag : kSecondLag; }
  /// Where the owner of a warpgroup's sums receives those of the other ranks, `bytes` each.
  __device__ uint32_t receivedSums(uint32_t consumer, uint32_t bytes) const {
    if constexpr (S::kConsumers <= 2) return boxes;  // no rank owns two
    const int32_t firstOwned = (ownerOf(consumer) * S::kConsumers + params.split - 1) / params.split;
    return boxes + (consumer - static_cast<uint32_t>(firstOwned)) * static_cast<uint32_t>(params.split - 1) * bytes;
  }
  /// Whether each of two ranks finishes half of the pixels. Compiled away from most kernels.
  __device__ bool halves() const { return !kFull && S::kMayHalve && params.halves; }

  /// A tile's first output channel.
  __device__ int32_t channelOf(int32_t tile) const {
    uint32_t channelTile = blockIdx.y;
    if (params.channelTiles.divisor > 1)
      channelTile =
          static_cast<uint32_t>(tile) - params.channelTiles.quotient(static_cast<uint32_t>(tile)) * params.channelTiles.divisor;
    return static_cast<int32_t>(channelTile) * params.tileChannels;
  }

  /// `member`: which of the pair of boxes, with PixelShare::Separate. The second of the last pair may be outside the tensors, where
  /// loads give zeros and stores do nothing.
  __device__ TileOrigin originOf(int32_t tile, uint32_t member) const {
    const Params& p = params;
    uint32_t pixels = static_cast<uint32_t>(tile), channelTile = blockIdx.y;
    if (p.channelTiles.divisor > 1) {
      pixels = p.channelTiles.quotient(static_cast<uint32_t>(tile));
      channelTile = static_cast<uint32_t>(tile) - pixels * p.channelTiles.divisor;
    }
    if constexpr (S::kPixelsAreA) {
      if (params.alternates)
        pixels += member * gridDim.x;
      else
        pixels = pixels * 2 + member;
    } else if constexpr (S::kSeparate) {
      pixels = pixels * 2 + member;
    }
    const uint32_t rows = p.columnTiles.quotient(pixels), images = p.rowTiles.quotient(rows);
    return {static_cast<int32_t>(pixels - rows * p.columnTiles.divisor) * p.tileColumns,
            static_cast<int32_t>(rows - images * p.rowTiles.divisor) * p.tileRows, static_cast<int32_t>(images) * p.tileImages,
            static_cast<int32_t>(channelTile) * p.tileChannels};
  }

  /// Whether a block's outputs are words, in two boxes, one after the other.
  __device__ bool storesWords() const { return kConverts && params.full.epilogue.outputType == gemm::NumberType::F32; }
  /// Of a channel block's outputs of so many positions, where they wait to be stored.
  __device__ uint32_t stagedBytes(uint32_t positions) const { return positions * kRowBytes * (storesWords() ? 2 : 1); }
  /// One thread. kPositions: of the tile in `source`.
  template <int kPositions = S::kTileN>
  __device__ void storeTile(const TileOrigin& origin, int32_t blockChannel, uint32_t source) const {
    ptx::storeTile4d(&outputMap, origin.channel + blockChannel, origin.column, origin.image, origin.row, source);
    if constexpr (kConverts && !S::kOverBox) {
      const int32_t second = origin.channel + blockChannel + kBlockChannels / 2;
      if (storesWords() && second < params.channels)
        ptx::storeTile4d(&outputMap, second, origin.column, origin.image, origin.row, source + kPositions * kRowBytes);
    }
    ptx::bulkCommitGroup();
  }
};

}  // namespace shiftconv::kernels::halo
