// Single elements of raw_rows on their way from global to shared memory, as 16 bits or as bytes that become f16.
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

}  // namespace shiftconv::kernels::raw_rows
