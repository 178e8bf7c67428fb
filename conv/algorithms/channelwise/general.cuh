// Any filter: one, two or three dimensions, strides, dilations, several filters a channel. Some taps of a filter row at a time, so
// that their loads overlap. Filter rows outside of the image are skipped.
#pragma once

#include <cstdint>

#include "common/ptx/dependent_launch.cuh"
#include "conv/algorithms/channelwise/finish.cuh"

namespace shiftconv::kernels::channelwise {

template <int32_t kChannels, int32_t kColumns, Finish kFinish>
class Taps {
  static constexpr int32_t kAtOnce = 4;  ///< taps

 public:
  __device__ explicit Taps(const Params& p) : p_(p), place_(p) {}

  __device__ __forceinline__ void run(uint8_t* shared) {
    ptx::launchDependents();
    ptx::awaitPrerequisites();
    const int32_t taps = p_.depth.taps * p_.height.taps * p_.width.taps;
    filterBytes_ = taps * 2;
    if (p_.weightBytes != 0) {
      stageWeights(p_, shared, taps);
      addAll(shared + place_.channelThread * kChannels * filterBytes_);
    } else {
      addAll(static_cast<const uint8_t*>(p_.filter) + place_.channel * int64_t{filterBytes_});
    }
    Finisher<kFinish, kChannels, kColumns> finisher(p_, place_);
    finisher.load(place_.row, place_.exists);
    finisher.store(sum_, place_.row, place_.exists);
    __syncwarp();
    finisher.end();
  }

 private:
  __device__ __forceinline__ void addAll(const uint8_t* weights) {
    const int32_t rowTaps = p_.width.taps;
    for (int32_t t = 0; t < p_.depth.taps; ++t) {
      const int32_t d = place_.plane * p_.depth.stride + t * p_.depth.dilation - p_.depth.padBefore;
      for (int32_t r = 0; r < p_.height.taps; ++r, weights += rowTaps * 2) {
        const int32_t h = place_.row * p_.height.stride + r * p_.height.dilation - p_.height.padBefore;
        if (place_.exists && isInside(d, p_.depth.extent) && isInside(h, p_.height.extent)) addRow(d, h, weights);
      }
    }
  }

  __device__ __forceinline__ void addRow(int32_t d, int32_t h, const uint8_t* weights) {
    int32_t w = place_.column * p_.width.stride - p_.width.padBefore;
    const uint8_t* from = place_.input(p_, d, h, w);
    const int32_t columnBytes = p_.width.stride * p_.pixelBytes, tapBytes = p_.width.dilation * p_.pixelBytes;
#pragma unroll 1
    for (int32_t s = 0; s < p_.width.taps; s += kAtOnce) {
      Channels<kChannels> input[kAtOnce][kColumns];
      uint32_t bits[kAtOnce][kChannels] = {};
#pragma unroll
      for (int32_t a = 0; a < kAtOnce; ++a) {
        const bool hasTap = s + a < p_.width.taps;
#pragma unroll
        for (int32_t q = 0; q < kColumns; ++q)
          input[a][q].load(from + a * tapBytes + int64_t{q} * columnBytes,
                           hasTap && isInside(w + a * p_.width.dilation + q * p_.width.stride, p_.width.extent));
#pragma unroll
        for (int32_t i = 0; i < kChannels; ++i)
          if (hasTap) bits[a][i] = *reinterpret_cast<const uint16_t*>(weights + i * filterBytes_ + (s + a) * 2);
      }
      withElement(p_, [&](auto tag) { add<typename decltype(tag)::Element>(input, bits); });
      w += kAtOnce * p_.width.dilation;
      from += int64_t{kAtOnce} * tapBytes;
    }
  }

  template <class Element>
  __device__ __forceinline__ void add(const Channels<kChannels> (&input)[kAtOnce][kColumns],
                                      const uint32_t (&bits)[kAtOnce][kChannels]) {
#pragma unroll
    for (int32_t a = 0; a < kAtOnce; ++a)
#pragma unroll
      for (int32_t q = 0; q < kColumns; ++q) {
        float value[kChannels];
        input[a][q].template unpack<Element>(value);
#pragma unroll
        for (int32_t i = 0; i < kChannels; ++i)
          sum_[q * kChannels + i] = fmaf(value[i], unpackPair<Element>(bits[a][i]).x, sum_[q * kChannels + i]);
      }
  }

  const Params& p_;
  const Place<kChannels, kColumns> place_;
  int32_t filterBytes_;
  float sum_[kColumns * kChannels] = {};
};

}  // namespace shiftconv::kernels::channelwise
