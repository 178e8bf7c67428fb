// Exchange between the lanes of a warp: shfl, vote, match, elect, redux (PTX ISA 9.0, 9.7.9.6, 9.7.13.9 to 9.7.13.14).
// The forms without `.sync` do not exist on targets from sm_70 on and are refused.
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "common/emulator/forms/threads/handler_parts.hpp"
#include "common/emulator/forms/threads/member_lanes.hpp"
#include "common/emulator/isa/decode_helpers.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/lane_access.hpp"
#include "common/emulator/machine/shuffle.hpp"

namespace shiftconv::emulator::machine {
namespace {

using isa::DecodeContext;
using isa::expectOperands;
using isa::FormMatch;
using ptx::Operand;
using ptx::ScalarType;

/// Destination of "d" or "d|p".
void decodeDual(DecodeContext& context, const Operand& operand, ScalarType type) {
  DecodedInstruction& out = context.out();
  if (operand.kind == Operand::Kind::Dual) {
    out.operand[0] = context.destination(operand.elements[0], type);
    out.operand[1] = context.predicateDestination(operand.elements[1]);
  } else {
    out.operand[0] = context.destination(operand, type);
  }
}

// --- shfl: operands 0 d, 1 p, 2 a, 3 b, 4 c, 5 members ---------------------------------------------------------

template <ShuffleMode kMode>
void shuffle(Execution& execution, const DecodedInstruction& instruction) {
  const auto* source = execution.lanes<uint32_t>(instruction.operand[2]);
  const auto* b = execution.lanes<uint32_t>(instruction.operand[3]);
  const auto* c = execution.lanes<uint32_t>(instruction.operand[4]);
  auto* destination = execution.lanes<uint32_t>(instruction.operand[0]);
  forConvergedMembers(execution, instruction.operand[5], [&](LaneMask lanes, LaneMask) {
    std::array<uint32_t, kWarpLanes> values{};  // the destination may be the source
    LaneMask inRange = 0;
    forEachLane(lanes, [&](unsigned lane) {
      const ShuffleSource from = shuffleSource(kMode, lane, b[lane], c[lane]);
      values[lane] = source[from.lane];
      inRange |= static_cast<LaneMask>(from.valid) << lane;
    });
    forEachLane(lanes, [&](unsigned lane) { destination[lane] = values[lane]; });
    if (instruction.operand[1] != kNoSlot) assign(execution.predicate(instruction.operand[1]), lanes, inRange);
  });
}

void decodeShuffle(DecodeContext& context, const FormMatch& match) {
  expectOperands(context, 5);
  const auto& operands = context.instruction().operands;
  DecodedInstruction& out = context.out();
  decodeDual(context, operands[0], ScalarType::B32);
  for (size_t i = 1; i < 5; ++i) out.operand[i + 1] = context.source(operands[i], ScalarType::B32);
  out.handler = match.has("up")     ? shuffle<ShuffleMode::Up>
                : match.has("down") ? shuffle<ShuffleMode::Down>
                : match.has("bfly") ? shuffle<ShuffleMode::Bfly>
                                    : shuffle<ShuffleMode::Idx>;
  out.endsGroup = true;
}

// --- vote: operands 0 d, 2 a, 5 members; immediate: predicate negated --------------------------------------------

enum class Vote : uint8_t { All, Any, Uni, Ballot };

template <Vote kVote>
void vote(Execution& execution, const DecodedInstruction& instruction) {
  const LaneMask bits = execution.predicate(instruction.operand[2]);
  const LaneMask predicate = instruction.immediate != 0 ? ~bits : bits;
  forConvergedMembers(execution, instruction.operand[5], [&](LaneMask lanes, LaneMask) {
    const LaneMask ballot = predicate & lanes;
    if constexpr (kVote == Vote::Ballot) {
      auto* destination = execution.lanes<uint32_t>(instruction.operand[0]);
      forEachLane(lanes, [&](unsigned lane) { destination[lane] = ballot; });
    } else {
      const bool all = ballot == lanes;
      const bool result = kVote == Vote::All ? all : kVote == Vote::Any ? ballot != 0 : all || ballot == 0;
      assign(execution.predicate(instruction.operand[0]), lanes, result ? kAllLanes : 0);
    }
  });
}

void decodeVote(DecodeContext& context, const FormMatch& match) {
  expectOperands(context, 3);
  const auto& operands = context.instruction().operands;
  DecodedInstruction& out = context.out();
  const bool ballot = match.has("ballot");
  out.operand[0] = ballot ? context.destination(operands[0], ScalarType::B32) : context.predicateDestination(operands[0]);
  bool negated = false;
  out.operand[2] = context.predicateSource(operands[1], negated);
  out.operand[5] = context.source(operands[2], ScalarType::B32);
  out.immediate = negated;
  out.handler = ballot             ? vote<Vote::Ballot>
                : match.has("all") ? vote<Vote::All>
                : match.has("any") ? vote<Vote::Any>
                                   : vote<Vote::Uni>;
  out.endsGroup = true;
}

// --- match: operands 0 d, 1 p, 2 a, 5 members ---------------------------------------------------------------------

template <class T, bool kAll>
void match(Execution& execution, const DecodedInstruction& instruction) {
  const auto* source = execution.lanes<T>(instruction.operand[2]);
  forConvergedMembers(execution, instruction.operand[5], [&](LaneMask lanes, LaneMask) {
    std::array<LaneMask, kWarpLanes> equal{};
    bool same = true;
    forEachLane(lanes, [&](unsigned lane) {
      forEachLane(lanes, [&](unsigned other) { equal[lane] |= static_cast<LaneMask>(source[lane] == source[other]) << other; });
      same &= equal[lane] == lanes;
    });
    auto* destination = execution.lanes<uint32_t>(instruction.operand[0]);
    forEachLane(lanes, [&](unsigned lane) { destination[lane] = !kAll ? equal[lane] : same ? lanes : 0; });
    if (kAll && instruction.operand[1] != kNoSlot) assign(execution.predicate(instruction.operand[1]), lanes, same ? kAllLanes : 0);
  });
}

void decodeMatch(DecodeContext& context, const FormMatch& form) {
  expectOperands(context, 3);
  const auto& operands = context.instruction().operands;
  DecodedInstruction& out = context.out();
  if (form.has("any") && operands[0].kind == Operand::Kind::Dual) context.illegal("match.any has no predicate result");
  decodeDual(context, operands[0], ScalarType::B32);
  out.operand[2] = context.source(operands[1], form.type());
  out.operand[5] = context.source(operands[2], ScalarType::B32);
  const bool wide = form.type() == ScalarType::B64;
  if (form.has("all"))
    out.handler = wide ? match<uint64_t, true> : match<uint32_t, true>;
  else
    out.handler = wide ? match<uint64_t, false> : match<uint32_t, false>;
  out.endsGroup = true;
}

// --- elect: operands 0 d, 1 p, 5 members --------------------------------------------------------------------------

/// The elected lane is the lowest of the mask; the ISA leaves the choice open but wants it to be the same every time.
void elect(Execution& execution, const DecodedInstruction& instruction) {
  forConvergedMembers(execution, instruction.operand[5], [&](LaneMask lanes, LaneMask) {
    const auto leader = static_cast<unsigned>(std::countr_zero(lanes));
    auto* destination = execution.lanes<uint32_t>(instruction.operand[0]);
    forEachLane(lanes, [&](unsigned lane) { destination[lane] = leader; });
    assign(execution.predicate(instruction.operand[1]), lanes, LaneMask{1} << leader);
  });
}

void decodeElect(DecodeContext& context, const FormMatch&) {
  expectOperands(context, 2);
  const auto& operands = context.instruction().operands;
  if (operands[0].kind != Operand::Kind::Dual) context.illegal("elect.sync has the destination d|p");
  decodeDual(context, operands[0], ScalarType::B32);
  context.out().operand[5] = context.source(operands[1], ScalarType::B32);
  context.out().handler = elect;
  context.out().endsGroup = true;
}

// --- redux: operands 0 d, 2 a, 5 members --------------------------------------------------------------------------

template <class T, T (*kCombine)(T, T)>
void redux(Execution& execution, const DecodedInstruction& instruction) {
  const auto* source = execution.lanes<T>(instruction.operand[2]);
  auto* destination = execution.lanes<T>(instruction.operand[0]);
  forConvergedMembers(execution, instruction.operand[5], [&](LaneMask lanes, LaneMask) {
    T result = source[std::countr_zero(lanes)];
    forEachLane(lanes & (lanes - 1), [&](unsigned lane) { result = kCombine(result, source[lane]); });
    forEachLane(lanes, [&](unsigned lane) { destination[lane] = result; });
  });
}

template <class T>
T sum(T a, T b) {
  return static_cast<T>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}
template <class T>
T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
T larger(T a, T b) {
  return a < b ? b : a;
}
uint32_t bitAnd(uint32_t a, uint32_t b) { return a & b; }
uint32_t bitOr(uint32_t a, uint32_t b) { return a | b; }
uint32_t bitXor(uint32_t a, uint32_t b) { return a ^ b; }

/// min.f32 and max.f32: a NaN loses against a number unless .NaN is given, -0 is smaller than +0, and a NaN result is
/// canonical (PTX ISA 9.0, 9.7.3.11 and 9.7.3.12).
template <bool kMaximum, bool kAbsolute, bool kPropagateNan>
void reduxFloat(Execution& execution, const DecodedInstruction& instruction) {
  constexpr uint32_t kCanonicalNan = 0x7fffffff;
  const auto* source = execution.lanes<float>(instruction.operand[2]);
  auto* destination = execution.lanes<uint32_t>(instruction.operand[0]);
  forConvergedMembers(execution, instruction.operand[5], [&](LaneMask lanes, LaneMask) {
    bool any = false, nan = false;
    float result = 0;
    forEachLane(lanes, [&](unsigned lane) {
      const float value = kAbsolute ? std::fabs(source[lane]) : source[lane];
      if (std::isnan(value)) {
        nan = true;
        return;
      }
      const auto before = [](float a, float b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); };
      if (!any || (kMaximum ? before(result, value) : before(value, result))) result = value;
      any = true;
    });
    const uint32_t bits = !any || (nan && kPropagateNan) ? kCanonicalNan : std::bit_cast<uint32_t>(result);
    forEachLane(lanes, [&](unsigned lane) { destination[lane] = bits; });
  });
}

template <bool kMaximum>
Handler reduxFloatHandler(bool absolute, bool propagate) {
  if (absolute) return propagate ? reduxFloat<kMaximum, true, true> : reduxFloat<kMaximum, true, false>;
  return propagate ? reduxFloat<kMaximum, false, true> : reduxFloat<kMaximum, false, false>;
}

Handler reduxHandler(const FormMatch& form) {
  const bool isSigned = form.type() == ScalarType::S32;
  if (form.has("add")) return isSigned ? redux<int32_t, sum<int32_t>> : redux<uint32_t, sum<uint32_t>>;
  if (form.has("min")) return isSigned ? redux<int32_t, smaller<int32_t>> : redux<uint32_t, smaller<uint32_t>>;
  if (form.has("max")) return isSigned ? redux<int32_t, larger<int32_t>> : redux<uint32_t, larger<uint32_t>>;
  if (form.has("and")) return redux<uint32_t, bitAnd>;
  return form.has("or") ? redux<uint32_t, bitOr> : redux<uint32_t, bitXor>;
}

void decodeRedux(DecodeContext& context, const FormMatch& form) {
  expectOperands(context, 3);
  const auto& operands = context.instruction().operands;
  DecodedInstruction& out = context.out();
  out.operand[0] = context.destination(operands[0], form.type());
  out.operand[2] = context.source(operands[1], form.type());
  out.operand[5] = context.source(operands[2], ScalarType::B32);
  if (form.type() == ScalarType::F32)
    out.handler = form.has("max") ? reduxFloatHandler<true>(form.has("abs"), form.has("NaN"))
                                  : reduxFloatHandler<false>(form.has("abs"), form.has("NaN"));
  else
    out.handler = reduxHandler(form);
  out.endsGroup = true;
}

}  // namespace
}  // namespace shiftconv::emulator::machine

namespace shiftconv::emulator::isa {

FormFamily warpForms() {
  return {
      {"shfl.sync.(up|down|bfly|idx).b32", machine::decodeShuffle},
      {"vote.sync.(all|any|uni).pred", machine::decodeVote},
      {"vote.sync.ballot.b32", machine::decodeVote},
      {"match.(any|all).sync.(b32|b64)", machine::decodeMatch},
      {"elect.sync", machine::decodeElect},
      {"redux.sync.(add|min|max).(u32|s32)", machine::decodeRedux},
      {"redux.sync.(and|or|xor).b32", machine::decodeRedux},
      {"redux.sync.(min|max){.abs}{.NaN}.f32", machine::decodeRedux},
  };
}

}  // namespace shiftconv::emulator::isa
