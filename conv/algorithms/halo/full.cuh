// The halo kernels with the whole epilogue, for the lists of kinds in conv/algorithms/halo/shapes.hpp: a module instantiates one,
// as in SHIFTCONV_HALO_HALF_KERNELS(SHIFTCONV_HALO_FULL).
#pragma once

#include "conv/algorithms/halo/shapes.hpp"
#include "conv/algorithms/halo/sm90_halo.cuh"

namespace shiftconv::kernels::halo::kinds {
// Input first; the weights are operand A of wgmma.
using f16_f16 = F16;
using bf16_bf16 = BF16;
using tf32_tf32 = NarrowKind<ptx::WgmmaKind::Tf32>;
using e4m3_e4m3 = NarrowKind<ptx::WgmmaKind::E4m3E4m3>;
using e4m3_e5m2 = NarrowKind<ptx::WgmmaKind::E5m2E4m3>;
using e5m2_e4m3 = NarrowKind<ptx::WgmmaKind::E4m3E5m2>;
using e5m2_e5m2 = NarrowKind<ptx::WgmmaKind::E5m2E5m2>;
using s8_s8 = NarrowKind<ptx::WgmmaKind::S8S8>;
using s8_u8 = NarrowKind<ptx::WgmmaKind::U8S8>;
using u8_s8 = NarrowKind<ptx::WgmmaKind::S8U8>;
using u8_u8 = NarrowKind<ptx::WgmmaKind::U8U8>;
}  // namespace shiftconv::kernels::halo::kinds

#define SHIFTCONV_HALO_FULL(KIND, NAME, FIRST, SECOND, N, SHARE) \
  SHIFTCONV_HALO_FULL_KERNEL(halo_sm90_##KIND##_full_##NAME, kinds::KIND, FIRST, SECOND, N, SHARE)
