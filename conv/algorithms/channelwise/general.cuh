// Any filter: one, two or three dimensions, strides, dilations, several filters a channel. Some taps of a filter row at a time, so
// that their loads overlap. Filter rows outside of the image are skipped. Without stride across a window of pixels slides along the
// row. What is called a row is a column of the image where the filter is a single column.
#pragma once

#include <cstdint>

#include "common/ptx/dependent_launch.cuh"
#include "conv/algorithms/channelwise/finish.cuh"
#include "conv/algorithms/channelwise/operands.cuh"

namespace shiftconv::kernels::channelwise {

template <class Operands, int32_t kChannels, int32_t kColumns, Finish kFinish>
class Taps {
  static constexpr int32_t kAtOnce = 4;  ///< taps
  static constexpr int32_t kElementBytes = Operands::kBytes;
  using Pixel = Channels<kChannels, kElementBytes>;

 public:
  __device__ explicit Taps(const Params& p) : p_(p), place_(p) {}

  __device__ __forceinline__ void run(uint8_t* shared) {
    ptx::awaitPrerequisitesWith<kElementBytes == 1>(p_.input, p_);
    const int32_t taps = p_.depth.taps * p_.down.taps * p_.across.taps;
    filterBytes_ = taps * kElementBytes;
    if (p_.weightBytes != 0) {
      stageWeights<kElementBytes>(p_, shared, taps);
      addAll(shared + place_.channelThread * kChannels * filterBytes_);
    } else {
      addAll(static_cast<const uint8_t*>(p_.filter) + place_.channel * int64_t{filterBytes_});
    }
    if constexpr (kElementBytes == 1) {
      if (p_.inputs.isInteger) {  // their sums are exact
#pragma unroll
        for (float& sum : sum_) sum = __int_as_float(__float2int_rn(sum));
      }
    }
    Finisher<kFinish, kChannels, kColumns, kElementBytes, true> finisher(p_, place_);
    finisher.load(place_.row, place_.exists);
    finisher.store(sum_, place_.row, place_.exists);
    __syncwarp();
    finisher.end();
    ptx::launchDependents();
  }

 private:
  __device__ __forceinline__ void addAll(const uint8_t* weights) {
    const int32_t rowTaps = p_.across.taps;
    for (int32_t t = 0; t < p_.depth.taps; ++t) {
      const int32_t d = place_.plane * p_.depth.stride + t * p_.depth.dilation - p_.depth.padBefore;
      for (int32_t r = 0; r < p_.down.taps; ++r, weights += rowTaps * kElementBytes) {
        const int32_t h = place_.row * p_.down.stride + r * p_.down.dilation - p_.down.padBefore;
        if (!place_.exists || !isInside(d, p_.depth.extent) || !isInside(h, p_.down.extent)) continue;
        if (p_.slides)
          addRowSliding(d, h, weights);
        else
          addRow(d, h, weights);
      }
    }
  }

  __device__ __forceinline__ void addRow(int32_t d, int32_t h, const uint8_t* weights) {
    int32_t w = place_.column * p_.across.stride - p_.across.padBefore;
    const uint8_t* from = place_.input(p_, d, h, w);
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
#pragma unroll
        for (int32_t i = 0; i < kChannels; ++i)
          if (hasTap) bits[a][i] = weightBits<Operands>(weights + i * filterBytes_ + (s + a) * kElementBytes);
      }
      withDecoder<Operands>(p_, [&](const auto& decoder) { add(decoder, input, bits); });
      w += kAtOnce * p_.across.dilation;
      from += kAtOnce * tapBytes;
    }
  }

  /// Where neighbouring outputs read neighbouring pixels, each pixel is loaded, and becomes f32, once for all columns.
  __device__ __forceinline__ void addRowSliding(int32_t d, int32_t h, const uint8_t* weights) {
    constexpr int32_t kNew = 8, kKept = kColumns - 1;  // pixels; the first of them are the last ones of the taps before
    const int32_t taps = p_.across.taps, w = place_.column - p_.across.padBefore;
    const uint8_t* const from = place_.input(p_, d, h, w);
    withDecoder<Operands>(p_, [&](const auto& decoder) {
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
#pragma unroll
          for (int32_t i = 0; i < kChannels; ++i)
            if (hasTap) bits[a][i] = weightBits<Operands>(weights + i * filterBytes_ + (s + a) * kElementBytes);
        }
#pragma unroll
        for (int32_t a = 0; a < kNew; ++a) decoder.input(next[a], value[kKept + a]);
#pragma unroll
        for (int32_t a = 0; a < kNew; ++a) {
          if (s + a >= taps) break;  // pixels of other columns, which may be infinite, are there, too
          float weight[kChannels];
#pragma unroll
          for (int32_t i = 0; i < kChannels; ++i) weight[i] = decoder.filter(bits[a][i]);
#pragma unroll
          for (int32_t q = 0; q < kColumns; ++q)
#pragma unroll
            for (int32_t i = 0; i < kChannels; ++i)
              sum_[q * kChannels + i] = fmaf(value[a + q][i], weight[i], sum_[q * kChannels + i]);
        }
#pragma unroll
        for (int32_t x = 0; x < kKept; ++x)
#pragma unroll
          for (int32_t i = 0; i < kChannels; ++i) value[x][i] = value[kNew + x][i];
      }
    });
  }

  template <class Decoder>
  __device__ __forceinline__ void add(const Decoder& decoder, const Pixel (&input)[kAtOnce][kColumns],
                                      const uint32_t (&bits)[kAtOnce][kChannels]) {
#pragma unroll
    for (int32_t a = 0; a < kAtOnce; ++a) {
      float weight[kChannels];
#pragma unroll
      for (int32_t i = 0; i < kChannels; ++i) weight[i] = decoder.filter(bits[a][i]);
#pragma unroll
      for (int32_t q = 0; q < kColumns; ++q) {
        float value[kChannels];
        decoder.input(input[a][q], value);
#pragma unroll
        for (int32_t i = 0; i < kChannels; ++i) sum_[q * kChannels + i] = fmaf(value[i], weight[i], sum_[q * kChannels + i]);
      }
    }
  }

  const Params& p_;
  const Place<kChannels, kColumns, kElementBytes, true> place_;
  int32_t filterBytes_;
  float sum_[kColumns * kChannels] = {};
};

}  // namespace shiftconv::kernels::channelwise
