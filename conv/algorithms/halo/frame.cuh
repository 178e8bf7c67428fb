// What every role of a halo CTA knows: where things lie in its shared memory, its part of the reduction, and the order of work.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/gemm/cta_frame.cuh"
#include "common/gemm/tile_schedule.cuh"
#include "common/ptx/bulk_copy.cuh"
#include "common/ptx/synchronisation.cuh"
#include "common/ptx/warp.cuh"
#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/shape.cuh"
#include "conv/algorithms/halo/tile.cuh"

namespace shiftconv::kernels::halo {

template <class S>
class Frame {
 public:
  __device__ Frame(const InputMaps& inputs, const CUtensorMap& filter, const CUtensorMap& output, const CUtensorMap& residual,
                   const Params& params)
      : inputMaps_(inputs), filterMap_(filter), outputMap_(output), residualMap_(residual), p_(params) {
    extern __shared__ uint8_t dynamicShared[];
    control_ = &gemm::alignedShared<Control>(dynamicShared);
    boxes_ = ptx::sharedAddress(control_) + kControlBytes;
    weights_ = boxes_ + p_.patchSlots * p_.patchSlotBytes;
    staging_ = weights_ + p_.weightStages * S::kStageBytes;
    rank_ = p_.split > 1 ? static_cast<int32_t>(ptx::clusterRank()) : 0;
    firstChunk_ = rank_ * p_.chunksPerRank;
    endChunk_ = min(p_.chunks, firstChunk_ + p_.chunksPerRank);
  }

 protected:
  __device__ uint32_t boxAddress(uint32_t slot) const { return boxes_ + slot * p_.patchSlotBytes; }
  __device__ uint32_t weightAddress(uint32_t stage) const { return weights_ + stage * S::kStageBytes; }

  __device__ gemm::StaticTiles tiles() const {
    // A cluster that splits the reduction has one tile, after which its rings hold sums: its grid is as large as the work.
    const int32_t shift = __popc(p_.split - 1);  // of a power of two; a division takes a hundred clocks before the first load
    return {static_cast<int32_t>(blockIdx.x) >> shift, static_cast<int32_t>(gridDim.x) >> shift, p_.tiles};
  }

  /// The rank that has all sums of a warpgroup in the end, unless each has half.
  __device__ int32_t ownerOf(uint32_t consumer) const { return static_cast<int32_t>(consumer) * p_.split / S::kConsumers; }

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

  __device__ void storeTile(const TileOrigin& origin, int32_t blockChannel, uint32_t source) const {
    ptx::storeTile4d(&outputMap_, origin.channel + blockChannel, origin.column, origin.image, origin.row, source);
    ptx::bulkCommitGroup();
  }

  const InputMaps& inputMaps_;
  const CUtensorMap& filterMap_;
  const CUtensorMap& outputMap_;
  const CUtensorMap& residualMap_;
  const Params& p_;
  Control* control_;
  uint32_t boxes_, weights_, staging_;
  int32_t rank_, firstChunk_, endChunk_;
};

}  // namespace shiftconv::kernels::halo
