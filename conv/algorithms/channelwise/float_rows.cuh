// A filter row over a thread's pixels of an input row, in f32: every element is converted once, every product is one fused
// multiply-add.
#pragma once

#include <cstdint>

#include "conv/algorithms/channelwise/operands.cuh"

namespace shiftconv::kernels::channelwise {

template <class Operands, int32_t kFilter, int32_t kStride, int32_t kChannels, int32_t kColumns>
struct FloatRows {
  static constexpr int32_t kPixels = (kColumns - 1) * kStride + kFilter;
  static constexpr int32_t kSums = kColumns * kChannels;
  using Input = Channels<kChannels, Operands::kBytes>;
  using Sum = float;

  struct Pixels {
    float value[kPixels][kChannels];

    template <class Decoder>
    __device__ __forceinline__ void unpack(const Decoder& decoder, const Input (&input)[kPixels]) {
#pragma unroll
      for (int32_t x = 0; x < kPixels; ++x) decoder.input(input[x], value[x]);
    }
  };

  /// Of filter row r.
  struct Filter {
    float weight[kFilter][kChannels];

    template <class Decoder, class Weights>
    __device__ __forceinline__ void unpack(const Decoder& decoder, const Weights& weights, int32_t r) {
#pragma unroll
      for (int32_t s = 0; s < kFilter; ++s)
#pragma unroll
        for (int32_t i = 0; i < kChannels; ++i) weight[s][i] = weights.value(decoder, i, r * kFilter + s);
    }
  };

  /// What sums begin with.
  struct Start {
    template <class Decoder, class Weights>
    __device__ __forceinline__ void find(const Decoder&, const Weights&) {}
    __device__ __forceinline__ float operator[](int32_t) const { return 0; }
  };

  __device__ __forceinline__ static void add(const Pixels& pixels, const Filter& filter, float (&sum)[kSums]) {
#pragma unroll
    for (int32_t s = 0; s < kFilter; ++s)
#pragma unroll
      for (int32_t q = 0; q < kColumns; ++q)
#pragma unroll
        for (int32_t i = 0; i < kChannels; ++i)
          sum[q * kChannels + i] = fmaf(pixels.value[q * kStride + s][i], filter.weight[s][i], sum[q * kChannels + i]);
  }
};

}  // namespace shiftconv::kernels::channelwise
