// channelwise of 8-bit integers with short epilogues. See channelwise.cu, integer_rows.cuh and, of any filter, integer_taps.cuh.
#include <cstdint>

#include "conv/algorithms/channelwise/kernel.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"

namespace shiftconv::kernels::channelwise {

#define SHIFTCONV_INTEGERS(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  SHIFTCONV_CHANNELWISE_KERNEL(NAME, EitherIntegers, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Plain, false, false)
SHIFTCONV_CHANNELWISE_INTEGERS_KINDS(SHIFTCONV_INTEGERS)

#define SHIFTCONV_DILATED(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  SHIFTCONV_CHANNELWISE_KERNEL(NAME, EitherIntegers, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Plain, true, false)
SHIFTCONV_CHANNELWISE_DILATED_INTEGERS_KINDS(SHIFTCONV_DILATED)

}  // namespace shiftconv::kernels::channelwise
