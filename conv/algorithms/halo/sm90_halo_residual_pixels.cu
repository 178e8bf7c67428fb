// The halo kernels with a residual whose operand A are pixels, of conv/algorithms/halo/shapes.hpp, for f16 and bf16.
#include "conv/algorithms/halo/shapes.hpp"
#include "conv/algorithms/halo/sm90_halo.cuh"

#define SHIFTCONV_HALO_BOTH(NAME, PIXEL_BLOCKS, CHANNELS)                                          \
  SHIFTCONV_HALO_PIXEL_RESIDUAL_KERNEL(halo_sm90_f16_residual_##NAME, F16, PIXEL_BLOCKS, CHANNELS) \
  SHIFTCONV_HALO_PIXEL_RESIDUAL_KERNEL(halo_sm90_bf16_residual_##NAME, BF16, PIXEL_BLOCKS, CHANNELS)

SHIFTCONV_HALO_RESIDUAL_PIXEL_SHAPES(SHIFTCONV_HALO_BOTH)
