// A lane's part of an operand row, on its way from global memory to the registers of mma.sync.
#pragma once

#include <cstdint>

#include "conv/algorithms/thin/params.hpp"
#include "conv/kernels/decoding.cuh"

namespace shiftconv::kernels::thin {

/// A lane's elements of a row in a block: word i is elements 2i and 2i + 1.
template <int32_t kVector, int32_t kRawBytes>
struct BlockRow {
  static constexpr int32_t kVectors = kMostVector / kVector;
  uint32_t word[kMostVector / 2];

  /// Vector `i` from `at`, or zeros.
  __device__ __forceinline__ void load(int32_t i, const uint8_t* at, bool exists) {
    if constexpr (kVector == 8) {
      uint4 all{};
      if (exists) all = *reinterpret_cast<const uint4*>(at);
      word[0] = all.x, word[1] = all.y, word[2] = all.z, word[3] = all.w;
    } else if constexpr (kVector == 4) {
      uint2 half{};
      if (exists) half = *reinterpret_cast<const uint2*>(at);
      word[2 * i] = half.x, word[2 * i + 1] = half.y;
    } else if constexpr (kVector == 2) {
      word[i] = exists ? *reinterpret_cast<const uint32_t*>(at) : 0;
    } else {
      const uint32_t one = exists ? *reinterpret_cast<const uint16_t*>(at) : 0;
      if (i % 2 == 0)
        word[i / 2] = one;
      else
        word[i / 2] |= one << 16;
    }
  }
  /// Elements 4i..4i + 3 as two pairs of what is multiplied.
  template <Coding>
  __device__ __forceinline__ uint2 four(int32_t i, const Decoding&) const {
    return make_uint2(word[2 * i], word[2 * i + 1]);
  }
};

/// Of 8-bit elements: word i is elements 4i..4i + 3.
template <int32_t kVector>
struct BlockRow<kVector, 1> {
  static_assert(kVector == 8 || kVector == 4 || kVector == 2 || kVector == 1);
  static constexpr int32_t kVectors = kMostVector / kVector;
  uint32_t word[kMostVector / 4];

  __device__ __forceinline__ void load(int32_t i, const uint8_t* at, bool exists) {
    if constexpr (kVector == 8) {
      uint2 all{};
      if (exists) all = *reinterpret_cast<const uint2*>(at);
      word[0] = all.x, word[1] = all.y;
    } else if constexpr (kVector == 4) {
      word[i] = exists ? *reinterpret_cast<const uint32_t*>(at) : 0;
    } else if constexpr (kVector == 2) {
      const uint32_t two = exists ? *reinterpret_cast<const uint16_t*>(at) : 0;
      if (i % 2 == 0)
        word[i / 2] = two;
      else
        word[i / 2] |= two << 16;
    } else {
      const uint32_t one = exists ? *at : 0;
      if (i % 4 == 0)
        word[i / 4] = one;
      else
        word[i / 4] |= one << (i % 4 * 8);
    }
  }
  template <Coding kCoding>
  __device__ __forceinline__ uint2 four(int32_t i, const Decoding& how) const {
    return fourHalvesAs<kCoding>(how, word[i]);
  }
};

}  // namespace shiftconv::kernels::thin
