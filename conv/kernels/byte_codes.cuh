// How numbers become outputs of 8 bits in kernels of 8-bit operands: e4m3 of f32 sums, s8 or u8 of integers.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/gemm/epilogue/store.cuh"
#include "common/ptx/conversion.cuh"

namespace shiftconv::kernels {

/// With the output's scale and zero point.
template <bool kIntegers>
struct ByteCodes {
  float scale;
  int32_t zeroPoint;
  uint32_t flipped;  ///< u8 is packed as what s8 is 128 below: one form for both

  __device__ __forceinline__ explicit ByteCodes(const gemm::EpilogueParams& e)
      : scale(e.outputScale), zeroPoint(e.outputZeroPoint), flipped(0) {
    if (kIntegers && e.outputType == gemm::NumberType::U8) zeroPoint -= 128, flipped = 0x80808080u;
  }

  /// Byte i is number i.
  __device__ __forceinline__ uint32_t of(float a, float b, float c, float d) const {
    if constexpr (kIntegers) {
      const auto number = [&](float v) { return gemm::integerOf(v * scale, zeroPoint); };
      return ptx::packS8(number(a), number(b), number(c), number(d)) ^ flipped;
    } else {
      return ptx::packE4m3(a * scale, b * scale) | ptx::packE4m3(c * scale, d * scale) << 16;
    }
  }
};

}  // namespace shiftconv::kernels
