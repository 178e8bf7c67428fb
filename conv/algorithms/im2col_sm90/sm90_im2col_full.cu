// With the whole epilogue.
#include "conv/algorithms/im2col_sm90/sm90_im2col.cuh"

#define SHIFTCONV_IM2COL_KERNELS(TYPE, ELEMENT)                                        \
  SHIFTCONV_IM2COL_KERNEL(im2col_sm90_##TYPE##_64x64_full, ELEMENT, 64, 64, Full, 3)   \
  SHIFTCONV_IM2COL_KERNEL(im2col_sm90_##TYPE##_128x64_full, ELEMENT, 128, 64, Full, 3) \
  SHIFTCONV_IM2COL_KERNEL(im2col_sm90_##TYPE##_128x128_full, ELEMENT, 128, 128, Full, 2)

SHIFTCONV_IM2COL_KERNELS(f16, __half)
SHIFTCONV_IM2COL_KERNELS(bf16, __nv_bfloat16)
