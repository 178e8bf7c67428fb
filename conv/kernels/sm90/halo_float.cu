// The halo kernels with the whole epilogue for tf32 and 8-bit floats: those of conv/kernels/sm90/halo_shapes.hpp.
#include "conv/kernels/sm90/halo.cuh"
#include "conv/kernels/sm90/halo_shapes.hpp"

namespace shiftconv::kernels::halo::kinds {
// Input first; the weights are operand A of wgmma.
using tf32_tf32 = NarrowKind<ptx::WgmmaKind::Tf32>;
using e4m3_e4m3 = NarrowKind<ptx::WgmmaKind::E4m3E4m3>;
using e4m3_e5m2 = NarrowKind<ptx::WgmmaKind::E5m2E4m3>;
using e5m2_e4m3 = NarrowKind<ptx::WgmmaKind::E4m3E5m2>;
using e5m2_e5m2 = NarrowKind<ptx::WgmmaKind::E5m2E5m2>;
}  // namespace shiftconv::kernels::halo::kinds

#define SHIFTCONV_HALO_ONE(KIND, NAME, FIRST, SECOND, N, SHARE) \
  SHIFTCONV_HALO_FULL_KERNEL(halo_sm90_##KIND##_full_##NAME, kinds::KIND, FIRST, SECOND, N, SHARE)

SHIFTCONV_HALO_FLOAT_KERNELS(SHIFTCONV_HALO_ONE)
