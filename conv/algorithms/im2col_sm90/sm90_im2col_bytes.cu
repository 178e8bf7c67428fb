// im2col_sm90 of 8-bit floats and integers. Kernels are named after input and filter.
#include "conv/algorithms/im2col_sm90/kinds.cuh"
#include "conv/algorithms/im2col_sm90/sm90_im2col.cuh"
#include "conv/algorithms/im2col_sm90/tiles.hpp"

#define SHIFTCONV_IM2COL_BYTES_KERNEL(KIND, PIXELS, CHANNELS, CTAS)                                                              \
  SHIFTCONV_IM2COL_KERNEL(im2col_sm90_##KIND##_##PIXELS##x##CHANNELS, shiftconv::kernels::im2col::kinds::KIND, PIXELS, CHANNELS, \
                          Nothing, CTAS)
#define SHIFTCONV_IM2COL_BYTES_KERNELS(PIXELS, CHANNELS, CTAS)     \
  SHIFTCONV_IM2COL_BYTES_KERNEL(e4m3_e4m3, PIXELS, CHANNELS, CTAS) \
  SHIFTCONV_IM2COL_BYTES_KERNEL(s8_s8, PIXELS, CHANNELS, CTAS)     \
  SHIFTCONV_IM2COL_BYTES_KERNEL(u8_s8, PIXELS, CHANNELS, CTAS)

SHIFTCONV_IM2COL_BYTES_TILES(SHIFTCONV_IM2COL_BYTES_KERNELS)
