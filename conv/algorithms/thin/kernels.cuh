// The kernels of thin.
#pragma once

#include "conv/algorithms/thin/thin.cuh"
#include "conv/kernels/left_out.cuh"

#define SHIFTCONV_THIN_KERNEL_OF(NAME, ELEMENT, VECTOR, PIXELS, CHANNELS, BYTES, IS_LEAN)             \
  SHIFTCONV_KERNEL(                                                                                   \
      NAME, extern "C" __global__ void __launch_bounds__(kMostWarps * 32, PIXELS == 32 ? 1 : 2) NAME( \
                const __grid_constant__ Params params) { Warp<ELEMENT, VECTOR, PIXELS, CHANNELS, BYTES, IS_LEAN>(params).run(); })
/// The kernel of lean epilogues, and that of the others.
#define SHIFTCONV_THIN_KERNEL(TYPE, ELEMENT, VECTOR, PIXELS, CHANNELS, BYTES)                                                      \
  SHIFTCONV_THIN_KERNEL_OF(thin_##TYPE##_v##VECTOR##_##PIXELS##x##CHANNELS##_lean, ELEMENT, VECTOR, PIXELS, CHANNELS, BYTES, true) \
  SHIFTCONV_THIN_KERNEL_OF(thin_##TYPE##_v##VECTOR##_##PIXELS##x##CHANNELS, ELEMENT, VECTOR, PIXELS, CHANNELS, BYTES, false)
