// The halo kernels that convert, of 8-bit operands, for the lists in conv/algorithms/halo/shapes.hpp.
#pragma once

#include "conv/algorithms/halo/kinds.cuh"
#include "conv/algorithms/halo/shapes.hpp"
#include "conv/algorithms/halo/sm90_halo.cuh"

#define SHIFTCONV_HALO_CONVERTED(KIND, NAME, FIRST, SECOND, N, SHARE, STAGING) \
  SHIFTCONV_HALO_KERNEL(halo_sm90_##KIND##_converted_##NAME, kinds::KIND, FIRST, SECOND, N, SHARE, STAGING, 0, Converted)
#define SHIFTCONV_HALO_CONVERTED_WIDE(KIND, NAME, N) \
  SHIFTCONV_HALO_WIDE_KERNEL(halo_sm90_##KIND##_converted_##NAME, kinds::KIND, N, Converted)
