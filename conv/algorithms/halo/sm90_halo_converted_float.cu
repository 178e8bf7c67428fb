// The halo kernels that convert, of 8-bit floats.
#include "conv/algorithms/halo/converted_bytes.cuh"

SHIFTCONV_HALO_CONVERTED_BYTES_SHAPES(e4m3_e4m3, SHIFTCONV_HALO_CONVERTED)
SHIFTCONV_HALO_CONVERTED_BYTES_WIDE_SHAPES(e4m3_e4m3, SHIFTCONV_HALO_CONVERTED_WIDE)
