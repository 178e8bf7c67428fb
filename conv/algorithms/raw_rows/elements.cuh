// Single elements of raw_rows on their way from global to shared memory, as 16 bits or as bytes that become f16; which output
// channel a column of a matrix instruction is.
#pragma once

#include <cstdint>

#include "common/ptx/guarded_load.cuh"
#include "conv/kernels/decoding.cuh"

namespace shiftconv::kernels::raw_rows {

template <int kRawBytes>
__device__ __forceinline__ uint32_t loadElement(const uint8_t* from, bool exists) {
  if constexpr (kRawBytes == 1)
    return ptx::load1ByteOrZero(from, exists);
  else
    return ptx::load2BytesOrZero(from, exists);
}
/// Both as what is multiplied, the first lowest.
template <int kRawBytes>
__device__ __forceinline__ uint32_t pairOfElements(const Decoding& how, uint32_t first, uint32_t second) {
  if constexpr (kRawBytes == 1)
    return halvesOf(how, first | second << 8);
  else
    return first | second << 16;
}

/// The output channel of column `column` of the matrix instruction for 8 columns number `block`: thread t of a quad has columns 2t
/// and 2t + 1, which become channels 8t..8t + 7 of every 32.
__device__ __forceinline__ int32_t channelOf(int32_t block, int32_t column) {
  return block / 4 * 32 + column / 2 * 8 + block % 4 * 2 + column % 2;
}

}  // namespace shiftconv::kernels::raw_rows
