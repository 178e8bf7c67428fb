// The kernels of pointwise.
#pragma once

#include "conv/algorithms/pointwise/pointwise.cuh"
#include "conv/kernels/left_out.cuh"

#define SHIFTCONV_POINTWISE_KERNEL_OF(NAME, ELEMENT, BYTES, VECTOR, STEPS, PIXELS)                                               \
  SHIFTCONV_KERNEL(                                                                                                              \
      NAME, extern "C" __global__ void __launch_bounds__(kMostWarps * 32, ctasPerMultiprocessor(BYTES, {VECTOR, STEPS, PIXELS})) \
                NAME(const __grid_constant__ Params params) { Cta<ELEMENT, BYTES, VECTOR, STEPS, PIXELS>(params).run(); })
#define SHIFTCONV_POINTWISE_KERNEL(TYPE, ELEMENT, BYTES, VECTOR, STEPS, PIXELS) \
  SHIFTCONV_POINTWISE_KERNEL_OF(pointwise_##TYPE##_v##VECTOR##_s##STEPS##_##PIXELS, ELEMENT, BYTES, VECTOR, STEPS, PIXELS)
