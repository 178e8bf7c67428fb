// Pieces of rows that begin anywhere in global memory: an odd number of channels of f16, or any of 8 bits.
//
// cp.async copies 4 bytes or more, as much aligned (PTX ISA 9.7.9.25.3.1). So a thread loads the aligned words that hold 16 bytes
// of a row, at most five, and shifts them into place.
#pragma once

#include <cstdint>

namespace shiftconv::kernels::im2col {

inline constexpr int32_t kUnalignedBytes = 16;  // of a piece
/// Rows of an operand, of a byte or more each, that copy single bytes: after them nothing may be read.
inline constexpr int32_t kLastRows = 3;

/// The first `count` bytes of a word, the number of which may be negative or more than 4, and zeros.
__device__ __forceinline__ uint32_t firstBytes(uint32_t word, int32_t count) {
  return count > 0 ? word & 0xffffffffu >> max(32 - 8 * count, 0) : 0;
}

/// Up to 16 bytes of a row, on their way.
struct UnalignedPiece {
  uint32_t word[kUnalignedBytes / 4 + 1];
  uint32_t shift;  ///< bytes of the first word that are not the piece's

  /// Asks for the aligned words that have one of the `count` bytes from `at` on.
  __device__ __forceinline__ void load(const uint8_t* at, int32_t count) {
    shift = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(at) % 4);
    const auto* const words = reinterpret_cast<const uint32_t*>(at - shift);
    const int32_t end = count > 0 ? count + static_cast<int32_t>(shift) : 0;
#pragma unroll
    for (int32_t i = 0; i < 5; ++i) word[i] = 4 * i < end ? words[i] : 0;
  }
  /// The same bytes, and zeros after them.
  __device__ __forceinline__ uint4 placed(int32_t count) const {
    uint32_t w[4];
#pragma unroll
    for (int32_t i = 0; i < 4; ++i) w[i] = firstBytes(__funnelshift_r(word[i], word[i + 1], 8 * shift), count - 4 * i);
    return make_uint4(w[0], w[1], w[2], w[3]);
  }
};

}  // namespace shiftconv::kernels::im2col
