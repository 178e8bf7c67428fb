// The carry flag CC.CF is one hidden predicate register of the function (DecodeContext::carryFlag).
#include "common/emulator/forms/scalar/carry_forms.hpp"

#include <type_traits>

#include "common/emulator/forms/scalar/integer_ops.hpp"
#include "common/emulator/forms/scalar/lanewise.hpp"
#include "common/emulator/isa/decode_helpers.hpp"

namespace shiftconv::emulator::isa {
namespace {

using ptx::ScalarType;

enum class Operation : uint8_t { Add, Subtract, MultiplyAddLow, MultiplyAddHigh };

template <class T>
struct Carried {
  T value;
  uint8_t carry;
};

/// a + b + carry in
template <class T>
Carried<T> add(T a, T b, uint8_t carry) {
  const T partial = a + b;
  const T value = partial + carry;
  return {value, static_cast<uint8_t>((partial < a) | (value < partial))};
}

/// a - (b + borrow in); the flag holds the borrow.
template <class T>
Carried<T> subtract(T a, T b, uint8_t borrow) {
  const T partial = a - b;
  const T value = partial - borrow;
  return {value, static_cast<uint8_t>((a < b) | (partial < borrow))};
}

/// Works on the signed type only for the high half of a product; everything else is the same for both.
template <Operation kOperation, class T, bool kIn, bool kOut>
void handler(Execution& execution, const DecodedInstruction& instruction) {
  using Unsigned = std::make_unsigned_t<T>;
  const auto* a = execution.lanes<T>(instruction.operand[1]);
  const auto* b = execution.lanes<T>(instruction.operand[2]);
  constexpr bool kProduct = kOperation == Operation::MultiplyAddLow || kOperation == Operation::MultiplyAddHigh;
  const auto* c = kProduct ? execution.lanes<T>(instruction.operand[3]) : nullptr;
  auto* result = execution.lanes<Unsigned>(instruction.operand[0]);
  LaneMask& flag = execution.predicate(instruction.operand[4]);
  LaneMask carryOut = 0;
  forLanes(execution.mask, [&](unsigned lane) {
    const auto carryIn = static_cast<uint8_t>(kIn ? flag >> lane & 1 : 0);
    Carried<Unsigned> sum{};
    if constexpr (kOperation == Operation::Add) {
      sum = add<Unsigned>(static_cast<Unsigned>(a[lane]), static_cast<Unsigned>(b[lane]), carryIn);
    } else if constexpr (kOperation == Operation::Subtract) {
      sum = subtract<Unsigned>(static_cast<Unsigned>(a[lane]), static_cast<Unsigned>(b[lane]), carryIn);
    } else {
      const T product = kOperation == Operation::MultiplyAddLow ? integer::multiplyLow(a[lane], b[lane])
                                                                : integer::multiplyHigh(a[lane], b[lane]);
      sum = add<Unsigned>(static_cast<Unsigned>(product), static_cast<Unsigned>(c[lane]), carryIn);
    }
    result[lane] = sum.value;
    carryOut |= LaneMask{sum.carry} << lane;
  });
  if constexpr (kOut) assignPredicate(flag, execution.mask, carryOut);
}

template <Operation kOperation, class T>
Handler select(bool in, bool out) {
  if (in) return out ? handler<kOperation, T, true, true> : handler<kOperation, T, true, false>;
  return handler<kOperation, T, false, true>;
}

template <Operation kOperation>
Handler selectType(DecodeContext& context, ScalarType type, bool in, bool out) {
  return forWideInteger(context, type, [&]<class T>() -> Handler { return select<kOperation, T>(in, out); });
}

/// Rows without the flag as output exist for addc, subc and madc only, so the opcode says what goes in.
template <Operation kOperation>
void decode(DecodeContext& context, const FormMatch& match, bool in) {
  const ScalarType type = match.type();
  const Handler chosen = selectType<kOperation>(context, type, in, match.has("cc"));
  if constexpr (kOperation == Operation::Add || kOperation == Operation::Subtract) {
    decodeOperands(context, chosen, type, {type, type});
  } else {
    decodeOperands(context, chosen, type, {type, type, type});
  }
  context.out().operand[4] = context.carryFlag();
}

template <Operation kOperation, bool kIn>
void sum(DecodeContext& context, const FormMatch& match) {
  decode<kOperation>(context, match, kIn);
}

template <bool kIn>
void product(DecodeContext& context, const FormMatch& match) {
  match.group(0) == "lo" ? decode<Operation::MultiplyAddLow>(context, match, kIn)
                         : decode<Operation::MultiplyAddHigh>(context, match, kIn);
}

}  // namespace

FormFamily carryForms() {
  return {
      {"add.cc.(u32|s32|u64|s64)", sum<Operation::Add, false>},
      {"addc{.cc}.(u32|s32|u64|s64)", sum<Operation::Add, true>},
      {"sub.cc.(u32|s32|u64|s64)", sum<Operation::Subtract, false>},
      {"subc{.cc}.(u32|s32|u64|s64)", sum<Operation::Subtract, true>},
      {"mad.(lo|hi).cc.(u32|s32|u64|s64)", product<false>},
      {"madc.(lo|hi){.cc}.(u32|s32|u64|s64)", product<true>},
  };
}

}  // namespace shiftconv::emulator::isa
