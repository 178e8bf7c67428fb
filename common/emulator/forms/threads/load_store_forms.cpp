// ld, ldu and st (PTX ISA 9.0, 9.7.9.8, 9.7.9.10, 9.7.9.11). Cache operators, eviction priorities, prefetch sizes and
// cache policies are hints without an effect on values; they are accepted where the ISA allows them.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>

#include "common/emulator/forms/threads/form_parts.hpp"
#include "common/emulator/forms/threads/handler_parts.hpp"
#include "common/emulator/forms/threads/memory_operand.hpp"
#include "common/emulator/isa/decode_helpers.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/lane_access.hpp"

namespace shiftconv::emulator::machine {
namespace {

using isa::DecodeContext;
using isa::Form;
using isa::FormMatch;
using ptx::Operand;
using ptx::ScalarType;

struct U128 {
  uint64_t low, high;
};

struct TransferDetail final : InstructionDetail {
  MemoryOperand memory;
  uint32_t elements = 1;
  bool acquire = false, release = false;
  std::array<Slot, kMaximumElements> registers{};
};

/// A plain machine access of the whole element: several host threads may use the same global memory.
template <class T>
T loadElement(const std::byte* pointer) {
  if constexpr (sizeof(T) == sizeof(U128)) {
    const auto* words = reinterpret_cast<const uint64_t*>(pointer);
    return {__atomic_load_n(words, __ATOMIC_RELAXED), __atomic_load_n(words + 1, __ATOMIC_RELAXED)};
  } else {
    return __atomic_load_n(reinterpret_cast<const T*>(pointer), __ATOMIC_RELAXED);
  }
}

template <class T>
void storeElement(std::byte* pointer, T value) {
  if constexpr (sizeof(T) == sizeof(U128)) {
    auto* words = reinterpret_cast<uint64_t*>(pointer);
    __atomic_store_n(words, value.low, __ATOMIC_RELAXED);
    __atomic_store_n(words + 1, value.high, __ATOMIC_RELAXED);
  } else {
    __atomic_store_n(reinterpret_cast<T*>(pointer), value, __ATOMIC_RELAXED);
  }
}

/// Memory element T, register R at least as wide: loads extend by the signedness of T, stores take the low bytes.
template <class T, class R>
void load(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<TransferDetail>();
  LanePointers pointers;
  resolve(execution, execution.mask, detail.memory, detail.elements * static_cast<uint32_t>(sizeof(T)), AccessKind::Read, pointers);
  for (uint32_t element = 0; element < detail.elements; ++element) {
    R* const registers = execution.lanes<R>(detail.registers[element]);
    const auto one = [&](unsigned lane) {
      const T value = loadElement<T>(pointers[lane] + element * sizeof(T));
      if constexpr (std::is_same_v<T, R>)
        registers[lane] = value;
      else
        registers[lane] = static_cast<R>(value);
    };
    if (execution.mask == kAllLanes)
      for (unsigned lane = 0; lane < kWarpLanes; ++lane) one(lane);
    else
      forEachLane(execution.mask, one);
  }
  if (detail.acquire) std::atomic_thread_fence(std::memory_order_seq_cst);
  noteValuesRead(execution);
}

template <class T, class R>
void store(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<TransferDetail>();
  if (detail.release) execution.warp.cta.released(execution.warp);
  LanePointers pointers;
  const StoredValues values{execution.frame, detail.registers.data(), sizeof(T), sizeof(R)};
  resolve(execution, execution.mask, detail.memory, detail.elements * static_cast<uint32_t>(sizeof(T)), AccessKind::Write, pointers,
          &values);
  if (detail.release) std::atomic_thread_fence(std::memory_order_seq_cst);
  const auto one = [&](unsigned lane) {
    for (uint32_t element = 0; element < detail.elements; ++element) {
      const R value = execution.lanes<R>(detail.registers[element])[lane];
      if constexpr (std::is_same_v<T, R>)
        storeElement<T>(pointers[lane] + element * sizeof(T), value);
      else
        storeElement<T>(pointers[lane] + element * sizeof(T), static_cast<T>(value));
    }
  };
  // Lane by lane: when lanes write the same place, the highest one wins.
  forEachLane(execution.mask, one);
}

struct Handlers {
  Handler load = nullptr, store = nullptr;
};

template <class T, class R>
Handlers handlersOf() {
  if constexpr (sizeof(T) <= sizeof(R))
    return {load<T, R>, store<T, R>};
  else
    return {};
}

template <class T>
Handlers handlersFor(size_t registerBytes) {
  switch (registerBytes) {
    case 2:
      return handlersOf<T, uint16_t>();
    case 4:
      return handlersOf<T, uint32_t>();
    case 8:
      return handlersOf<T, uint64_t>();
    default:
      return {};
  }
}

Handlers handlersFor(ScalarType type, size_t registerBytes) {
  switch (type) {
    case ScalarType::B8:
    case ScalarType::U8:
      return handlersFor<uint8_t>(registerBytes);
    case ScalarType::S8:
      return handlersFor<int8_t>(registerBytes);
    case ScalarType::B16:
    case ScalarType::U16:
      return handlersFor<uint16_t>(registerBytes);
    case ScalarType::S16:
      return handlersFor<int16_t>(registerBytes);
    case ScalarType::B32:
    case ScalarType::U32:
      return handlersFor<uint32_t>(registerBytes);
    case ScalarType::S32:
      return handlersFor<int32_t>(registerBytes);
    case ScalarType::F32:
      return registerBytes == 4 ? handlersOf<uint32_t, uint32_t>() : Handlers{};
    case ScalarType::B64:
    case ScalarType::U64:
    case ScalarType::S64:
    case ScalarType::F64:
      return registerBytes == 8 ? handlersOf<uint64_t, uint64_t>() : Handlers{};
    case ScalarType::B128:
      return registerBytes == 16 ? Handlers{load<U128, U128>, store<U128, U128>} : Handlers{};
    default:
      return {};
  }
}

ScalarType bitsOf(size_t bytes) {
  switch (bytes) {
    case 2:
      return ScalarType::B16;
    case 4:
      return ScalarType::B32;
    case 8:
      return ScalarType::B64;
    default:
      return ScalarType::B128;
  }
}

uint32_t vectorLength(std::string_view modifier) { return modifier.empty() ? 1 : static_cast<uint32_t>(modifier[1] - '0'); }

std::string_view spaceOf(const FormMatch& match) {
  return firstOf(match,
                 {"const", "global", "local", "param", "param::entry", "param::func", "shared", "shared::cta", "shared::cluster"});
}

/// Width of the registers of a transfer: of the first declared one, else of the type.
size_t registerBytes(DecodeContext& context, const Operand& data, uint32_t elements, ScalarType type) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < elements; ++i) {
    const size_t declared = ptx::sizeOf(context.declaredType(elements == 1 ? data : data.elements[i]));
    if (declared != 0 && bytes != 0 && declared != bytes) context.illegal("the registers of the vector have different widths");
    if (declared != 0) bytes = declared;
  }
  return bytes != 0 ? bytes : std::max<size_t>(2, ptx::sizeOf(type));
}

void decodeTransfer(DecodeContext& context, const FormMatch& match, bool isLoad) {
  const auto& operands = context.instruction().operands;
  const size_t expected = match.has("L2::cache_hint") ? 3 : 2;
  isa::expectOperands(context, expected);
  const Operand& data = operands[isLoad ? 0 : 1];
  const Operand& place = operands[isLoad ? 1 : 0];
  if (expected == 3) context.source(operands[2], ScalarType::B64);

  auto detail = std::make_shared<TransferDetail>();
  const ScalarType type = match.type();
  detail->memory = memoryOperand(context, place, spaceOf(match));
  detail->elements = vectorLength(firstOf(match, {"v2", "v4", "v8"}));
  const size_t total = detail->elements * ptx::sizeOf(type);
  const bool wide = total > 16;
  if (wide && (total > 32 || ptx::sizeOf(type) < 4 || detail->memory.space != AccessSpace::Global))
    context.illegal("a vector has at most 16 bytes, or 32 bytes of 32- or 64-bit elements in .global");
  if (detail->elements > 1 && (data.kind != Operand::Kind::Vector || data.elements.size() != detail->elements))
    context.illegal(fmt::format("a vector of {} registers is expected", detail->elements));
  detail->acquire = match.has("acquire");
  detail->release = match.has("release");
  if (!isLoad && (spaceOf(match) == "const" || detail->memory.space == AccessSpace::KernelParameter))
    context.illegal("constants and kernel parameters are read-only");

  const size_t bytes = registerBytes(context, data, detail->elements, type);
  const Handlers handlers = handlersFor(type, bytes);
  if (handlers.load == nullptr)
    context.illegal(fmt::format("a .{} does not fit registers of {} bytes", ptx::toString(type), bytes));
  // Immediates keep the type of the instruction, so that floating-point literals are taken as such.
  const ScalarType registerType = bytes == ptx::sizeOf(type) ? type : bitsOf(bytes);
  for (uint32_t i = 0; i < detail->elements; ++i) {
    const Operand& element = detail->elements == 1 ? data : data.elements[i];
    detail->registers[i] = isLoad ? context.destination(element, registerType) : context.source(element, registerType);
  }
  context.out().handler = isLoad ? handlers.load : handlers.store;
  context.out().detail = std::move(detail);
}

void decodeLoad(DecodeContext& context, const FormMatch& match) { decodeTransfer(context, match, true); }
void decodeStore(DecodeContext& context, const FormMatch& match) { decodeTransfer(context, match, false); }

#define SHIFTCONV_LOAD_TYPES ".(b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64)"
#define SHIFTCONV_LOAD_SPACES "{.(const|global|local|param|param::entry|param::func|shared|shared::cta|shared::cluster)}"
#define SHIFTCONV_STORE_SPACES "{.(global|local|param|param::func|shared|shared::cta|shared::cluster)}"
#define SHIFTCONV_EVICTION                                                                                                       \
  "{.(L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate)}{.(L2::evict_normal|L2::evict_first|" \
  "L2::evict_last)}"
#define SHIFTCONV_HINTS SHIFTCONV_EVICTION "{.L2::cache_hint}"
#define SHIFTCONV_LOAD_HINTS SHIFTCONV_HINTS "{.(L2::64B|L2::128B|L2::256B)}"
#define SHIFTCONV_VECTOR "{.(v2|v4|v8)}"

}  // namespace

isa::FormFamily loadStoreForms() {
  return {
      {"ld{.weak}" SHIFTCONV_LOAD_SPACES "{.(ca|cg|cs|lu|cv)}{.nc}" SHIFTCONV_LOAD_HINTS SHIFTCONV_VECTOR SHIFTCONV_LOAD_TYPES,
       decodeLoad},
      {"ld.volatile" SHIFTCONV_LOAD_SPACES "{.(L2::64B|L2::128B|L2::256B)}" SHIFTCONV_VECTOR SHIFTCONV_LOAD_TYPES, decodeLoad},
      {"ld.(relaxed|acquire).(cta|cluster|gpu|sys)" SHIFTCONV_LOAD_SPACES SHIFTCONV_LOAD_HINTS SHIFTCONV_VECTOR
           SHIFTCONV_LOAD_TYPES,
       decodeLoad},
      {"ld.mmio.relaxed.sys{.global}" SHIFTCONV_VECTOR SHIFTCONV_LOAD_TYPES, decodeLoad},
      {"ldu{.global}" SHIFTCONV_VECTOR SHIFTCONV_LOAD_TYPES, decodeLoad},
      {"st{.weak}" SHIFTCONV_STORE_SPACES "{.(wb|cg|cs|wt)}" SHIFTCONV_HINTS SHIFTCONV_VECTOR SHIFTCONV_LOAD_TYPES, decodeStore},
      {"st.volatile" SHIFTCONV_STORE_SPACES SHIFTCONV_VECTOR SHIFTCONV_LOAD_TYPES, decodeStore},
      {"st.(relaxed|release).(cta|cluster|gpu|sys)" SHIFTCONV_STORE_SPACES SHIFTCONV_HINTS SHIFTCONV_VECTOR SHIFTCONV_LOAD_TYPES,
       decodeStore},
      {"st.mmio.relaxed.sys{.global}" SHIFTCONV_VECTOR SHIFTCONV_LOAD_TYPES, decodeStore},
  };
}

}  // namespace shiftconv::emulator::machine
