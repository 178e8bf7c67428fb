// A block of 16 channels of 8 bits: the products of a warp's pixels with the filters of its groups, and their output.
//
// A product has 8 output channels, so a block has two of them. Of 8 columns j = 0 or 1, column n is output channel
// 4 * (n / 2) + 2 * j + n % 2 of the block: then a lane has the sums of four neighbouring channels of a pixel, a word of the
// output.
#pragma once

#include <cstdint>

#include "common/ptx/matrix_move.cuh"
#include "common/ptx/matrix_narrow.cuh"
#include "common/ptx/packed_operands.cuh"
#include "conv/algorithms/grouped/params.hpp"
#include "conv/kernels/byte_channels.cuh"

namespace shiftconv::kernels::grouped {

/// Of s8 or u8 inputs with an s8 filter: two taps in a row are the reduction of an m16n8k32.
template <bool kSignedInput>
struct IntegerProducts {
  static constexpr bool kIntegers = true;
  using Sum = int32_t;

  static __device__ __forceinline__ void add(Sum (&d)[2][2][4], const uint32_t (&a)[4], const uint32_t (&b)[4],
                                             const uint32_t (&first)[2], const uint32_t (&second)[2]) {
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int j = 0; j < 2; ++j)
        ptx::mma16x8x32<kSignedInput, true>(d[i][j], a[2 * i], a[2 * i + 1], b[2 * i], b[2 * i + 1], first[j], second[j]);
  }
  static __device__ __forceinline__ void add(Sum (&d)[2][2][4], const uint32_t (&a)[4], const uint32_t (&first)[2]) {
    constexpr uint32_t kNothing[4] = {}, kNoWeights[2] = {};
    add(d, a, kNothing, first, kNoWeights);
  }
};

/// Of e4m3, which becomes f16, exactly: mma.sync of e4m3 assembles to the same for sm_90a. A tap is the reduction of an m16n8k16.
struct FloatProducts {
  static constexpr bool kIntegers = false;
  using Sum = float;

  static __device__ __forceinline__ void add(Sum (&d)[2][2][4], const uint32_t (&a)[4], const uint32_t (&weights)[2]) {
    uint32_t low[4], high[4];  // elements 4t and 4t + 1 of a lane's four, and the others
#pragma unroll
    for (int i = 0; i < 4; ++i) low[i] = ptx::unpackPairE4m3(a[i]), high[i] = ptx::unpackPairE4m3(a[i] >> 16);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const uint32_t lowWeights = ptx::unpackPairE4m3(weights[j]), highWeights = ptx::unpackPairE4m3(weights[j] >> 16);
#pragma unroll
      for (int i = 0; i < 2; ++i)
        ptx::mma16x8x16<__half>(d[i][j], low[2 * i], low[2 * i + 1], high[2 * i], high[2 * i + 1], lowWeights, highWeights);
    }
  }
  static __device__ __forceinline__ void add(Sum (&d)[2][2][4], const uint32_t (&a)[4], const uint32_t (&b)[4],
                                             const uint32_t (&first)[2], const uint32_t (&second)[2]) {
    add(d, a, first);
    add(d, b, second);
  }
};

template <class Products, int kTaps>
class ByteBlock {
 public:
  static constexpr int32_t kElementBytes = 1;

  __device__ ByteBlock(const Params& p, int32_t firstChannel) {
    const uint32_t lane = threadIdx.x % 32;
    const int32_t firstInput = static_cast<int32_t>(4 * (lane % 4));  // of the block: of this lane's four
#pragma unroll
    for (int i = 0; i < 4; ++i) channels_[i].load(p.epilogue, p.isLean, firstChannel + firstInput + i);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int32_t column = static_cast<int32_t>(lane / 4), ofBlock = column / 2 * 4 + 2 * j + column % 2;
      loadWeights(p, firstChannel + ofBlock, firstInput - ofBlock / p.groupChannels * p.groupChannels, j);
    }
  }

  /// As HalfBlock's. `packed`: four output channels of pixels 8i + lane / 4.
  template <class PixelsOf>
  __device__ __forceinline__ void convolve(const Params& p, PixelsOf&& pixelsOf, uint32_t (&packed)[4]) const {
    typename Products::Sum d[2][2][4] = {};
#pragma unroll
    for (int tap = 0; tap + 1 < kTaps; tap += 2) {
      uint32_t a[4], b[4];
      pixelsOf(a, tap);
      pixelsOf(b, tap + 1);
      Products::add(d, a, b, weights_[tap], weights_[tap + 1]);
    }
    if constexpr (kTaps % 2 == 1) {
      uint32_t a[4];
      pixelsOf(a, kTaps - 1);
      Products::add(d, a, weights_[kTaps - 1]);
    }
    float v[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) v[i] = static_cast<float>(d[i / 8][i % 4 / 2][i / 4 % 2 * 2 + i % 2]);
    if (p.isLean)
      packChannels<Products::kIntegers, Lean::Rectified>(p.epilogue, channels_, v, packed);
    else
      packChannels<Products::kIntegers, Lean::No>(p.epilogue, channels_, v, packed);
  }

 private:
  /// Of an output channel and four inputs in a row, counted from the first one of its group: groups of 2 channels have two of them.
  __device__ __forceinline__ void loadWeights(const Params& p, int32_t channel, int32_t input, int j) {
    const auto* const filter = static_cast<const uint8_t*>(p.filter) + int64_t{channel} * kTaps * p.groupChannels;
    const bool isPair = p.groupChannels == 2, exists = channel < p.channels;
    const bool hasFour = exists && !isPair && input >= 0 && input < p.groupChannels,
               hasPair = exists && isPair && (input == 0 || input == -2);
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
      weights_[tap][j] = 0;
      if (hasFour) weights_[tap][j] = *reinterpret_cast<const uint32_t*>(filter + tap * p.groupChannels + input);
      if (hasPair) weights_[tap][j] = uint32_t{*reinterpret_cast<const uint16_t*>(filter + tap * 2)} << (input == 0 ? 0 : 16);
    }
  }

  uint32_t weights_[kTaps][2];
  ByteChannel channels_[4];
};

}  // namespace shiftconv::kernels::grouped
