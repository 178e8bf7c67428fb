// The halo kernels with a residual for 8-bit floats.
#include "conv/algorithms/halo/residual_bytes.cuh"

SHIFTCONV_HALO_RESIDUAL_BYTES_SHAPES(e4m3_e4m3, SHIFTCONV_HALO_BYTES_RESIDUAL)
SHIFTCONV_HALO_RESIDUAL_BYTES_PIXEL_SHAPES(e4m3_e4m3, SHIFTCONV_HALO_BYTES_PIXEL_RESIDUAL)
