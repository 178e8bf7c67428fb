// Transposes matrices through tiles in shared memory, so that loads and stores are both of neighbouring elements. A CTA has one
// tile.
#include <cstdint>

#include "conv/algorithms/relayout/params.hpp"

namespace shiftconv::kernels::transposition {
namespace {

constexpr int32_t kRowsAtOnce = kThreads / kTile;

template <class Element>
__device__ __forceinline__ void transpose(const Params& p) {
  __shared__ Element tile[kTile][kTile + 1];  // a column of padding, so that reading down a column meets every bank
  const uint32_t image = p.imageTiles.quotient(blockIdx.x), inImage = blockIdx.x - image * p.imageTiles.divisor;
  const uint32_t tileRow = p.columnTiles.quotient(inImage), tileColumn = inImage - tileRow * p.columnTiles.divisor;
  const uint32_t x = threadIdx.x % kTile, y = threadIdx.x / kTile;
  const int64_t first = int64_t{image} * p.rows * p.columns;
  const Element* const source = static_cast<const Element*>(p.source) + first;
  Element* const destination = static_cast<Element*>(p.destination) + first;
#pragma unroll
  for (uint32_t i = 0; i < kTile; i += kRowsAtOnce) {
    const uint32_t row = tileRow * kTile + y + i, column = tileColumn * kTile + x;
    if (row < p.rows && column < p.columns) tile[y + i][x] = source[int64_t{row} * p.columns + column];
  }
  __syncthreads();
#pragma unroll
  for (uint32_t i = 0; i < kTile; i += kRowsAtOnce) {
    const uint32_t row = tileRow * kTile + x, column = tileColumn * kTile + y + i;
    if (row < p.rows && column < p.columns) destination[int64_t{column} * p.rows + row] = tile[x][y + i];
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) transpose_matrices(const __grid_constant__ Params p) {
  if (p.elementBytes == 1)
    transpose<uint8_t>(p);
  else if (p.elementBytes == 2)
    transpose<uint16_t>(p);
  else
    transpose<uint32_t>(p);
}

}  // namespace shiftconv::kernels::transposition
