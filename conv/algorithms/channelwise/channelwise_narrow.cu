// channelwise of 8-bit floats and integers, and of f32 and tf32. See channelwise.cu.
//
// Sums of integers are f32, too: those of products of bytes stay below 2^24 for as many taps as the planner lets through, so that
// they are exact.
#include <cstdint>

#include "conv/algorithms/channelwise/kernel.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"

namespace shiftconv::kernels::channelwise {

#define SHIFTCONV_BYTES(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  SHIFTCONV_CHANNELWISE_KERNEL(NAME, Bytes, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Plain, false, false)
SHIFTCONV_CHANNELWISE_BYTES_KINDS(SHIFTCONV_BYTES)

#define SHIFTCONV_DILATED(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  SHIFTCONV_CHANNELWISE_KERNEL(NAME, Bytes, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Plain, true, false)
SHIFTCONV_CHANNELWISE_DILATED_BYTES_KINDS(SHIFTCONV_DILATED)

#define SHIFTCONV_GENERAL(NAME, OPERANDS, CHANNELS, COLUMNS, CTAS) \
  SHIFTCONV_CHANNELWISE_KERNEL(NAME, OPERANDS, General, 0, 0, CHANNELS, COLUMNS, CTAS, Full, false, false)
SHIFTCONV_CHANNELWISE_NARROW_KINDS(SHIFTCONV_GENERAL)

}  // namespace shiftconv::kernels::channelwise
