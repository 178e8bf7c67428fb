// The halo kernels with a residual for 8-bit integers.
#include "conv/algorithms/halo/residual_bytes.cuh"

SHIFTCONV_HALO_RESIDUAL_BYTES_SHAPES(s8_s8, SHIFTCONV_HALO_BYTES_RESIDUAL)
SHIFTCONV_HALO_RESIDUAL_BYTES_PIXEL_SHAPES(s8_s8, SHIFTCONV_HALO_BYTES_PIXEL_RESIDUAL)
