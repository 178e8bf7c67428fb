// atom and red (PTX ISA 9.0, 9.7.13.5 and 9.7.13.6) on global and shared memory. Lanes take their turns in lane order.
#include <fmt/format.h>

#include <array>
#include <mutex>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/threads/form_parts.hpp"
#include "common/emulator/forms/threads/handler_parts.hpp"
#include "common/emulator/forms/threads/memory_operand.hpp"
#include "common/emulator/isa/decode_helpers.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/atomic_operations.hpp"
#include "common/emulator/machine/lane_access.hpp"

namespace shiftconv::emulator::machine {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using ptx::Operand;
using ptx::ScalarType;

struct AtomicDetail final : InstructionDetail {
  MemoryOperand memory;
  uint32_t elements = 1;
  bool returns = false;  ///< atom; false: red
  std::array<Slot, kMaximumElements> destinations{};
  std::array<Slot, kMaximumElements> sources{};
  Slot replacement = kNoSlot;  ///< of cas
  bool release = false;
};

/// A value of .b128. Hosts differ in whether they have atomic operations of this width, so that these take turns under a lock:
/// they are atomic towards each other and within their CTA, whose warps share a host thread.
struct Quad {
  uint64_t low, high;
  bool operator==(const Quad&) const = default;
};

template <class T, class Update>
T update(std::byte* pointer, Update&& next) {
  if constexpr (sizeof(T) <= sizeof(uint64_t)) {
    return exchange<T>(pointer, next);
  } else {
    static std::mutex turns;
    const std::lock_guard lock(turns);
    T& object = *reinterpret_cast<T*>(pointer);
    const T old = object;
    object = next(old);
    return old;
  }
}

AtomicPlace placeOf(const MemoryOperand& memory, const std::byte* pointer, const Execution& execution, unsigned lane) {
  if (memory.space == AccessSpace::Generic) return {reinterpret_cast<uint64_t>(pointer) == memory.address.at(execution, lane)};
  return {memory.space == AccessSpace::Global};
}

template <class T, Combine<T> kCombine>
void atomic(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<AtomicDetail>();
  if (detail.release) execution.warp.cta.released(execution.warp);
  LanePointers pointers;
  resolve(execution, execution.mask, detail.memory, detail.elements * static_cast<uint32_t>(sizeof(T)), AccessKind::ReadWrite,
          pointers);
  forEachLane(execution.mask, [&](unsigned lane) {
    const AtomicPlace place = placeOf(detail.memory, pointers[lane], execution, lane);
    for (uint32_t element = 0; element < detail.elements; ++element) {
      const T operand = execution.lanes<T>(detail.sources[element])[lane];
      const T old = update<T>(pointers[lane] + element * sizeof(T), [&](T value) { return kCombine(value, operand, place); });
      if (detail.returns) execution.lanes<T>(detail.destinations[element])[lane] = old;
    }
  });
  noteValuesRead(execution);
}

template <class T>
void compareAndSwap(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<AtomicDetail>();
  if (detail.release) execution.warp.cta.released(execution.warp);
  LanePointers pointers;
  resolve(execution, execution.mask, detail.memory, sizeof(T), AccessKind::ReadWrite, pointers);
  forEachLane(execution.mask, [&](unsigned lane) {
    const T expected = execution.lanes<T>(detail.sources[0])[lane];
    const T desired = execution.lanes<T>(detail.replacement)[lane];
    execution.lanes<T>(detail.destinations[0])[lane] =
        update<T>(pointers[lane], [&](T value) { return value == expected ? desired : value; });
  });
  noteValuesRead(execution);
}

Handler handlerFor(std::string_view operation, ScalarType type) {
  if (type == ScalarType::B128) return atomic<Quad, &replace<Quad>>;  // there is no other operation of this width
  return withCombine(operation, type, []<class T, Combine<T> kCombine>() -> Handler { return atomic<T, kCombine>; });
}

/// Checks the operand count, and decodes what all forms share; `values` operands follow the address.
std::shared_ptr<AtomicDetail> decodeCommon(DecodeContext& context, const FormMatch& match, size_t values) {
  const auto& operands = context.instruction().operands;
  auto detail = std::make_shared<AtomicDetail>();
  detail->returns = context.instruction().opcode == "atom";
  detail->release = match.has("release") || match.has("acq_rel");
  const size_t hint = match.has("L2::cache_hint") ? 1 : 0;
  const size_t expected = (detail->returns ? 1 : 0) + 1 + values + hint;
  isa::expectOperands(context, expected);
  if (hint != 0) context.source(operands.back(), ScalarType::B64);
  detail->memory = memoryOperand(context, operands[detail->returns ? 1 : 0],
                                 firstOf(match, {"global", "shared", "shared::cta", "shared::cluster"}));
  return detail;
}

void decodeAtomic(DecodeContext& context, const FormMatch& match) {
  auto detail = decodeCommon(context, match, 1);
  const auto& operands = context.instruction().operands;
  const ScalarType type = match.type();
  const std::string_view vector = firstOf(match, {"v2", "v4", "v8"});
  if (!vector.empty()) detail->elements = static_cast<uint32_t>(vector[1] - '0');
  if (detail->elements * ptx::sizeOf(type) > 16) context.illegal("a vector has at most 16 bytes");
  if (detail->elements > 1 && detail->memory.space != AccessSpace::Global && detail->memory.space != AccessSpace::Generic)
    context.illegal("vector atomics exist on global memory only");
  const auto element = [&](const Operand& operand, uint32_t i) -> const Operand& {
    if (detail->elements == 1) return operand;
    if (operand.kind != Operand::Kind::Vector || operand.elements.size() != detail->elements)
      context.illegal(fmt::format("a vector of {} registers is expected", detail->elements));
    return operand.elements[i];
  };
  for (uint32_t i = 0; i < detail->elements; ++i) {
    if (detail->returns) detail->destinations[i] = context.destination(element(operands[0], i), type);
    detail->sources[i] = context.source(element(operands[detail->returns ? 2 : 1], i), type);
  }
  context.out().handler = handlerFor(firstOf(match, {"and", "or", "xor", "exch", "add", "inc", "dec", "min", "max"}), type);
  context.out().detail = std::move(detail);
}

void decodeCompareAndSwap(DecodeContext& context, const FormMatch& match) {
  auto detail = decodeCommon(context, match, 2);
  const auto& operands = context.instruction().operands;
  const ScalarType type = match.type();
  detail->destinations[0] = context.destination(operands[0], type);
  detail->sources[0] = context.source(operands[2], type);
  detail->replacement = context.source(operands[3], type);
  switch (ptx::sizeOf(type)) {
    case 2:
      context.out().handler = compareAndSwap<uint16_t>;
      break;
    case 4:
      context.out().handler = compareAndSwap<uint32_t>;
      break;
    case 8:
      context.out().handler = compareAndSwap<uint64_t>;
      break;
    default:
      context.out().handler = compareAndSwap<Quad>;
      break;
  }
  context.out().detail = std::move(detail);
}

#define SHIFTCONV_ATOM_PREFIX \
  "atom{.(relaxed|acquire|release|acq_rel)}{.(cta|cluster|gpu|sys)}{.(global|shared|shared::cta|shared::cluster)}"
#define SHIFTCONV_RED_PREFIX "red{.(relaxed|release)}{.(cta|cluster|gpu|sys)}{.(global|shared|shared::cta|shared::cluster)}"
#define SHIFTCONV_HINT "{.L2::cache_hint}"

}  // namespace

isa::FormFamily atomicForms() {
  return {
      {SHIFTCONV_ATOM_PREFIX ".(and|or|xor|exch)" SHIFTCONV_HINT ".(b32|b64)", decodeAtomic},
      {SHIFTCONV_ATOM_PREFIX ".exch" SHIFTCONV_HINT ".b128", decodeAtomic},
      {SHIFTCONV_ATOM_PREFIX ".cas" SHIFTCONV_HINT ".(b16|b32|b64|b128)", decodeCompareAndSwap},
      {SHIFTCONV_ATOM_PREFIX ".add" SHIFTCONV_HINT ".(u32|s32|u64|f32|f64)", decodeAtomic},
      {SHIFTCONV_ATOM_PREFIX ".(inc|dec)" SHIFTCONV_HINT ".u32", decodeAtomic},
      {SHIFTCONV_ATOM_PREFIX ".(min|max)" SHIFTCONV_HINT ".(u32|s32|u64|s64)", decodeAtomic},
      {SHIFTCONV_ATOM_PREFIX ".add.noftz" SHIFTCONV_HINT ".(f16|f16x2|bf16|bf16x2)", decodeAtomic},
      {SHIFTCONV_ATOM_PREFIX ".add" SHIFTCONV_HINT ".(v2|v4).f32", decodeAtomic},
      {SHIFTCONV_ATOM_PREFIX ".(add|min|max).noftz" SHIFTCONV_HINT ".(v2|v4|v8).(f16|f16x2|bf16|bf16x2)", decodeAtomic},
      {SHIFTCONV_RED_PREFIX ".(and|or|xor)" SHIFTCONV_HINT ".(b32|b64)", decodeAtomic},
      {SHIFTCONV_RED_PREFIX ".add" SHIFTCONV_HINT ".(u32|s32|u64|f32|f64)", decodeAtomic},
      {SHIFTCONV_RED_PREFIX ".(inc|dec)" SHIFTCONV_HINT ".u32", decodeAtomic},
      {SHIFTCONV_RED_PREFIX ".(min|max)" SHIFTCONV_HINT ".(u32|s32|u64|s64)", decodeAtomic},
      {SHIFTCONV_RED_PREFIX ".add.noftz" SHIFTCONV_HINT ".(f16|f16x2|bf16|bf16x2)", decodeAtomic},
      {SHIFTCONV_RED_PREFIX ".add" SHIFTCONV_HINT ".(v2|v4).f32", decodeAtomic},
      {SHIFTCONV_RED_PREFIX ".(add|min|max).noftz" SHIFTCONV_HINT ".(v2|v4|v8).(f16|f16x2|bf16|bf16x2)", decodeAtomic},
  };
}

}  // namespace shiftconv::emulator::machine
