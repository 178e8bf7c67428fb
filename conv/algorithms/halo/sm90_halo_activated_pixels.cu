// The halo kernels with an activation whose operand A are pixels, of conv/algorithms/halo/shapes.hpp, for f16 and bf16.
#include "conv/algorithms/halo/shapes.hpp"
#include "conv/algorithms/halo/sm90_halo.cuh"

#define SHIFTCONV_HALO_BOTH(NAME, PIXEL_BLOCKS, CHANNELS)                                             \
  SHIFTCONV_HALO_PIXEL_KERNEL(halo_sm90_f16_activated_##NAME, F16, PIXEL_BLOCKS, CHANNELS, Activated) \
  SHIFTCONV_HALO_PIXEL_KERNEL(halo_sm90_bf16_activated_##NAME, BF16, PIXEL_BLOCKS, CHANNELS, Activated)

SHIFTCONV_HALO_ACTIVATED_PIXEL_SHAPES(SHIFTCONV_HALO_BOTH)
