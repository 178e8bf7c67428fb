// Rows of the CTA's filters in shared memory for the form Long: words of 32 bits, [word][channels of the CTA]. Each weight is
// converted once for all pixels of the CTA, and a thread reads its channels of a word at once.
#pragma once

#include <cstdint>

#include "common/ptx/register_pressure.cuh"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/warp.cuh"
#include "conv/algorithms/channelwise/params.hpp"

namespace shiftconv::kernels::channelwise {

/// kCount staged words, aligned to their size.
template <int32_t kCount>
__device__ __forceinline__ void loadStaged(const uint32_t* from, uint32_t (&words)[kCount]) {
  static_assert(kCount == 1 || kCount == 2 || kCount == 4);
  if constexpr (kCount == 4) {
    const uint4 four = *reinterpret_cast<const uint4*>(from);
    words[0] = four.x, words[1] = four.y, words[2] = four.z, words[3] = four.w;
  } else if constexpr (kCount == 2) {
    const uint2 two = *reinterpret_cast<const uint2*>(from);
    words[0] = two.x, words[1] = two.y;
  } else {
    words[0] = *from;
  }
}

template <int32_t kChannels>
class StagedWords {
 public:
  __device__ __forceinline__ StagedWords(const Params& p, uint8_t* shared)
      : p_(p),
        words_(reinterpret_cast<const uint32_t*>(shared)),
        address_(ptx::workedOutHere(ptx::sharedAddress(shared))),
        channels_(p.channelThreads.divisor * kChannels),
        pitch_(stagedPitch(channels_, kChannels)) {}

  /// From a word of a channel to its next.
  __device__ __forceinline__ uint32_t pitch() const { return pitch_; }
  /// Word 0 of a thread's first channel.
  __device__ __forceinline__ const uint32_t* own(int32_t channelThread) const { return words_ + channelThread * kChannels; }

  /// Words 0 to `count` - 1 of each channel of the CTA: wordOf(raw(firstOf(channel), word)). All loads of raw words come before
  /// they are converted. Lanes lie along the words of a channel, so that they load whole lines.
  template <class FirstOf, class Raw, class WordOf>
  __device__ __forceinline__ void stage(uint32_t count, FirstOf&& firstOf, Raw&& raw, WordOf&& wordOf) const {
    const uint32_t block = blockIdx.x - p_.channelBlocks.quotient(blockIdx.x) * p_.channelBlocks.divisor;
    const uint32_t firstChannel = block * channels_;
    const uint32_t existing = min(channels_, static_cast<uint32_t>(p_.epilogue.columns) - firstChannel);
    constexpr uint32_t kAtOnce = 8, kLanes = 32, kMany = kAtOnce * kLanes;
    if (count >= kMany) {
      // A warp has a channel, and few instructions a word.
      const uint32_t lane = threadIdx.x % kLanes;
#pragma unroll 1
      for (uint32_t channel = threadIdx.x / kLanes; channel < existing; channel += blockDim.x / kLanes) {
        const auto first = firstOf(firstChannel + channel);
#pragma unroll 1
        for (uint32_t word = lane; word < count; word += kAtOnce * kLanes) {
          uint32_t bits[kAtOnce] = {};
#pragma unroll
          for (uint32_t i = 0; i < kAtOnce; ++i)
            if (word + i * kLanes < count) bits[i] = raw(first, word + i * kLanes);
#pragma unroll
          for (uint32_t i = 0; i < kAtOnce; ++i)
            if (word + i * kLanes < count) store((word + i * kLanes) * pitch_ + channel, wordOf(bits[i]));
        }
      }
      return;
    }
    const uint32_t all = p_.stagedWords.divisor * existing;
#pragma unroll 1
    for (uint32_t at = threadIdx.x; at < all; at += kAtOnce * blockDim.x) {
      uint32_t bits[kAtOnce] = {}, place[kAtOnce];
#pragma unroll
      for (uint32_t i = 0; i < kAtOnce; ++i) {
        const uint32_t own = at + i * blockDim.x, channel = p_.stagedWords.quotient(own);
        const uint32_t word = own - channel * p_.stagedWords.divisor;
        const bool exists = own < all && word < count;
        place[i] = exists ? word * pitch_ + channel : ~0u;
        if (exists) bits[i] = raw(firstOf(firstChannel + channel), word);
      }
#pragma unroll
      for (uint32_t i = 0; i < kAtOnce; ++i)
        if (place[i] != ~0u) store(place[i], wordOf(bits[i]));
    }
  }

 private:
  // By its address in shared memory, which a loop then does not find anew.
  __device__ __forceinline__ void store(uint32_t place, uint32_t word) const {
    ptx::storeShared4Bytes(address_ + place * kWordBytes, word);
  }

  const Params& p_;
  const uint32_t* const words_;
  const uint32_t address_;
  const uint32_t channels_, pitch_;
};

}  // namespace shiftconv::kernels::channelwise
