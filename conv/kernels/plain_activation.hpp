// The activations of kernels whose epilogue stays in registers.
#pragma once

#include "common/gemm/epilogue/params.hpp"
#include "common/host_device.hpp"

namespace shiftconv::kernels {

SHIFTCONV_HOST_DEVICE constexpr bool isPlainActivation(gemm::Activation activation) {
  using enum gemm::Activation;
  return activation == None || activation == Relu || activation == Clamp || activation == Silu || activation == HardSwish ||
         activation == GeluErf || activation == GeluTanh;
}

}  // namespace shiftconv::kernels
