// What inference runtimes need between convolutions so that activations stay on the device: moving elements between layouts and
// types, pooling, pointwise operations, and normalisation. Next to the convolutions these are short, so the kernels are plain: a
// thread has an element, or four neighbouring channels.
#include <cmath>
#include <cstdint>

#include "common/gemm/epilogue/activation.cuh"
#include "conv/helpers/elements.cuh"
#include "conv/helpers/params.hpp"

namespace shiftconv::kernels::helpers {
namespace {

__device__ __forceinline__ uint32_t thisThread() { return blockIdx.x * kThreads + threadIdx.x; }

/// The remainder of x; x becomes the quotient.
__device__ __forceinline__ int32_t takeCoordinate(uint32_t& x, const FastDivisor& divisor) {
  const uint32_t quotient = divisor.quotient(x), rest = x - quotient * divisor.divisor;
  x = quotient;
  return static_cast<int32_t>(rest);
}

template <class Element>
__device__ __forceinline__ void move(const RelayoutParams& p, int64_t from, int64_t to) {
  static_cast<Element*>(p.destination)[to] = static_cast<const Element*>(p.source)[from];
}

/// NaN, once there, stays.
template <int32_t kCount>
__device__ __forceinline__ void raise(float (&largest)[kCount], const float (&value)[kCount]) {
#pragma unroll
  for (int32_t i = 0; i < kCount; ++i)
    if (value[i] > largest[i] || value[i] != value[i]) largest[i] = value[i];
}

template <int32_t kCount>
__device__ __forceinline__ void pool(const PoolParams& p) {
  uint32_t rest = thisThread();
  if (rest >= p.count) return;
  const int64_t channel = int64_t{takeCoordinate(rest, p.channelVectors)} * kCount, outputPixel = rest;
  const int32_t left = takeCoordinate(rest, p.outputWidth) * p.strideW - p.padLeft;
  const int32_t top = takeCoordinate(rest, p.outputHeight) * p.strideH - p.padTop;
  const int64_t firstRow = int64_t{rest} * p.height;
  float result[kCount];
#pragma unroll
  for (float& value : result) value = p.average ? 0.0f : -INFINITY;
  int32_t inside = 0;
  for (int32_t r = 0; r < p.tapsH; ++r) {
    const int32_t y = top + r * p.dilationH;
    if (y < 0 || y >= p.height) continue;
    for (int32_t s = 0; s < p.tapsW; ++s) {
      const int32_t x = left + s * p.dilationW;
      if (x < 0 || x >= p.width) continue;
      float value[kCount];
      load(p.input, ((firstRow + y) * p.width + x) * p.inputPitch + channel, p.type, value);
      if (p.average) {
#pragma unroll
        for (int32_t i = 0; i < kCount; ++i) result[i] += value[i];
      } else {
        raise(result, value);
      }
      ++inside;
    }
  }
  if (p.average) {
    const auto divisor = static_cast<float>(p.countPadding ? p.tapsH * p.tapsW : inside);
#pragma unroll
    for (float& value : result) value /= divisor;
  }
  store(p.output, outputPixel * p.outputPitch + channel, p.type, result);
}

template <int32_t kCount>
__device__ __forceinline__ void pointwise(const PointwiseParams& p) {
  uint32_t rest = thisThread();
  if (rest >= p.count) return;
  const int64_t channel = int64_t{takeCoordinate(rest, p.channelVectors)} * kCount, row = rest;
  float value[kCount];
  load(p.a, row * p.pitchA + channel, p.typeA, value);
  if (p.adds || p.multiplies) {
    float other[kCount];
    load(p.b, int64_t{p.rowsOfB.quotient(rest)} * p.pitchB + channel, p.typeB, other);
#pragma unroll
    for (int32_t i = 0; i < kCount; ++i) value[i] = p.adds ? value[i] + other[i] : value[i] * other[i];
  }
  gemm::EpilogueParams chosen;
  chosen.activation = p.activation, chosen.activationA = p.activationA, chosen.activationB = p.activationB;
  gemm::activate(chosen, value);
  store(p.output, row * p.outputPitch + channel, p.outputType, value);
}

/// The sum of what the threads of the CTA hold, in all of them.
__device__ __forceinline__ float total(float value) {
  __shared__ float partial[kThreads];
  __syncthreads();  // a sum before may still be read
  partial[threadIdx.x] = value;
  for (int32_t half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  __syncthreads();
  return partial[0];
}

/// The variance is that of distances from the mean, because a difference of sums of squares would lose digits.
template <int32_t kCount>
__device__ __forceinline__ void normalize(const NormalizeParams& p) {
  uint32_t image = blockIdx.x;
  const int64_t firstChannel = int64_t{takeCoordinate(image, p.groups)} * p.vectors.divisor * kCount;
  const int64_t firstPixel = image * p.pixels;
  const auto visit = [&](auto&& visitor) {
    for (uint32_t i = threadIdx.x; i < p.count; i += kThreads) {
      uint32_t rest = i;
      const int64_t channel = firstChannel + int64_t{takeCoordinate(rest, p.vectors)} * kCount;
      float value[kCount];
      load(p.input, (firstPixel + rest) * p.inputPitch + channel, p.type, value);
      visitor(value, firstPixel + rest, channel);
    }
  };
  float sum = 0;
  visit([&](const float(&value)[kCount], int64_t, int64_t) {
#pragma unroll
    for (int32_t i = 0; i < kCount; ++i) sum += value[i];
  });
  const float mean = total(sum) / p.elements;
  float squares = 0;
  visit([&](const float(&value)[kCount], int64_t, int64_t) {
#pragma unroll
    for (int32_t i = 0; i < kCount; ++i) squares += (value[i] - mean) * (value[i] - mean);
  });
  const float factor = 1.0f / sqrtf(total(squares) / p.elements + p.epsilon);
  gemm::EpilogueParams chosen;
  chosen.activation = p.activation, chosen.activationA = p.activationA, chosen.activationB = p.activationB;
  visit([&](float(&value)[kCount], int64_t pixel, int64_t channel) {
    float scale[kCount], bias[kCount];
#pragma unroll
    for (int32_t i = 0; i < kCount; ++i) scale[i] = 1.0f, bias[i] = 0.0f;
    if (p.scale) load(p.scale, channel, p.parameterType, scale);
    if (p.bias) load(p.bias, channel, p.parameterType, bias);
#pragma unroll
    for (int32_t i = 0; i < kCount; ++i) value[i] = (value[i] - mean) * factor * scale[i] + bias[i];
    gemm::activate(chosen, value);
    store(p.output, pixel * p.outputPitch + channel, p.type, value);
  });
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) helper_relayout(const __grid_constant__ RelayoutParams p) {
  uint32_t rest = thisThread();
  if (rest >= p.count) return;
  int64_t from = 0, to = 0;
#pragma unroll
  for (int32_t axis = kAxes - 1; axis >= 0; --axis) {
    const int64_t at = takeCoordinate(rest, p.extent[axis]);
    from += at * p.sourceStride[axis], to += at * p.destinationStride[axis];
  }
  if (p.moved == 4) {
    move<uint32_t>(p, from, to);
  } else if (p.moved == 2) {
    move<uint16_t>(p, from, to);
  } else if (p.moved == 1) {
    move<uint8_t>(p, from, to);
  } else {
    float value[1];
    load(p.source, from, p.sourceType, value);
    store(p.destination, to, p.destinationType, value);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) helper_pool(const __grid_constant__ PoolParams p) { pool<1>(p); }
extern "C" __global__ void __launch_bounds__(kThreads) helper_pool_vector(const __grid_constant__ PoolParams p) {
  pool<kVector>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads) helper_pointwise(const __grid_constant__ PointwiseParams p) {
  pointwise<1>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads) helper_pointwise_vector(const __grid_constant__ PointwiseParams p) {
  pointwise<kVector>(p);
}

extern "C" __global__ void __launch_bounds__(kThreads) helper_normalize(const __grid_constant__ NormalizeParams p) {
  normalize<1>(p);
}
extern "C" __global__ void __launch_bounds__(kThreads) helper_normalize_vector(const __grid_constant__ NormalizeParams p) {
  normalize<kVector>(p);
}

}  // namespace shiftconv::kernels::helpers
