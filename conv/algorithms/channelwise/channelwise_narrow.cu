// channelwise of 8-bit floats and integers, and of f32 and tf32. See channelwise.cu.
//
// Sums of integers are f32, too: those of products of bytes stay below 2^24 for as many taps as the planner lets through, so that
// they are exact.
#include <cstdint>

#include "conv/algorithms/channelwise/forms.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"

namespace shiftconv::kernels::channelwise {

#define SHIFTCONV_CHANNELWISE_KERNEL(NAME, OPERANDS, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, FINISH, IS_DILATED) \
  extern "C" __global__ void __launch_bounds__(kMostThreads, CTAS) NAME(const __grid_constant__ Params params) {        \
    run<OPERANDS, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, Finish::FINISH, IS_DILATED>(params);                   \
  }
#define SHIFTCONV_CHANNELWISE_BYTES_KERNEL(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  SHIFTCONV_CHANNELWISE_KERNEL(NAME, Bytes, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Plain, false)
SHIFTCONV_CHANNELWISE_BYTES_KINDS(SHIFTCONV_CHANNELWISE_BYTES_KERNEL)

#define SHIFTCONV_CHANNELWISE_DILATED_KERNEL(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  SHIFTCONV_CHANNELWISE_KERNEL(NAME, Bytes, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Plain, true)
SHIFTCONV_CHANNELWISE_DILATED_BYTES_KINDS(SHIFTCONV_CHANNELWISE_DILATED_KERNEL)

#define SHIFTCONV_CHANNELWISE_GENERAL_KERNEL(NAME, OPERANDS, CHANNELS, COLUMNS, CTAS) \
  SHIFTCONV_CHANNELWISE_KERNEL(NAME, OPERANDS, General, 0, 0, CHANNELS, COLUMNS, CTAS, Full, false)
SHIFTCONV_CHANNELWISE_NARROW_KINDS(SHIFTCONV_CHANNELWISE_GENERAL_KERNEL)

}  // namespace shiftconv::kernels::channelwise
