// How few.cuh and batch.cuh multiply: Rows<...> has Pixels of an input row, Filter of a filter row, Start and add().
#pragma once

#include <cstdint>
#include <type_traits>

#include "conv/algorithms/channelwise/float_rows.cuh"
#include "conv/algorithms/channelwise/integer_rows.cuh"

namespace shiftconv::kernels::channelwise {

template <class Operands, int32_t kFilter, int32_t kStride, int32_t kChannels, int32_t kColumns>
using Rows = std::conditional_t<Operands::kIsInteger, IntegerRows<Operands, kFilter, kStride, kChannels, kColumns>,
                                FloatRows<Operands, kFilter, kStride, kChannels, kColumns>>;

/// Sums as numbers. Those of integers stay below 2^24, as the planner sees to.
template <int32_t kCount>
__device__ __forceinline__ float (&numbersOf(float (&sums)[kCount], float (&)[kCount]))[kCount] {
  return sums;
}
template <int32_t kCount>
__device__ __forceinline__ float (&numbersOf(int32_t (&sums)[kCount], float (&numbers)[kCount]))[kCount] {
#pragma unroll
  for (int32_t i = 0; i < kCount; ++i) numbers[i] = __int2float_rn(sums[i]);
  return numbers;
}

}  // namespace shiftconv::kernels::channelwise
