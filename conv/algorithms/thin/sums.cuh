// The sums of a warp's tile, and the products that it adds to them: operands as BlockRow has them, 16 bits on m16n8k16, integers of
// 8 bits on m16n8k32.
#pragma once

#include <cstdint>

#include "common/ptx/matrix_move.cuh"
#include "common/ptx/matrix_narrow.cuh"
#include "conv/algorithms/thin/block_row.cuh"
#include "conv/kernels/decoding.cuh"

namespace shiftconv::kernels::thin {

/// Of two sums of floats, or of bits of s32.
__device__ __forceinline__ float added(float a, float b, bool areIntegers) {
  return areIntegers ? __int_as_float(__float_as_int(a) + __float_as_int(b)) : a + b;
}

/// kRows: of pixels, 8 apart, that a lane has; kColumns: products side by side, of 8 output channels each.
template <class Element, int32_t kRows, int32_t kColumns>
class Sums {
  /// Independent sums, so that products of a few accumulators do not wait for each other.
  static constexpr int32_t kChains = kRows * kColumns <= 4 ? 2 : 1;

 public:
  /// Of the blocks of a batch. Sums of integers are bits of s32, until makeFloats.
  template <Coding kCoding, class Row, int32_t kCount>
  __device__ __forceinline__ void add(const Row (&pixels)[kCount][kRows], const Row (&weights)[kCount][kColumns],
                                      const Decoding& inputs, const Decoding& filters) {
    if constexpr (kCoding == Coding::Integers)
      withSigns(inputs, filters, [&](auto isInputSigned, auto isFilterSigned) {
        addIntegers<isInputSigned.value, isFilterSigned.value>(pixels, weights);
      });
    else
      addHalves<kCoding>(pixels, weights, inputs, filters);
  }

  /// Of sums of integers, once, after all additions.
  __device__ __forceinline__ void makeFloats() {
    forEach([](float& sum) { sum = __int2float_rn(__float_as_int(sum)); });
  }
  /// Once, after all products.
  __device__ __forceinline__ void addChains(bool areIntegers) {
    if constexpr (kChains > 1) {
#pragma unroll
      for (int32_t j = 0; j < kColumns; ++j)
#pragma unroll
        for (int32_t i = 0; i < 4; ++i) sum_[0][0][j][i] = added(sum_[0][0][j][i], sum_[1][0][j][i], areIntegers);
    }
  }
  /// Of this lane's channel `i` in a row.
  __device__ __forceinline__ float& of(int32_t row, int32_t i) { return sum_[0][row / 2][i / 2][row % 2 * 2 + i % 2]; }

 private:
  template <Coding kCoding, class Row, int32_t kCount>
  __device__ __forceinline__ void addHalves(const Row (&pixels)[kCount][kRows], const Row (&weights)[kCount][kColumns],
                                            const Decoding& inputs, const Decoding& filters) {
#pragma unroll
    for (int32_t b = 0; b < kCount; ++b)
#pragma unroll
      for (int32_t slice = 0; slice < 2; ++slice) {
        uint2 weight[kColumns];
#pragma unroll
        for (int32_t j = 0; j < kColumns; ++j) weight[j] = weights[b][j].template four<kCoding>(slice, filters);
#pragma unroll
        for (int32_t i = 0; i < kRows; i += 2) {
          const uint2 low = pixels[b][i].template four<kCoding>(slice, inputs),
                      high = pixels[b][i + 1].template four<kCoding>(slice, inputs);
#pragma unroll
          for (int32_t j = 0; j < kColumns; ++j)
            ptx::mma16x8x16<Element>(sum_[slice % kChains][i / 2][j], low.x, high.x, low.y, high.y, weight[j].x, weight[j].y);
        }
      }
  }

  template <bool kInputSigned, bool kFilterSigned, class Row, int32_t kCount>
  __device__ __forceinline__ void addIntegers(const Row (&pixels)[kCount][kRows], const Row (&weights)[kCount][kColumns]) {
#pragma unroll
    for (int32_t b = 0; b < kCount; ++b)
#pragma unroll
      for (int32_t i = 0; i < kRows; i += 2)
#pragma unroll
        for (int32_t j = 0; j < kColumns; ++j) {
          const Row &low = pixels[b][i], &high = pixels[b][i + 1], &weight = weights[b][j];
          float(&sum)[4] = sum_[b % kChains][i / 2][j];
          int32_t d[4];
#pragma unroll
          for (int32_t e = 0; e < 4; ++e) d[e] = __float_as_int(sum[e]);
          ptx::mma16x8x32<kInputSigned, kFilterSigned>(d, low.word[0], high.word[0], low.word[1], high.word[1], weight.word[0],
                                                       weight.word[1]);
#pragma unroll
          for (int32_t e = 0; e < 4; ++e) sum[e] = __int_as_float(d[e]);
        }
  }

  template <class Body>
  __device__ __forceinline__ void forEach(Body&& body) {
#pragma unroll
    for (int32_t chain = 0; chain < kChains; ++chain)
#pragma unroll
      for (int32_t i = 0; i < kRows / 2; ++i)
#pragma unroll
        for (int32_t j = 0; j < kColumns; ++j)
#pragma unroll
          for (float& sum : sum_[chain][i][j]) body(sum);
  }

  float sum_[kChains][kRows / 2][kColumns][4] = {};
};

}  // namespace shiftconv::kernels::thin
