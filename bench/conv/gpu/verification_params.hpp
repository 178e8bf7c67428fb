// What the host tells the kernels of verification.cu.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"

namespace shiftconv::verification {

struct CheckParams {
  uint32_t n = 0, c = 0, k = 0, groups = 1;
  int32_t d = 1, h = 0, w = 0, t = 1, r = 0, s = 0, outputDepth = 1, outputHeight = 0, outputWidth = 0;
  int32_t padFront = 0, padTop = 0, padLeft = 0, strideD = 1, strideH = 1, strideW = 1;
  int32_t dilationD = 1, dilationH = 1, dilationW = 1;
  gemm::Activation activation = gemm::Activation::None;
  float activationA = 0, activationB = 0;             ///< its parameters
  gemm::NumberType biasType = gemm::NumberType::F32;  ///< F32, F16 or BF16
  bool isSaturated = false;                           ///< outputs are s8: the value is clamped to [-128, 127]
  float alpha = 1;                                    ///< of the sums
  // |out - value| <= relativeBound |value| + absoluteBound + accumulationBound sum|x*w|; see setOutputBounds in layer_tensors.cpp.
  double relativeBound = 0, absoluteBound = 0, accumulationBound = 0;
};

struct CheckResult {
  unsigned long long wrong = 0;  ///< elements outside the bound, NaN among them
  uint32_t worstShareBits = 0;   ///< largest error / bound, the bits of a float
  uint32_t padding = 0;
  double errorSquares = 0, squares = 0;
};

}  // namespace shiftconv::verification
