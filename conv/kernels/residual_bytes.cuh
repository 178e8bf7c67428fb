// Residuals of 8 bits as numbers, four of a word at a time.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/ptx/packed_operands.cuh"

namespace shiftconv::kernels {

/// Codes are s8 or u8 where kIntegers, else e4m3.
template <bool kIntegers>
class ResidualBytes {
 public:
  __device__ __forceinline__ explicit ResidualBytes(gemm::NumberType type)
      : flipped_(type == gemm::NumberType::S8 ? 0x80808080u : 0u), raise_(type == gemm::NumberType::S8 ? kRaise + 128 : kRaise) {}

  /// factor * number i of the word to v[i]; the lowest byte is number 0.
  __device__ __forceinline__ void add(float factor, uint32_t word, float (&v)[4]) const {
    if constexpr (kIntegers) {
      // 0x4B000000 + n is 2^23 + n in f32. Of signed bytes n is 128 more than the number.
      const uint32_t raised = word ^ flipped_;
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i)
        v[i] = fmaf(factor, __uint_as_float(__byte_perm(raised, 0x4B000000u, 0x7440 + i)) - raise_, v[i]);
    } else {
#pragma unroll
      for (int32_t i = 0; i < 4; i += 2) {
        const uint32_t halves = ptx::unpackPairE4m3(word >> (8 * i));
        const float2 two = __half22float2(*reinterpret_cast<const __half2*>(&halves));
        v[i] = fmaf(factor, two.x, v[i]);
        v[i + 1] = fmaf(factor, two.y, v[i + 1]);
      }
    }
  }

 private:
  static constexpr float kRaise = 0x1p23f;
  uint32_t flipped_;
  float raise_;
};

}  // namespace shiftconv::kernels
