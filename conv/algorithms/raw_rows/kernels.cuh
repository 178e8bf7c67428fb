// The kernels of raw_rows of one type of elements: even and odd steps, 32 and 64 channels a CTA.
#pragma once

#include "conv/algorithms/raw_rows/raw_rows.cuh"
#include "conv/kernels/left_out.cuh"

#define SHIFTCONV_RAW_ROWS_KERNEL_OF(NAME, ELEMENT, ODD, CHANNELS, BYTES, IS_LEAN)         \
  SHIFTCONV_KERNEL(                                                                        \
      NAME, extern "C" __global__ void __launch_bounds__(kThreads, kCtasPerMultiprocessor) \
                NAME(const __grid_constant__ Params params) { Cta<ELEMENT, ODD, CHANNELS, BYTES, IS_LEAN>(params).run(); })
/// The kernel of lean epilogues, and that of the others.
#define SHIFTCONV_RAW_ROWS_KERNEL(ELEMENT_NAME, ELEMENT, STEPS_NAME, ODD, CHANNELS, BYTES)                                      \
  SHIFTCONV_RAW_ROWS_KERNEL_OF(raw_rows_##ELEMENT_NAME##_##STEPS_NAME##_##CHANNELS##_lean, ELEMENT, ODD, CHANNELS, BYTES, true) \
  SHIFTCONV_RAW_ROWS_KERNEL_OF(raw_rows_##ELEMENT_NAME##_##STEPS_NAME##_##CHANNELS, ELEMENT, ODD, CHANNELS, BYTES, false)
#define SHIFTCONV_RAW_ROWS_KERNELS(ELEMENT_NAME, ELEMENT, BYTES)           \
  SHIFTCONV_RAW_ROWS_KERNEL(ELEMENT_NAME, ELEMENT, even, false, 64, BYTES) \
  SHIFTCONV_RAW_ROWS_KERNEL(ELEMENT_NAME, ELEMENT, even, false, 32, BYTES) \
  SHIFTCONV_RAW_ROWS_KERNEL(ELEMENT_NAME, ELEMENT, odd, true, 64, BYTES)   \
  SHIFTCONV_RAW_ROWS_KERNEL(ELEMENT_NAME, ELEMENT, odd, true, 32, BYTES)
