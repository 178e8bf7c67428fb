// Taps of a filter row of any length, of 8-bit integers: four products and their sum in one instruction (general.cuh, long.cuh). As
// in integer_rows.cuh pixels are paired by byte permutations until a word has four pixels of a channel. Where a window slides, the
// words of outputs between two such words are parts of both.
#pragma once

#include <cstdint>
#include <type_traits>

#include "common/ptx/packed_operands.cuh"
#include "conv/algorithms/channelwise/operands.cuh"
#include "conv/algorithms/channelwise/staged_words.cuh"

namespace shiftconv::kernels::channelwise {

template <class Operands, int32_t kChannels, int32_t kColumns>
class IntegerTaps {
  static constexpr int32_t kFour = 4;  ///< taps, or pixels, of a word
  static_assert(kColumns <= kFour, "two words have the windows of all columns");
  using Pixel = Channels<kChannels, 1>;

 public:
  __device__ explicit IntegerTaps(const Params& p)
      : p_(p), filterBytes_(p.depth.taps * p.down.taps * p.across.taps), signs_(IntegerDecoder(p).signs) {}

  // As those of FloatTaps; a word has four taps, or `count` and zeros.
  static constexpr int32_t kTapsOfWord = kFour;
  __device__ __forceinline__ static uint32_t rawWord(const uint8_t* from, int32_t count) {
    uint32_t word = 0;
#pragma unroll
    for (int32_t a = 0; a < kFour; ++a)
      if (a < count) word |= uint32_t{from[a]} << (8 * a);
    return word;
  }
  template <class Body>
  __device__ __forceinline__ void withStagedWord(Body&& body) const {
    body([](uint32_t raw) { return raw; });
  }

  struct RawWeights {
    const uint8_t* first;
    int32_t filterBytes;

    __device__ __forceinline__ void load(int32_t s, int32_t count, uint32_t (&words)[kChannels]) const {
#pragma unroll
      for (int32_t i = 0; i < kChannels; ++i) words[i] = rawWord(first + s + i * filterBytes, count);
    }
  };
  struct StagedWeights {
    const uint32_t* first;
    uint32_t pitch;  ///< from word to word

    __device__ __forceinline__ void load(int32_t s, int32_t count, uint32_t (&words)[kChannels]) const {
      if (count > 0)
        loadStaged(first + static_cast<uint32_t>(s / kFour) * pitch, words);
      else
        for (uint32_t& word : words) word = 0;
    }
  };
  __device__ __forceinline__ RawWeights weightsAt(const uint8_t* first) const { return {first, filterBytes_}; }

  template <class Weights>
  __device__ __forceinline__ void add(const uint8_t* from, int32_t w, const Weights& weights) {
    const int64_t columnBytes = int64_t{p_.across.stride * p_.gapsAcross.pixels} * p_.pixelBytes, tapBytes = p_.columnBytes;
#pragma unroll 1
    for (int32_t s = 0; s < p_.across.taps; s += kFour) {
      Pixel input[kColumns][kFour];
      uint32_t filter[kChannels];
#pragma unroll
      for (int32_t q = 0; q < kColumns; ++q)
#pragma unroll
        for (int32_t a = 0; a < kFour; ++a)
          input[q][a].load(from + a * tapBytes + q * columnBytes,
                           s + a < p_.across.taps && isInside(w + a * p_.across.dilation + q * p_.across.stride, p_.across.extent));
      loadWeights(weights, s, p_.across.taps - s, filter);
#pragma unroll
      for (int32_t q = 0; q < kColumns; ++q) {
        uint32_t words[kChannels];
        transpose(input[q], words);
        multiply(words, filter, q);
      }
      w += kFour * p_.across.dilation;
      from += kFour * tapBytes;
    }
  }

  template <int32_t kNew, class Weights>
  __device__ __forceinline__ void addSliding(const uint8_t* from, int32_t w, const Weights& weights) {
    constexpr int32_t kWords = kNew / kFour;
    const int32_t taps = p_.across.taps;
    int32_t left = taps + kColumns - 1;  // pixels that some column wants
    const auto load = [&](Pixel(&pixels)[kFour], bool areAll) {
#pragma unroll
      for (int32_t x = 0; x < kFour; ++x)
        pixels[x].load(from + int64_t{x} * p_.columnBytes,
                       (areAll || x < left) && isInside(w + x * p_.across.dilation, p_.across.extent));
      from += int64_t{kFour} * p_.columnBytes, w += kFour * p_.across.dilation, left -= kFour;
    };
    uint32_t words[kWords + 1][kChannels];  // word i has pixels 4i to 4i + 3
    {
      Pixel pixels[kFour];
      load(pixels, false);
      transpose(pixels, words[0]);
    }
    const auto add = [&](int32_t s, auto areAll) {
      // kNew taps are left at least, and as many pixels but for the last one, which no column reads.
      constexpr bool kAreAll = decltype(areAll)::value;
      Pixel pixels[kWords][kFour];
      uint32_t filter[kWords][kChannels];
#pragma unroll
      for (int32_t i = 0; i < kWords; ++i) {
        load(pixels[i], kAreAll);
        loadWeights(weights, s + i * kFour, kAreAll ? kFour : taps - s - i * kFour, filter[i]);
      }
#pragma unroll
      for (int32_t i = 0; i < kWords; ++i) {
        transpose(pixels[i], words[i + 1]);
#pragma unroll
        for (int32_t q = 0; q < kColumns; ++q) {
          uint32_t window[kChannels];
#pragma unroll
          for (int32_t c = 0; c < kChannels; ++c) window[c] = __funnelshift_r(words[i][c], words[i + 1][c], 8 * q);
          multiply(window, filter[i], q);
        }
      }
#pragma unroll
      for (int32_t c = 0; c < kChannels; ++c) words[0][c] = words[kWords][c];
    };
    int32_t s = 0;
#pragma unroll 1
    for (; s + kNew <= taps; s += kNew) add(s, std::true_type{});
#pragma unroll 1
    for (; s < taps; s += kNew) add(s, std::false_type{});
  }

  __device__ __forceinline__ void finish(float (&numbers)[kColumns * kChannels]) const {
#pragma unroll
    for (int32_t i = 0; i < kColumns * kChannels; ++i) numbers[i] = __int2float_rn(sum_[i] + ofSigns_[i % kChannels]);
  }

 private:
  /// Four pixels as one word for each channel, as s8.
  __device__ __forceinline__ void transpose(const Pixel (&pixels)[kFour], uint32_t (&words)[kChannels]) const {
    if constexpr (kChannels == 1) {
      words[0] = __byte_perm(__byte_perm(pixels[0].word[0], pixels[1].word[0], 0x0040),
                             __byte_perm(pixels[2].word[0], pixels[3].word[0], 0x0040), 0x5410) ^
                 signs_;
    } else {
#pragma unroll
      for (int32_t pair = 0; pair < kChannels / 2; ++pair) {
        const uint32_t selector = pair == 0 ? 0x5140u : 0x7362u;
        const uint32_t first = __byte_perm(pixels[0].word[0], pixels[1].word[0], selector),
                       second = __byte_perm(pixels[2].word[0], pixels[3].word[0], selector);
        words[2 * pair] = __byte_perm(first, second, 0x5410) ^ signs_;
        words[2 * pair + 1] = __byte_perm(first, second, 0x7632) ^ signs_;
      }
    }
  }

  /// Four weights of each channel from tap s on, or `count`, and zeros: what pixels are there then changes nothing. A number whose
  /// sign bit is exchanged is 128 less than it was, in every tap of a row that is not skipped, whether its pixel exists or not.
  template <class Weights>
  __device__ __forceinline__ void loadWeights(const Weights& weights, int32_t s, int32_t count, uint32_t (&filter)[kChannels]) {
    weights.load(s, count, filter);
    if (signs_ == 0) return;
    constexpr uint32_t kAll128 = 0x80808080;
#pragma unroll
    for (int32_t i = 0; i < kChannels; ++i)
      ofSigns_[i] = ptx::addByteProducts<false, Operands::kSignedFilter>(kAll128, filter[i], ofSigns_[i]);
  }

  __device__ __forceinline__ void multiply(const uint32_t (&words)[kChannels], const uint32_t (&filter)[kChannels], int32_t q) {
#pragma unroll
    for (int32_t i = 0; i < kChannels; ++i) {
      int32_t& sum = sum_[q * kChannels + i];
      sum = ptx::addByteProducts<true, Operands::kSignedFilter>(words[i], filter[i], sum);
    }
  }

  const Params& p_;
  const int32_t filterBytes_;
  const uint32_t signs_;  ///< bits that make words of the input s8
  int32_t sum_[kColumns * kChannels] = {};
  int32_t ofSigns_[kChannels] = {};
};

}  // namespace shiftconv::kernels::channelwise
