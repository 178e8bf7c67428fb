// The halo kernels whose operand A are pixels, of conv/algorithms/halo/shapes.hpp, for f16 and bf16.
#include "conv/algorithms/halo/shapes.hpp"
#include "conv/algorithms/halo/sm90_halo.cuh"

#define SHIFTCONV_HALO_BOTH(NAME, PIXEL_BLOCKS, CHANNELS)                               \
  SHIFTCONV_HALO_PIXEL_KERNEL(halo_sm90_f16_##NAME, F16, PIXEL_BLOCKS, CHANNELS, Plain) \
  SHIFTCONV_HALO_PIXEL_KERNEL(halo_sm90_bf16_##NAME, BF16, PIXEL_BLOCKS, CHANNELS, Plain)

SHIFTCONV_HALO_PIXEL_SHAPES(SHIFTCONV_HALO_BOTH)
