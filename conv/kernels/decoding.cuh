// Elements of 8 bits as f16.
#pragma once

#include <cstdint>

#include "common/ptx/conversion.cuh"
#include "common/ptx/packed_operands.cuh"
#include "conv/kernels/decoding.hpp"

namespace shiftconv::kernels {

/// Of the low 16 bits, exactly; the first lowest. The branches are the same for every thread of a launch.
__device__ __forceinline__ uint32_t halvesOf(const Decoding& how, uint32_t bytes) {
  if (how.isInteger) {
    const auto number = [&](uint32_t byte) {
      return __int2float_rn(static_cast<int32_t>((byte & 0xffu) ^ how.sign) - static_cast<int32_t>(how.sign));
    };
    return ptx::packF16(number(bytes), number(bytes >> 8));
  }
  return how.isE5m2 ? ptx::unpackPairE5m2(bytes) : ptx::unpackPairE4m3(bytes);
}

}  // namespace shiftconv::kernels
