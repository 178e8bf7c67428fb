// The halo kernels with a residual, of conv/kernels/sm90/halo_shapes.hpp, for f16 and bf16.
#include "conv/kernels/sm90/halo.cuh"
#include "conv/kernels/sm90/halo_shapes.hpp"

#define SHIFTCONV_HALO_BOTH(NAME, FIRST, SECOND, N, SHARE, STAGING)                                    \
  SHIFTCONV_HALO_RESIDUAL_KERNEL(halo_sm90_f16_residual_##NAME, F16, FIRST, SECOND, N, SHARE, STAGING) \
  SHIFTCONV_HALO_RESIDUAL_KERNEL(halo_sm90_bf16_residual_##NAME, BF16, FIRST, SECOND, N, SHARE, STAGING)

SHIFTCONV_HALO_RESIDUAL_SHAPES(SHIFTCONV_HALO_BOTH)
