// im2col_sm90 of matrices that threads copy in pieces of whole 4, 8 or 16 bytes.
#include "conv/algorithms/im2col_sm90/kinds.cuh"
#include "conv/algorithms/im2col_sm90/sm90_im2col_pieces.cuh"
#include "conv/algorithms/im2col_sm90/tiles.hpp"

#define SHIFTCONV_IM2COL_COPIED(PIXELS, CHANNELS, CTAS, SHIFTED_CTAS) \
  SHIFTCONV_IM2COL_PIECES_KERNELS(_pieces, PIXELS, CHANNELS, CTAS, false)

SHIFTCONV_IM2COL_PIECES_TILES(SHIFTCONV_IM2COL_COPIED)
