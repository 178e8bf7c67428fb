// The halo kernels with a short activation for 8-bit floats.
#include "conv/algorithms/halo/activated.cuh"

SHIFTCONV_HALO_ACTIVATED_FLOAT_KERNELS(SHIFTCONV_HALO_ACTIVATED)
