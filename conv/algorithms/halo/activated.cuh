// The halo kernels with an activation of 8-bit operands, for the lists of kinds in conv/algorithms/halo/shapes.hpp: a module
// instantiates one, as in SHIFTCONV_HALO_ACTIVATED_FLOAT_KERNELS(SHIFTCONV_HALO_ACTIVATED).
#pragma once

#include "conv/algorithms/halo/kinds.cuh"
#include "conv/algorithms/halo/shapes.hpp"
#include "conv/algorithms/halo/sm90_halo.cuh"

#define SHIFTCONV_HALO_ACTIVATED(KIND, NAME, FIRST, SECOND, N, SHARE, STAGING) \
  SHIFTCONV_HALO_KERNEL(halo_sm90_##KIND##_activated_##NAME, kinds::KIND, FIRST, SECOND, N, SHARE, STAGING, 0, Activated)
#define SHIFTCONV_HALO_ACTIVATED_WIDE(KIND, NAME, N) \
  SHIFTCONV_HALO_WIDE_KERNEL(halo_sm90_##KIND##_activated_##NAME, kinds::KIND, N, Activated)
#define SHIFTCONV_HALO_ACTIVATED_PIXELS(KIND, NAME, PIXEL_BLOCKS, CHANNELS)                     \
  SHIFTCONV_HALO_KERNEL_OF(halo_sm90_##KIND##_activated_##NAME, kinds::pixels::KIND, Activated, \
                           PixelShape<PIXEL_BLOCKS, CHANNELS, 1>)
