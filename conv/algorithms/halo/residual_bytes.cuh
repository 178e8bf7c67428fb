// The halo kernels with a residual of 8-bit operands, for the lists in conv/algorithms/halo/shapes.hpp.
#pragma once

#include "conv/algorithms/halo/kinds.cuh"
#include "conv/algorithms/halo/shapes.hpp"
#include "conv/algorithms/halo/sm90_halo.cuh"

#define SHIFTCONV_HALO_BYTES_RESIDUAL(KIND, NAME, FIRST, SECOND, N, SHARE, STAGING) \
  SHIFTCONV_HALO_RESIDUAL_KERNEL(halo_sm90_##KIND##_residual_##NAME, kinds::KIND, FIRST, SECOND, N, SHARE, STAGING)
#define SHIFTCONV_HALO_BYTES_PIXEL_RESIDUAL(KIND, NAME, PIXEL_BLOCKS, CHANNELS) \
  SHIFTCONV_HALO_RESIDUAL_KERNEL_OF(halo_sm90_##KIND##_residual_##NAME, kinds::pixels::KIND, PixelShape<PIXEL_BLOCKS, CHANNELS, 1>)
