// channelwise: forward convolution of each channel with filters of its own (depthwise, K/C filters a channel), on CUDA cores.
//
// A thread has a few neighbouring channels of a few neighbouring outputs, sums in f32 by fused multiply-add and stores from its
// registers. Threads of a warp lie along the channels, so that they load whole lines of a pixel. Shared memory holds nothing but
// the weights, see stageWeights. The three forms: few.cuh, batch.cuh, general.cuh.
//
// NOTES
//  - Pixels outside of the image are zeros that are multiplied (general.cuh skips whole rows of them): under infinite weights they
//    give NaN.
//  - f16 and bf16 share kernels: only the conversions differ, behind a branch that is the same for the whole launch. So do floats
//    and integers of 8 bits, and f32 and tf32 (channelwise_narrow.cu).
#include <cstdint>

#include "conv/algorithms/channelwise/forms.cuh"
#include "conv/algorithms/channelwise/kinds.hpp"

namespace shiftconv::kernels::channelwise {
#define SHIFTCONV_CHANNELWISE_KERNEL(NAME, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, FINISH)                \
  extern "C" __global__ void __launch_bounds__(kMostThreads, CTAS) NAME(const __grid_constant__ Params params) { \
    run<Halves, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, Finish::FINISH>(params);                          \
  }
SHIFTCONV_CHANNELWISE_KINDS(SHIFTCONV_CHANNELWISE_KERNEL)

}  // namespace shiftconv::kernels::channelwise
