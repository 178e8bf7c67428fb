// The halo kernels that convert, of 8-bit integers.
#include "conv/algorithms/halo/converted_bytes.cuh"

SHIFTCONV_HALO_CONVERTED_BYTES_SHAPES(s8_s8, SHIFTCONV_HALO_CONVERTED)
SHIFTCONV_HALO_CONVERTED_BYTES_WIDE_SHAPES(s8_s8, SHIFTCONV_HALO_CONVERTED_WIDE)
