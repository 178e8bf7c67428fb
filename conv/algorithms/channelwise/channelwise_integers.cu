// channelwise of 8-bit integers with short epilogues. See channelwise.cu, integer_rows.cuh and, of any filter, integer_taps.cuh.
#include <cstdint>

#include "conv/algorithms/channelwise/forms.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"

namespace shiftconv::kernels::channelwise {

#define SHIFTCONV_CHANNELWISE_INTEGERS(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, IS_DILATED)          \
  extern "C" __global__ void __launch_bounds__(kMostThreads, CTAS) NAME(const __grid_constant__ Params params) { \
    run<EitherIntegers, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, Finish::Plain, IS_DILATED>(params);       \
  }
#define SHIFTCONV_CHANNELWISE_KERNEL(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  SHIFTCONV_CHANNELWISE_INTEGERS(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, false)
SHIFTCONV_CHANNELWISE_INTEGERS_KINDS(SHIFTCONV_CHANNELWISE_KERNEL)

#define SHIFTCONV_CHANNELWISE_DILATED_KERNEL(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  SHIFTCONV_CHANNELWISE_INTEGERS(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, true)
SHIFTCONV_CHANNELWISE_DILATED_INTEGERS_KINDS(SHIFTCONV_CHANNELWISE_DILATED_KERNEL)

}  // namespace shiftconv::kernels::channelwise
