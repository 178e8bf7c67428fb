// Logic, shifts and permutes (PTX ISA 9.0, 9.7.8 and 9.7.9.7); moves and comparisons come from their own files.
#include <array>
#include <string_view>

#include "common/emulator/forms/scalar/compare_forms.hpp"
#include "common/emulator/forms/scalar/lanewise.hpp"
#include "common/emulator/forms/scalar/move_forms.hpp"
#include "common/emulator/isa/decode_helpers.hpp"
#include "common/emulator/isa/form.hpp"

namespace shiftconv::emulator::isa {
namespace {

using ptx::ScalarType;

template <class T>
T conjunction(T a, T b) {
  return a & b;
}
template <class T>
T disjunction(T a, T b) {
  return a | b;
}
template <class T>
T exclusiveOr(T a, T b) {
  return a ^ b;
}
template <class T>
T complement(T a) {
  return static_cast<T>(~a);
}
template <class T>
T logicalNot(T a) {
  return a == 0;
}

template <class T>
inline constexpr uint32_t kBits = sizeof(T) * 8;

template <class T>
T shiftLeft(T a, uint32_t b) {
  return b < kBits<T> ? static_cast<T>(a << b) : T{0};
}
/// Arithmetic for signed types; amounts beyond the width fill with zero or the sign.
template <class T>
T shiftRight(T a, uint32_t b) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(a >> (b < kBits<T> ? b : kBits<T> - 1));
  else
    return b < kBits<T> ? static_cast<T>(a >> b) : T{0};
}

/// shf: the middle of {b, a} shifted by c.
template <bool kLeft, bool kWrap>
uint32_t funnelShift(uint32_t a, uint32_t b, uint32_t c) {
  const uint32_t amount = kWrap ? c & 31 : (c < 32 ? c : 32);
  const uint64_t both = uint64_t{b} << 32 | a;
  return static_cast<uint32_t>(kLeft ? both << amount >> 32 : both >> amount);
}

template <class Make>
Handler forBits(ScalarType type, Make make) {
  switch (sizeOf(type)) {
    case 2:
      return make.template operator()<uint16_t>();
    case 4:
      return make.template operator()<uint32_t>();
    default:
      return make.template operator()<uint64_t>();
  }
}

// Bits of `immediate` for predicate operations.
constexpr unsigned kNegateA = 0;
constexpr unsigned kNegateB = 1;

template <auto kOperation>
void predicateBinary(Execution& execution, const DecodedInstruction& instruction) {
  const uint64_t negate = instruction.immediate;
  LaneMask a = execution.predicate(instruction.operand[1]);
  LaneMask b = execution.predicate(instruction.operand[2]);
  if ((negate >> kNegateA & 1) != 0) a = ~a;
  if ((negate >> kNegateB & 1) != 0) b = ~b;
  assignPredicate(execution.predicate(instruction.operand[0]), execution.mask, kOperation(a, b));
}

void predicateNot(Execution& execution, const DecodedInstruction& instruction) {
  const LaneMask a = execution.predicate(instruction.operand[1]);
  assignPredicate(execution.predicate(instruction.operand[0]), execution.mask,
                  (instruction.immediate >> kNegateA & 1) != 0 ? a : ~a);
}

void decodePredicates(DecodeContext& context, Handler handler, size_t sources) {
  expectOperands(context, sources + 1);
  const auto& operands = context.instruction().operands;
  DecodedInstruction& out = context.out();
  out.handler = handler;
  for (size_t i = 0; i < sources; ++i) decodePredicate(context, operands[i + 1], i + 1, static_cast<unsigned>(i));
  out.operand[0] = context.predicateDestination(operands[0]);
}

template <auto kSelect, auto kPredicate>
void binary(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  if (type == ScalarType::Pred) return decodePredicates(context, predicateBinary<kPredicate>, 2);
  decodeOperands(context, forBits(type, kSelect), type, {type, type});
}

void decodeNot(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  if (type == ScalarType::Pred) return decodePredicates(context, predicateNot, 1);
  decodeOperands(context, forBits(type, []<class T>() -> Handler { return lanewise<&complement<T>>; }), type, {type});
}

void decodeLogicalNot(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  decodeOperands(context, forBits(type, []<class T>() -> Handler { return lanewise<&logicalNot<T>>; }), type, {type});
}

void decodeShiftLeft(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  decodeOperands(context, forBits(type, []<class T>() -> Handler { return bestLanewise<&shiftLeft<T>>(); }), type,
                 {type, ScalarType::U32});
}

void decodeShiftRight(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  const Handler handler = forInteger(context, type, []<class T>() -> Handler { return bestLanewise<&shiftRight<T>>(); });
  decodeOperands(context, handler, type, {type, ScalarType::U32});
}

void decodeFunnelShift(DecodeContext& context, const FormMatch& match) {
  const bool wrap = match.group(1) == "wrap";
  const Handler handler = match.group(0) == "l"
                              ? (wrap ? bestLanewise<&funnelShift<true, true>>() : bestLanewise<&funnelShift<true, false>>())
                              : (wrap ? bestLanewise<&funnelShift<false, true>>() : bestLanewise<&funnelShift<false, false>>());
  decodeOperands(context, handler, ScalarType::B32, {ScalarType::B32, ScalarType::B32, ScalarType::U32});
}

/// Sum of the minterms that the table selects (0xF0, 0xCC and 0xAA stand for a, b and c).
uint32_t lookUp(uint32_t a, uint32_t b, uint32_t c, const std::array<uint32_t, 8>& table) {
  const uint32_t c0 = (table[0] & ~c) | (table[1] & c);
  const uint32_t c1 = (table[2] & ~c) | (table[3] & c);
  const uint32_t c2 = (table[4] & ~c) | (table[5] & c);
  const uint32_t c3 = (table[6] & ~c) | (table[7] & c);
  return (((c0 & ~b) | (c1 & b)) & ~a) | (((c2 & ~b) | (c3 & b)) & a);
}

// `immediate` of lop3: the table in the low byte, then these flags.
constexpr uint64_t kLop3And = 1u << 8;
constexpr unsigned kLop3NegateQ = 9;

/// operand[4] is p and operand[5] is q when there is a boolean operator.
void lop3(Execution& execution, const DecodedInstruction& instruction) {
  const auto* a = execution.lanes<uint32_t>(instruction.operand[1]);
  const auto* b = execution.lanes<uint32_t>(instruction.operand[2]);
  const auto* c = execution.lanes<uint32_t>(instruction.operand[3]);
  auto* result = execution.lanes<uint32_t>(instruction.operand[0]);
  std::array<uint32_t, 8> table{};
  for (unsigned i = 0; i < table.size(); ++i) table[i] = (instruction.immediate >> i & 1) != 0 ? 0xffff'ffffu : 0u;
  forLanes(execution.mask, [&](unsigned lane) { result[lane] = lookUp(a[lane], b[lane], c[lane], table); });
  if (instruction.operand[4] == machine::kNoSlot) return;
  LaneMask nonZero = 0;
  forLanes(execution.mask, [&](unsigned lane) { nonZero |= LaneMask{result[lane] != 0} << lane; });
  LaneMask q = execution.predicate(instruction.operand[5]);
  if ((instruction.immediate >> kLop3NegateQ & 1) != 0) q = ~q;
  assignPredicate(execution.predicate(instruction.operand[4]), execution.mask,
                  (instruction.immediate & kLop3And) != 0 ? nonZero & q : nonZero | q);
}

void decodeLop3(DecodeContext& context, const FormMatch& match) {
  const std::string_view boolean = match.group(0);
  expectOperands(context, boolean.empty() ? 5 : 6);
  const auto& operands = context.instruction().operands;
  DecodedInstruction& out = context.out();
  out.handler = lop3;
  for (size_t i = 1; i <= 3; ++i) out.operand[i] = context.source(operands[i], ScalarType::B32);
  const uint64_t table = context.integer(operands[4]);
  if (table > 0xff) context.illegal("The look-up table of lop3 is a constant from 0 to 255.");
  out.immediate = table;
  if (boolean.empty()) {
    out.operand[0] = context.destination(operands[0], ScalarType::B32);
    return;
  }
  if (operands[0].kind != ptx::Operand::Kind::Dual) context.illegal("lop3 with a boolean operator writes d|p.");
  if (boolean == "and") out.immediate |= kLop3And;
  decodePredicate(context, operands[5], 5, kLop3NegateQ);
  out.operand[0] = context.destination(operands[0].elements[0], ScalarType::B32);
  out.operand[4] = context.predicateDestination(operands[0].elements[1]);
}

/// Byte `selector & 7` of {b, a}; bit 3 replicates its sign.
uint32_t selectByte(uint64_t bytes, uint32_t selector) {
  const auto byte = static_cast<uint32_t>(bytes >> (8 * (selector & 7)) & 0xff);
  return (selector & 8) != 0 ? ((byte & 0x80) != 0 ? 0xffu : 0u) : byte;
}

uint32_t permute(uint32_t a, uint32_t b, uint32_t c) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) result |= selectByte(bytes, c >> (4 * i) & 0xf) << (8 * i);
  return result;
}

enum class PermuteMode : uint8_t { Forward4, Backward4, Replicate8, EdgeLeft, EdgeRight, Replicate16 };

/// The special modes: source byte of result byte i for control n (table 43 of the PTX ISA).
template <PermuteMode kMode>
uint32_t permuteMode(uint32_t a, uint32_t b, uint32_t c) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  const uint32_t n = c & 3;
  uint32_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t source = n;
    if (kMode == PermuteMode::Forward4) source = n + i;
    if (kMode == PermuteMode::Backward4) source = (n - i) & 7;
    if (kMode == PermuteMode::EdgeLeft) source = i > n ? i : n;
    if (kMode == PermuteMode::EdgeRight) source = i < n ? i : n;
    if (kMode == PermuteMode::Replicate16) source = (i & 1) + 2 * (n & 1);
    result |= selectByte(bytes, source) << (8 * i);
  }
  return result;
}

void decodePermute(DecodeContext& context, const FormMatch& match) {
  const std::string_view mode = match.group(1);
  Handler handler = lanewise<&permute>;
  if (mode == "f4e") handler = lanewise<&permuteMode<PermuteMode::Forward4>>;
  if (mode == "b4e") handler = lanewise<&permuteMode<PermuteMode::Backward4>>;
  if (mode == "rc8") handler = lanewise<&permuteMode<PermuteMode::Replicate8>>;
  if (mode == "ecl") handler = lanewise<&permuteMode<PermuteMode::EdgeLeft>>;
  if (mode == "ecr") handler = lanewise<&permuteMode<PermuteMode::EdgeRight>>;
  if (mode == "rc16") handler = lanewise<&permuteMode<PermuteMode::Replicate16>>;
  decodeOperands(context, handler, ScalarType::B32, {ScalarType::B32, ScalarType::B32, ScalarType::B32});
}

}  // namespace

FormFamily logicForms() {
  FormFamily forms = {
      {"and.(pred|b16|b32|b64)", binary<[]<class T>() -> Handler { return lanewise<&conjunction<T>>; }, &conjunction<LaneMask>>},
      {"or.(pred|b16|b32|b64)", binary<[]<class T>() -> Handler { return lanewise<&disjunction<T>>; }, &disjunction<LaneMask>>},
      {"xor.(pred|b16|b32|b64)", binary<[]<class T>() -> Handler { return lanewise<&exclusiveOr<T>>; }, &exclusiveOr<LaneMask>>},
      {"not.(pred|b16|b32|b64)", decodeNot},
      {"cnot.(b16|b32|b64)", decodeLogicalNot},
      {"shl.(b16|b32|b64)", decodeShiftLeft},
      {"shr.(b16|b32|b64|u16|u32|u64|s16|s32|s64)", decodeShiftRight},
      {"shf.(l|r).(clamp|wrap).b32", decodeFunnelShift},
      {"lop3{.(or|and)}.b32", decodeLop3},
      {"prmt.b32{.(f4e|b4e|rc8|ecl|ecr|rc16)}", decodePermute},
  };
  for (const auto family : {moveForms, compareForms}) {
    const FormFamily rows = family();
    forms.insert(forms.end(), rows.begin(), rows.end());
  }
  return forms;
}

}  // namespace shiftconv::emulator::isa
