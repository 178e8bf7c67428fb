// The halo kernels with the whole epilogue for 8-bit integers.
#include "conv/kernels/sm90/halo_full.cuh"

SHIFTCONV_HALO_INTEGER_KERNELS(SHIFTCONV_HALO_FULL)
