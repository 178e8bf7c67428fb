// The halo kernels with the whole epilogue, for the lists of kinds in conv/algorithms/halo/shapes.hpp: a module instantiates one,
// as in SHIFTCONV_HALO_HALF_KERNELS(SHIFTCONV_HALO_FULL).
#pragma once

#include "conv/algorithms/halo/kinds.cuh"
#include "conv/algorithms/halo/shapes.hpp"
#include "conv/algorithms/halo/sm90_halo.cuh"

#define SHIFTCONV_HALO_FULL(KIND, NAME, FIRST, SECOND, N, SHARE) \
  SHIFTCONV_HALO_FULL_KERNEL(halo_sm90_##KIND##_full_##NAME, kinds::KIND, FIRST, SECOND, N, SHARE)
