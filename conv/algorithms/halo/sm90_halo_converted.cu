// The halo kernels that convert, of conv/algorithms/halo/shapes.hpp, for f16 and bf16.
#include "conv/algorithms/halo/shapes.hpp"
#include "conv/algorithms/halo/sm90_halo.cuh"

#define SHIFTCONV_HALO_BOTH(NAME, FIRST, SECOND, N, SHARE, STAGING)                                          \
  SHIFTCONV_HALO_KERNEL(halo_sm90_f16_converted_##NAME, F16, FIRST, SECOND, N, SHARE, STAGING, 0, Converted) \
  SHIFTCONV_HALO_KERNEL(halo_sm90_bf16_converted_##NAME, BF16, FIRST, SECOND, N, SHARE, STAGING, 0, Converted)

SHIFTCONV_HALO_ACTIVATED_SHAPES(SHIFTCONV_HALO_BOTH)

#define SHIFTCONV_HALO_WIDE_BOTH(NAME, N)                                       \
  SHIFTCONV_HALO_WIDE_KERNEL(halo_sm90_f16_converted_##NAME, F16, N, Converted) \
  SHIFTCONV_HALO_WIDE_KERNEL(halo_sm90_bf16_converted_##NAME, BF16, N, Converted)

SHIFTCONV_HALO_WIDE_SHAPES(SHIFTCONV_HALO_WIDE_BOTH)
