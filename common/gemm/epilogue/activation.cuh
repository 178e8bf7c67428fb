// Activations in f32. u = 2^-24 throughout; errors count from the f32 argument and are what the reference allows.
//
// Two approximate instructions are used, with the errors that PTX ISA 9.7.3 allows them: ex2 within 2^-22 = 4u relative, rcp within
// 1 ulp = 2u relative; both flush subnormal results to 0, which is below 2^-126 absolute.
//
// sigmoid   1 / (1 + e), e = ex2(-v * log2e). The product and the constant are off by 1.5u relative, so e by (1.5|v| + 4)u;
//           d/de gives sigmoid * (1 - sigmoid) * that, the sum and rcp 1u + 2u of the result more:
//           sigmoid * ((1 - sigmoid) * (1.5|v| + 4) + 3)u + 2^-126. When e overflows, the result is 0, right within 2^-127.
// SiLU      v * sigmoid(v), four at a time with one reciprocal: rcp takes as long as ex2, eight times as long as a product. With
//           e = ex2(-|v| log2e) <= 1, sigmoid is 1 / (1 + e) where v >= 0 and e / (1 + e) below. Sums a = 1 + e are in [1, 2], so
//           their product cannot overflow. r = rcp((ab)(cd)); 1/a = (r * cd) * b. The roundings of cd cancel; those of ab, of the
//           product, of rcp and of the last two products leave 6u. a itself is off by 1u, the last two products by 1u each:
//           |v| * (sigmoid * ((1 - sigmoid) * (1.5|v| + 4) + 9)u + 2^-126).
// GELU tanh v * sigmoid(2g), g = sqrt(2/pi) * (v + 0.044715 v^3): the same function without the cancellation of 1 + tanh, in SiLU's
//           way. In f32 2g log2e = v * (c1 + c3 * v^2) with c1, c3 > 0, so that nothing cancels: 2 roundings, two constants and
//           v^2, 4u relative; sigmoid has an error of (1 - sigmoid) * |2g| * 4u for it, in place of SiLU's 1.5u.
// tanh      1 - 2 / (1 + E), E = ex2(2|v| log2e), with the sign of v, where |v| >= 0.3. With r = 1 / (1 + E) <= 0.36 the error is
//           2r(1 - r)(3|v| + 4)u + 2r*3u + u <= 6u absolute, below 21u relative at 0.29 and less beyond. Below 0.3 the odd Taylor
//           polynomial up to v^9 (the v^11 term is below 2^-24 v), evaluated with fma from the smallest term: 3u. We allow 21u.
// GELU erf  v * Phi(v). For w = |v|, Phi(-w) = ex2(P(w)): log2 Phi(-w) falls like a parabola and is a polynomial of degree 7. It
//           holds within 60u of Phi(-w) relative, or 2^-38 of w * Phi(-w) absolute from w = 5 on (coefficients rounded; beyond
//           w = 7, both are smaller than that). P's roundings are sums of |P's partial results| u: ln 2 times them is less than
//           (2w^2 + 2)u, ex2 4u. So Phi(-w) is known to (2w^2 + 66)u relative and, weighed with w, 2^-38. Phi(w) = 1 - Phi(-w)
//           adds u, the product with v another. Neither a reciprocal nor a second exponential is needed: 12 instructions, as SiLU
//           has.
// hardswish v * clamp((v + 3) * (1/6), 0, 1): four roundings (the constant's among them), 4u relative. ReLU and clamp are exact,
//           leaky ReLU rounds once.
//
// Simulated with both instructions off by as much as they may be, in either direction and at random, at 800000 arguments and more:
// errors reach from 0.5 (tanh) to 0.99 (sigmoid) of these bounds, of GELU erf 0.96; of SiLU and GELU tanh, 1.00 where results are
// flushed.
//
// SiLU, both GELUs and hard-swish of minus infinity are NaN, the product of it and 0, as frameworks have it.
#pragma once

#include <cstdint>

#include "common/gemm/epilogue/params.hpp"
#include "common/ptx/conversion.cuh"

namespace shiftconv::gemm {

inline constexpr float kLog2e = 1.44269504f;

__device__ __forceinline__ float sigmoidOf(float v) { return ptx::reciprocalApproximate(1.0f + ptx::exp2Approximate(v * -kLog2e)); }

/// 1 / a of each, with one reciprocal.
__device__ __forceinline__ void invert(float (&a)[1]) { a[0] = ptx::reciprocalApproximate(a[0]); }
__device__ __forceinline__ void invert(float (&a)[2]) {
  const float inverse = ptx::reciprocalApproximate(a[0] * a[1]), first = a[0];
  a[0] = inverse * a[1], a[1] = inverse * first;
}
__device__ __forceinline__ void invert(float (&a)[4]) {
  float products[2] = {a[0] * a[1], a[2] * a[3]};
  invert(products);
#pragma unroll
  for (int32_t i = 0; i < 4; i += 2) {
    const float first = a[i];
    a[i] = products[i / 2] * a[i + 1], a[i + 1] = products[i / 2] * first;
  }
}

/// v * sigmoid(u) of each v, kMost with one reciprocal: 4, or 2 where registers are scarce. exponentOf(v): u log2e. NaN stays where
/// it is: fminf gives the other number, so that no reciprocal is NaN.
template <int32_t kMost, int32_t kCount, class ExponentOf>
__device__ __forceinline__ void weighSigmoid(float (&v)[kCount], ExponentOf&& exponentOf) {
  constexpr int32_t kTogether = kMost == 4 && kCount % 4 == 0 ? 4 : kCount % 2 == 0 ? 2 : 1;
  constexpr float kFlushed = 127.0f;  // ex2(-127) is 0
#pragma unroll
  for (int32_t first = 0; first < kCount; first += kTogether) {
    float e[kTogether], inverse[kTogether];
#pragma unroll
    for (int32_t i = 0; i < kTogether; ++i) {
      e[i] = ptx::exp2Approximate(-fminf(fabsf(exponentOf(v[first + i])), kFlushed));
      inverse[i] = 1.0f + e[i];
    }
    invert(inverse);
#pragma unroll
    for (int32_t i = 0; i < kTogether; ++i) {
      float& one = v[first + i];
      one *= (one < 0.0f ? e[i] : 1.0f) * inverse[i];
    }
  }
}
template <int32_t kMost = 4, int32_t kCount>
__device__ __forceinline__ void silu(float (&v)[kCount]) {
  weighSigmoid<kMost>(v, [](float x) { return x * kLog2e; });
}
template <int32_t kMost = 4, int32_t kCount>
__device__ __forceinline__ void geluTanh(float (&v)[kCount]) {
  constexpr float kLinear = 2.30220819f, kCubic = 0.102943240f;  // 2 sqrt(2/pi) log2e, and 0.044715 times it
  weighSigmoid<kMost>(v, [](float x) { return x * fmaf(kCubic, x * x, kLinear); });
}

__device__ __forceinline__ float tanhOf(float v) {
  constexpr float kPolynomialBelow = 0.3f;
  const float square = v * v;
  const float polynomial =
      fmaf(fmaf(fmaf(2.18694885e-2f, square, -5.39682540e-2f), square, 1.33333333e-1f), square, -3.33333333e-1f);
  const float small = fmaf(v * square, polynomial, v);
  const float large = 1.0f - 2.0f * ptx::reciprocalApproximate(1.0f + ptx::exp2Approximate(fabsf(v) * (2 * kLog2e)));
  return fabsf(v) < kPolynomialBelow ? small : copysignf(large, v);
}

__device__ __forceinline__ float geluErfOf(float v) {
  constexpr float kExponent[] = {-1.0f,          -0x1.26b55cp+0f,  -0x1.d5979cp-2f, -0x1.b8ee3ep-5f,
                                 0x1.1452ccp-7f, -0x1.dc6d48p-11f, 0x1.ea3226p-15f, -0x1.bc14a0p-20f};
  const float w = fabsf(v);
  float exponent = kExponent[7];
#pragma unroll
  for (int32_t i = 6; i >= 0; --i) exponent = fmaf(exponent, w, kExponent[i]);
  const float tail = ptx::exp2Approximate(exponent);
  return v * fabsf((v < 0.0f ? 0.0f : 1.0f) - tail);
}

__device__ __forceinline__ float hardSwishOf(float v) {
  return v * ptx::multiplySaturated(v + 3.0f, 1.0f / 6.0f);  // the second is 0 where v is NaN, and the product NaN
}
/// v times a weight that rises in one straight line, or stays 1: hard swish, leaky ReLU, or neither. The same numbers as by the
/// code that each of them has alone, but for a leaky ReLU of which 1 - slope + slope is not 1 in float, which must not come here.
struct Ramp {
  float shift, slope, range, least;

  __device__ __forceinline__ explicit Ramp(const EpilogueParams& p) {
    const bool isHardSwish = p.activation == Activation::HardSwish, isLeaky = p.activation == Activation::LeakyRelu;
    shift = isHardSwish ? 3.0f : 0.0f;
    slope = isHardSwish ? 1.0f / 6.0f : isLeaky ? __int_as_float(0x7f800000) : 0.0f;  // infinite: a step
    least = isHardSwish ? 0.0f : isLeaky ? p.activationA : 1.0f;
    range = 1.0f - least;
  }
  /// Where the first product is NaN (v is NaN; 0 times infinity) it counts as 0.
  __device__ __forceinline__ float of(float v) const { return v * fmaf(ptx::multiplySaturated(v + shift, slope), range, least); }
};

__device__ __forceinline__ float clampOf(float v, float least, float most) { return ptx::minimum(ptx::maximum(v, least), most); }

/// kMost: see weighSigmoid. The same choice for all threads of a warp.
template <int32_t kMost = 4, int32_t kColumns>
__device__ __forceinline__ void activate(const EpilogueParams& p, float (&v)[kColumns]) {
  const auto forAll = [&](auto&& function) {
#pragma unroll
    for (int32_t i = 0; i < kColumns; ++i) v[i] = function(v[i]);
  };
  const float a = p.activationA, b = p.activationB;
  // The most frequent one: without the jump by a table, and with the others out of its way.
  if (__builtin_expect(p.activation == Activation::Silu, 1)) return silu<kMost>(v);
  switch (p.activation) {
    case Activation::Relu:
      forAll([](float x) { return x < 0.0f ? 0.0f : x; });
      break;
    case Activation::LeakyRelu:
      forAll([a](float x) { return x < 0.0f ? a * x : x; });
      break;
    case Activation::Clamp:
      forAll([a, b](float x) { return clampOf(x, a, b); });
      break;
    case Activation::HardSwish:
      forAll([](float x) { return hardSwishOf(x); });
      break;
    case Activation::Sigmoid:
      forAll([](float x) { return sigmoidOf(x); });
      break;
    case Activation::GeluErf:
      forAll([](float x) { return geluErfOf(x); });
      break;
    case Activation::GeluTanh:
      geluTanh<kMost == 4 ? 4 : 1>(v);  // with 2, where registers are scarce, kernels spill
      break;
    case Activation::Tanh:
      forAll([](float x) { return tanhOf(x); });
      break;
    default:
      break;
  }
}

/// The same, with ReLU and nothing at all in line, and all other activations out of their way: code that runs once takes as long as
/// it takes to fetch.
template <int32_t kMost = 4, int32_t kColumns>
__device__ __forceinline__ void rectifyOrActivate(const EpilogueParams& p, float (&v)[kColumns]) {
  const bool rectifies = p.activation == Activation::Relu;
  if (__builtin_expect(!rectifies && p.activation != Activation::None, 0)) return activate<kMost>(p, v);
  const float least = rectifies ? 0.0f : -__int_as_float(0x7f800000);
#pragma unroll
  for (int32_t i = 0; i < kColumns; ++i) v[i] = v[i] < least ? least : v[i];
}

}  // namespace shiftconv::gemm
