#include "conv/algorithms/im2col_sm90/sm90_im2col.cuh"
#include "conv/algorithms/im2col_sm90/tiles.hpp"

#define SHIFTCONV_IM2COL_KERNELS(PIXELS, CHANNELS, CTAS)                                         \
  SHIFTCONV_IM2COL_KERNEL(im2col_sm90_f16_##PIXELS##x##CHANNELS, __half, PIXELS, CHANNELS, CTAS) \
  SHIFTCONV_IM2COL_KERNEL(im2col_sm90_bf16_##PIXELS##x##CHANNELS, __nv_bfloat16, PIXELS, CHANNELS, CTAS)

SHIFTCONV_IM2COL_TILES(SHIFTCONV_IM2COL_KERNELS)
