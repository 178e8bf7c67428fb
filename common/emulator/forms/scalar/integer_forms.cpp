// Integer arithmetic (PTX ISA 9.0, 9.7.1); the forms with the carry flag are in carry_forms.cpp.
#include "common/emulator/forms/scalar/carry_forms.hpp"
#include "common/emulator/forms/scalar/integer_ops.hpp"
#include "common/emulator/forms/scalar/lanewise.hpp"
#include "common/emulator/isa/decode_helpers.hpp"
#include "common/emulator/isa/form.hpp"

namespace shiftconv::emulator::isa {
namespace {

using ptx::ScalarType;

/// A destination and kSources sources, all of the instruction type; `select` gives the handler for a C++ type.
template <unsigned kSources, class Select>
void decodeUniform(DecodeContext& context, const FormMatch& match, Select select) {
  const ScalarType type = match.type();
  const Handler handler = forInteger(context, type, select);
  if constexpr (kSources == 1) decodeOperands(context, handler, type, {type});
  if constexpr (kSources == 2) decodeOperands(context, handler, type, {type, type});
  if constexpr (kSources == 3) decodeOperands(context, handler, type, {type, type, type});
}

template <unsigned kSources, auto kSelect>
void uniform(DecodeContext& context, const FormMatch& match) {
  decodeUniform<kSources>(context, match, kSelect);
}

/// .lo or .hi of an operation.
template <unsigned kSources, auto kLow, auto kHigh>
void lowOrHigh(DecodeContext& context, const FormMatch& match) {
  match.group(0) == "lo" ? decodeUniform<kSources>(context, match, kLow) : decodeUniform<kSources>(context, match, kHigh);
}

/// d.s32 = Function(sources.s32)
template <unsigned kSources, auto kFunction>
void signed32(DecodeContext& context, const FormMatch&) {
  constexpr ScalarType kType = ScalarType::S32;
  if constexpr (kSources == 2) decodeOperands(context, lanewise<kFunction>, kType, {kType, kType});
  if constexpr (kSources == 3) decodeOperands(context, lanewise<kFunction>, kType, {kType, kType, kType});
}

/// Two 16-bit integers in each 32-bit register.
template <auto kSigned, auto kUnsigned>
void packed16(DecodeContext& context, const FormMatch& match) {
  const Handler handler = match.has("s16x2") ? Handler{lanewise<kSigned, 2>} : Handler{lanewise<kUnsigned, 2>};
  decodeOperands(context, handler, ScalarType::B32, {ScalarType::B32, ScalarType::B32});
}

/// min.relu and max.relu
template <auto kScalar, auto kPacked>
void relu(DecodeContext& context, const FormMatch& match) {
  const Handler handler = match.has("s16x2") ? Handler{lanewise<kPacked, 2>} : Handler{lanewise<kScalar>};
  decodeOperands(context, handler, ScalarType::B32, {ScalarType::B32, ScalarType::B32});
}

ScalarType wideType(DecodeContext& context, ScalarType type) {
  switch (type) {
    case ScalarType::U16:
      return ScalarType::U32;
    case ScalarType::S16:
      return ScalarType::S32;
    case ScalarType::U32:
      return ScalarType::U64;
    case ScalarType::S32:
      return ScalarType::S64;
    default:
      context.illegal("The wide form works on integers of 16 or 32 bits.");
  }
}

template <template <class> class Op>
Handler selectWide(DecodeContext& context, ScalarType type) {
  switch (type) {
    case ScalarType::U16:
      return lanewise<&Op<uint16_t>::apply>;
    case ScalarType::S16:
      return lanewise<&Op<int16_t>::apply>;
    case ScalarType::U32:
      return lanewise<&Op<uint32_t>::apply>;
    case ScalarType::S32:
      return lanewise<&Op<int32_t>::apply>;
    default:
      context.illegal("The wide form works on integers of 16 or 32 bits.");
  }
}

template <class T>
struct MultiplyWide {
  static integer::WideOf<T> apply(T a, T b) { return integer::multiplyWide(a, b); }
};
template <class T>
struct MultiplyAddWide {
  static integer::WideOf<T> apply(T a, T b, integer::WideOf<T> c) { return integer::multiplyAddWide(a, b, c); }
};

void multiplyWide(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  decodeOperands(context, selectWide<MultiplyWide>(context, type), wideType(context, type), {type, type});
}

void multiplyAddWide(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  const ScalarType wide = wideType(context, type);
  decodeOperands(context, selectWide<MultiplyAddWide>(context, type), wide, {type, type, wide});
}

/// mul24 and mad24 exist for 32-bit types only.
template <unsigned kSources, auto kUnsignedLow, auto kUnsignedHigh, auto kSignedLow, auto kSignedHigh>
void multiply24(DecodeContext& context, const FormMatch& match) {
  const bool low = match.group(0) == "lo";
  const ScalarType type = match.type();
  Handler handler = low ? lanewise<kUnsignedLow> : lanewise<kUnsignedHigh>;
  if (type == ScalarType::S32) handler = low ? lanewise<kSignedLow> : lanewise<kSignedHigh>;
  if constexpr (kSources == 2) decodeOperands(context, handler, type, {type, type});
  if constexpr (kSources == 3) decodeOperands(context, handler, type, {type, type, type});
}

/// popc, clz: the result is .u32 whatever the source.
template <auto k32, auto k64>
void countBits(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  decodeOperands(context, sizeOf(type) == 8 ? Handler{lanewise<k64>} : Handler{lanewise<k32>}, ScalarType::U32, {type});
}

template <bool kShiftAmount>
Handler selectFind(DecodeContext& context, ScalarType type) {
  return forWideInteger(context, type,
                        []<class T>() -> Handler { return lanewise<&integer::findMostSignificant<T, kShiftAmount>>; });
}

void findMostSignificant(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  const Handler handler = match.has("shiftamt") ? selectFind<true>(context, type) : selectFind<false>(context, type);
  decodeOperands(context, handler, ScalarType::U32, {type});
}

void findNthSet(DecodeContext& context, const FormMatch&) {
  decodeOperands(context, lanewise<&integer::findNthSet>, ScalarType::B32, {ScalarType::B32, ScalarType::B32, ScalarType::S32});
}

void reverseBits(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  const Handler handler =
      sizeOf(type) == 8 ? Handler{lanewise<&integer::reverseBits<uint64_t>>} : Handler{lanewise<&integer::reverseBits<uint32_t>>};
  decodeOperands(context, handler, type, {type});
}

void extractField(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  const Handler handler = forWideInteger(context, type, []<class T>() -> Handler { return lanewise<&integer::extractField<T>>; });
  decodeOperands(context, handler, type, {type, ScalarType::U32, ScalarType::U32});
}

void insertField(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  const Handler handler =
      sizeOf(type) == 8 ? Handler{lanewise<&integer::insertField<uint64_t>>} : Handler{lanewise<&integer::insertField<uint32_t>>};
  decodeOperands(context, handler, type, {type, type, ScalarType::U32, ScalarType::U32});
}

void extendFrom(DecodeContext& context, const FormMatch& match) {
  const bool wrap = match.has("wrap");
  const ScalarType type = match.type();
  Handler handler = wrap ? lanewise<&integer::extendFrom<uint32_t, true>> : lanewise<&integer::extendFrom<uint32_t, false>>;
  if (type == ScalarType::S32)
    handler = wrap ? lanewise<&integer::extendFrom<int32_t, true>> : lanewise<&integer::extendFrom<int32_t, false>>;
  decodeOperands(context, handler, type, {type, ScalarType::U32});
}

void bitMask(DecodeContext& context, const FormMatch& match) {
  const Handler handler =
      match.has("wrap") ? Handler{lanewise<&integer::bitMask<true>>} : Handler{lanewise<&integer::bitMask<false>>};
  decodeOperands(context, handler, ScalarType::B32, {ScalarType::U32, ScalarType::U32});
}

/// vabsdiff2, vabsdiff4: the lanes of a register in parallel; with .add the sum of all differences and c.
template <class Lane, bool kAdd>
uint32_t absoluteDifferences(uint32_t a, uint32_t b, uint32_t c) {
  constexpr unsigned kBits = sizeof(Lane) * 8;
  uint32_t result = 0;
  uint32_t total = c;
  for (unsigned shift = 0; shift < 32; shift += kBits) {
    const int32_t difference =
        static_cast<int32_t>(static_cast<Lane>(a >> shift)) - static_cast<int32_t>(static_cast<Lane>(b >> shift));
    const auto magnitude = static_cast<uint32_t>(difference < 0 ? -difference : difference);
    total += magnitude;
    result |= (magnitude & ((1u << kBits) - 1)) << shift;
  }
  return kAdd ? total : result;
}

template <class Unsigned, class Signed>
void absoluteDifferences(DecodeContext& context, const FormMatch& match) {
  const bool isSigned = match.group(1) == "s32";
  if (isSigned != (match.group(2) == "s32")) context.unsupported("Lanes of different signedness are not supported here.");
  Handler handler = isSigned ? lanewise<&absoluteDifferences<Signed, false>> : lanewise<&absoluteDifferences<Unsigned, false>>;
  if (match.has("add"))
    handler = isSigned ? lanewise<&absoluteDifferences<Signed, true>> : lanewise<&absoluteDifferences<Unsigned, true>>;
  decodeOperands(context, handler, ScalarType::B32, {ScalarType::B32, ScalarType::B32, ScalarType::B32});
}

void dotProduct4(DecodeContext& context, const FormMatch& match) {
  const bool signedA = match.group(0) == "s32";
  const bool signedB = match.group(1) == "s32";
  Handler handler = signedB ? lanewise<&integer::dotProduct4<uint8_t, int8_t>> : lanewise<&integer::dotProduct4<uint8_t, uint8_t>>;
  if (signedA)
    handler = signedB ? lanewise<&integer::dotProduct4<int8_t, int8_t>> : lanewise<&integer::dotProduct4<int8_t, uint8_t>>;
  decodeOperands(context, handler, ScalarType::B32, {ScalarType::B32, ScalarType::B32, ScalarType::B32});
}

template <class A, class B>
Handler selectDotProduct2(bool high) {
  return high ? lanewise<&integer::dotProduct2<A, B, true>> : lanewise<&integer::dotProduct2<A, B, false>>;
}

void dotProduct2(DecodeContext& context, const FormMatch& match) {
  const bool high = match.group(0) == "hi";
  const bool signedB = match.group(2) == "s32";
  Handler handler = signedB ? selectDotProduct2<uint16_t, int8_t>(high) : selectDotProduct2<uint16_t, uint8_t>(high);
  if (match.group(1) == "s32")
    handler = signedB ? selectDotProduct2<int16_t, int8_t>(high) : selectDotProduct2<int16_t, uint8_t>(high);
  decodeOperands(context, handler, ScalarType::B32, {ScalarType::B32, ScalarType::B32, ScalarType::B32});
}

}  // namespace

FormFamily integerForms() {
  using namespace integer;
  FormFamily forms = {
      {"add.(u16|u32|u64|s16|s32|s64)", uniform<2, []<class T>() -> Handler { return lanewise<&add<T>>; }>},
      {"add.sat.s32", signed32<2, &addSaturate>},
      {"add.(u16x2|s16x2)", packed16<&add<int16_t>, &add<uint16_t>>},
      {"sub.(u16|u32|u64|s16|s32|s64)", uniform<2, []<class T>() -> Handler { return lanewise<&subtract<T>>; }>},
      {"sub.sat.s32", signed32<2, &subtractSaturate>},
      {"mul.(lo|hi).(u16|u32|u64|s16|s32|s64)", lowOrHigh<2, []<class T>() -> Handler { return lanewise<&multiplyLow<T>>; },
                                                          []<class T>() -> Handler { return lanewise<&multiplyHigh<T>>; }>},
      {"mul.wide.(u16|u32|s16|s32)", isa::multiplyWide},
      {"mad.(lo|hi).(u16|u32|u64|s16|s32|s64)", lowOrHigh<3, []<class T>() -> Handler { return lanewise<&multiplyAddLow<T>>; },
                                                          []<class T>() -> Handler { return lanewise<&multiplyAddHigh<T>>; }>},
      {"mad.wide.(u16|u32|s16|s32)", isa::multiplyAddWide},
      {"mad.hi.sat.s32", signed32<3, &multiplyAddHighSaturate>},
      {"mul24.(lo|hi).(u32|s32)",
       multiply24<2, &multiply24Low<uint32_t>, &multiply24High<uint32_t>, &multiply24Low<int32_t>, &multiply24High<int32_t>>},
      {"mad24.(lo|hi).(u32|s32)", multiply24<3, &multiplyAdd24Low<uint32_t>, &multiplyAdd24High<uint32_t>,
                                             &multiplyAdd24Low<int32_t>, &multiplyAdd24High<int32_t>>},
      {"mad24.hi.sat.s32", signed32<3, &multiplyAdd24HighSaturate>},
      {"sad.(u16|u32|u64|s16|s32|s64)", uniform<3, []<class T>() -> Handler { return lanewise<&sumOfAbsoluteDifference<T>>; }>},
      {"div.(u16|u32|u64|s16|s32|s64)", uniform<2, []<class T>() -> Handler { return lanewise<&divide<T>>; }>},
      {"rem.(u16|u32|u64|s16|s32|s64)", uniform<2, []<class T>() -> Handler { return lanewise<&remainder<T>>; }>},
      {"abs.(s16|s32|s64)", uniform<1, []<class T>() -> Handler { return lanewise<&absolute<T>>; }>},
      {"neg.(s16|s32|s64)", uniform<1, []<class T>() -> Handler { return lanewise<&negate<T>>; }>},
      {"min.(u16|u32|u64|s16|s32|s64)", uniform<2, []<class T>() -> Handler { return lanewise<&minimum<T>>; }>},
      {"min.(u16x2|s16x2)", packed16<&minimum<int16_t>, &minimum<uint16_t>>},
      {"min.relu.(s16x2|s32)", relu<&minimumRelu<int32_t>, &minimumRelu<int16_t>>},
      {"max.(u16|u32|u64|s16|s32|s64)", uniform<2, []<class T>() -> Handler { return lanewise<&maximum<T>>; }>},
      {"max.(u16x2|s16x2)", packed16<&maximum<int16_t>, &maximum<uint16_t>>},
      {"max.relu.(s16x2|s32)", relu<&maximumRelu<int32_t>, &maximumRelu<int16_t>>},
      {"popc.(b32|b64)", countBits<&populationCount<uint32_t>, &populationCount<uint64_t>>},
      {"clz.(b32|b64)", countBits<&countLeadingZeros<uint32_t>, &countLeadingZeros<uint64_t>>},
      {"bfind{.shiftamt}.(u32|u64|s32|s64)", isa::findMostSignificant},
      {"fns.b32", isa::findNthSet},
      {"brev.(b32|b64)", isa::reverseBits},
      {"bfe.(u32|u64|s32|s64)", isa::extractField},
      {"bfi.(b32|b64)", isa::insertField},
      {"szext.(clamp|wrap).(u32|s32)", isa::extendFrom},
      {"bmsk.(clamp|wrap).b32", isa::bitMask},
      {"vabsdiff2.(u32|s32).(u32|s32).(u32|s32){.add}", isa::absoluteDifferences<uint16_t, int16_t>},
      {"vabsdiff4.(u32|s32).(u32|s32).(u32|s32){.add}", isa::absoluteDifferences<uint8_t, int8_t>},
      {"dp4a.(u32|s32).(u32|s32)", isa::dotProduct4},
      {"dp2a.(lo|hi).(u32|s32).(u32|s32)", isa::dotProduct2},
  };
  const FormFamily carry = carryForms();
  forms.insert(forms.end(), carry.begin(), carry.end());
  return forms;
}

}  // namespace shiftconv::emulator::isa
