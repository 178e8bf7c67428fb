// channelwise of filters with depth, of every type that has kernels of a few filters. See channelwise.cu.
#include <cstdint>

#include "conv/algorithms/channelwise/kernel.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"

namespace shiftconv::kernels::channelwise {

#define SHIFTCONV_DEEP(NAME, OPERANDS, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, FINISH) \
  SHIFTCONV_CHANNELWISE_KERNEL(NAME, OPERANDS, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, FINISH, false, true)
SHIFTCONV_CHANNELWISE_DEEP_KINDS(SHIFTCONV_DEEP)

}  // namespace shiftconv::kernels::channelwise
