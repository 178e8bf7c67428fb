// The halo kernels of pairs of CTAs that load for each other, of conv/algorithms/halo/shapes.hpp, for f16 and bf16.
#include "conv/algorithms/halo/shapes.hpp"
#include "conv/algorithms/halo/sm90_halo.cuh"

#define SHIFTCONV_HALO_BOTH(NAME, N, MULTIPLYING)                                \
  SHIFTCONV_HALO_SHARED_KERNEL(halo_sm90_f16_shared_##NAME, F16, N, MULTIPLYING) \
  SHIFTCONV_HALO_SHARED_KERNEL(halo_sm90_bf16_shared_##NAME, BF16, N, MULTIPLYING)

SHIFTCONV_HALO_SHARED_SHAPES(SHIFTCONV_HALO_BOTH)
