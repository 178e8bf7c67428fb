// The halo kernels with the whole epilogue for 8-bit integers: those of conv/kernels/sm90/halo_shapes.hpp.
#include "conv/kernels/sm90/halo.cuh"
#include "conv/kernels/sm90/halo_shapes.hpp"

namespace shiftconv::kernels::halo::kinds {
// Input first; the weights are operand A of wgmma.
using s8_s8 = NarrowKind<ptx::WgmmaKind::S8S8>;
using s8_u8 = NarrowKind<ptx::WgmmaKind::U8S8>;
using u8_s8 = NarrowKind<ptx::WgmmaKind::S8U8>;
using u8_u8 = NarrowKind<ptx::WgmmaKind::U8U8>;
}  // namespace shiftconv::kernels::halo::kinds

#define SHIFTCONV_HALO_ONE(KIND, NAME, FIRST, SECOND, N, SHARE) \
  SHIFTCONV_HALO_FULL_KERNEL(halo_sm90_##KIND##_full_##NAME, kinds::KIND, FIRST, SECOND, N, SHARE)

SHIFTCONV_HALO_INTEGER_KERNELS(SHIFTCONV_HALO_ONE)
