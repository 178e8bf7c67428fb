// Taps of a filter row of any length, in f32 (general.cuh).
#pragma once

#include <cstdint>

#include "conv/algorithms/channelwise/operands.cuh"

namespace shiftconv::kernels::channelwise {

/// kUnmixed: input and filter have one type, of 8 bits e4m3.
template <class Operands, int32_t kChannels, int32_t kColumns, bool kUnmixed>
class FloatTaps {
  static constexpr int32_t kElementBytes = Operands::kBytes;
  using Pixel = Channels<kChannels, kElementBytes>;

 public:
  __device__ explicit FloatTaps(const Params& p)
      : p_(p), filterBytes_(p.depth.taps * p.down.taps * p.across.taps * kElementBytes) {}

  /// `from`: the pixel of the first tap and output, at `w`; `weights`: of the first channel.
  __device__ __forceinline__ void add(const uint8_t* from, int32_t w, const uint8_t* weights) {
    constexpr int32_t kAtOnce = 4;  // taps
    const int64_t columnBytes = int64_t{p_.across.stride * p_.gapsAcross.pixels} * p_.pixelBytes, tapBytes = p_.columnBytes;
#pragma unroll 1
    for (int32_t s = 0; s < p_.across.taps; s += kAtOnce) {
      Pixel input[kAtOnce][kColumns];
      uint32_t bits[kAtOnce][kChannels] = {};
#pragma unroll
      for (int32_t a = 0; a < kAtOnce; ++a) {
        const bool hasTap = s + a < p_.across.taps;
#pragma unroll
        for (int32_t q = 0; q < kColumns; ++q)
          input[a][q].load(from + a * tapBytes + q * columnBytes,
                           hasTap && isInside(w + a * p_.across.dilation + q * p_.across.stride, p_.across.extent));
        if (hasTap) loadWeights(weights + (s + a) * kElementBytes, bits[a]);
      }
      withOwnDecoder([&](const auto& decoder) {
#pragma unroll
        for (int32_t a = 0; a < kAtOnce; ++a) {
          float weight[kChannels];
          unpackWeights(decoder, bits[a], weight);
#pragma unroll
          for (int32_t q = 0; q < kColumns; ++q) {
            float value[kChannels];
            decoder.input(input[a][q], value);
            multiply(value, weight, q);
          }
        }
      });
      w += kAtOnce * p_.across.dilation;
      from += kAtOnce * tapBytes;
    }
  }

  /// Where neighbouring outputs read neighbouring pixels, each pixel is loaded, and becomes f32, once for all columns: kNew pixels
  /// and taps at a time.
  template <int32_t kNew>
  __device__ __forceinline__ void addSliding(const uint8_t* from, int32_t w, const uint8_t* weights) {
    constexpr int32_t kKept = kColumns - 1;  // pixels; the first of them are the last ones of the taps before
    const int32_t taps = p_.across.taps;
    withOwnDecoder([&](const auto& decoder) {
      float value[kKept + kNew][kChannels];
      Pixel first[kKept];
#pragma unroll
      for (int32_t x = 0; x < kKept; ++x)
        first[x].load(from + x * p_.columnBytes, isInside(w + x * p_.across.dilation, p_.across.extent));
#pragma unroll
      for (int32_t x = 0; x < kKept; ++x) decoder.input(first[x], value[x]);
#pragma unroll 1
      for (int32_t s = 0; s < taps; s += kNew) {
        Pixel next[kNew];
        uint32_t bits[kNew][kChannels] = {};
#pragma unroll
        for (int32_t a = 0; a < kNew; ++a) {
          const bool hasTap = s + a < taps;
          const int32_t x = s + a + kKept;
          next[a].load(from + int64_t{x} * p_.columnBytes, hasTap && isInside(w + x * p_.across.dilation, p_.across.extent));
          if (hasTap) loadWeights(weights + (s + a) * kElementBytes, bits[a]);
        }
#pragma unroll
        for (int32_t a = 0; a < kNew; ++a) decoder.input(next[a], value[kKept + a]);
#pragma unroll
        for (int32_t a = 0; a < kNew; ++a) {
          if (s + a >= taps) break;  // pixels of other columns, which may be infinite, are there, too
          float weight[kChannels];
          unpackWeights(decoder, bits[a], weight);
#pragma unroll
          for (int32_t q = 0; q < kColumns; ++q) multiply(value[a + q], weight, q);
        }
#pragma unroll
        for (int32_t x = 0; x < kKept; ++x)
#pragma unroll
          for (int32_t i = 0; i < kChannels; ++i) value[x][i] = value[kNew + x][i];
      }
    });
  }

  /// As the epilogue wants them: of integers, which are exact, the bits of s32.
  __device__ __forceinline__ void finish(float (&numbers)[kColumns * kChannels]) const {
    const bool areIntegers = kElementBytes == 1 && !kUnmixed && p_.inputs.isInteger;
#pragma unroll
    for (int32_t i = 0; i < kColumns * kChannels; ++i) numbers[i] = areIntegers ? __int_as_float(__float2int_rn(sum_[i])) : sum_[i];
  }

 private:
  template <class Body>
  __device__ __forceinline__ void withOwnDecoder(Body&& body) const {
    if constexpr (kUnmixed)
      withUnmixedDecoder<Operands>(p_, body);
    else
      withDecoder<Operands>(p_, body);
  }
  __device__ __forceinline__ void loadWeights(const uint8_t* from, uint32_t (&bits)[kChannels]) const {
#pragma unroll
    for (int32_t i = 0; i < kChannels; ++i) bits[i] = weightBits<Operands>(from + i * filterBytes_);
  }
  template <class Decoder>
  __device__ __forceinline__ static void unpackWeights(const Decoder& decoder, const uint32_t (&bits)[kChannels],
                                                       float (&weight)[kChannels]) {
#pragma unroll
    for (int32_t i = 0; i < kChannels; ++i) weight[i] = decoder.filter(bits[i]);
  }
  __device__ __forceinline__ void multiply(const float (&value)[kChannels], const float (&weight)[kChannels], int32_t q) {
#pragma unroll
    for (int32_t i = 0; i < kChannels; ++i) sum_[q * kChannels + i] = fmaf(value[i], weight[i], sum_[q * kChannels + i]);
  }

  const Params& p_;
  const int32_t filterBytes_;
  float sum_[kColumns * kChannels] = {};
};

}  // namespace shiftconv::kernels::channelwise
