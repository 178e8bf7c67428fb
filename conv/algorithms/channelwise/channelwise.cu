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

#include "conv/algorithms/channelwise/forms.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"

namespace shiftconv::kernels::channelwise {

#define SHIFTCONV_CHANNELWISE_HALVES(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, FINISH, IS_DILATED)    \
  extern "C" __global__ void __launch_bounds__(kMostThreads, CTAS) NAME(const __grid_constant__ Params params) { \
    run<Halves, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, Finish::FINISH, IS_DILATED>(params);              \
  }
#define SHIFTCONV_CHANNELWISE_KERNEL(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, FINISH) \
  SHIFTCONV_CHANNELWISE_HALVES(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, FINISH, false)
SHIFTCONV_CHANNELWISE_KINDS(SHIFTCONV_CHANNELWISE_KERNEL)

#define SHIFTCONV_CHANNELWISE_DILATED_KERNEL(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS) \
  SHIFTCONV_CHANNELWISE_HALVES(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, Plain, true)
SHIFTCONV_CHANNELWISE_DILATED_KINDS(SHIFTCONV_CHANNELWISE_DILATED_KERNEL)

}  // namespace shiftconv::kernels::channelwise
