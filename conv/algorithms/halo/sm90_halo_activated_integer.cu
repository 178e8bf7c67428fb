// The halo kernels with a short activation for 8-bit integers.
#include "conv/algorithms/halo/activated.cuh"

SHIFTCONV_HALO_ACTIVATED_INTEGER_KERNELS(SHIFTCONV_HALO_ACTIVATED)
