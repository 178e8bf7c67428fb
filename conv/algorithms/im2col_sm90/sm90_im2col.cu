// im2col_sm90 of f16 and bf16.
#include "conv/algorithms/im2col_sm90/sm90_im2col.cuh"
#include "conv/algorithms/im2col_sm90/tiles.hpp"

#define SHIFTCONV_IM2COL_KERNELS(PIXELS, CHANNELS, CTAS)                                                                   \
  SHIFTCONV_IM2COL_KERNEL(im2col_sm90_f16_##PIXELS##x##CHANNELS, shiftconv::kernels::F16, PIXELS, CHANNELS, Nothing, CTAS) \
  SHIFTCONV_IM2COL_KERNEL(im2col_sm90_bf16_##PIXELS##x##CHANNELS, shiftconv::kernels::BF16, PIXELS, CHANNELS, Nothing, CTAS)

SHIFTCONV_IM2COL_TILES(SHIFTCONV_IM2COL_KERNELS)

#define SHIFTCONV_IM2COL_SPLIT_KERNELS(PIXELS, CHANNELS, CTAS)                                                                   \
  SHIFTCONV_IM2COL_KERNEL(im2col_sm90_f16_##PIXELS##x##CHANNELS##_split, shiftconv::kernels::F16, PIXELS, CHANNELS, Reduction,   \
                          CTAS)                                                                                                  \
  SHIFTCONV_IM2COL_KERNEL(im2col_sm90_bf16_##PIXELS##x##CHANNELS##_split, shiftconv::kernels::BF16, PIXELS, CHANNELS, Reduction, \
                          CTAS)

SHIFTCONV_IM2COL_SPLIT_TILES(SHIFTCONV_IM2COL_SPLIT_KERNELS)
