// The halo kernels with the whole epilogue for 8-bit integers.
#include "conv/algorithms/halo/full.cuh"

SHIFTCONV_HALO_INTEGER_KERNELS(SHIFTCONV_HALO_FULL)
