// Taps of a filter row of any length, in f32 (general.cuh, long.cuh).
#pragma once

#include <cstdint>
#include <type_traits>

#include "conv/algorithms/channelwise/operands.cuh"
#include "conv/algorithms/channelwise/staged_words.cuh"

namespace shiftconv::kernels::channelwise {

/// kUnmixed: input and filter have one type, of 8 bits e4m3.
template <class Operands, int32_t kChannels, int32_t kColumns, bool kUnmixed>
class FloatTaps {
  static constexpr int32_t kElementBytes = Operands::kBytes;
  using Pixel = Channels<kChannels, kElementBytes>;

 public:
  __device__ explicit FloatTaps(const Params& p)
      : p_(p), filterBytes_(p.depth.taps * p.down.taps * p.across.taps * kElementBytes) {}

  // A staged word is a number.
  static constexpr int32_t kTapsOfWord = 1;
  __device__ __forceinline__ static uint32_t rawWord(const uint8_t* from, int32_t) { return weightBits<Operands>(from); }
  /// body(word) with what makes a staged word of a raw one.
  template <class Body>
  __device__ __forceinline__ void withStagedWord(Body&& body) const {
    withOwnDecoder([&](const auto& decoder) { body([&](uint32_t raw) { return __float_as_uint(decoder.filter(raw)); }); });
  }

  /// Weights of a filter row, the first of the thread's channels at `first`.
  struct RawWeights {
    static constexpr bool kAreNear = false;  ///< in shared memory, from where they are loaded only when they are multiplied
    const uint8_t* first;
    int32_t filterBytes;

    __device__ __forceinline__ void load(int32_t s, uint32_t (&bits)[kChannels]) const {
#pragma unroll
      for (int32_t i = 0; i < kChannels; ++i) bits[i] = weightBits<Operands>(first + s * kElementBytes + i * filterBytes);
    }
    template <class Decoder>
    __device__ __forceinline__ static float number(const Decoder& decoder, uint32_t bits) {
      return decoder.filter(bits);
    }
  };
  struct StagedWeights {
    static constexpr bool kAreNear = true;
    const uint32_t* first;
    uint32_t pitch;  ///< from word to word

    __device__ __forceinline__ void load(int32_t s, uint32_t (&bits)[kChannels]) const {
      loadStaged(first + static_cast<uint32_t>(s) * pitch, bits);
    }
    template <class Decoder>
    __device__ __forceinline__ static float number(const Decoder&, uint32_t bits) {
      return __uint_as_float(bits);
    }
  };
  __device__ __forceinline__ RawWeights weightsAt(const uint8_t* first) const { return {first, filterBytes_}; }

  /// `from`: the pixel of the first tap and output, at `w`.
  template <class Weights>
  __device__ __forceinline__ void add(const uint8_t* from, int32_t w, const Weights& weights) {
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
        if (hasTap) weights.load(s + a, bits[a]);
      }
      withOwnDecoder([&](const auto& decoder) {
#pragma unroll
        for (int32_t a = 0; a < kAtOnce; ++a) {
          float weight[kChannels];
#pragma unroll
          for (int32_t i = 0; i < kChannels; ++i) weight[i] = Weights::number(decoder, bits[a][i]);
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
  template <int32_t kNew, class Weights>
  __device__ __forceinline__ void addSliding(const uint8_t* from, int32_t w, const Weights& weights) {
    constexpr int32_t kKept = kColumns - 1;  // pixels; the first of them are the last ones of the taps before
    const int32_t taps = p_.across.taps;
    // Addresses step from pixel to pixel: additions run beside the products, multiplications take their place.
    const auto loadNext = [&](Pixel& pixel, bool isWanted) {
      pixel.load(from, isWanted && isInside(w, p_.across.extent));
      from += p_.columnBytes, w += p_.across.dilation;
    };
    withOwnDecoder([&](const auto& decoder) {
      float value[kKept + kNew][kChannels];
      Pixel first[kKept];
#pragma unroll
      for (Pixel& pixel : first) loadNext(pixel, true);
#pragma unroll
      for (int32_t x = 0; x < kKept; ++x) decoder.input(first[x], value[x]);
      const auto add = [&](int32_t s, auto areAll) {
        constexpr bool kAreAll = decltype(areAll)::value;  // kNew taps are left at least
        Pixel next[kNew];
        uint32_t bits[kNew][kChannels] = {};
#pragma unroll
        for (int32_t a = 0; a < kNew; ++a) {
          const bool hasTap = kAreAll || s + a < taps;
          loadNext(next[a], hasTap);
          if (!Weights::kAreNear && hasTap) weights.load(s + a, bits[a]);
        }
#pragma unroll
        for (int32_t a = 0; a < kNew; ++a) decoder.input(next[a], value[kKept + a]);
#pragma unroll
        for (int32_t a = 0; a < kNew; ++a) {
          if (!kAreAll && s + a >= taps) break;  // pixels of other columns, which may be infinite, are there, too
          if (Weights::kAreNear) weights.load(s + a, bits[a]);
          float weight[kChannels];
#pragma unroll
          for (int32_t i = 0; i < kChannels; ++i) weight[i] = Weights::number(decoder, bits[a][i]);
#pragma unroll
          for (int32_t q = 0; q < kColumns; ++q) multiply(value[a + q], weight, q);
        }
#pragma unroll
        for (int32_t x = 0; x < kKept; ++x)
#pragma unroll
          for (int32_t i = 0; i < kChannels; ++i) value[x][i] = value[kNew + x][i];
      };
      int32_t s = 0;
      if constexpr (Weights::kAreNear) {
#pragma unroll 1
        for (; s + kNew <= taps; s += kNew) add(s, std::true_type{});
        if (s < taps) add(s, std::false_type{});
      } else {
#pragma unroll 1
        for (; s < taps; s += kNew) add(s, std::false_type{});
      }
    });
  }

  __device__ __forceinline__ void finish(float (&numbers)[kColumns * kChannels]) const {
#pragma unroll
    for (int32_t i = 0; i < kColumns * kChannels; ++i) numbers[i] = sum_[i];
  }

 private:
  template <class Body>
  __device__ __forceinline__ void withOwnDecoder(Body&& body) const {
    if constexpr (kUnmixed)
      withUnmixedDecoder<Operands>(p_, body);
    else
      withDecoder<Operands>(p_, body);
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
