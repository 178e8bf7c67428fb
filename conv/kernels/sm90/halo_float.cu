// The halo kernels with the whole epilogue for tf32 and 8-bit floats.
#include "conv/kernels/sm90/halo_full.cuh"

SHIFTCONV_HALO_FLOAT_KERNELS(SHIFTCONV_HALO_FULL)
