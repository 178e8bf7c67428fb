// The halo kernels with the whole epilogue for f16 and bf16.
#include "conv/algorithms/halo/full.cuh"

SHIFTCONV_HALO_HALF_KERNELS(SHIFTCONV_HALO_FULL)
