// The place of a CTA in a cluster whose CTAs share operands: those with neighbouring tiles of channels their pixels, those with
// neighbouring tiles of pixels their filter. Of an operand that it shares a CTA loads one half of a stage's rows, for itself and
// for the other one. Each expects all bytes of its own stage, and each tells everybody who loads for it that it has read a stage.
#pragma once

#include <cstdint>

#include "common/ptx/mbarrier.cuh"
#include "common/ptx/synchronisation.cuh"
#include "conv/algorithms/im2col_sm90/params.hpp"

namespace shiftconv::kernels::im2col {

/// Of an operand: from which row of a stage on this CTA loads, and for whom.
struct OperandPart {
  int32_t first;
  bool isShared;
  uint16_t ctas;  ///< a bit for each rank that the rows go to
};

class SharedOperands {
 public:
  __device__ __forceinline__ explicit SharedOperands(const Params& params)
      : pixels_(static_cast<uint32_t>(params.pixelsShared)), filter_(static_cast<uint32_t>(params.filterShared)) {}

  __device__ __forceinline__ uint32_t cluster() const { return blockIdx.x >> (pixels_ + filter_); }
  __device__ __forceinline__ uint32_t rank() const { return blockIdx.x & ((1u << (pixels_ + filter_)) - 1); }
  /// Of the tiles of the cluster's, counted from its first one in either direction.
  __device__ __forceinline__ uint32_t channelTile(uint32_t ofCluster) const { return ofCluster << pixels_ | (rank() & pixels_); }
  __device__ __forceinline__ uint32_t pixelTile(uint32_t ofCluster) const { return ofCluster << filter_ | rank() >> pixels_; }

  __device__ __forceinline__ OperandPart pixels(int32_t rows) const { return partOf(rows, pixels_, rank() & pixels_, pixels_); }
  __device__ __forceinline__ OperandPart filter(int32_t rows) const {
    return partOf(rows, filter_, rank() >> pixels_, filter_ << pixels_);
  }

  /// Arrivals of each consumer's that complete a phase of an empty barrier.
  __device__ __forceinline__ uint32_t readers() const { return 1 + pixels_ + filter_; }
  /// The same barrier as `empty` in the CTA that this lane tells: of the first readers() lanes the own one, and then the others.
  __device__ __forceinline__ uint32_t toldBy(uint32_t lane, uint32_t empty) const {
    return ptx::mapToCta(empty, rank() ^ (lane < readers() ? lane : 0));
  }

 private:
  __device__ __forceinline__ OperandPart partOf(int32_t rows, uint32_t isShared, uint32_t part, uint32_t other) const {
    return {static_cast<int32_t>(part) * (rows >> isShared), isShared != 0,
            static_cast<uint16_t>(1u << rank() | 1u << (rank() ^ other))};
  }

  const uint32_t pixels_, filter_;  ///< 1 where the operand is shared
};

}  // namespace shiftconv::kernels::im2col
