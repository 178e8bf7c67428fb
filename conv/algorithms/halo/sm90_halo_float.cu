// The halo kernels with the whole epilogue for tf32 and 8-bit floats.
#include "conv/algorithms/halo/full.cuh"

SHIFTCONV_HALO_FLOAT_KERNELS(SHIFTCONV_HALO_FULL)
