// Where a tile whose pixels were operand A (PixelShape) waits to be stored: a row of up to 64 channels for each pixel.
#pragma once

#include <cstdint>

#include "conv/algorithms/halo/params.hpp"
#include "conv/algorithms/halo/staging.cuh"

namespace shiftconv::kernels::halo {

/// Address of 16 bytes of channels of a staged row of kBytes, in the copy engine's swizzle of that width.
template <uint32_t kBytes>
__device__ __forceinline__ uint32_t pixelVector(uint32_t destination, uint32_t row, uint32_t vector) {
  constexpr uint32_t kVectors = kBytes / 16;  // the pattern repeats after 8 * kBytes
  return destination + row * kBytes + ((vector ^ (row * kVectors / 8 % kVectors)) * 16);
}

/// The staged row of a position of a tile: in flat tiles pixels come first.
__device__ __forceinline__ uint32_t stagedRow(const Params& p, uint32_t position) {
  return p.flatPitch.divisor == 1 ? position : flatRow(p, position);
}

}  // namespace shiftconv::kernels::halo
