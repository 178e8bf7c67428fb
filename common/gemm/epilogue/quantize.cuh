// Block quantisation of outputs in registers: the scale factor of each block of a segment, and the values divided by it. The rules
// are those of numerics/block_format.hpp; what differs is that nvfp4 multiplies by approximate reciprocals, so that values within 5
// * 2^-24 of a rounding boundary may go to its other side.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/layout/scale_factor_layout.hpp"
#include "common/ptx/conversion.cuh"

namespace shiftconv::gemm {

/// A block's factor, and what its values are to be multiplied by; they are all 0 when the factor is 0 or NaN.
struct BlockScale {
  uint32_t code;
  float inverse;
  bool usable;
};

/// ue8m0 for elements whose largest value has the exponent `elementExponent`. Exact: the inverse is a power of two in range.
__device__ __forceinline__ BlockScale mxScale(uint32_t largestBits, int32_t elementExponent) {
  constexpr uint32_t kInfinity = 0x7f800000u, kNan = 0xff;
  if (largestBits >= kInfinity) return {kNan, 0.0f, false};
  // The exponent field of f32 and ue8m0 have the same bias. Subnormal maxima end at 2^-127 like all that are too small.
  const int32_t exponent = static_cast<int32_t>(largestBits >> 23) - elementExponent;
  const uint32_t code = exponent > 0 ? static_cast<uint32_t>(exponent) : 0u;
  return {code, __uint_as_float((254u - code) << 23), true};
}

/// ue4m3 for e2m1 elements.
__device__ __forceinline__ BlockScale nvScale(uint32_t largestBits) {
  constexpr uint32_t kInfinity = 0x7f800000u, kNan = 0x7f;
  constexpr float kInverseLargestElement = 1.0f / 6.0f;
  if (largestBits >= kInfinity) return {kNan, 0.0f, false};
  const uint32_t code = ptx::packE4m3(__uint_as_float(largestBits) * kInverseLargestElement, 0.0f) & 0xffu;
  return {code, ptx::reciprocalApproximate(ptx::unpackE4m3(code)), code != 0};
}

/// The factors of blocks firstBlock.. of `row`. In the interleaved order the tile's unused factors become 0, which is a number in
/// either type: those after the last block of a row, and, by the thread of the last row, those of rows up to a multiple of 128.
template <int32_t kBlocks>
__device__ __forceinline__ void storeScales(const EpilogueParams& p, int32_t row, int32_t firstBlock,
                                            const uint32_t (&codes)[kBlocks]) {
  const int32_t blocks = p.outputBlocksPerRow();
  const bool interleaved = p.outputScaleLayout == layout::ScaleFactorLayout::Interleaved128x4;
  if (static_cast<uint32_t>(row) >= static_cast<uint32_t>(p.rows) || firstBlock >= blocks) return;
  const auto store = [&](int32_t ofRow, int32_t block, uint32_t code) {
    p.outputScales[layout::scaleFactorOffset(p.outputScaleLayout, ofRow, block, blocks)] = static_cast<uint8_t>(code);
  };
#pragma unroll
  for (int32_t i = 0; i < kBlocks; ++i)
    if (firstBlock + i < blocks) store(row, firstBlock + i, codes[i]);
  if (!interleaved) return;
  const bool hasLastBlock = firstBlock + kBlocks >= blocks;
  const int32_t endBlock = hasLastBlock ? (blocks + 3) / 4 * 4 : firstBlock + kBlocks;
  for (int32_t block = blocks; block < endBlock; ++block) store(row, block, 0);
  const int32_t endRow = row + 1 == p.rows ? (p.rows + 127) / 128 * 128 : 0;
#pragma unroll 1
  for (int32_t padding = p.rows; padding < endRow; ++padding)
    for (int32_t block = firstBlock; block < endBlock; ++block) store(padding, block, 0);
}

/// v becomes v / (factor of its block), and 0 in columns that do not exist. Stores the factors.
template <int32_t kBlock, int32_t kColumns>
__device__ __forceinline__ void quantizeSegment(const EpilogueParams& p, int32_t row, int32_t column, float (&v)[kColumns]) {
  static_assert(kColumns % kBlock == 0, "a thread must hold whole blocks");
  constexpr int32_t kBlocks = kColumns / kBlock;
  uint32_t codes[kBlocks];
#pragma unroll
  for (int32_t block = 0; block < kBlocks; ++block) {
    uint32_t largestBits = 0;
#pragma unroll
    for (int32_t i = block * kBlock; i < (block + 1) * kBlock; ++i) {
      if (column + i >= p.columns) v[i] = 0.0f;
      const uint32_t bits = __float_as_uint(v[i]) & 0x7fffffffu;
      largestBits = bits > largestBits ? bits : largestBits;
    }
    const BlockScale scale = kBlock == 32 ? mxScale(largestBits, numerics::largestExponent(p.outputType)) : nvScale(largestBits);
    codes[block] = scale.code;
#pragma unroll
    for (int32_t i = block * kBlock; i < (block + 1) * kBlock; ++i) v[i] = scale.usable ? v[i] * scale.inverse : 0.0f;
  }
  storeScales(p, row, column / kBlock, codes);
}

}  // namespace shiftconv::gemm
