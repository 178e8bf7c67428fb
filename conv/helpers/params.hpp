// What the host tells the helper kernels. Shared by host and device code.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/layout/fast_divisor.hpp"
#include "common/numerics/number_types.hpp"

namespace shiftconv::kernels::helpers {

using layout::FastDivisor;
using numerics::NumberType;

inline constexpr int32_t kThreads = 256;  ///< of a CTA
inline constexpr int32_t kVector = 4;     ///< channels of a thread, where tensors allow it; else 1
inline constexpr int32_t kAxes = 5;

/// Every thread moves one element.
struct RelayoutParams {
  const void* source = nullptr;
  void* destination = nullptr;
  uint32_t count = 0;         ///< of elements
  FastDivisor extent[kAxes];  ///< the last varies fastest
  int64_t sourceStride[kAxes] = {}, destinationStride[kAxes] = {};
  NumberType sourceType = NumberType::F16, destinationType = NumberType::F16;
  uint32_t moved = 0;  ///< bytes of an element that is moved as it is; 0: converted
};

/// Every thread has kVector or 1 channels of one output pixel.
struct PoolParams {
  const void* input = nullptr;
  void* output = nullptr;
  uint32_t count = 0;  ///< of threads
  FastDivisor channelVectors, outputWidth, outputHeight;
  int32_t height = 0, width = 0, tapsH = 0, tapsW = 0, strideH = 1, strideW = 1, dilationH = 1, dilationW = 1;
  int32_t padTop = 0, padLeft = 0;
  int64_t inputPitch = 0, outputPitch = 0;  ///< elements from pixel to pixel
  NumberType type = NumberType::F16;
  bool average = false, countPadding = false;
};

/// Every thread has kVector or 1 channels of one row.
struct PointwiseParams {
  const void* a = nullptr;
  const void* b = nullptr;
  void* output = nullptr;
  uint32_t count = 0;  ///< of threads
  FastDivisor channelVectors, rowsOfB;
  int64_t pitchA = 0, pitchB = 0, outputPitch = 0;
  NumberType typeA = NumberType::F16, typeB = NumberType::F16, outputType = NumberType::F16;
  bool adds = false, multiplies = false;
  gemm::Activation activation = gemm::Activation::None;
  float activationA = 0, activationB = 0;
};

/// Every CTA has one group of channels of one image; a thread visits every kThreads-th vector of it.
struct NormalizeParams {
  const void* input = nullptr;
  const void* scale = nullptr;  ///< may be nullptr, as bias may be
  const void* bias = nullptr;
  void* output = nullptr;
  uint32_t count = 0;           ///< of vectors of a group
  FastDivisor groups, vectors;  ///< vectors: of a pixel
  int64_t pixels = 0, inputPitch = 0, outputPitch = 0;
  float elements = 0;  ///< of a group
  float epsilon = 0;
  NumberType type = NumberType::F16, parameterType = NumberType::F32;
  gemm::Activation activation = gemm::Activation::None;
  float activationA = 0, activationB = 0;
};

}  // namespace shiftconv::kernels::helpers
