// The order in which shift_stream walks through an image: the same for every role.
#pragma once

#include <cstdint>

#include "conv/kernels/sm100/shift_stream_params.hpp"

namespace shiftconv::kernels {

/// The output rows of a tile, and the input rows that it walks through: step `t` is image row firstInputRow + t * dilationH.
struct RowBlock {
  int32_t firstOutputRow, outputRows;
  int32_t firstInputRow, begin, end;  // steps
};

__device__ __forceinline__ int32_t ceilDivide(int32_t a, int32_t b) { return (a + b - 1) / b; }

__device__ __forceinline__ RowBlock rowBlock(const ShiftStreamParams& p, int32_t tile) {
  const int32_t number = tile / p.tilesPerBlock, rowStep = p.strideH == 1 ? p.dilationH : 1;
  RowBlock block;
  block.firstOutputRow = number % rowStep + number / rowStep * p.blockRows * rowStep;
  const int32_t left = block.firstOutputRow < p.outputHeight ? ceilDivide(p.outputHeight - block.firstOutputRow, rowStep) : 0;
  block.outputRows = left < p.blockRows ? left : p.blockRows;
  block.firstInputRow = block.firstOutputRow * p.strideH - p.padTop;
  block.begin = 0;
  block.end = block.outputRows == 0 ? 0 : (block.outputRows - 1) * p.strideH + p.filterHeight;
  if (p.skipsOutsideRows && block.end != 0) {
    if (block.firstInputRow < 0) block.begin = ceilDivide(-block.firstInputRow, p.dilationH);
    const int32_t inside = ceilDivide(p.height - block.firstInputRow, p.dilationH);
    if (inside < block.end) block.end = inside;
  }
  return block;
}

/// Output rows of the block that step `t` contributes to: `first`.. `first + count - 1`, filter row t - i * strideH for row i.
struct Contribution {
  int32_t first, count;
};
__device__ __forceinline__ Contribution contribution(const ShiftStreamParams& p, const RowBlock& block, int32_t t) {
  const int32_t before = t - p.filterHeight + 1;
  const int32_t first = before > 0 ? ceilDivide(before, p.strideH) : 0;
  const int32_t last = t / p.strideH < block.outputRows - 1 ? t / p.strideH : block.outputRows - 1;
  return {first, last - first + 1};
}

/// Steps before `t` that contribute to something, in a block that begins with step 0.
__device__ __forceinline__ int32_t stepsBefore(const ShiftStreamParams& p, int32_t t) {
  const int32_t whole = t / p.strideH, rest = t - whole * p.strideH;
  return whole * (p.filterHeight < p.strideH ? p.filterHeight : p.strideH) + (rest < p.filterHeight ? rest : p.filterHeight);
}

/// Where window `window` of a row block lies: image, output depth, first output column.
struct Strip {
  int32_t image, depth, column;
};
__device__ __forceinline__ Strip strip(const ShiftStreamParams& p, int32_t window) {
  const int32_t row = window / p.strips;
  return {row / p.outputDepth, row % p.outputDepth, (window - row * p.strips) * outputsPerStrip(p.filterWidth)};
}

}  // namespace shiftconv::kernels
