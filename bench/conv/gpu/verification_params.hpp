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
  bool transposed = false;
  gemm::Activation activation = gemm::Activation::None;
  float activationA = 0, activationB = 0;  ///< its parameters
  // F32, F16, BF16, E4M3 or S8.
  gemm::NumberType biasType = gemm::NumberType::F32, residualType = gemm::NumberType::F16, outputType = gemm::NumberType::F16;
  float alpha = 1, beta = 0, outScale = 1;  ///< of the sums, of the residual, after the activation
  bool residualLast = false;                ///< the residual is added after the activation
  double least = 0, most = 0;               ///< outputs are clamped to what the type can hold, if it is saturated
  // |out - value| <= relativeBound |value| + absoluteBound + accumulationBound sum|x*w|; see setOutputBounds in layer_tensors.cpp.
  double relativeBound = 0, absoluteBound = 0, accumulationBound = 0;
};

/// What is added to and multiplied with the sums, and where the outputs are. 0: the problem has none.
struct CheckTensors {
  const float* channelScale = nullptr;
  const void *bias = nullptr, *residual = nullptr, *output = nullptr;
};

struct CheckResult {
  unsigned long long wrong = 0;  ///< elements outside the bound, NaN among them
  uint32_t worstShareBits = 0;   ///< largest error / bound, the bits of a float
  // Largest |value| before the output scale, at least and at most, given the bounds of each; the bits of floats.
  uint32_t leastLargestBits = 0, mostLargestBits = 0, padding = 0;
  double errorSquares = 0, squares = 0;
};

}  // namespace shiftconv::verification
