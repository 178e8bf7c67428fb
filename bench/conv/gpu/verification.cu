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

/// Of SiLU in f32, of a sum within sumBound. The function's slope is below 1.1. Its own error is that of sigmoid, relative
/// (1.5 |v| + 7) 2^-24, and one rounding (common/gemm/epilogue/activation.cuh); what flushes to 0 is below 2^-126 |v|.
__device__ double siluBound(double sum, double value, double sumBound) {
  return 1.1 * sumBound + (1.5 * (fabs(sum) + sumBound) + 8) * 0x1p-24 * (fabs(value) + 1.1 * sumBound) + 0x1p-126 * fabs(sum);
}

/// Of GELU with erf, likewise. The function's slope is below 1.13. Phi(-|v|) errs by (1.25 v^2 + 21) 2^-24 of itself, what is made
/// of it by two roundings.
__device__ double geluBound(double sum, double sumBound) {
  const double w = fabs(sum) + sumBound, tail = 0.5 * erfc(fmax(fabs(sum) - sumBound, 0.0) * 0.70710678118654752);
  return 1.13 * sumBound + w * ((1.25 * w * w + 21) * tail + 2 * (sum < sumBound ? tail + sumBound : 1)) * 0x1p-24 + 0x1p-126 * w;
}

__device__ double activated(Checked activation, double sum) {
  switch (activation) {
    case Checked::Relu:
      return sum < 0 ? 0 : sum;
    case Checked::Silu:
      return sum / (1 + exp(-sum));
    case Checked::GeluErf:
      return 0.5 * sum * erfc(-sum * 0.70710678118654752);
    default:
      return sum;
  }
}
/// How far a value after it may be off, where the sum may be by sumBound.
__device__ double activatedBound(Checked activation, double sum, double value, double sumBound) {
  if (activation == Checked::Silu) return siluBound(sum, value, sumBound);
  return activation == Checked::GeluErf ? geluBound(sum, sumBound) : sumBound;
}

/// One thread an output element, channels fastest. `filter` is RSCK here, so that neighbouring threads read neighbours.
template <class Element, class Output>
__device__ void check(const CheckParams& p, const Element* input, const Element* filter, const float* bias, const Output* residual,
                      const Output* output, CheckResult* result) {
  const uint64_t elements = uint64_t{p.n} * p.outputDepth * p.outputHeight * p.outputWidth * p.k;
  const uint32_t groupInputs = p.c / p.groups, groupOutputs = p.k / p.groups;
  unsigned long long wrong = 0;
  float worst = 0;
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
      const int32_t z = plane * p.strideD + tap / (p.r * p.s) * p.dilationD - p.padFront;
      const int32_t y = row * p.strideH + tap / p.s % p.r * p.dilationH - p.padTop;
      const int32_t x = q * p.strideW + tap % p.s * p.dilationW - p.padLeft;
      if (z < 0 || z >= p.d || y < 0 || y >= p.h || x < 0 || x >= p.w) continue;
      const Element* in = input + (((image * p.d + z) * p.h + y) * p.w + x) * p.c + k / groupOutputs * groupInputs;
      const Element* weights = filter + uint64_t{static_cast<uint32_t>(tap)} * groupInputs * p.k + k;
#pragma unroll 4
      for (uint32_t c = 0; c < groupInputs; ++c) {
        const float product = toFloat(in[c]) * toFloat(weights[uint64_t{c} * p.k]);  // exact: two significands of at most 11 bits
        sum += static_cast<double>(product);
        magnitudes += fabsf(product);
      }
    }
    sum *= static_cast<double>(p.alpha);
    magnitudes *= p.alpha;
    const auto add = [&](float addend) {
      sum += static_cast<double>(addend);
      magnitudes += fabsf(addend);
    };
    if (bias != nullptr) add(bias[k]);
    if (residual != nullptr) add(toFloat(residual[i]));
    double value = activated(p.activation, sum);
    if (p.isSaturated) value = fmin(fmax(value, -128.0), 127.0);
    const double found = static_cast<double>(toFloat(output[i]));
    const double sumBound = p.accumulationBound * static_cast<double>(magnitudes);
    const double bound = p.relativeBound * fabs(value) + p.absoluteBound + activatedBound(p.activation, sum, value, sumBound);
    const double error = fabs(found - value);
    if (!(error <= bound)) ++wrong;  // NaN is wrong
    const float share = error == error ? static_cast<float>(error / bound) : 1e30f;
    worst = fmaxf(worst, share);
    errorSquares += error == error ? error * error : 0;
    squares += value * value;
  }
  if (wrong != 0) atomicAdd(&result->wrong, wrong);
  atomicMax(&result->worstShareBits, __float_as_uint(worst));  // of non-negative numbers: ordered like their bits
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

}  // namespace

#define SHIFTCONV_CHECK(NAME, ELEMENT, OUTPUT)                                                                                     \
  extern "C" __global__ void check_##NAME(const __grid_constant__ CheckParams params, const ELEMENT* input, const ELEMENT* filter, \
                                          const float* bias, const OUTPUT* residual, const OUTPUT* output, CheckResult* result) {  \
    check(params, input, filter, bias, residual, output, result);                                                                  \
  }
#define SHIFTCONV_VERIFICATION(TYPE, ELEMENT, OUTPUT)                                                                         \
  extern "C" __global__ void fill_##TYPE(ELEMENT* data, uint64_t count, uint64_t seed, float scale) {                         \
    fill(data, count, seed, scale);                                                                                           \
  }                                                                                                                           \
  extern "C" __global__ void transpose_##TYPE(const ELEMENT* source, ELEMENT* destination, uint32_t k, uint32_t perChannel) { \
    transposeFilter(source, destination, k, perChannel);                                                                      \
  }                                                                                                                           \
  SHIFTCONV_CHECK(TYPE, ELEMENT, OUTPUT)

SHIFTCONV_VERIFICATION(f16, __half, __half)
SHIFTCONV_VERIFICATION(bf16, __nv_bfloat16, __nv_bfloat16)
SHIFTCONV_VERIFICATION(e4m3, __nv_fp8_e4m3, __half)
SHIFTCONV_VERIFICATION(s8, int8_t, int8_t)
SHIFTCONV_CHECK(e4m3_e4m3, __nv_fp8_e4m3, __nv_fp8_e4m3)

extern "C" __global__ void fill_f32(float* data, uint64_t count, uint64_t seed, float scale) {
  for (uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x; i < count; i += uint64_t{gridDim.x} * blockDim.x)
    data[i] = uniform(seed, i) * scale;
}

}  // namespace shiftconv::verification
