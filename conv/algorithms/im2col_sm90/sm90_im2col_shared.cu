// im2col_sm90 of f16 and bf16 whose CTAs share operands in pairs.
#include "conv/algorithms/im2col_sm90/sm90_im2col.cuh"
#include "conv/algorithms/im2col_sm90/tiles.hpp"

#define SHIFTCONV_IM2COL_SHARED_KERNELS(PIXELS, CHANNELS, CTAS)                                                                  \
  SHIFTCONV_IM2COL_KERNEL(im2col_sm90_f16_##PIXELS##x##CHANNELS##_shared, shiftconv::kernels::F16, PIXELS, CHANNELS, Operands,   \
                          CTAS)                                                                                                  \
  SHIFTCONV_IM2COL_KERNEL(im2col_sm90_bf16_##PIXELS##x##CHANNELS##_shared, shiftconv::kernels::BF16, PIXELS, CHANNELS, Operands, \
                          CTAS)

SHIFTCONV_IM2COL_SHARED_TILES(SHIFTCONV_IM2COL_SHARED_KERNELS)
