// The halo kernels with the whole epilogue for f16 and bf16: those of conv/kernels/sm90/halo_shapes.hpp.
#include "conv/kernels/sm90/halo.cuh"
#include "conv/kernels/sm90/halo_shapes.hpp"

namespace shiftconv::kernels::halo::kinds {
// Input first; the weights are operand A of wgmma.
using f16_f16 = F16;
using bf16_bf16 = BF16;
}  // namespace shiftconv::kernels::halo::kinds

#define SHIFTCONV_HALO_ONE(KIND, NAME, FIRST, SECOND, N, SHARE) \
  SHIFTCONV_HALO_FULL_KERNEL(halo_sm90_##KIND##_full_##NAME, kinds::KIND, FIRST, SECOND, N, SHARE)

SHIFTCONV_HALO_HALF_KERNELS(SHIFTCONV_HALO_ONE)
