// Some neighbouring elements of a tensor whose type is known at run time only, as f32.
#pragma once

#include <cstdint>

#include "common/ptx/conversion.cuh"
#include "conv/helpers/params.hpp"

namespace shiftconv::kernels::helpers {

/// `at` counts elements; a multiple of kCount, as is the address of element 0 in bytes of that many.
template <int32_t kCount>
__device__ __forceinline__ void load(const void* tensor, int64_t at, NumberType type, float (&value)[kCount]) {
  static_assert(kCount == 1 || kCount == 4);
  if (type == NumberType::F32) {
    const float* from = static_cast<const float*>(tensor) + at;
    if constexpr (kCount == 1) {
      value[0] = *from;
    } else {
      const float4 four = *reinterpret_cast<const float4*>(from);
      value[0] = four.x, value[1] = four.y, value[2] = four.z, value[3] = four.w;
    }
    return;
  }
  const uint16_t* from = static_cast<const uint16_t*>(tensor) + at;
  uint32_t code[kCount];
  if constexpr (kCount == 1) {
    code[0] = *from;
  } else {
    const uint2 two = *reinterpret_cast<const uint2*>(from);
    code[0] = two.x & 0xffff, code[1] = two.x >> 16, code[2] = two.y & 0xffff, code[3] = two.y >> 16;
  }
#pragma unroll
  for (int32_t i = 0; i < kCount; ++i) value[i] = type == NumberType::F16 ? ptx::unpackF16(code[i]) : ptx::unpackBf16(code[i]);
}

/// Rounds to nearest, ties to even.
template <int32_t kCount>
__device__ __forceinline__ void store(void* tensor, int64_t at, NumberType type, const float (&value)[kCount]) {
  static_assert(kCount == 1 || kCount == 4);
  if (type == NumberType::F32) {
    float* to = static_cast<float*>(tensor) + at;
    if constexpr (kCount == 1)
      *to = value[0];
    else
      *reinterpret_cast<float4*>(to) = make_float4(value[0], value[1], value[2], value[3]);
    return;
  }
  const auto pack = [&](float low, float high) {
    return type == NumberType::F16 ? ptx::packF16(low, high) : ptx::packBf16(low, high);
  };
  uint16_t* to = static_cast<uint16_t*>(tensor) + at;
  if constexpr (kCount == 1)
    *to = static_cast<uint16_t>(pack(value[0], 0.0f));
  else
    *reinterpret_cast<uint2*>(to) = make_uint2(pack(value[0], value[1]), pack(value[2], value[3]));
}

}  // namespace shiftconv::kernels::helpers
