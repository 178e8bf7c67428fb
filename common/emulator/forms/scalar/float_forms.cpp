// Single- and double-precision arithmetic (PTX ISA 9.0, 9.7.3) and mixed-precision arithmetic (9.7.5).
#include "common/emulator/forms/scalar/float_ops.hpp"
#include "common/emulator/forms/scalar/half_ops.hpp"
#include "common/emulator/forms/scalar/lanewise.hpp"
#include "common/emulator/forms/scalar/rounding_scope.hpp"
#include "common/emulator/isa/decode_helpers.hpp"
#include "common/emulator/isa/form.hpp"

namespace shiftconv::emulator::isa {
namespace {

using floating::Modified;
using ptx::ScalarType;

/// Runs under the host rounding mode in `immediate`.
template <auto kFunction, unsigned N>
void directed(Execution& execution, const DecodedInstruction& instruction) {
  const RoundingScope scope(static_cast<int>(instruction.immediate));
  lanewise<kFunction, N>(execution, instruction);
}

template <auto kFunction, unsigned N>
Handler select(int rounding) {
  return rounding == FE_TONEAREST ? bestLanewise<kFunction, N>() : directed<kFunction, N>;
}

/// Handler for an f32 operation with the .ftz and .sat of the match.
template <auto kFunction, unsigned N = 1>
Handler selectModified(const FormMatch& match, int rounding) {
  const bool flush = match.has("ftz");
  const bool saturate = match.has("sat");
  if (flush && saturate) return select<&Modified<kFunction, true, true>::apply, N>(rounding);
  if (flush) return select<&Modified<kFunction, true, false>::apply, N>(rounding);
  if (saturate) return select<&Modified<kFunction, false, true>::apply, N>(rounding);
  return select<&Modified<kFunction, false, false>::apply, N>(rounding);
}

void decodeSame(DecodeContext& context, Handler handler, ScalarType type, unsigned sources) {
  if (sources == 1) decodeOperands(context, handler, type, {type});
  if (sources == 2) decodeOperands(context, handler, type, {type, type});
  if (sources == 3) decodeOperands(context, handler, type, {type, type, type});
}

/// Forms whose first group is the rounding modifier (or another word, which means nearest).
template <auto kFunction, unsigned kSources>
void single(DecodeContext& context, const FormMatch& match) {
  const int rounding = hostRounding(match.group(0));
  decodeSame(context, selectModified<kFunction>(match, rounding), ScalarType::F32, kSources);
  context.out().immediate = static_cast<uint64_t>(rounding);
}

/// Two f32 in each 64-bit register.
template <auto kFunction, unsigned kSources>
void packed(DecodeContext& context, const FormMatch& match) {
  const int rounding = hostRounding(match.group(0));
  decodeSame(context, selectModified<kFunction, 2>(match, rounding), ScalarType::B64, kSources);
  context.out().immediate = static_cast<uint64_t>(rounding);
}

template <auto kFunction, unsigned kSources>
void twice(DecodeContext& context, const FormMatch& match) {
  const int rounding = hostRounding(match.group(0));
  decodeSame(context, select<&floating::DefinedNan<kFunction>::apply, 1>(rounding), ScalarType::F64, kSources);
  context.out().immediate = static_cast<uint64_t>(rounding);
}

/// f64 functions that look after NaN themselves.
template <auto kFunction, unsigned kSources>
void exactly(DecodeContext& context, const FormMatch&) {
  decodeSame(context, lanewise<kFunction>, ScalarType::F64, kSources);
}

template <class Half, auto kFunction>
float mixed2(uint16_t a, float b) {
  return kFunction(Half::toFloat(a), b);
}
template <class Half>
float mixedMultiplyAdd(uint16_t a, uint16_t b, float c) {
  return std::fma(Half::toFloat(a), Half::toFloat(b), c);
}

template <auto kFunction>
void mixed(DecodeContext& context, const FormMatch& match) {
  const int rounding = hostRounding(match.group(0));
  const ScalarType half = match.type();
  const Handler handler = half == ScalarType::F16 ? selectModified<&mixed2<F16, kFunction>>(match, rounding)
                                                  : selectModified<&mixed2<Bf16, kFunction>>(match, rounding);
  decodeOperands(context, handler, ScalarType::F32, {half, ScalarType::F32});
  context.out().immediate = static_cast<uint64_t>(rounding);
}

void mixedFma(DecodeContext& context, const FormMatch& match) {
  const int rounding = hostRounding(match.group(0));
  const ScalarType half = match.type();
  const Handler handler = half == ScalarType::F16 ? selectModified<&mixedMultiplyAdd<F16>>(match, rounding)
                                                  : selectModified<&mixedMultiplyAdd<Bf16>>(match, rounding);
  decodeOperands(context, handler, ScalarType::F32, {half, half, ScalarType::F32});
  context.out().immediate = static_cast<uint64_t>(rounding);
}

template <auto kFunction>
float flushed(float a) {
  return floating::besidesNan<kFunction>(floating::flush(a));
}

template <auto kPlain>
void signUnary(DecodeContext& context, const FormMatch& match) {
  const Handler handler = match.has("ftz") ? lanewise<&flushed<kPlain>> : lanewise<&floating::besidesNan<kPlain, float>>;
  decodeOperands(context, handler, ScalarType::F32, {ScalarType::F32});
}

template <auto k32, auto k64>
void copySign(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  decodeOperands(context, type == ScalarType::F32 ? Handler{lanewise<k32>} : Handler{lanewise<k64>}, type, {type, type});
}

template <bool kMaximum, bool kNan>
void decodeExtreme(DecodeContext& context, const FormMatch& match) {
  const bool three = context.instruction().operands.size() == 4;
  const bool absolute = match.has("abs");
  Handler handler = nullptr;
  if (match.has("xorsign")) {
    if (three || !absolute) context.illegal("'.xorsign' needs '.abs' behind it and two source operands.");
    handler = selectModified<&floating::extremeXorSign<kMaximum, kNan>>(match, FE_TONEAREST);
  } else if (three) {
    handler = absolute ? selectModified<&floating::extreme3<kMaximum, kNan, true>>(match, FE_TONEAREST)
                       : selectModified<&floating::extreme3<kMaximum, kNan, false>>(match, FE_TONEAREST);
  } else {
    if (absolute) context.illegal("'.abs' with two source operands needs '.xorsign' in front of it.");
    handler = selectModified<&floating::extreme<kMaximum, kNan, float>>(match, FE_TONEAREST);
  }
  decodeSame(context, handler, ScalarType::F32, three ? 3 : 2);
}

template <bool kMaximum>
void extreme(DecodeContext& context, const FormMatch& match) {
  match.has("NaN") ? decodeExtreme<kMaximum, true>(context, match) : decodeExtreme<kMaximum, false>(context, match);
}

template <auto kFunction>
void test(Execution& execution, const DecodedInstruction& instruction) {
  assignPredicate(execution.predicate(instruction.operand[0]), execution.mask, lanesWhere<kFunction>(execution, instruction, 1));
}

template <class T>
Handler selectTest(std::string_view property) {
  using namespace floating;
  if (property == "finite") return test<&isFinite<T>>;
  if (property == "infinite") return test<&isInfinite<T>>;
  if (property == "number") return test<&isNumber<T>>;
  if (property == "notanumber") return test<&isNotANumber<T>>;
  if (property == "normal") return test<&isNormal<T>>;
  return test<&isSubnormal<T>>;
}

void testProperty(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  const Handler handler = type == ScalarType::F32 ? selectTest<float>(match.group(0)) : selectTest<double>(match.group(0));
  decodeOperands(context, handler, ScalarType::Pred, {type});
}

}  // namespace

FormFamily floatForms() {
  using namespace floating;
  return {
      {"add{.(rn|rz|rm|rp)}{.ftz}{.sat}.f32", single<&add<float>, 2>},
      {"add{.(rn|rz|rm|rp)}{.ftz}.f32x2", packed<&add<float>, 2>},
      {"add{.(rn|rz|rm|rp)}.f64", twice<&add<double>, 2>},
      {"add{.(rn|rz|rm|rp)}{.sat}.f32.(f16|bf16)", mixed<&add<float>>},
      {"sub{.(rn|rz|rm|rp)}{.ftz}{.sat}.f32", single<&subtract<float>, 2>},
      {"sub{.(rn|rz|rm|rp)}{.ftz}.f32x2", packed<&subtract<float>, 2>},
      {"sub{.(rn|rz|rm|rp)}.f64", twice<&subtract<double>, 2>},
      {"sub{.(rn|rz|rm|rp)}{.sat}.f32.(f16|bf16)", mixed<&subtract<float>>},
      {"mul{.(rn|rz|rm|rp)}{.ftz}{.sat}.f32", single<&multiply<float>, 2>},
      {"mul{.(rn|rz|rm|rp)}{.ftz}.f32x2", packed<&multiply<float>, 2>},
      {"mul{.(rn|rz|rm|rp)}.f64", twice<&multiply<double>, 2>},
      {"fma.(rn|rz|rm|rp){.ftz}{.sat}.f32", single<&multiplyAdd<float>, 3>},
      {"fma.(rn|rz|rm|rp){.ftz}.f32x2", packed<&multiplyAdd<float>, 3>},
      {"fma.(rn|rz|rm|rp).f64", twice<&multiplyAdd<double>, 3>},
      {"fma.(rn|rz|rm|rp){.sat}.f32.(f16|bf16)", mixedFma},
      {"mad.(rn|rz|rm|rp){.ftz}{.sat}.f32", single<&multiplyAdd<float>, 3>},
      {"mad.(rn|rz|rm|rp).f64", twice<&multiplyAdd<double>, 3>},
      {"div.approx{.ftz}.f32", single<&divideApproximately, 2>},
      {"div.full{.ftz}.f32", single<&divide<float>, 2>},
      {"div.(rn|rz|rm|rp){.ftz}.f32", single<&divide<float>, 2>},
      {"div.(rn|rz|rm|rp).f64", twice<&divide<double>, 2>},
      {"abs{.ftz}.f32", signUnary<&absolute<float>>},
      {"abs.f64", exactly<&besidesNan<&absolute<double>, double>, 1>},
      {"neg{.ftz}.f32", signUnary<&negate<float>>},
      {"neg.f64", exactly<&besidesNan<&negate<double>, double>, 1>},
      {"copysign.(f32|f64)", isa::copySign<&floating::copySign<float>, &floating::copySign<double>>},
      {"min{.ftz}{.NaN}{.xorsign}{.abs}.f32", isa::extreme<false>},
      {"min.f64", exactly<&extreme64<false>, 2>},
      {"max{.ftz}{.NaN}{.xorsign}{.abs}.f32", isa::extreme<true>},
      {"max.f64", exactly<&extreme64<true>, 2>},
      {"rcp.approx{.ftz}.f32", single<&reciprocal<float>, 1>},
      {"rcp.(rn|rz|rm|rp){.ftz}.f32", single<&reciprocal<float>, 1>},
      {"rcp.(rn|rz|rm|rp).f64", twice<&reciprocal<double>, 1>},
      {"rcp.approx.ftz.f64", exactly<&reciprocalUpperWord, 1>},
      {"sqrt.approx{.ftz}.f32", single<&squareRoot<float>, 1>},
      {"sqrt.(rn|rz|rm|rp){.ftz}.f32", single<&squareRoot<float>, 1>},
      {"sqrt.(rn|rz|rm|rp).f64", twice<&squareRoot<double>, 1>},
      {"rsqrt.approx{.ftz}.f32", single<&reciprocalSquareRoot, 1>},
      {"rsqrt.approx.f64", twice<&reciprocalSquareRoot64, 1>},
      {"rsqrt.approx.ftz.f64", exactly<&reciprocalSquareRootUpperWord, 1>},
      {"sin.approx{.ftz}.f32", single<&sine, 1>},
      {"cos.approx{.ftz}.f32", single<&cosine, 1>},
      {"lg2.approx{.ftz}.f32", single<&logarithm2, 1>},
      {"ex2.approx{.ftz}.f32", single<&exponential2, 1>},
      {"tanh.approx.f32", single<&hyperbolicTangent, 1>},
      {"testp.(finite|infinite|number|notanumber|normal|subnormal).(f32|f64)", testProperty},
  };
}

}  // namespace shiftconv::emulator::isa
