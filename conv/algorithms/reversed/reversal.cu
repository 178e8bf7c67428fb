// Puts the taps of a flipped filter in order. Reads and writes of neighbouring threads are neighbours within a row.
#include <cstdint>

#include "common/layout/scale_factor_layout.hpp"
#include "conv/algorithms/reversed/params.hpp"
#include "conv/kernels/vector_copy.cuh"

namespace shiftconv::kernels::reversal {
namespace {

__device__ __forceinline__ int64_t offsetOf(const Params& p, uint32_t row, uint32_t vector) {
  if (!p.isInterleaved) return (int64_t{row} * p.rowVectors.divisor + vector) * p.vectorBytes;
  constexpr int64_t kBlocks = layout::kScaleTileBlocks;  // of a vector
  return layout::scaleFactorOffset(layout::ScaleFactorLayout::Interleaved128x4, row, vector * kBlocks,
                                   p.rowVectors.divisor * kBlocks);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) reverse_taps(const __grid_constant__ Params p) {
  const uint32_t id = blockIdx.x * kThreads + threadIdx.x;
  if (id >= p.count) return;
  const uint32_t row = p.rowVectors.quotient(id), vector = id - row * p.rowVectors.divisor;
  const uint32_t filter = p.taps.quotient(row), tap = row - filter * p.taps.divisor;
  const uint32_t from = row < p.rows ? row - tap + (p.taps.divisor - 1 - tap) : row;
  copyVector(p.destination + offsetOf(p, row, vector), p.source + offsetOf(p, from, vector), p.vectorBytes);
}

}  // namespace shiftconv::kernels::reversal
