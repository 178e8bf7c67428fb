// Seeded operands and the check of every output element, for programs that run on a GPU.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

#include "bench/conv/gpu/verification_params.hpp"

namespace shiftconv::verification {
namespace {

__device__ float toFloat(__half v) { return __half2float(v); }
__device__ float toFloat(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ float toFloat(__nv_fp8_e4m3 v) { return static_cast<float>(v); }
__device__ float toFloat(int8_t v) { return static_cast<float>(v); }
__device__ void fromFloat(float v, __half& out) { out = __float2half_rn(v); }
__device__ void fromFloat(float v, __nv_bfloat16& out) { out = __float2bfloat16_rn(v); }
__device__ void fromFloat(float v, __nv_fp8_e4m3& out) { out = __nv_fp8_e4m3(v); }
__device__ void fromFloat(float v, int8_t& out) { out = static_cast<int8_t>(__float2int_rn(v * 127)); }

/// splitmix64: a good hash of the element's index.
__device__ float uniform(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  z ^= z >> 31;
  return static_cast<float>(static_cast<int32_t>(z >> 40)) * 0x1p-23f - 1.0f;  // [-1, 1)
}

template <class Element>
__device__ void fill(Element* data, uint64_t count, uint64_t seed, float scale) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += uint64_t{gridDim.x} * blockDim.x)
    fromFloat(uniform(seed, i) * scale, data[i]);
}

/// A value and how far it may be off.
struct Bounded {
  double value, bound;
};

/// Of weight * sigmoid(argument), |argument| within `reach` of what the device has and off by `relative` 2^-24 of itself more;
/// `units` 2^-24 of the result in all. Own errors of all functions: common/gemm/epilogue/activation.cuh.
__device__ double weighedSigmoidBound(double weight, double argument, double reach, double relative, double units) {
  const double s = 1 / (1 + exp(-argument)), w = fabs(argument) + reach, slack = 0.25 * reach;
  return weight * (s + slack) * ((1 - s + slack) * ((1.5 + relative) * w + 4) + units) * 0x1p-24 + 0x1p-126 * (weight + 1);
}

/// The activation of a sum that may be off by sumBound: the function's steepest slope times that, and the device's own error.
__device__ Bounded activated(const CheckParams& p, double sum, double sumBound) {
  using gemm::Activation;
  const double unit = 0x1p-24, w = fabs(sum) + sumBound, a = static_cast<double>(p.activationA);
  switch (p.activation) {
    case Activation::None:
      return {sum, sumBound};
    case Activation::Relu:
      return {sum < 0 ? 0 : sum, sumBound};
    case Activation::LeakyRelu: {
      const double slope = fmax(1.0, fabs(a));
      return {sum < 0 ? a * sum : sum, slope * (sumBound + w * unit)};
    }
    case Activation::Clamp:
      return {fmin(fmax(sum, a), static_cast<double>(p.activationB)), sumBound};
    case Activation::GeluErf: {
      const double tail = 0.5 * erfc(fmax(fabs(sum) - sumBound, 0.0) * 0.70710678118654752);
      const double own = (2 * w * w + 66) * tail + 2 * (sum < sumBound ? tail + sumBound : 1);
      return {0.5 * sum * erfc(-sum * 0.70710678118654752), 1.13 * sumBound + w * own * unit + 0x1p-38 + 0x1p-126 * w};
    }
    case Activation::GeluTanh: {
      const double linear = 1.5957691216057308, cubic = 0.044715 * linear;
      const double argument = sum * (linear + cubic * sum * sum), most = w * (linear + cubic * w * w);
      return {sum / (1 + exp(-argument)), 1.13 * sumBound + weighedSigmoidBound(w, argument, most - fabs(argument), 2.5, 9)};
    }
    case Activation::Silu:
      return {sum / (1 + exp(-sum)), 1.1 * sumBound + weighedSigmoidBound(w, sum, sumBound, 0, 9)};
    case Activation::HardSwish: {
      const double value = sum * fmin(fmax(sum + 3, 0.0), 6.0) / 6;
      return {value, 1.5 * sumBound + 4 * unit * (fabs(value) + 1.5 * sumBound)};
    }
    case Activation::Sigmoid:
      return {1 / (1 + exp(-sum)), 0.25 * sumBound + weighedSigmoidBound(1, sum, sumBound, 0, 3)};
    case Activation::Tanh: {
      const double value = tanh(sum);
      return {value, sumBound + 21 * unit * (fabs(value) + sumBound)};
    }
  }
  return {nan(""), nan("")};  // no other is known: every output is wrong
}

__device__ float numberAt(gemm::NumberType type, const void* numbers, uint64_t i) {
  switch (type) {
    case gemm::NumberType::F32:
      return static_cast<const float*>(numbers)[i];
    case gemm::NumberType::F16:
      return toFloat(static_cast<const __half*>(numbers)[i]);
    case gemm::NumberType::BF16:
      return toFloat(static_cast<const __nv_bfloat16*>(numbers)[i]);
    case gemm::NumberType::E4M3:
      return toFloat(static_cast<const __nv_fp8_e4m3*>(numbers)[i]);
    case gemm::NumberType::S8:
      return toFloat(static_cast<const int8_t*>(numbers)[i]);
    default:
      return nanf("");  // no other is known: every output is wrong
  }
}

/// Where an output position finds a tap along an axis: in its input, or outside of it.
struct Axis {
  int32_t extent, stride, dilation, padBefore;
  bool transposed;

  __device__ bool find(int32_t position, int32_t tap, int32_t& at) const {
    at = transposed ? position + padBefore - tap * dilation : position * stride + tap * dilation - padBefore;
    if (transposed) {
      if (at < 0 || at % stride != 0) return false;
      at /= stride;
    }
    return at >= 0 && at < extent;
  }
};

/// One thread an output element, channels fastest. `filter` is RSCK here, so that neighbouring threads read neighbours.
template <class Element>
__device__ void check(const CheckParams& p, const Element* input, const Element* filter, const CheckTensors& tensors,
                      CheckResult* result) {
  const uint64_t elements = uint64_t{p.n} * p.outputDepth * p.outputHeight * p.outputWidth * p.k;
  const uint32_t groupInputs = p.c / p.groups, groupOutputs = p.k / p.groups;
  const Axis depth{p.d, p.strideD, p.dilationD, p.padFront, p.transposed},
      height{p.h, p.strideH, p.dilationH, p.padTop, p.transposed}, width{p.w, p.strideW, p.dilationW, p.padLeft, p.transposed};
  unsigned long long wrong = 0;
  float worst = 0, leastLargest = 0, mostLargest = 0;
  double errorSquares = 0, squares = 0;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < elements; i += uint64_t{gridDim.x} * blockDim.x) {
    const uint32_t k = static_cast<uint32_t>(i % p.k);
    const uint64_t pixel = i / p.k;
    const int32_t q = static_cast<int32_t>(pixel % p.outputWidth);
    const int32_t row = static_cast<int32_t>(pixel / p.outputWidth % p.outputHeight);
    const uint64_t planes = pixel / p.outputWidth / p.outputHeight;
    const int32_t plane = static_cast<int32_t>(planes % p.outputDepth);
    const uint64_t image = planes / p.outputDepth;
    double sum = 0;
    float magnitudes = 0;
    for (int32_t tap = 0; tap < p.t * p.r * p.s; ++tap) {
      int32_t z, y, x;
      if (!depth.find(plane, tap / (p.r * p.s), z) || !height.find(row, tap / p.s % p.r, y) || !width.find(q, tap % p.s, x))
        continue;
      const Element* in = input + (((image * p.d + z) * p.h + y) * p.w + x) * p.c + k / groupOutputs * groupInputs;
      const Element* weights = filter + uint64_t{static_cast<uint32_t>(tap)} * groupInputs * p.k + k;
#pragma unroll 4
      for (uint32_t c = 0; c < groupInputs; ++c) {
        const float product = toFloat(in[c]) * toFloat(weights[uint64_t{c} * p.k]);  // exact: two significands of at most 11 bits
        sum += static_cast<double>(product);
        magnitudes += fabsf(product);
      }
    }
    const float scale = p.alpha * (tensors.channelScale != nullptr ? tensors.channelScale[k] : 1.0f);
    sum *= static_cast<double>(scale);
    magnitudes *= fabsf(scale);
    const auto add = [&](float addend) {
      sum += static_cast<double>(addend);
      magnitudes += fabsf(addend);
    };
    if (tensors.bias != nullptr) add(numberAt(p.biasType, tensors.bias, k));
    const double residual =
        tensors.residual != nullptr ? static_cast<double>(p.beta) * numberAt(p.residualType, tensors.residual, i) : 0;
    if (!p.residualLast) add(static_cast<float>(residual));
    Bounded after = activated(p, sum, p.accumulationBound * static_cast<double>(magnitudes));
    if (p.residualLast) {  // its sum is rounded once
      after.value += residual;
      after.bound += 0x1p-24 * (fabs(after.value) + after.bound);
    }
    leastLargest = fmaxf(leastLargest, __double2float_rd(fabs(after.value) - after.bound));
    mostLargest = fmaxf(mostLargest, __double2float_ru(fabs(after.value) + after.bound));
    const double outScale = static_cast<double>(p.outScale), unit = p.outScale != 1 ? 0x1p-24 : 0;  // the product is rounded
    const double value = fmin(fmax(after.value * outScale, p.least), p.most);
    const double found = static_cast<double>(numberAt(p.outputType, tensors.output, i));
    const double bound = (p.relativeBound + unit) * fabs(value) + p.absoluteBound + after.bound * outScale;
    const double error = fabs(found - value);
    if (!(error <= bound)) ++wrong;  // NaN is wrong
    const float share = error == error ? static_cast<float>(error / bound) : 1e30f;
    worst = fmaxf(worst, share);
    errorSquares += error == error ? error * error : 0;
    squares += value * value;
  }
  if (wrong != 0) atomicAdd(&result->wrong, wrong);
  atomicMax(&result->worstShareBits, __float_as_uint(worst));  // of non-negative numbers: ordered like their bits
  atomicMax(&result->leastLargestBits, __float_as_uint(leastLargest));
  atomicMax(&result->mostLargestBits, __float_as_uint(mostLargest));
  atomicAdd(&result->errorSquares, errorSquares);
  atomicAdd(&result->squares, squares);
}

/// KRSC to RSCK.
template <class Element>
__device__ void transposeFilter(const Element* source, Element* destination, uint32_t k, uint32_t perChannel) {
  const uint64_t count = uint64_t{k} * perChannel;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += uint64_t{gridDim.x} * blockDim.x)
    destination[i] = source[i % k * perChannel + i / k];
}

/// KRSC to CRSK, group by group: the filter of the convolution whose gradient a transposed one is.
template <class Element>
__device__ void exchangeChannels(const Element* source, Element* destination, uint32_t groups, uint32_t k, uint32_t taps,
                                 uint32_t c) {
  const uint64_t count = uint64_t{groups} * k * taps * c;
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += uint64_t{gridDim.x} * blockDim.x) {
    const uint64_t outer = i / k / taps, tap = i / k % taps, group = outer / c;
    destination[i] = source[((group * k + i % k) * taps + tap) * c + outer % c];
  }
}

}  // namespace

#define SHIFTCONV_VERIFICATION(TYPE, ELEMENT)                                                                                      \
  extern "C" __global__ void fill_##TYPE(ELEMENT* data, uint64_t count, uint64_t seed, float scale) {                              \
    fill(data, count, seed, scale);                                                                                                \
  }                                                                                                                                \
  extern "C" __global__ void transpose_##TYPE(const ELEMENT* source, ELEMENT* destination, uint32_t k, uint32_t perChannel) {      \
    transposeFilter(source, destination, k, perChannel);                                                                           \
  }                                                                                                                                \
  extern "C" __global__ void exchange_##TYPE(const ELEMENT* source, ELEMENT* destination, uint32_t groups, uint32_t k,             \
                                             uint32_t taps, uint32_t c) {                                                          \
    exchangeChannels(source, destination, groups, k, taps, c);                                                                     \
  }                                                                                                                                \
  extern "C" __global__ void check_##TYPE(const __grid_constant__ CheckParams params, const ELEMENT* input, const ELEMENT* filter, \
                                          const __grid_constant__ CheckTensors tensors, CheckResult* result) {                     \
    check(params, input, filter, tensors, result);                                                                                 \
  }

SHIFTCONV_VERIFICATION(f16, __half)
SHIFTCONV_VERIFICATION(bf16, __nv_bfloat16)
SHIFTCONV_VERIFICATION(e4m3, __nv_fp8_e4m3)
SHIFTCONV_VERIFICATION(s8, int8_t)

extern "C" __global__ void fill_f32(float* data, uint64_t count, uint64_t seed, float scale) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += uint64_t{gridDim.x} * blockDim.x)
    data[i] = uniform(seed, i) * scale;
}

}  // namespace shiftconv::verification
