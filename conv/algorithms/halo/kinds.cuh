// What the kinds in the lists of conv/algorithms/halo/shapes.hpp multiply. Their names have the input first; the weights are
// operand A of wgmma.
#pragma once

#include "conv/kernels/wgmma_kinds.cuh"

namespace shiftconv::kernels::halo::kinds {
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

/// Where pixels are operand A.
namespace pixels {
using kinds::e4m3_e4m3, kinds::s8_s8;
using u8_s8 = NarrowKind<ptx::WgmmaKind::U8S8>;
}  // namespace pixels
}  // namespace shiftconv::kernels::halo::kinds
