// The forms of channelwise, by name.
#pragma once

#include <cstdint>
#include <type_traits>

#include "conv/algorithms/channelwise/batch.cuh"
#include "conv/algorithms/channelwise/few.cuh"
#include "conv/algorithms/channelwise/general.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"
#include "conv/algorithms/channelwise/long.cuh"

namespace shiftconv::kernels::channelwise {

template <class Operands, Form kForm, int32_t kFilter, int32_t kStride, int32_t kChannels, int32_t kColumns, Finish kFinish,
          bool kIsDilated, bool kIsDeep>
__device__ __forceinline__ void run(const Params& params) {
  if constexpr (std::is_same_v<Operands, EitherIntegers>) {
    if (params.filters.sign != 0)
      run<Integers<true>, kForm, kFilter, kStride, kChannels, kColumns, kFinish, kIsDilated, kIsDeep>(params);
    else
      run<Integers<false>, kForm, kFilter, kStride, kChannels, kColumns, kFinish, kIsDilated, kIsDeep>(params);
  } else {
    extern __shared__ uint4 weights[];
    uint8_t* const shared = reinterpret_cast<uint8_t*>(weights);
    if constexpr (kForm == Form::Few && kIsDeep)
      runFewDeep<Operands, kFilter, kStride, kChannels, kColumns, kFinish>(params, shared);
    else if constexpr (kForm == Form::Few)
      runFew<Operands, kFilter, kStride, kChannels, kColumns, kFinish, kIsDilated>(params, shared);
    else if constexpr (kForm == Form::Batch)
      Walk<Operands, kFilter, kStride, kChannels, kColumns, kFinish, kIsDilated, kIsDeep>(params).run(shared);
    else if constexpr (kForm == Form::Long)
      LongRows<Operands, kChannels, kColumns, kFinish>(params, shared).run();
    else
      Taps<Operands, kChannels, kColumns, kFinish>(params).run(shared);
  }
}

}  // namespace shiftconv::kernels::channelwise
