#include "common/emulator/forms/scalar/compare_forms.hpp"

#include <cmath>
#include <optional>
#include <string_view>
#include <type_traits>

#include "common/emulator/forms/scalar/float_ops.hpp"
#include "common/emulator/forms/scalar/half_ops.hpp"
#include "common/emulator/forms/scalar/lanewise.hpp"
#include "common/emulator/isa/decode_helpers.hpp"

namespace shiftconv::emulator::isa {
namespace {

using ptx::ScalarType;

enum class Relation : uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, Number, Nan };

/// What a comparison operator asks for.
struct Comparison {
  Relation relation;
  bool unordered = false;   ///< true when an operand is NaN
  bool asUnsigned = false;  ///< lo, ls, hi, hs
  bool floatOnly = false;
};

Comparison parseComparison(std::string_view name) {
  if (name == "num") return {Relation::Number, false, false, true};
  if (name == "nan") return {Relation::Nan, false, false, true};
  if (name == "lo") return {Relation::Less, false, true};
  if (name == "ls") return {Relation::LessEqual, false, true};
  if (name == "hi") return {Relation::Greater, false, true};
  if (name == "hs") return {Relation::GreaterEqual, false, true};
  const bool unordered = name.size() == 3;
  const std::string_view base = name.substr(0, 2);
  Relation relation = Relation::GreaterEqual;
  if (base == "eq") relation = Relation::Equal;
  if (base == "ne") relation = Relation::NotEqual;
  if (base == "lt") relation = Relation::Less;
  if (base == "le") relation = Relation::LessEqual;
  if (base == "gt") relation = Relation::Greater;
  return {relation, unordered, false, unordered};
}

template <class T, Relation kRelation>
bool ordered(T a, T b) {
  switch (kRelation) {
    case Relation::Equal:
      return a == b;
    case Relation::NotEqual:
      return a != b;
    case Relation::Less:
      return a < b;
    case Relation::LessEqual:
      return a <= b;
    case Relation::Greater:
      return a > b;
    default:
      return a >= b;
  }
}

template <class T, Relation kRelation, bool kUnordered>
bool compareFloat(T a, T b) {
  const bool nan = std::isnan(a) || std::isnan(b);
  if constexpr (kRelation == Relation::Number) return !nan;
  if constexpr (kRelation == Relation::Nan) return nan;
  return kUnordered ? nan || ordered<T, kRelation>(a, b) : !nan && ordered<T, kRelation>(a, b);
}

/// How the lanes of a register type are read for a comparison.
template <class T>
struct Plain {
  using Lane = T;
  template <Relation kRelation, bool kUnordered>
  static bool compare(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return ordered<T, kRelation>(a, b);
    else
      return compareFloat<T, kRelation, kUnordered>(a, b);
  }
};
struct Flushed32 {
  using Lane = float;
  template <Relation kRelation, bool kUnordered>
  static bool compare(float a, float b) {
    return compareFloat<float, kRelation, kUnordered>(floating::flush(a), floating::flush(b));
  }
};
template <class Half, bool kFlush>
struct HalfLane {
  using Lane = uint16_t;
  template <Relation kRelation, bool kUnordered>
  static bool compare(uint16_t a, uint16_t b) {
    const auto value = [](uint16_t bits) { return Half::toFloat(kFlush ? flush<Half>(bits) : bits); };
    return compareFloat<float, kRelation, kUnordered>(value(a), value(b));
  }
};

// Flags in DecodedInstruction::immediate. The upper half holds what `set` writes when true.
constexpr uint64_t kNegateC = 1;
constexpr uint64_t kAnd = 2;
constexpr uint64_t kOr = 4;
constexpr uint64_t kXor = 8;
constexpr unsigned kNegateBit = 0;
constexpr unsigned kTrueShift = 32;
constexpr size_t kC = 4;  ///< operand index of the predicate c

/// BoolOp(t, c), or t when there is no operator.
LaneMask combine(const Execution& execution, const DecodedInstruction& instruction, LaneMask t) {
  const uint64_t flags = instruction.immediate;
  if ((flags & (kAnd | kOr | kXor)) == 0) return t;
  LaneMask c = execution.predicate(instruction.operand[kC]);
  if ((flags & kNegateC) != 0) c = ~c;
  if ((flags & kAnd) != 0) return t & c;
  return (flags & kOr) != 0 ? t | c : t ^ c;
}

/// Lanes in which a comparison is true. Not inlined: one loop for each comparison, not one for each instruction that compares.
template <auto kCompare>
[[gnu::noinline]] LaneMask trueLanes(const Execution& execution, const DecodedInstruction& instruction) {
  return lanesWhere<kCompare>(execution, instruction, 2);
}

/// setp.CmpOp.type p, a, b
template <auto kCompare>
void setpPlain(Execution& execution, const DecodedInstruction& instruction) {
  assignPredicate(execution.predicate(instruction.operand[0]), execution.mask, trueLanes<kCompare>(execution, instruction));
}

/// Lanes for p and q, or of the low and the high halves.
struct Halves {
  LaneMask low = 0, high = 0;
};

/// p and q, each after the boolean operator, if there is one.
[[gnu::noinline]] void writePredicates(Halves t, Execution& execution, const DecodedInstruction& instruction) {
  const LaneMask p = combine(execution, instruction, t.low);
  const LaneMask q = combine(execution, instruction, t.high);
  assignPredicate(execution.predicate(instruction.operand[0]), execution.mask, p);
  if (instruction.operand[1] != machine::kNoSlot) assignPredicate(execution.predicate(instruction.operand[1]), execution.mask, q);
}

/// setp with p|q or a boolean operator; operand[1] is q.
template <auto kCompare>
void setpFull(Execution& execution, const DecodedInstruction& instruction) {
  const LaneMask t = trueLanes<kCompare>(execution, instruction);
  writePredicates({t, ~t}, execution, instruction);
}

/// Comparisons of the low and of the high halves of packed operands.
template <auto kCompare>
[[gnu::noinline]] Halves comparePacked(const Execution& execution, const DecodedInstruction& instruction) {
  const auto* a = execution.lanes<uint16_t>(instruction.operand[2]);
  const auto* b = execution.lanes<uint16_t>(instruction.operand[3]);
  Halves t;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    t.low |= LaneMask{kCompare(a[2 * lane], b[2 * lane])} << lane;
    t.high |= LaneMask{kCompare(a[2 * lane + 1], b[2 * lane + 1])} << lane;
  }
  return t;
}

/// setp.CmpOp.f16x2 p|q, a, b: p from the low halves, q from the high ones.
template <auto kCompare>
void setpPacked(Execution& execution, const DecodedInstruction& instruction) {
  writePredicates(comparePacked<kCompare>(execution, instruction), execution, instruction);
}

/// What `set` writes: the upper half of the immediate in the lanes of `t`, else zero.
template <class Result>
[[gnu::noinline]] void writeWhere(LaneMask t, Execution& execution, const DecodedInstruction& instruction) {
  const auto whenTrue = static_cast<Result>(instruction.immediate >> kTrueShift);
  Result* const result = execution.lanes<Result>(instruction.operand[0]);
  forLanes(execution.mask, [&](unsigned lane) { result[lane] = (t & kLaneBit[lane]) != 0 ? whenTrue : Result{0}; });
}

template <auto kCompare, class Result>
void set(Execution& execution, const DecodedInstruction& instruction) {
  writeWhere<Result>(combine(execution, instruction, trueLanes<kCompare>(execution, instruction)), execution, instruction);
}

[[gnu::noinline]] void writePacked(Halves t, Execution& execution, const DecodedInstruction& instruction) {
  const LaneMask low = combine(execution, instruction, t.low), high = combine(execution, instruction, t.high);
  const auto whenTrue = static_cast<uint32_t>(instruction.immediate >> kTrueShift);
  auto* const result = execution.lanes<uint32_t>(instruction.operand[0]);
  forLanes(execution.mask, [&](unsigned lane) {
    result[lane] = ((low & kLaneBit[lane]) != 0 ? whenTrue : 0) | ((high & kLaneBit[lane]) != 0 ? whenTrue << 16 : 0);
  });
}

template <auto kCompare>
void setPacked(Execution& execution, const DecodedInstruction& instruction) {
  writePacked(comparePacked<kCompare>(execution, instruction), execution, instruction);
}

/// The handlers that a comparison of one lane type can need.
struct Handlers {
  Handler setpPlain, setpFull, setpPacked, set16, set32, setPacked;
};

template <auto kCompare>
Handlers handlersOf() {
  Handlers result{isa::setpPlain<kCompare>, isa::setpFull<kCompare>, nullptr,
                  set<kCompare, uint16_t>,  set<kCompare, uint32_t>, nullptr};
  if constexpr (std::is_same_v<decltype(kCompare), bool (*)(uint16_t, uint16_t)>) {
    result.setpPacked = isa::setpPacked<kCompare>;
    result.setPacked = isa::setPacked<kCompare>;
  }
  return result;
}

template <class Lanes, Relation kRelation>
Handlers forOrder(bool unordered) {
  if constexpr (std::is_integral_v<typename Lanes::Lane> && std::is_same_v<Lanes, Plain<typename Lanes::Lane>>) {
    return handlersOf<&Lanes::template compare<kRelation, false>>();
  } else {
    return unordered ? handlersOf<&Lanes::template compare<kRelation, true>>()
                     : handlersOf<&Lanes::template compare<kRelation, false>>();
  }
}

template <class Lanes>
Handlers forComparison(const Comparison& comparison) {
  const bool unordered = comparison.unordered;
  switch (comparison.relation) {
    case Relation::Equal:
      return forOrder<Lanes, Relation::Equal>(unordered);
    case Relation::NotEqual:
      return forOrder<Lanes, Relation::NotEqual>(unordered);
    case Relation::Less:
      return forOrder<Lanes, Relation::Less>(unordered);
    case Relation::LessEqual:
      return forOrder<Lanes, Relation::LessEqual>(unordered);
    case Relation::Greater:
      return forOrder<Lanes, Relation::Greater>(unordered);
    case Relation::GreaterEqual:
      return forOrder<Lanes, Relation::GreaterEqual>(unordered);
    default:
      break;
  }
  if constexpr (!(std::is_integral_v<typename Lanes::Lane> && std::is_same_v<Lanes, Plain<typename Lanes::Lane>>)) {
    if (comparison.relation == Relation::Number) return handlersOf<&Lanes::template compare<Relation::Number, false>>();
    return handlersOf<&Lanes::template compare<Relation::Nan, false>>();
  }
  return {};
}

Handlers selectHandlers(DecodeContext& context, ScalarType type, const Comparison& comparison, bool flush) {
  const bool isFloat = type == ScalarType::F32 || type == ScalarType::F64 || type == ScalarType::F16 || type == ScalarType::F16x2 ||
                       type == ScalarType::BF16 || type == ScalarType::BF16x2;
  const bool isBits = type == ScalarType::B16 || type == ScalarType::B32 || type == ScalarType::B64;
  const bool isSigned = type == ScalarType::S16 || type == ScalarType::S32 || type == ScalarType::S64;
  if (comparison.floatOnly && !isFloat) context.illegal("This comparison operator exists for floating-point types only.");
  if (comparison.asUnsigned && (isFloat || isBits || isSigned))
    context.illegal("lo, ls, hi and hs compare unsigned integers only.");
  if (isBits && comparison.relation != Relation::Equal && comparison.relation != Relation::NotEqual)
    context.illegal("Bit types can only be compared with eq and ne.");
  if (flush && type != ScalarType::F32 && type != ScalarType::F16 && type != ScalarType::F16x2)
    context.illegal("'.ftz' applies to comparisons of f32, f16 and f16x2 only.");
  switch (type) {
    case ScalarType::B16:
    case ScalarType::U16:
      return forComparison<Plain<uint16_t>>(comparison);
    case ScalarType::S16:
      return forComparison<Plain<int16_t>>(comparison);
    case ScalarType::B32:
    case ScalarType::U32:
      return forComparison<Plain<uint32_t>>(comparison);
    case ScalarType::S32:
      return forComparison<Plain<int32_t>>(comparison);
    case ScalarType::B64:
    case ScalarType::U64:
      return forComparison<Plain<uint64_t>>(comparison);
    case ScalarType::S64:
      return forComparison<Plain<int64_t>>(comparison);
    case ScalarType::F32:
      return flush ? forComparison<Flushed32>(comparison) : forComparison<Plain<float>>(comparison);
    case ScalarType::F64:
      return forComparison<Plain<double>>(comparison);
    case ScalarType::F16:
    case ScalarType::F16x2:
      return flush ? forComparison<HalfLane<F16, true>>(comparison) : forComparison<HalfLane<F16, false>>(comparison);
    default:
      return forComparison<HalfLane<Bf16, false>>(comparison);
  }
}

/// a, b and the optional c after the destination; returns whether there is a boolean operator.
bool decodeCompared(DecodeContext& context, std::string_view boolean, ScalarType type) {
  const auto& operands = context.instruction().operands;
  expectOperands(context, boolean.empty() ? 3 : 4);
  DecodedInstruction& out = context.out();
  out.operand[2] = context.source(operands[1], type);
  out.operand[3] = context.source(operands[2], type);
  if (boolean.empty()) return false;
  out.immediate |= boolean == "and" ? kAnd : boolean == "or" ? kOr : kXor;
  decodePredicate(context, operands[3], kC, kNegateBit);
  return true;
}

void decodeSetp(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  const Handlers handlers = selectHandlers(context, type, parseComparison(match.group(0)), match.has("ftz"));
  const bool combined = decodeCompared(context, match.group(1), type);
  const ptx::Operand& destination = context.instruction().operands[0];
  DecodedInstruction& out = context.out();
  const bool dual = destination.kind == ptx::Operand::Kind::Dual;
  out.operand[0] = context.predicateDestination(dual ? destination.elements[0] : destination);
  if (dual) out.operand[1] = context.predicateDestination(destination.elements[1]);
  out.handler = isPacked(type) ? handlers.setpPacked : combined || dual ? handlers.setpFull : handlers.setpPlain;
}

/// What `set` writes into one element of the destination when the result is true: all ones, or 1.0 of the type.
uint64_t trueValue(DecodeContext& context, ScalarType result, ScalarType source) {
  switch (result) {
    case ScalarType::U16:
    case ScalarType::S16:
      return 0xffff;
    case ScalarType::U32:
    case ScalarType::S32:
      return isPacked(source) ? 0xffff : 0xffff'ffff;
    case ScalarType::F32:
      return 0x3f80'0000;
    case ScalarType::F16:
    case ScalarType::F16x2:
      return F16::kOne;
    case ScalarType::BF16:
    case ScalarType::BF16x2:
      return Bf16::kOne;
    default:
      context.illegal("This type cannot be the result of 'set'.");
  }
}

void decodeSet(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  const ScalarType result = *ptx::scalarType(match.group(3));
  if (isPacked(type) != (isPacked(result) || (isPacked(type) && sizeOf(result) == 4 && result != ScalarType::F32)))
    context.illegal("Packed operands of 'set' need a packed or 32-bit integer result, and single ones a single result.");
  const Handlers handlers = selectHandlers(context, type, parseComparison(match.group(0)), match.has("ftz"));
  decodeCompared(context, match.group(1), type);
  DecodedInstruction& out = context.out();
  out.operand[0] = context.destination(context.instruction().operands[0], result);
  out.immediate |= trueValue(context, result, type) << kTrueShift;
  out.handler = isPacked(type) ? handlers.setPacked : sizeOf(result) == 2 ? handlers.set16 : handlers.set32;
}

template <class T, bool kNegated>
void select(Execution& execution, const DecodedInstruction& instruction) {
  const LaneMask chosen = kNegated ? ~execution.predicate(instruction.operand[3]) : execution.predicate(instruction.operand[3]);
  const T* const a = execution.lanes<T>(instruction.operand[1]);
  const T* const b = execution.lanes<T>(instruction.operand[2]);
  T* const result = execution.lanes<T>(instruction.operand[0]);
  forLanes(execution.mask, [&](unsigned lane) { result[lane] = (chosen & kLaneBit[lane]) != 0 ? a[lane] : b[lane]; });
}

template <bool kNegated>
Handler selectBySize(size_t bytes) {
  return bytes == 2 ? select<uint16_t, kNegated> : bytes == 4 ? select<uint32_t, kNegated> : select<uint64_t, kNegated>;
}

void decodeSelp(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  expectOperands(context, 4);
  const auto& operands = context.instruction().operands;
  DecodedInstruction& out = context.out();
  out.operand[1] = context.source(operands[1], type);
  out.operand[2] = context.source(operands[2], type);
  bool negated = false;
  out.operand[3] = context.predicateSource(operands[3], negated);
  out.operand[0] = context.destination(operands[0], type);
  out.handler = negated ? selectBySize<true>(sizeOf(type)) : selectBySize<false>(sizeOf(type));
}

/// slct: a when c >= 0; a NaN is not, -0 is.
template <class T, class C, bool kFlush>
T selectBySign(T a, T b, C c) {
  if constexpr (kFlush)
    return floating::flush(c) >= 0 ? a : b;
  else
    return c >= 0 ? a : b;
}

template <class C, bool kFlush>
Handler selectBySignOf(size_t bytes) {
  if (bytes == 2) return lanewise<&selectBySign<uint16_t, C, kFlush>>;
  return bytes == 4 ? lanewise<&selectBySign<uint32_t, C, kFlush>> : lanewise<&selectBySign<uint64_t, C, kFlush>>;
}

void decodeSlct(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = *ptx::scalarType(match.group(match.groups_.size() - 2));
  const bool byFloat = match.type() == ScalarType::F32;
  const size_t bytes = sizeOf(type);
  const Handler handler = !byFloat           ? selectBySignOf<int32_t, false>(bytes)
                          : match.has("ftz") ? selectBySignOf<float, true>(bytes)
                                             : selectBySignOf<float, false>(bytes);
  decodeOperands(context, handler, type, {type, type, match.type()});
}

}  // namespace

FormFamily compareForms() {
  return {
      {"setp.(eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan){.(and|or|xor)}{.ftz}"
       ".(b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64|f16|f16x2|bf16|bf16x2)",
       decodeSetp},
      {"set.(eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan){.(and|or|xor)}{.ftz}.(u32|s32|f32|u16|s16|f16|f16x2|"
       "bf16|bf16x2)"
       ".(b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64|f16|f16x2|bf16|bf16x2)",
       decodeSet},
      {"selp.(b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64)", decodeSelp},
      {"slct.(b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64).s32", decodeSlct},
      {"slct{.ftz}.(b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64).f32", decodeSlct},
  };
}

}  // namespace shiftconv::emulator::isa
