// A bias of f32, f16 or bf16, as kernels are told of it.
#pragma once

#include "common/gemm/epilogue/params.hpp"

namespace shiftconv::kernels {

struct Bias {
  const void* numbers = nullptr;  ///< of each channel, or null
  gemm::NumberType type = gemm::NumberType::F32;
};

}  // namespace shiftconv::kernels
