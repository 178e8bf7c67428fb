// channelwise of a few filters with the whole epilogue. See channelwise.cu.
#include <cstdint>

#include "conv/algorithms/channelwise/kernel.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"

namespace shiftconv::kernels::channelwise {

#define SHIFTCONV_WHOLE(NAME, OPERANDS, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  SHIFTCONV_CHANNELWISE_KERNEL(NAME, OPERANDS, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Full, false, false)
SHIFTCONV_CHANNELWISE_WHOLE_KINDS(SHIFTCONV_WHOLE)

}  // namespace shiftconv::kernels::channelwise
