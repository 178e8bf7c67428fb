// What elements of the operands become before they are multiplied: f32. A decoder has input(channels, values) for the channels of a
// pixel and filter(bits) for a weight.
#pragma once

#include <cstdint>

#include "common/ptx/conversion.cuh"
#include "common/ptx/packed_operands.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"
#include "conv/algorithms/channelwise/thread.cuh"

namespace shiftconv::kernels::channelwise {

template <class Element>
struct HalfDecoder {
  template <int32_t kChannels>
  __device__ __forceinline__ void input(const Channels<kChannels>& channels, float (&value)[kChannels]) const {
    channels.template unpack<Element>(value);
  }
  __device__ __forceinline__ float filter(uint32_t bits) const { return unpackPair<Element>(bits).x; }
  /// Weight `index` of those that lie in `words`, one behind the other.
  __device__ __forceinline__ float filter(const uint32_t* words, int32_t index) const {
    const float2 pair = unpackPair<Element>(words[index / 2]);
    return index % 2 == 0 ? pair.x : pair.y;
  }
};

/// Byte i of `word`, less `origin` - 2^23: the byte's bits are the last ones of 2^23 + byte.
__device__ __forceinline__ float numberOfByte(uint32_t word, int32_t i, float origin) {
  return __uint_as_float(__byte_perm(word, 0x4B000000u, 0x7440u + static_cast<uint32_t>(i))) - origin;
}
/// A byte with its sign bit exchanged is 128 more than the number.
__device__ __forceinline__ uint32_t signsOf(const Decoding& how) { return how.sign * 0x01010101u; }
__device__ __forceinline__ float originOf(const Decoding& how) { return 0x1p23f + static_cast<float>(how.sign); }

/// s8 and u8, which are multiplied as s8 (see IntegerRows).
struct IntegerDecoder {
  uint32_t signs;  ///< bits that make words of the input s8

  __device__ explicit IntegerDecoder(const Params& p) : signs(p.inputs.sign != 0 ? 0 : 0x80808080u) {}
};

struct E4m3Decoder {
  template <int32_t kChannels>
  __device__ __forceinline__ void input(const Channels<kChannels, 1>& channels, float (&value)[kChannels]) const {
#pragma unroll
    for (int32_t i = 0; i < kChannels; i += 2) {
      const float2 pair = unpackPair<__half>(ptx::unpackPairE4m3(channels.word[0] >> (8 * i)));
      value[i] = pair.x;
      if constexpr (kChannels > 1) value[i + 1] = pair.y;
    }
  }
  __device__ __forceinline__ float filter(uint32_t bits) const { return ptx::unpackF16(ptx::unpackPairE4m3(bits)); }
  __device__ __forceinline__ float filter(const uint32_t* words, int32_t index) const {
    const float2 pair = unpackPair<__half>(ptx::unpackPairE4m3(words[index / 4] >> (index / 2 % 2 * 16)));
    return index % 2 == 0 ? pair.x : pair.y;
  }
};

/// 8-bit floats and integers. The branches are the same for every thread of a launch.
struct ByteDecoder {
  const Params& p;

  template <int32_t kChannels>
  __device__ __forceinline__ void input(const Channels<kChannels, 1>& channels, float (&value)[kChannels]) const {
    decode(p.inputs, channels.word[0], value);
  }
  __device__ __forceinline__ float filter(uint32_t bits) const {
    float value[1];
    decode(p.filters, bits, value);
    return value[0];
  }

 private:
  template <int32_t kCount>
  __device__ __forceinline__ static void decode(const Decoding& how, uint32_t word, float (&value)[kCount]) {
    if (how.isInteger) {
#pragma unroll
      for (int32_t i = 0; i < kCount; ++i) value[i] = numberOfByte(word ^ signsOf(how), i, originOf(how));
      return;
    }
    uint32_t halves[2];
    if (how.isE5m2)
      halves[0] = ptx::unpackPairE5m2(word), halves[1] = ptx::unpackPairE5m2(word >> 16);
    else
      halves[0] = ptx::unpackPairE4m3(word), halves[1] = ptx::unpackPairE4m3(word >> 16);
#pragma unroll
    for (int32_t i = 0; i < kCount; ++i) value[i] = ptx::unpackF16(halves[i / 2] >> (i % 2 * 16));
  }
};

/// f32, all of it or what tf32 keeps.
struct WordDecoder {
  const Params& p;

  template <int32_t kChannels>
  __device__ __forceinline__ void input(const Channels<kChannels, 4>& channels, float (&value)[kChannels]) const {
#pragma unroll
    for (int32_t i = 0; i < kChannels; ++i) value[i] = __uint_as_float(channels.word[i] & p.inputs.kept);
  }
  __device__ __forceinline__ float filter(uint32_t bits) const { return __uint_as_float(bits & p.filters.kept); }
};

/// body(decoder) for the type of the operands where a kernel has one of f16 and bf16, e4m3, or 8-bit integers. The same choice for
/// every thread of a launch, and cheaper than kernels of their own, because only conversions differ.
template <class Operands, class Body>
__device__ __forceinline__ void withUnmixedDecoder(const Params& p, Body&& body) {
  if constexpr (Operands::kBytes == 2)
    withElement(p, [&](auto tag) { body(HalfDecoder<typename decltype(tag)::Element>()); });
  else if constexpr (Operands::kIsInteger)
    body(IntegerDecoder(p));
  else
    body(E4m3Decoder());
}

/// The same for every type.
template <class Operands, class Body>
__device__ __forceinline__ void withDecoder(const Params& p, Body&& body) {
  if constexpr (Operands::kBytes == 1)
    body(ByteDecoder{p});
  else if constexpr (Operands::kBytes == 4)
    body(WordDecoder{p});
  else
    withElement(p, [&](auto tag) { body(HalfDecoder<typename decltype(tag)::Element>()); });
}

/// A weight's bits, in the low part of the word.
template <class Operands>
__device__ __forceinline__ uint32_t weightBits(const uint8_t* from) {
  if constexpr (Operands::kBytes == 1)
    return *from;
  else if constexpr (Operands::kBytes == 2)
    return *reinterpret_cast<const uint16_t*>(from);
  else
    return *reinterpret_cast<const uint32_t*>(from);
}

}  // namespace shiftconv::kernels::channelwise
