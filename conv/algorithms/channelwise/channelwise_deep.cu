// channelwise of filters with depth, of every type that has kernels of a few filters. See channelwise.cu.
#include <cstdint>

#include "conv/algorithms/channelwise/forms.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"

namespace shiftconv::kernels::channelwise {

inline constexpr bool kIsDilated = false, kIsDeep = true;

#define SHIFTCONV_CHANNELWISE_KERNEL(NAME, OPERANDS, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, FINISH)      \
  extern "C" __global__ void __launch_bounds__(kMostThreads, CTAS) NAME(const __grid_constant__ Params params) { \
    run<OPERANDS, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, Finish::FINISH, kIsDilated, kIsDeep>(params);           \
  }
SHIFTCONV_CHANNELWISE_DEEP_KINDS(SHIFTCONV_CHANNELWISE_KERNEL)

}  // namespace shiftconv::kernels::channelwise
