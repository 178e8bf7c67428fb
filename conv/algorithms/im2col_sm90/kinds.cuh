// The products that im2col_sm90 has kernels for, under the names that kernels have: of 8-bit operands those of input and filter.
#pragma once

#include "conv/kernels/wgmma_kinds.cuh"

namespace shiftconv::kernels::im2col::kinds {

using f16 = F16;
using bf16 = BF16;
using e4m3_e4m3 = NarrowKind<ptx::WgmmaKind::E4m3E4m3>;
using s8_s8 = NarrowKind<ptx::WgmmaKind::S8S8>;
using u8_s8 = NarrowKind<ptx::WgmmaKind::U8S8>;

}  // namespace shiftconv::kernels::im2col::kinds
