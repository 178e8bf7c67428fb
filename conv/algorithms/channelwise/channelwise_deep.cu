// channelwise of filters with depth, of every type that has kernels of a few filters. See channelwise.cu.
#include <cstdint>
#include <type_traits>

#include "conv/algorithms/channelwise/forms.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"

namespace shiftconv::kernels::channelwise {
namespace {

template <class Operands, Form kForm, int32_t kFilter, int32_t kStride, int32_t kChannels, int32_t kColumns, Finish kFinish>
__device__ __forceinline__ void runDeep(const Params& params) {
  constexpr bool kIsDilated = false, kIsDeep = true;
  if constexpr (!std::is_same_v<Operands, EitherIntegers>)
    run<Operands, kForm, kFilter, kStride, kChannels, kColumns, kFinish, kIsDilated, kIsDeep>(params);
  else if (params.filters.sign != 0)
    run<Integers<true>, kForm, kFilter, kStride, kChannels, kColumns, kFinish, kIsDilated, kIsDeep>(params);
  else
    run<Integers<false>, kForm, kFilter, kStride, kChannels, kColumns, kFinish, kIsDilated, kIsDeep>(params);
}

}  // namespace

#define SHIFTCONV_CHANNELWISE_KERNEL(NAME, OPERANDS, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, FINISH)      \
  extern "C" __global__ void __launch_bounds__(kMostThreads, CTAS) NAME(const __grid_constant__ Params params) { \
    runDeep<OPERANDS, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, Finish::FINISH>(params);                    \
  }
SHIFTCONV_CHANNELWISE_DEEP_KINDS(SHIFTCONV_CHANNELWISE_KERNEL)

}  // namespace shiftconv::kernels::channelwise
