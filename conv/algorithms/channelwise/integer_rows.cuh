// A filter row over a thread's pixels of an input row, of 8-bit integers: four products and their sum in one instruction (dp4a).
//
// In NHWC the pixels of a channel lie a pixel apart, and dp4a takes four of them in one word. So pixels are paired by byte
// permutations, and words of four pixels that begin at an even pixel are made of two pairs:
//
//   input words, 4 channels a pixel     pairs of 2 channels            words of 1 channel
//   pixel 0: a0 b0 c0 d0          ->    a0 a1 b0 b1   c0 c1 d0 d1  ->  a0 a1 a2 a3   b0 b1 b2 b3  ...
//   pixel 1: a1 b1 c1 d1                a2 a3 b2 b3   c2 c3 d2 d3      a2 a3 a4 a5   ...
//
// An output whose window begins at an odd pixel takes the word that begins before it, and weights that lie one byte higher. Weights
// of bytes that belong to no tap are zero, so whatever such bytes are changes nothing.
#pragma once

#include <cstdint>

#include "common/ptx/packed_operands.cuh"
#include "conv/algorithms/channelwise/operands.cuh"

namespace shiftconv::kernels::channelwise {

/// `kCount` bytes of an array of words from byte `first` on, as bytes `at`, `at` + 1... of a word that is zero elsewhere. The
/// arguments are constants where this is unrolled.
template <int32_t kWords>
__device__ __forceinline__ uint32_t bytesAt(const uint32_t (&words)[kWords], int32_t first, int32_t count, int32_t at) {
  const int32_t low = first / 4, high = (first + count - 1) / 4;
  constexpr uint32_t kOfSecond = 4;  // in a selector: byte 0 of the second word
  uint32_t selector = 0, kept = 0;
#pragma unroll
  for (int32_t i = 0; i < 4; ++i) {
    const bool isTaken = i >= at && i < at + count;
    selector |= (isTaken ? static_cast<uint32_t>(first % 4 + i - at) : kOfSecond) << (4 * i);
    if (isTaken) kept |= 0xffu << (8 * i);
  }
  return low == high ? __byte_perm(words[low], 0, selector) : __byte_perm(words[low], words[high], selector) & kept;
}

template <class Operands, int32_t kFilter, int32_t kStride, int32_t kChannels, int32_t kColumns>
struct IntegerRows {
  static constexpr int32_t kPixels = (kColumns - 1) * kStride + kFilter;
  static constexpr int32_t kSums = kColumns * kChannels;
  using Input = Channels<kChannels, Operands::kBytes>;
  using Sum = int32_t;

  // Windows begin at even pixels, and at odd ones as well if columns are an odd number of pixels apart.
  static constexpr int32_t kShifts = kStride % 2 != 0 && kColumns > 1 ? 2 : 1;
  static constexpr int32_t kReach = kFilter + kShifts - 1;  ///< bytes from a word's first one to a window's last one
  /// A second word of the window begins so many pixels after the first.
  static constexpr int32_t kSecond = kReach <= 4 ? 0 : (kReach - 4 + 1) / 2 * 2;
  static constexpr int32_t kParts = kSecond == 0 ? 1 : 2;
  static_assert(kReach <= 8, "two words have a window");

  struct Pixels {
    static constexpr int32_t kPairs = (kPixels + 1) / 2;
    static constexpr int32_t kWords = ((kColumns - 1) * kStride + kSecond) / 2 + 1;
    uint32_t word[kWords][kChannels];  ///< word w begins at pixel 2w

    template <class Decoder>
    __device__ __forceinline__ void unpack(const Decoder& decoder, const Input (&input)[kPixels]) {
      uint32_t pair[kPairs + 1][kChannels / 2] = {};
#pragma unroll
      for (int32_t x = 0; x < kPixels; x += 2)
#pragma unroll
        for (int32_t i = 0; i < kChannels / 2; ++i) {
          const uint32_t first = input[x].word[i / 2],
                         second = x + 1 < kPixels ? input[x + 1 < kPixels ? x + 1 : x].word[i / 2] : 0;
          pair[x / 2][i] = __byte_perm(first, second, i % 2 == 0 ? 0x5140 : 0x7362) ^ decoder.signs;
        }
#pragma unroll
      for (int32_t w = 0; w < kWords; ++w)
#pragma unroll
        for (int32_t i = 0; i < kChannels; ++i) {
          constexpr int32_t kLast = kPairs;  // zeros
          word[w][i] = __byte_perm(pair[w < kLast ? w : kLast][i / 2], pair[w + 1 < kLast ? w + 1 : kLast][i / 2],
                                   i % 2 == 0 ? 0x5410 : 0x7632);
        }
    }
  };

  /// Of filter row r.
  struct Filter {
    uint32_t word[kChannels][kShifts][kParts];

    template <class Decoder, class Weights>
    __device__ __forceinline__ void unpack(const Decoder&, const Weights& weights, int32_t r) {
#pragma unroll
      for (int32_t i = 0; i < kChannels; ++i) {
        const int32_t own = (i * kFilter + r) * kFilter;
#pragma unroll
        for (int32_t shift = 0; shift < kShifts; ++shift) {
          const int32_t ofFirst = kFilter < 4 - shift ? kFilter : 4 - shift;  // taps
          word[i][shift][0] = bytesAt(weights.word, own, ofFirst, shift);
          if constexpr (kParts == 2)
            word[i][shift][1] = bytesAt(weights.word, own + ofFirst, kFilter - ofFirst, ofFirst + shift - kSecond);
        }
      }
    }
  };

  /// What sums begin with: a number whose sign bit was exchanged is 128 less than it was, in every tap, whether its pixel exists or
  /// not.
  struct Start {
    int32_t value[kChannels] = {};

    template <class Decoder, class Weights>
    __device__ __forceinline__ void find(const Decoder& decoder, const Weights& weights) {
      if (decoder.signs == 0) return;
      constexpr uint32_t kAll128 = 0x80808080;
#pragma unroll
      for (int32_t r = 0; r < kFilter; ++r) {
        Filter filter;
        filter.unpack(decoder, weights, r);
#pragma unroll
        for (int32_t i = 0; i < kChannels; ++i)
#pragma unroll
          for (int32_t part = 0; part < kParts; ++part)
            value[i] = ptx::addByteProducts<false, Operands::kSignedFilter>(kAll128, filter.word[i][0][part], value[i]);
      }
    }
    __device__ __forceinline__ int32_t operator[](int32_t channel) const { return value[channel]; }
  };

  __device__ __forceinline__ static void add(const Pixels& pixels, const Filter& filter, int32_t (&sum)[kSums]) {
#pragma unroll
    for (int32_t part = 0; part < kParts; ++part)
#pragma unroll
      for (int32_t q = 0; q < kColumns; ++q)
#pragma unroll
        for (int32_t i = 0; i < kChannels; ++i) {
          const int32_t first = q * kStride, shift = first % 2;
          int32_t& own = sum[q * kChannels + i];
          own = ptx::addByteProducts<true, Operands::kSignedFilter>(pixels.word[(first + part * kSecond) / 2][i],
                                                                    filter.word[i][shift][part], own);
        }
  }
};

}  // namespace shiftconv::kernels::channelwise
