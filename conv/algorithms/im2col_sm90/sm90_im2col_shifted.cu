// im2col_sm90 of matrices whose rows begin anywhere.
#include "conv/algorithms/im2col_sm90/kinds.cuh"
#include "conv/algorithms/im2col_sm90/sm90_im2col_pieces.cuh"
#include "conv/algorithms/im2col_sm90/tiles.hpp"

#define SHIFTCONV_IM2COL_SHIFTED(PIXELS, CHANNELS, CTAS, SHIFTED_CTAS) \
  SHIFTCONV_IM2COL_PIECES_KERNELS(_shifted, PIXELS, CHANNELS, SHIFTED_CTAS, true)

SHIFTCONV_IM2COL_PIECES_TILES(SHIFTCONV_IM2COL_SHIFTED)
