// Outputs of 8 bits of threads that have sums as matrix instructions leave them: pairs of neighbouring channels, 8 apart.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/gemm/epilogue/store.cuh"
#include "common/ptx/conversion.cuh"

namespace shiftconv::kernels {

/// Four scaled numbers as the output has them; the first one lowest.
__device__ __forceinline__ uint32_t packBytes(const gemm::EpilogueParams& e, float a, float b, float c, float d) {
  using enum gemm::NumberType;
  if (e.outputType == E4M3) return ptx::packE4m3(a, b) | ptx::packE4m3(c, d) << 16;
  if (e.outputType == E5M2) return ptx::packE5m2(a, b) | ptx::packE5m2(c, d) << 16;
  const auto number = [&](float v) { return gemm::integerOf(v, e.outputZeroPoint); };
  const int32_t numbers[4] = {number(a), number(b), number(c), number(d)};
  return e.outputType == S8 ? ptx::packS8(numbers[0], numbers[1], numbers[2], numbers[3])
                            : ptx::packU8(numbers[0], numbers[1], numbers[2], numbers[3]);
}

/// 16 channels in order, of words {2t, 2t + 1, 2t + 8, 2t + 9}, t = 0..3.
__device__ __forceinline__ uint4 orderedChannels(const uint4& mixed) {
  return make_uint4(__byte_perm(mixed.x, mixed.y, 0x5410), __byte_perm(mixed.z, mixed.w, 0x5410),
                    __byte_perm(mixed.x, mixed.y, 0x7632), __byte_perm(mixed.z, mixed.w, 0x7632));
}

/// The pieces of kBytes, 16, 8 or 4, that begin before `end`.
template <int32_t kBytes>
__device__ __forceinline__ void storePieces(uint8_t* to, const uint4& words, int32_t end) {
  if constexpr (kBytes == 16) {
    *reinterpret_cast<uint4*>(to) = words;
  } else if constexpr (kBytes == 8) {
    *reinterpret_cast<uint2*>(to) = make_uint2(words.x, words.y);
    if (end > 8) *reinterpret_cast<uint2*>(to + 8) = make_uint2(words.z, words.w);
  } else {
    auto* const one = reinterpret_cast<uint32_t*>(to);
    one[0] = words.x;
    if (end > 4) one[1] = words.y;
    if (end > 8) one[2] = words.z;
    if (end > 12) one[3] = words.w;
  }
}

}  // namespace shiftconv::kernels
