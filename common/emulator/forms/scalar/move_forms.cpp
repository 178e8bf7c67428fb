#include "common/emulator/forms/scalar/move_forms.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstring>
#include <string_view>

#include "common/emulator/forms/scalar/lanewise.hpp"
#include "common/emulator/isa/decode_helpers.hpp"

namespace shiftconv::emulator::isa {
namespace {

using ptx::Operand;
using ptx::ScalarType;

struct Bits128 {
  uint64_t low, high;
};

template <class T>
void copy(Execution& execution, const DecodedInstruction& instruction) {
  T* const result = execution.lanes<T>(instruction.operand[0]);
  const T* const source = execution.lanes<T>(instruction.operand[1]);
  if (execution.mask == kAllLanes) {
    std::memmove(result, source, sizeof(T) * kWarpLanes);
  } else {
    forLanes(execution.mask, [&](unsigned lane) { result[lane] = source[lane]; });
  }
}

void copyPredicate(Execution& execution, const DecodedInstruction& instruction) {
  const LaneMask source = execution.predicate(instruction.operand[1]);
  assignPredicate(execution.predicate(instruction.operand[0]), execution.mask, instruction.immediate != 0 ? ~source : source);
}

/// {a, b, ...} -> d: the first element goes to the low bits.
template <class Element, unsigned kCount>
void pack(Execution& execution, const DecodedInstruction& instruction) {
  Element* const result = execution.lanes<Element>(instruction.operand[0]);
  std::array<const Element*, kCount> sources;
  for (unsigned i = 0; i < kCount; ++i) sources[i] = execution.lanes<Element>(instruction.operand[1 + i]);
  forLanes(execution.mask, [&](unsigned lane) {
    for (unsigned i = 0; i < kCount; ++i) result[kCount * lane + i] = sources[i][lane];
  });
}

/// d -> {a, b, ...}: operand[0...] are the elements, operand[5] is the source.
template <class Element, unsigned kCount>
void unpack(Execution& execution, const DecodedInstruction& instruction) {
  const Element* const source = execution.lanes<Element>(instruction.operand[5]);
  std::array<Element*, kCount> results;
  for (unsigned i = 0; i < kCount; ++i) results[i] = execution.lanes<Element>(instruction.operand[i]);
  forLanes(execution.mask, [&](unsigned lane) {
    // The source may be one of the elements' registers: read all before writing any.
    std::array<Element, kCount> elements;
    for (unsigned i = 0; i < kCount; ++i) elements[i] = source[kCount * lane + i];
    for (unsigned i = 0; i < kCount; ++i) results[i][lane] = elements[i];
  });
}

/// Clocks tick once per nanosecond of the host; nothing may depend on their values.
uint64_t nanoseconds() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

template <class T, unsigned kShift>
void readClock(Execution& execution, const DecodedInstruction& instruction) {
  T* const result = execution.lanes<T>(instruction.operand[0]);
  const auto now = static_cast<T>(nanoseconds() >> kShift);
  forLanes(execution.mask, [&](unsigned lane) { result[lane] = now; });
}

struct Clock {
  std::string_view name;
  Handler handler;
  size_t bytes;
};
const std::array kClocks = {
    Clock{"%clock", readClock<uint32_t, 0>, 4},          Clock{"%clock_hi", readClock<uint32_t, 32>, 4},
    Clock{"%clock64", readClock<uint64_t, 0>, 8},        Clock{"%globaltimer", readClock<uint64_t, 0>, 8},
    Clock{"%globaltimer_lo", readClock<uint32_t, 0>, 4}, Clock{"%globaltimer_hi", readClock<uint32_t, 32>, 4},
};

Handler copyHandler(size_t bytes) {
  switch (bytes) {
    case 2:
      return copy<uint16_t>;
    case 4:
      return copy<uint32_t>;
    case 8:
      return copy<uint64_t>;
    default:
      return copy<Bits128>;
  }
}

template <template <class, unsigned> class Select>
Handler vectorHandler(DecodeContext& context, size_t bytes, size_t count) {
  const size_t element = bytes / count;
  if (count == 2) {
    if (element == 1) return Select<uint8_t, 2>::handler;
    if (element == 2) return Select<uint16_t, 2>::handler;
    if (element == 4) return Select<uint32_t, 2>::handler;
    if (element == 8) return Select<uint64_t, 2>::handler;
  }
  if (count == 4) {
    if (element == 1) return Select<uint8_t, 4>::handler;
    if (element == 2) return Select<uint16_t, 4>::handler;
    if (element == 4) return Select<uint32_t, 4>::handler;
  }
  context.illegal(fmt::format("A vector of {} elements does not fit {} bits.", count, 8 * bytes));
}

template <class Element, unsigned kCount>
struct Pack {
  static constexpr Handler handler = pack<Element, kCount>;
};
template <class Element, unsigned kCount>
struct Unpack {
  static constexpr Handler handler = unpack<Element, kCount>;
};

ScalarType bitsOfSize(size_t bytes) {
  switch (bytes) {
    case 1:
      return ScalarType::B8;
    case 2:
      return ScalarType::B16;
    case 4:
      return ScalarType::B32;
    default:
      return ScalarType::B64;
  }
}

void decodePack(DecodeContext& context, ScalarType type) {
  const auto& operands = context.instruction().operands;
  const std::vector<Operand>& elements = operands[1].elements;
  DecodedInstruction& out = context.out();
  out.handler = vectorHandler<Pack>(context, sizeOf(type), elements.size());
  const ScalarType elementType = bitsOfSize(sizeOf(type) / elements.size());
  for (size_t i = 0; i < elements.size(); ++i) out.operand[1 + i] = context.source(elements[i], elementType);
  out.operand[0] = context.destination(operands[0], type);
}

void decodeUnpack(DecodeContext& context, ScalarType type) {
  const auto& operands = context.instruction().operands;
  const std::vector<Operand>& elements = operands[0].elements;
  DecodedInstruction& out = context.out();
  out.handler = vectorHandler<Unpack>(context, sizeOf(type), elements.size());
  const ScalarType elementType = bitsOfSize(sizeOf(type) / elements.size());
  out.operand[5] = context.source(operands[1], type);
  for (size_t i = 0; i < elements.size(); ++i) out.operand[i] = context.destination(elements[i], elementType);
}

void decodeMove(DecodeContext& context, const FormMatch& match) {
  const ScalarType type = match.type();
  expectOperands(context, 2);
  const auto& operands = context.instruction().operands;
  const bool fromVector = operands[1].kind == Operand::Kind::Vector;
  const bool toVector = operands[0].kind == Operand::Kind::Vector;
  const bool isBits = type == ScalarType::B16 || type == ScalarType::B32 || type == ScalarType::B64 || type == ScalarType::B128;
  if ((fromVector || toVector) && (!isBits || fromVector == toVector))
    context.illegal("Packing and unpacking moves need a bit type and exactly one vector operand.");
  if (fromVector) return decodePack(context, type);
  if (toVector) return decodeUnpack(context, type);
  for (const Clock& clock : kClocks) {
    if (operands[1].kind != Operand::Kind::Register || operands[1].text != clock.name) continue;
    if (sizeOf(type) != clock.bytes) context.illegal(fmt::format("{} has {} bits.", clock.name, 8 * clock.bytes));
    context.out().handler = clock.handler;
    context.out().operand[0] = context.destination(operands[0], type);
    return;
  }
  decodeOperands(context, copyHandler(sizeOf(type)), type, {type});
}

void decodeMovePredicate(DecodeContext& context, const FormMatch&) {
  expectOperands(context, 2);
  const auto& operands = context.instruction().operands;
  DecodedInstruction& out = context.out();
  out.handler = copyPredicate;
  decodePredicate(context, operands[1], 1, 0);
  out.operand[0] = context.predicateDestination(operands[0]);
}

}  // namespace

FormFamily moveForms() {
  return {
      {"mov.(b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f32|f64)", decodeMove},
      {"mov.pred", decodeMovePredicate},
  };
}

}  // namespace shiftconv::emulator::isa
