// atom and red (PTX ISA 9.0, 9.7.13.5 and 9.7.13.6) on global and shared memory. Lanes take their turns in lane order.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/form_parts.hpp"
#include "common/emulator/machine/lane_access.hpp"
#include "common/numerics/float16.hpp"

namespace shiftconv::emulator::machine {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using ptx::Operand;
using ptx::ScalarType;

constexpr size_t kMaximumElements = 8;

struct AtomicDetail final : InstructionDetail {
  MemoryOperand memory;
  uint32_t elements = 1;
  bool returns = false;  ///< atom; false: red
  std::array<Slot, kMaximumElements> destinations{};
  std::array<Slot, kMaximumElements> sources{};
  Slot replacement = kNoSlot;  ///< of cas
};

/// What an operation may depend on besides its values.
struct AtomicPlace {
  bool global = false;
};

template <class T>
using Combine = T (*)(T old, T operand, AtomicPlace place);

/// Other clusters run on other host threads, so this is an atomic operation of the host, too.
template <class T, class Update>
T exchange(std::byte* pointer, Update&& update) {
  T* const object = reinterpret_cast<T*>(pointer);
  T old = __atomic_load_n(object, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(object, &old, update(old), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}

AtomicPlace placeOf(const MemoryOperand& memory, const std::byte* pointer, const Execution& execution, unsigned lane) {
  if (memory.space == AccessSpace::Generic) return {reinterpret_cast<uint64_t>(pointer) == memory.address.at(execution, lane)};
  return {memory.space == AccessSpace::Global};
}

template <class T, Combine<T> kCombine>
void atomic(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<AtomicDetail>();
  LanePointers pointers;
  resolve(execution, execution.mask, detail.memory, detail.elements * static_cast<uint32_t>(sizeof(T)), AccessKind::ReadWrite,
          pointers);
  forEachLane(execution.mask, [&](unsigned lane) {
    const AtomicPlace place = placeOf(detail.memory, pointers[lane], execution, lane);
    for (uint32_t element = 0; element < detail.elements; ++element) {
      const T operand = execution.lanes<T>(detail.sources[element])[lane];
      const T old = exchange<T>(pointers[lane] + element * sizeof(T), [&](T value) { return kCombine(value, operand, place); });
      if (detail.returns) execution.lanes<T>(detail.destinations[element])[lane] = old;
    }
  });
}

template <class T>
void compareAndSwap(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<AtomicDetail>();
  LanePointers pointers;
  resolve(execution, execution.mask, detail.memory, sizeof(T), AccessKind::ReadWrite, pointers);
  forEachLane(execution.mask, [&](unsigned lane) {
    const T expected = execution.lanes<T>(detail.sources[0])[lane];
    const T desired = execution.lanes<T>(detail.replacement)[lane];
    execution.lanes<T>(detail.destinations[0])[lane] =
        exchange<T>(pointers[lane], [&](T value) { return value == expected ? desired : value; });
  });
}

template <class T>
T bitAnd(T a, T b, AtomicPlace) {
  return a & b;
}
template <class T>
T bitOr(T a, T b, AtomicPlace) {
  return a | b;
}
template <class T>
T bitXor(T a, T b, AtomicPlace) {
  return a ^ b;
}
template <class T>
T replace(T, T b, AtomicPlace) {
  return b;
}
template <class T>
T add(T a, T b, AtomicPlace) {
  return a + b;
}
template <class T>
T smaller(T a, T b, AtomicPlace) {
  return std::min(a, b);
}
template <class T>
T larger(T a, T b, AtomicPlace) {
  return std::max(a, b);
}
uint32_t increment(uint32_t a, uint32_t b, AtomicPlace) { return a >= b ? 0 : a + 1; }
uint32_t decrement(uint32_t a, uint32_t b, AtomicPlace) { return a == 0 || a > b ? b : a - 1; }

float flushed(float value) { return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value; }

/// On global memory subnormal inputs and results become zero, on shared memory they do not.
uint32_t addF32(uint32_t a, uint32_t b, AtomicPlace place) {
  constexpr uint32_t kCanonicalNan = 0x7fffffff;
  float x = std::bit_cast<float>(a), y = std::bit_cast<float>(b);
  if (place.global) x = flushed(x), y = flushed(y);
  const float sum = place.global ? flushed(x + y) : x + y;
  return std::isnan(sum) ? kCanonicalNan : std::bit_cast<uint32_t>(sum);
}

uint64_t addF64(uint64_t a, uint64_t b, AtomicPlace) {
  return std::bit_cast<uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
}

struct Half {
  static float decode(uint16_t bits) { return numerics::decodeF16(bits); }
  static uint16_t encode(float value) { return numerics::encodeF16(value); }
};
struct Bfloat {
  static float decode(uint16_t bits) { return numerics::decodeBf16(bits); }
  static uint16_t encode(float value) { return numerics::encodeBf16(value); }
};

enum class HalfOperation : uint8_t { Add, Min, Max };

/// f32 has more than twice the precision of both formats plus two bits, so rounding its sum once more is exact.
template <class Format, HalfOperation kOperation>
uint16_t combineHalf(uint16_t a, uint16_t b, AtomicPlace) {
  const float x = Format::decode(a), y = Format::decode(b);
  if constexpr (kOperation == HalfOperation::Add) return Format::encode(x + y);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y) ? numerics::kCanonicalNan16 : std::isnan(x) ? b : a;
  const bool firstIsSmaller = x < y || (x == y && std::signbit(x));
  return (kOperation == HalfOperation::Min) == firstIsSmaller ? a : b;
}

template <class Format, HalfOperation kOperation>
uint32_t combineHalves(uint32_t a, uint32_t b, AtomicPlace place) {
  const auto part = [&](unsigned shift) {
    return uint32_t{combineHalf<Format, kOperation>(static_cast<uint16_t>(a >> shift), static_cast<uint16_t>(b >> shift), place)}
           << shift;
  };
  return part(0) | part(16);
}

template <class T>
Handler bitHandler(std::string_view operation) {
  if (operation == "and") return atomic<T, bitAnd<T>>;
  if (operation == "or") return atomic<T, bitOr<T>>;
  if (operation == "xor") return atomic<T, bitXor<T>>;
  return atomic<T, replace<T>>;
}

template <class T>
Handler rangeHandler(bool minimum) {
  return minimum ? atomic<T, smaller<T>> : atomic<T, larger<T>>;
}

template <HalfOperation kOperation>
Handler halfHandler(ScalarType type) {
  switch (type) {
    case ScalarType::F16:
      return atomic<uint16_t, combineHalf<Half, kOperation>>;
    case ScalarType::BF16:
      return atomic<uint16_t, combineHalf<Bfloat, kOperation>>;
    case ScalarType::F16x2:
      return atomic<uint32_t, combineHalves<Half, kOperation>>;
    default:
      return atomic<uint32_t, combineHalves<Bfloat, kOperation>>;
  }
}

Handler handlerFor(std::string_view operation, ScalarType type, bool noFlush) {
  const bool wide = ptx::sizeOf(type) == 8;
  if (noFlush)
    return operation == "add"   ? halfHandler<HalfOperation::Add>(type)
           : operation == "min" ? halfHandler<HalfOperation::Min>(type)
                                : halfHandler<HalfOperation::Max>(type);
  if (operation == "add") {
    if (type == ScalarType::F32) return atomic<uint32_t, addF32>;
    if (type == ScalarType::F64) return atomic<uint64_t, addF64>;
    return wide ? atomic<uint64_t, add<uint64_t>> : atomic<uint32_t, add<uint32_t>>;
  }
  if (operation == "inc") return atomic<uint32_t, increment>;
  if (operation == "dec") return atomic<uint32_t, decrement>;
  if (operation == "min" || operation == "max") {
    const bool minimum = operation == "min";
    switch (type) {
      case ScalarType::U32:
        return rangeHandler<uint32_t>(minimum);
      case ScalarType::S32:
        return rangeHandler<int32_t>(minimum);
      case ScalarType::U64:
        return rangeHandler<uint64_t>(minimum);
      default:
        return rangeHandler<int64_t>(minimum);
    }
  }
  return wide ? bitHandler<uint64_t>(operation) : bitHandler<uint32_t>(operation);
}

std::string_view firstOf(const FormMatch& match, std::initializer_list<std::string_view> candidates) {
  for (std::string_view candidate : candidates)
    if (match.has(candidate)) return candidate;
  return {};
}

/// Checks the operand count, and decodes what all forms share; `values` operands follow the address.
std::shared_ptr<AtomicDetail> decodeCommon(DecodeContext& context, const FormMatch& match, size_t values) {
  const auto& operands = context.instruction().operands;
  auto detail = std::make_shared<AtomicDetail>();
  detail->returns = context.instruction().opcode == "atom";
  const size_t hint = match.has("L2::cache_hint") ? 1 : 0;
  const size_t expected = (detail->returns ? 1 : 0) + 1 + values + hint;
  if (operands.size() != expected)
    context.illegal(fmt::format("{} operands are expected here, {} were given", expected, operands.size()));
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
  context.out().handler =
      handlerFor(firstOf(match, {"and", "or", "xor", "exch", "add", "inc", "dec", "min", "max"}), type, match.has("noftz"));
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
    default:
      context.out().handler = compareAndSwap<uint64_t>;
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
      {SHIFTCONV_ATOM_PREFIX ".cas" SHIFTCONV_HINT ".(b16|b32|b64)", decodeCompareAndSwap},
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
