// Half-precision arithmetic on f16, f16x2, bf16 and bf16x2 (PTX ISA 9.0, 9.7.4).
#include <cmath>
#include <type_traits>

#include "common/emulator/forms/scalar/half_ops.hpp"
#include "common/emulator/forms/scalar/lanewise.hpp"
#include "common/emulator/isa/decode_helpers.hpp"
#include "common/emulator/isa/form.hpp"

namespace shiftconv::emulator::isa {
namespace {

using ptx::ScalarType;

enum class Clamp : uint8_t { None, Unit, Relu };

/// .sat: [0, 1], NaN becomes +0. .relu: negative numbers become +0, NaN stays the canonical NaN.
template <class Half, Clamp kClamp>
uint16_t clamp(uint16_t bits) {
  if constexpr (kClamp == Clamp::Unit) {
    if (isNan<Half>(bits) || (bits & 0x8000) != 0) return 0;
    return bits > Half::kOne ? Half::kOne : bits;
  }
  if constexpr (kClamp == Clamp::Relu) return !isNan<Half>(bits) && (bits & 0x8000) != 0 ? 0 : bits;
  return bits;
}

template <class Half, bool kFlush>
uint16_t maybeFlush(uint16_t bits) {
  return kFlush ? flush<Half>(bits) : bits;
}

/// .ftz flushes a result that would be below the smallest normal number if the exponent had no limit (observed on H200).
template <bool kFlush>
uint16_t flushResult(uint16_t rounded, double exact) {
  if constexpr (!kFlush) return rounded;
  constexpr uint16_t kSmallestNormal = 0x0400;
  constexpr unsigned kScale = 8;
  const bool atLimit = (rounded & 0x7fff) == kSmallestNormal;
  const bool tiny =
      atLimit && (convertTo(kF16, std::ldexp(exact, kScale), Rounding::NearestEven) & 0x7fff) < kSmallestNormal + (kScale << 10);
  return tiny ? rounded & 0x8000 : flush<F16>(rounded);
}

struct Add {
  static double apply(double a, double b) { return a + b; }
};
struct Subtract {
  static double apply(double a, double b) { return a - b; }
};
struct Multiply {
  static double apply(double a, double b) { return a * b; }
};

/// Sums and products of f16 are correctly rounded by way of f32: f32 has 24 >= 2 * 11 + 2 bits, and its subnormals
/// are out of reach. For bf16 the same holds of f64 (a product of small bf16 is subnormal or zero in f32).
template <class Half, class Operation, bool kFlush, Clamp kClamp>
uint16_t arithmetic(uint16_t a, uint16_t b) {
  const float x = Half::toFloat(maybeFlush<Half, kFlush>(a));
  const float y = Half::toFloat(maybeFlush<Half, kFlush>(b));
  const double exact = Operation::apply(x, y);
  uint16_t result = 0;
  if constexpr (std::is_same_v<Half, F16>) {
    result = Half::fromFloat(static_cast<float>(exact));
  } else {
    result = static_cast<uint16_t>(convertTo(Half::kFormat, exact, Rounding::NearestEven));
  }
  return clamp<Half, kClamp>(flushResult<kFlush>(result, exact));
}

/// The product is exact in f64; the sum is rounded to odd there, and once more to the format.
template <class Half, bool kFlush, Clamp kClamp>
uint16_t multiplyAdd(uint16_t a, uint16_t b, uint16_t c) {
  const auto value = [](uint16_t bits) { return static_cast<double>(Half::toFloat(maybeFlush<Half, kFlush>(bits))); };
  const double sum = addToOdd(value(a) * value(b), value(c));
  return clamp<Half, kClamp>(flushResult<kFlush>(static_cast<uint16_t>(convertTo(Half::kFormat, sum, Rounding::NearestEven)), sum));
}

constexpr uint16_t kCanonicalNan = 0x7fff;
/// What tensor copies fill in outside of a tensor, and fma.oob, whatever the sign, takes as "no contribution" (observed on an
/// H200).
constexpr uint16_t kOutOfBoundsNan = 0x7ff7;

template <class Half, Clamp kClamp>
uint16_t multiplyAddInBounds(uint16_t a, uint16_t b, uint16_t c) {
  const auto isFill = [](uint16_t bits) { return (bits & 0x7fff) == kOutOfBoundsNan; };
  if (isFill(a) || isFill(b)) return 0;
  return multiplyAdd<Half, false, kClamp>(a, b, c);
}

/// neg and abs make NaNs canonical (observed on H200).
template <class Half, bool kFlush>
uint16_t negate(uint16_t a) {
  return isNan<Half>(a) ? kCanonicalNan : maybeFlush<Half, kFlush>(a) ^ 0x8000;
}
template <class Half, bool kFlush>
uint16_t absolute(uint16_t a) {
  return isNan<Half>(a) ? kCanonicalNan : maybeFlush<Half, kFlush>(a) & 0x7fff;
}

/// Orders numbers as integers, -0 below +0.
inline int32_t orderOf(uint16_t bits) { return (bits & 0x8000) != 0 ? -static_cast<int32_t>(bits & 0x7fff) - 1 : bits; }

template <class Half, bool kMaximum, bool kNan, bool kFlush>
uint16_t extreme(uint16_t a, uint16_t b) {
  a = maybeFlush<Half, kFlush>(a);
  b = maybeFlush<Half, kFlush>(b);
  if (isNan<Half>(a) || isNan<Half>(b)) {
    if (kNan || (isNan<Half>(a) && isNan<Half>(b))) return kCanonicalNan;
    return isNan<Half>(a) ? b : a;
  }
  return (orderOf(a) < orderOf(b)) != kMaximum ? a : b;
}

template <class Half, bool kMaximum, bool kNan, bool kFlush>
uint16_t extremeXorSign(uint16_t a, uint16_t b) {
  const uint16_t magnitude = extreme<Half, kMaximum, kNan, kFlush>(a & 0x7fff, b & 0x7fff);
  return isNan<Half>(magnitude) ? kCanonicalNan : static_cast<uint16_t>(magnitude | ((a ^ b) & 0x8000));
}

// ex2.approx and tanh.approx: PTX bounds the error at 2^-9.9 (ex2 f16), 2^-7 (ex2 bf16), 2^-10.987 (tanh f16) and 2^-8 (tanh bf16)
// relative to the result; this machine returns the nearest value.
template <class Half, bool kFlush>
uint16_t exponential2(uint16_t a) {
  const double result = std::exp2(static_cast<double>(Half::toFloat(maybeFlush<Half, kFlush>(a))));
  return maybeFlush<Half, kFlush>(static_cast<uint16_t>(convertTo(Half::kFormat, result, Rounding::NearestEven)));
}
template <class Half, bool kFlush>
uint16_t hyperbolicTangent(uint16_t a) {
  return static_cast<uint16_t>(convertTo(Half::kFormat, std::tanh(static_cast<double>(Half::toFloat(a))), Rounding::NearestEven));
}

bool isBf16(ScalarType type) { return type == ScalarType::BF16 || type == ScalarType::BF16x2; }

/// All sources have the type of the destination. Packed types run the same function on both halves of a register.
template <auto kFunction>
void decodeHalf(DecodeContext& context, const FormMatch& match, unsigned sources) {
  const ScalarType type = match.type();
  const Handler handler = isPacked(type) ? bestLanewise<kFunction, 2>() : bestLanewise<kFunction, 1>();
  if (sources == 1) decodeOperands(context, handler, type, {type});
  if (sources == 2) decodeOperands(context, handler, type, {type, type});
  if (sources == 3) decodeOperands(context, handler, type, {type, type, type});
}

template <class Operation>
void decodeArithmetic(DecodeContext& context, const FormMatch& match) {
  if (isBf16(match.type())) return decodeHalf<&arithmetic<Bf16, Operation, false, Clamp::None>>(context, match, 2);
  const bool flush = match.has("ftz");
  const bool unit = match.has("sat");
  if (flush && unit) return decodeHalf<&arithmetic<F16, Operation, true, Clamp::Unit>>(context, match, 2);
  if (flush) return decodeHalf<&arithmetic<F16, Operation, true, Clamp::None>>(context, match, 2);
  if (unit) return decodeHalf<&arithmetic<F16, Operation, false, Clamp::Unit>>(context, match, 2);
  decodeHalf<&arithmetic<F16, Operation, false, Clamp::None>>(context, match, 2);
}

template <bool kFlush>
void decodeFmaF16(DecodeContext& context, const FormMatch& match) {
  if (match.has("sat")) return decodeHalf<&multiplyAdd<F16, kFlush, Clamp::Unit>>(context, match, 3);
  if (match.has("relu")) return decodeHalf<&multiplyAdd<F16, kFlush, Clamp::Relu>>(context, match, 3);
  decodeHalf<&multiplyAdd<F16, kFlush, Clamp::None>>(context, match, 3);
}

void decodeFma(DecodeContext& context, const FormMatch& match) {
  if (isBf16(match.type())) {
    if (match.has("relu")) return decodeHalf<&multiplyAdd<Bf16, false, Clamp::Relu>>(context, match, 3);
    return decodeHalf<&multiplyAdd<Bf16, false, Clamp::None>>(context, match, 3);
  }
  match.has("ftz") ? decodeFmaF16<true>(context, match) : decodeFmaF16<false>(context, match);
}

template <class Half>
void decodeFmaInBoundsOf(DecodeContext& context, const FormMatch& match) {
  if (match.has("relu")) return decodeHalf<&multiplyAddInBounds<Half, Clamp::Relu>>(context, match, 3);
  decodeHalf<&multiplyAddInBounds<Half, Clamp::None>>(context, match, 3);
}

void decodeFmaInBounds(DecodeContext& context, const FormMatch& match) {
  isBf16(match.type()) ? decodeFmaInBoundsOf<Bf16>(context, match) : decodeFmaInBoundsOf<F16>(context, match);
}

template <auto kF16, auto kF16Flush, auto kBf16Function>
void decodeUnary(DecodeContext& context, const FormMatch& match) {
  if (isBf16(match.type())) return decodeHalf<kBf16Function>(context, match, 1);
  match.has("ftz") ? decodeHalf<kF16Flush>(context, match, 1) : decodeHalf<kF16>(context, match, 1);
}

template <class Half, bool kMaximum, bool kFlush>
void decodeExtremeOf(DecodeContext& context, const FormMatch& match) {
  const bool nan = match.has("NaN");
  if (match.has("xorsign") != match.has("abs")) context.illegal("'.xorsign' and '.abs' belong together.");
  if (match.has("xorsign")) {
    return nan ? decodeHalf<&extremeXorSign<Half, kMaximum, true, kFlush>>(context, match, 2)
               : decodeHalf<&extremeXorSign<Half, kMaximum, false, kFlush>>(context, match, 2);
  }
  nan ? decodeHalf<&extreme<Half, kMaximum, true, kFlush>>(context, match, 2)
      : decodeHalf<&extreme<Half, kMaximum, false, kFlush>>(context, match, 2);
}

template <bool kMaximum>
void decodeExtreme(DecodeContext& context, const FormMatch& match) {
  if (isBf16(match.type())) return decodeExtremeOf<Bf16, kMaximum, false>(context, match);
  match.has("ftz") ? decodeExtremeOf<F16, kMaximum, true>(context, match) : decodeExtremeOf<F16, kMaximum, false>(context, match);
}

}  // namespace

FormFamily halfForms() {
  return {
      {"add{.rn}{.ftz}{.sat}.(f16|f16x2)", decodeArithmetic<Add>},
      {"add{.rn}.(bf16|bf16x2)", decodeArithmetic<Add>},
      {"sub{.rn}{.ftz}{.sat}.(f16|f16x2)", decodeArithmetic<Subtract>},
      {"sub{.rn}.(bf16|bf16x2)", decodeArithmetic<Subtract>},
      {"mul{.rn}{.ftz}{.sat}.(f16|f16x2)", decodeArithmetic<Multiply>},
      {"mul{.rn}.(bf16|bf16x2)", decodeArithmetic<Multiply>},
      {"fma.rn{.ftz}{.(sat|relu)}.(f16|f16x2)", decodeFma},
      {"fma.rn{.relu}.(bf16|bf16x2)", decodeFma},
      {"fma.rn.oob{.relu}.(f16|f16x2|bf16|bf16x2)", decodeFmaInBounds},
      {"neg{.ftz}.(f16|f16x2)", decodeUnary<&negate<F16, false>, &negate<F16, true>, &negate<Bf16, false>>},
      {"neg.(bf16|bf16x2)", decodeUnary<&negate<F16, false>, &negate<F16, true>, &negate<Bf16, false>>},
      {"abs{.ftz}.(f16|f16x2)", decodeUnary<&absolute<F16, false>, &absolute<F16, true>, &absolute<Bf16, false>>},
      {"abs.(bf16|bf16x2)", decodeUnary<&absolute<F16, false>, &absolute<F16, true>, &absolute<Bf16, false>>},
      {"min{.ftz}{.NaN}{.xorsign}{.abs}.(f16|f16x2)", decodeExtreme<false>},
      {"min{.NaN}{.xorsign}{.abs}.(bf16|bf16x2)", decodeExtreme<false>},
      {"max{.ftz}{.NaN}{.xorsign}{.abs}.(f16|f16x2)", decodeExtreme<true>},
      {"max{.NaN}{.xorsign}{.abs}.(bf16|bf16x2)", decodeExtreme<true>},
      {"tanh.approx.(f16|f16x2|bf16|bf16x2)",
       decodeUnary<&hyperbolicTangent<F16, false>, &hyperbolicTangent<F16, false>, &hyperbolicTangent<Bf16, false>>},
      {"ex2.approx.(f16|f16x2)", decodeUnary<&exponential2<F16, false>, &exponential2<F16, false>, &exponential2<Bf16, true>>},
      {"ex2.approx.ftz.(bf16|bf16x2)",
       decodeUnary<&exponential2<F16, false>, &exponential2<F16, false>, &exponential2<Bf16, true>>},
  };
}

}  // namespace shiftconv::emulator::isa
