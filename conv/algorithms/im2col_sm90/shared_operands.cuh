// The place of a CTA in a cluster whose CTAs share operands: those with neighbouring tiles of channels their pixels, those with
// neighbouring tiles of pixels their filter; two or four of either. Of an operand that it shares a CTA loads its part of a stage's
// rows, for itself and for the others. Each expects all bytes of its own stage, and each tells everybody who loads for it that it
// has read a stage.
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
      : pixelsShift_(static_cast<uint32_t>(params.pixelsShift)), filterShift_(static_cast<uint32_t>(params.filterShift)) {}

  __device__ __forceinline__ uint32_t cluster() const { return blockIdx.x >> (pixelsShift_ + filterShift_); }
  __device__ __forceinline__ uint32_t rank() const { return blockIdx.x & ((1u << (pixelsShift_ + filterShift_)) - 1); }
  /// Of the tiles of the cluster's, counted from its first one in either direction.
  __device__ __forceinline__ uint32_t channelTile(uint32_t ofCluster) const { return ofCluster << pixelsShift_ | column(); }
  __device__ __forceinline__ uint32_t pixelTile(uint32_t ofCluster) const { return ofCluster << filterShift_ | row(); }

  /// Of those that share the filter, which follow one another: tiles of pixels, and those before this one.
  __device__ __forceinline__ int32_t tilesOfFilter() const { return 1 << filterShift_; }
  __device__ __forceinline__ int32_t tilesBefore() const { return static_cast<int32_t>(row()); }

  __device__ __forceinline__ OperandPart pixels(int32_t rows) const {
    const uint32_t sharing = 1u << pixelsShift_;
    return {static_cast<int32_t>(column()) * (rows >> pixelsShift_), pixelsShift_ != 0,
            static_cast<uint16_t>(((1u << sharing) - 1) << (row() << pixelsShift_))};
  }
  __device__ __forceinline__ OperandPart filter(int32_t rows) const {
    // A bit for each row of the cluster: columns of it lie as far apart as a row has CTAs.
    const uint32_t rowsOfCluster = filterShift_ == 0 ? 1u : filterShift_ == 1 ? 1u | 1u << (1u << pixelsShift_) : fourRows();
    return {static_cast<int32_t>(row()) * (rows >> filterShift_), filterShift_ != 0,
            static_cast<uint16_t>(rowsOfCluster << column())};
  }

  /// Arrivals of each consumer's that complete a phase of an empty barrier.
  __device__ __forceinline__ uint32_t readers() const { return (1u << pixelsShift_) + (1u << filterShift_) - 1; }
  /// The same barrier as `empty` in the CTA that this lane tells: of the first readers() lanes those that share pixels, the own one
  /// first, and then those that share the filter.
  __device__ __forceinline__ uint32_t toldBy(uint32_t lane, uint32_t empty) const {
    const uint32_t sharePixels = 1u << pixelsShift_;
    const uint32_t away = lane >= readers() ? 0 : lane < sharePixels ? lane : (lane - sharePixels + 1) << pixelsShift_;
    return ptx::mapToCta(empty, rank() ^ away);
  }

 private:
  /// In the cluster: ranks go along a row first.
  __device__ __forceinline__ uint32_t column() const { return blockIdx.x & ((1u << pixelsShift_) - 1); }
  __device__ __forceinline__ uint32_t row() const { return rank() >> pixelsShift_; }
  __device__ __forceinline__ uint32_t fourRows() const {
    const uint32_t two = 1u | 1u << (1u << pixelsShift_);
    return two | two << (2u << pixelsShift_);
  }

  const uint32_t pixelsShift_, filterShift_;  ///< logarithms of the CTAs that share an operand
};

}  // namespace shiftconv::kernels::im2col
