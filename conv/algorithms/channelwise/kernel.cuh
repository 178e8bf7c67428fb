// A kernel of channelwise.
#pragma once

#include "conv/algorithms/channelwise/forms.cuh"
#include "conv/kernels/left_out.cuh"

#define SHIFTCONV_CHANNELWISE_KERNEL(NAME, OPERANDS, FORM, FILTER, STRIDE, CHANNELS, COLUMNS, CTAS, FINISH, IS_DILATED, IS_DEEP) \
  SHIFTCONV_KERNEL(                                                                                                              \
      NAME, extern "C" __global__ void __launch_bounds__(kMostThreads, CTAS) NAME(const __grid_constant__ Params params) {       \
        run<OPERANDS, Form::FORM, FILTER, STRIDE, CHANNELS, COLUMNS, Finish::FINISH, IS_DILATED, IS_DEEP>(params);               \
      })
