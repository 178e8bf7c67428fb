// What the steps of the ladder share: rows of 128 bytes on their way into shared memory, and rows of sums on their way out.
#pragma once

#include <cstdint>

#include "common/layout/instruction_descriptor.hpp"
#include "common/layout/shared_matrix_descriptor.hpp"
#include "common/ptx/shared_memory.cuh"
#include "common/ptx/tensor_memory.cuh"

namespace ladder {

using namespace shiftconv;

// Tensor Memory has 128 lanes, which are the rows of operand A and of the sums. Warp w of four may touch lanes 32 * w and up only:
// its window.
inline constexpr uint32_t kLanes = 128, kWindows = 4, kWindowLanes = 32;

// A row of A or B in shared memory is 128 bytes, in the swizzle that TMA writes and the tensor core reads. An instruction takes 32
// bytes of each row, a slice: 16 channels of f16, 32 of fp8. In Tensor Memory a slice of A is 8 columns of 32 bits.
inline constexpr uint32_t kRowBytes = 128, kSlices = 4, kSliceBytes = 32, kSliceColumns = 8, kOperandColumns = 32;
inline constexpr uint32_t kTileBytes = kLanes * kRowBytes;

// From one set of sums to the next. Places that are no multiple of 32 columns are not known to work (question U23).
inline constexpr uint32_t kSumColumns = 32;

/// The descriptor of a slice of a tile of such rows.
__device__ __forceinline__ uint64_t slicesOf(const uint8_t* tile) {
  return layout::swizzle128KMajorDescriptor(ptx::sharedAddress(tile));
}
__device__ __forceinline__ uint64_t sliceAt(uint64_t tile, uint32_t slice) {
  return layout::advanceDescriptor(tile, slice * kSliceBytes);
}

/// Writes 16 * kChunks bytes to a row of a tile; zeros for a null pointer.
template <int kChunks>
__device__ __forceinline__ void stageRow(const uint8_t* tile, uint32_t row, const uint4* source) {
  const uint32_t place = ptx::sharedAddress(tile) + row * kRowBytes;
#pragma unroll
  for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
    const uint4 data = source == nullptr ? uint4{} : source[chunk];
    ptx::storeShared16Bytes(layout::swizzle128(place + chunk * 16), data.x, data.y, data.z, data.w);
  }
}

/// The address of this warp's window in Tensor Memory columns.
__device__ __forceinline__ uint32_t ownWindow(uint32_t columns) {
  return columns + ((threadIdx.x / 32 % kWindows * kWindowLanes) << 16);
}

/// A whole warp: 16 sums of every lane of its window; null: this lane's are not wanted.
__device__ __forceinline__ void store16(uint32_t columns, float* target) {
  uint32_t bits[16];
  ptx::tensorLoad16(ownWindow(columns), bits);
  ptx::tensorLoadWait(bits);
  if (target == nullptr) return;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    reinterpret_cast<uint4*>(target)[i] = make_uint4(bits[4 * i], bits[4 * i + 1], bits[4 * i + 2], bits[4 * i + 3]);
}

}  // namespace ladder
