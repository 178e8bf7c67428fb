// channelwise: forward convolution of each channel with filters of its own (depthwise, K/C filters a channel), on CUDA cores.
//
// A thread has a few neighbouring channels of a few outputs that share pixels, sums in f32 by fused multiply-add (8-bit integers:
// four products at a time, in s32) and stores from its registers. Threads of a warp lie along the channels, so that they load whole
// lines of a pixel. Shared memory holds nothing but the weights. The forms: few.cuh, batch.cuh, general.cuh, long.cuh; and in
// channelwise_stream.cu stream.cuh, whose input rows come to shared memory.
//
// NOTES
//  - Pixels outside of the image are zeros that are multiplied (general.cuh and long.cuh skip whole rows of them): under infinite
//    weights they give NaN.
//  - f16 and bf16 share kernels: only the conversions differ, behind a branch that is the same for the whole launch. So do f32 and
//    tf32, and with the whole epilogue floats and integers of 8 bits (channelwise_narrow.cu). channelwise_integers.cu has the
//    others.
#include <cstdint>

#include "conv/algorithms/channelwise/kernel.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"

namespace shiftconv::kernels::channelwise {

#define SHIFTCONV_HALVES(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, FINISH) \
  SHIFTCONV_CHANNELWISE_KERNEL(NAME, Halves, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, FINISH, false, false)
SHIFTCONV_CHANNELWISE_KINDS(SHIFTCONV_HALVES)

#define SHIFTCONV_DILATED(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  SHIFTCONV_CHANNELWISE_KERNEL(NAME, Halves, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Plain, true, false)
SHIFTCONV_CHANNELWISE_DILATED_KINDS(SHIFTCONV_DILATED)

}  // namespace shiftconv::kernels::channelwise
