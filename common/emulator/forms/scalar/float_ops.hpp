// Single- and double-precision arithmetic (PTX ISA 9.0, 9.7.3) as pure functions of one lane.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace shiftconv::emulator::isa::floating {

inline constexpr uint32_t kCanonicalNan = 0x7fff'ffffu;

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <class T>
BitsOf<T> bitsOf(T value) {
  return std::bit_cast<BitsOf<T>>(value);
}
template <class T>
inline constexpr BitsOf<T> kSign = BitsOf<T>{1} << (8 * sizeof(T) - 1);

/// Subnormals become zero of the same sign.
inline float flush(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits & 0x7f80'0000u) == 0 ? bits & 0x8000'0000u : bits);
}

/// .sat: clamps to [0, 1]; NaN becomes +0.
inline float saturate(float value) {
  const float low = value > 0.0f ? value : 0.0f;
  return low < 1.0f ? low : 1.0f;
}

/// Single-precision instructions return the canonical NaN.
inline float canonical(float value) { return std::isnan(value) ? std::bit_cast<float>(kCanonicalNan) : value; }
/// Double precision keeps the sign and payload of a NaN operand, and generates this NaN (CUDART_NAN of the CUDA toolkit).
/// The host's choice would depend on the order in which the compiler hands it the operands.
inline constexpr uint64_t kDoubleNan = 0xfff8'0000'0000'0000ull;
inline constexpr uint64_t kDoubleQuiet = 0x0008'0000'0000'0000ull;
inline double quiet(double nan) { return std::bit_cast<double>(std::bit_cast<uint64_t>(nan) | kDoubleQuiet); }

template <class T>
T multiply(T a, T b) {
  return a * b;
}
template <class T>
T multiplyAdd(T a, T b, T c) {
  return std::fma(a, b, c);
}

// .ftz flushes a result that would be below the smallest normal number if the exponent had no limit (observed on H200:
// 2^-126 times the number before 1 gives zero, although it rounds to 2^-126 among the subnormal numbers). Only products can
// be so close. Their result is +-2^-126 then, so that scaling the smaller factor and the addend up loses nothing.
inline constexpr float kScale = 0x1p64f;
inline float scaled(float a, float b) { return std::fabs(a) < std::fabs(b) ? (a * kScale) * b : a * (b * kScale); }
inline float scaled(float a, float b, float c) {
  return std::fabs(a) < std::fabs(b) ? std::fma(a * kScale, b, c * kScale) : std::fma(a, b * kScale, c * kScale);
}
template <auto kFunction>
inline constexpr bool kIsProduct = false;
template <>
inline constexpr bool kIsProduct<&multiply<float>> = true;
template <>
inline constexpr bool kIsProduct<&multiplyAdd<float>> = true;

/// Flushes `result` of the function on the arguments.
template <auto kFunction, class... A>
float flushResult(float result, A... arguments) {
  if constexpr (kIsProduct<kFunction>) {
    if (std::fabs(result) == 0x1p-126f && std::fabs(scaled(arguments...)) < 0x1p-126f * kScale) return std::copysign(0.0f, result);
  }
  return flush(result);
}

/// A single-precision operation with .ftz and .sat around it.
template <auto kFunction, bool kFlush, bool kSaturate>
struct Modified;
template <class... A, float (*kFunction)(A...), bool kFlush, bool kSaturate>
struct Modified<kFunction, kFlush, kSaturate> {
  static float apply(A... arguments) {
    if constexpr (kFlush || kSaturate) {
      const float raw = kFunction((kFlush ? flush(arguments) : arguments)...);
      const float flushed = kFlush ? flushResult<kFunction>(raw, flush(arguments)...) : raw;
      return kSaturate ? saturate(flushed) : canonical(flushed);
    } else {
      return canonical(kFunction(arguments...));
    }
  }
};

/// Of several NaNs, which is the result (observed on H200): of a + b, a - b and a * b it is b, of fma b, then c, of a / b, a.
inline double chosenNan(double a) { return a; }
inline double chosenNan(double a, double b) { return std::isnan(b) ? b : a; }
inline double chosenNan(double a, double b, double c) { return std::isnan(b) ? b : std::isnan(c) ? c : a; }
inline double firstNan(double a, double b) { return std::isnan(a) ? a : b; }

template <class T>
T divide(T a, T b) {
  return a / b;
}
template <auto kFunction, class... A>
double nanAmong(A... arguments) {
  return chosenNan(arguments...);
}
template <>
inline double nanAmong<&divide<double>>(double a, double b) {
  return firstNan(a, b);
}

/// A double-precision operation with a defined NaN.
template <auto kFunction>
struct DefinedNan;
template <class... A, double (*kFunction)(A...)>
struct DefinedNan<kFunction> {
  static double apply(A... arguments) {
    const double result = kFunction(arguments...);
    const double nan = nanAmong<kFunction>(arguments...);
    return !std::isnan(result) ? result : std::isnan(nan) ? quiet(nan) : std::bit_cast<double>(kDoubleNan);
  }
};

template <class T>
T add(T a, T b) {
  return a + b;
}
template <class T>
T subtract(T a, T b) {
  return a - b;
}
template <class T>
T reciprocal(T a) {
  return T{1} / a;
}
template <class T>
T squareRoot(T a) {
  return std::sqrt(a);
}

template <class T>
T negate(T a) {
  return std::bit_cast<T>(bitsOf(a) ^ kSign<T>);
}
template <class T>
T absolute(T a) {
  return std::bit_cast<T>(bitsOf(a) & ~kSign<T>);
}
/// What abs and neg make of a NaN (observed on H200): the canonical NaN in f32, the quiet NaN of the same sign in f64.
inline float passedNan(float) { return std::bit_cast<float>(kCanonicalNan); }
inline double passedNan(double nan) { return quiet(nan); }
template <auto kFunction, class T>
T besidesNan(T a) {
  return std::isnan(a) ? passedNan(a) : kFunction(a);
}
/// |b| with the sign of a.
template <class T>
T copySign(T a, T b) {
  return std::bit_cast<T>((bitsOf(b) & ~kSign<T>) | (bitsOf(a) & kSign<T>));
}

/// The smaller (or larger) of two numbers with -0 < +0. A NaN loses, unless kNan: then it wins. Of two NaNs the second is
/// the result.
template <bool kMaximum, bool kNan, class T>
T extreme(T a, T b) {
  const bool aFirst = a == b ? ((bitsOf(a) & kSign<T>) != 0) != kMaximum : (kMaximum ? a > b : a < b);
  T result = aFirst ? a : b;
  if (std::isnan(b)) result = kNan ? b : a;
  if (std::isnan(a)) result = kNan ? a : b;
  return result;
}
/// f64: the NaN that is left when both operands are NaN becomes quiet.
template <bool kMaximum>
double extreme64(double a, double b) {
  const double result = extreme<kMaximum, false>(a, b);
  return std::isnan(result) ? quiet(result) : result;
}
template <bool kMaximum, bool kNan, bool kAbsolute>
float extreme3(float a, float b, float c) {
  if constexpr (kAbsolute) return extreme<kMaximum, kNan>(extreme<kMaximum, kNan>(absolute(a), absolute(b)), absolute(c));
  return extreme<kMaximum, kNan>(extreme<kMaximum, kNan>(a, b), c);
}
/// .xorsign.abs: the smaller magnitude with the exclusive-or of the signs.
template <bool kMaximum, bool kNan>
float extremeXorSign(float a, float b) {
  const float magnitude = extreme<kMaximum, kNan>(absolute(a), absolute(b));
  return std::bit_cast<float>(bitsOf(magnitude) | ((bitsOf(a) ^ bitsOf(b)) & kSign<float>));  // the caller makes a NaN canonical
}

// The .approx functions. PTX bounds their error (in ulp or relative to the result); this machine returns the correctly
// rounded value of the host, or within one ulp of it, which lies inside every bound: div.approx 2 ulp, div.full 2 ulp,
// rcp.approx 1 ulp, sqrt.approx 1 ulp, rsqrt.approx 2 ulp, ex2.approx 2 ulp, lg2.approx 2^-22, tanh.approx 2^-11 relative,
// sin.approx and cos.approx 2^-20.5 absolute in [-pi, pi]. Real results may differ in the last bits.
inline float reciprocalSquareRoot(float a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a))); }
inline double reciprocalSquareRoot64(double a) { return 1.0 / std::sqrt(a); }
inline float sine(float a) { return static_cast<float>(std::sin(static_cast<double>(a))); }
inline float cosine(float a) { return static_cast<float>(std::cos(static_cast<double>(a))); }
inline float logarithm2(float a) { return static_cast<float>(std::log2(static_cast<double>(a))); }
inline float exponential2(float a) { return static_cast<float>(std::exp2(static_cast<double>(a))); }
inline float hyperbolicTangent(float a) { return static_cast<float>(std::tanh(static_cast<double>(a))); }
/// div.approx returns 0 when 2^126 < |b| < 2^128 and a is finite; infinity over such a divisor is NaN (9.7.3.8).
inline float divideApproximately(float a, float b) {
  const float magnitude = absolute(b);
  if (magnitude > 0x1p126f && !std::isinf(b))
    return std::isinf(a) ? std::numeric_limits<float>::quiet_NaN() : std::isnan(a) ? a : copySign(a * b, 0.0f);
  return a / b;
}
/// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 work on the upper 32 bits of the argument and result (9.7.3.14, 9.7.3.17):
/// 20 fraction bits, subnormals flushed. A NaN whose upper word is that of an infinity counts as one (observed on H200).
inline double upperWord(double a) {
  const uint64_t bits = std::bit_cast<uint64_t>(a) & 0xffff'ffff'0000'0000ull;
  return std::bit_cast<double>((bits & 0x7ff0'0000'0000'0000ull) == 0 ? bits & kSign<double> : bits);
}
inline constexpr uint64_t kUpperWordNan = 0x7fff'ffff'0000'0000ull;
inline double reciprocalUpperWord(double a) {
  a = upperWord(a);
  return std::isnan(a) ? std::bit_cast<double>(kUpperWordNan) : upperWord(1.0 / a);
}
inline double reciprocalSquareRootUpperWord(double a) {
  const double result = 1.0 / std::sqrt(upperWord(a));
  return std::isnan(result) ? std::bit_cast<double>(kUpperWordNan) : upperWord(result);
}

template <class T>
bool isFinite(T a) {
  return std::isfinite(a);
}
template <class T>
bool isInfinite(T a) {
  return std::isinf(a);
}
template <class T>
bool isNumber(T a) {
  return !std::isnan(a);
}
template <class T>
bool isNotANumber(T a) {
  return std::isnan(a);
}
template <class T>
bool isNormal(T a) {
  return std::isnormal(a) || a == 0;
}  // zero counts as normal (9.7.3.2)
template <class T>
bool isSubnormal(T a) {
  return std::fpclassify(a) == FP_SUBNORMAL;
}

}  // namespace shiftconv::emulator::isa::floating
