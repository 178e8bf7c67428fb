// Instructions about addresses (PTX ISA 9.0, 9.7.9.19 to 9.7.9.24) and hints to the caches, which have no effect here.
#include <fmt/format.h>

#include <cstring>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/threads/form_parts.hpp"
#include "common/emulator/forms/threads/handler_parts.hpp"
#include "common/emulator/forms/threads/memory_operand.hpp"
#include "common/emulator/isa/decode_helpers.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/lane_access.hpp"

namespace shiftconv::emulator::machine {
namespace {

using isa::DecodeContext;
using isa::expectOperands;
using isa::FormMatch;
using ptx::Operand;
using ptx::ScalarType;

// --- cvta: operands 0 d, 1 a; immediate: base of the window ---------------------------------------------------------

void toGeneric(Execution& execution, const DecodedInstruction& instruction) {
  const auto* from = execution.lanes<uint64_t>(instruction.operand[1]);
  auto* to = execution.lanes<uint64_t>(instruction.operand[0]);
  forEachLane(execution.mask, [&](unsigned lane) { to[lane] = from[lane] + instruction.immediate; });
}

void fromGeneric(Execution& execution, const DecodedInstruction& instruction) {
  const auto* from = execution.lanes<uint64_t>(instruction.operand[1]);
  auto* to = execution.lanes<uint64_t>(instruction.operand[0]);
  forEachLane(execution.mask, [&](unsigned lane) { to[lane] = from[lane] - instruction.immediate; });
}

void parameterToGeneric(Execution& execution, const DecodedInstruction& instruction) {
  const auto* from = execution.lanes<uint64_t>(instruction.operand[1]);
  auto* to = execution.lanes<uint64_t>(instruction.operand[0]);
  const uint64_t base = execution.warp.cta.cluster.parameterAddress;
  forEachLane(execution.mask, [&](unsigned lane) { to[lane] = from[lane] + base; });
}

void genericToParameter(Execution& execution, const DecodedInstruction& instruction) {
  const auto* from = execution.lanes<uint64_t>(instruction.operand[1]);
  auto* to = execution.lanes<uint64_t>(instruction.operand[0]);
  const uint64_t base = execution.warp.cta.cluster.parameterAddress;
  forEachLane(execution.mask, [&](unsigned lane) { to[lane] = from[lane] - base; });
}

uint64_t windowOf(std::string_view space) {
  if (space.starts_with("shared")) return kSharedWindow;
  if (space == "local") return kLocalWindow;
  return 0;  // global and const addresses are generic addresses
}

template <bool kTo>
void decodeCvta(DecodeContext& context, const FormMatch& match) {
  expectOperands(context, 2);
  const auto& operands = context.instruction().operands;
  const std::string_view space = match.group(kTo ? 1 : 0);
  DecodedInstruction& out = context.out();
  out.operand[0] = context.destination(operands[0], ScalarType::U64);
  out.operand[1] = context.source(operands[1], ScalarType::U64);
  out.immediate = windowOf(space);
  out.handler = kTo ? fromGeneric : toGeneric;
  if (!space.starts_with("param")) return;
  if (!context.function().isKernel) context.unsupported("the parameters of a device function have no generic address");
  out.handler = kTo ? genericToParameter : parameterToGeneric;
}

// --- isspacep: operands 0 p, 1 a ------------------------------------------------------------------------------------

struct ConstantRanges final : InstructionDetail {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;  ///< begin and end of every const variable
};

enum class Window : uint64_t { Global, Constant, Local, Parameter, SharedCta, SharedCluster };

bool isIn(const Execution& execution, const DecodedInstruction& instruction, uint64_t address) {
  const Cta& cta = execution.warp.cta;
  const bool shared = address - kSharedWindow < kWindowSpan;
  const bool local = address - kLocalWindow < kWindowSpan;
  const uint64_t rank = (address - kSharedWindow) >> kSharedRankShift;
  switch (static_cast<Window>(instruction.immediate)) {
    case Window::Global:
      return !shared && !local;
    case Window::Constant:
      for (const auto& [begin, end] : instruction.as<ConstantRanges>().ranges)
        if (address >= begin && address < end) return true;
      return false;
    case Window::Local:
      return local;
    case Window::Parameter:
      return address - cta.cluster.parameterAddress < cta.cluster.kernel.parameterBytes;
    case Window::SharedCta:
      return shared && rank == cta.rank;
    case Window::SharedCluster:
      return shared && rank < cta.cluster.ctas.size();
  }
  return false;
}

void isspacep(Execution& execution, const DecodedInstruction& instruction) {
  const auto* addresses = execution.lanes<uint64_t>(instruction.operand[1]);
  LaneMask& predicate = execution.predicate(instruction.operand[0]);
  forEachLane(execution.mask, [&](unsigned lane) {
    const LaneMask bit = LaneMask{1} << lane;
    predicate = isIn(execution, instruction, addresses[lane]) ? predicate | bit : predicate & ~bit;
  });
}

void decodeIsspacep(DecodeContext& context, const FormMatch& match) {
  expectOperands(context, 2);
  const auto& operands = context.instruction().operands;
  DecodedInstruction& out = context.out();
  out.operand[0] = context.predicateDestination(operands[0]);
  out.operand[1] = context.source(operands[1], ScalarType::U64);
  Window window = Window::Global;
  if (match.has("const")) {
    window = Window::Constant;
    auto detail = std::make_shared<ConstantRanges>();
    for (const ptx::Variable& variable : context.program().module.variables) {
      if (variable.space != ptx::StateSpace::Const || variable.isExternal) continue;
      const uint64_t begin = context.program().globalBase + context.program().globalOffsets.at(variable.name);
      detail->ranges.emplace_back(begin, begin + variable.bytes);
    }
    out.detail = std::move(detail);
  } else if (match.has("local")) {
    window = Window::Local;
  } else if (match.has("param") || match.has("param::entry")) {
    window = Window::Parameter;
  } else if (match.has("shared::cluster")) {
    window = Window::SharedCluster;
  } else if (!match.has("global")) {
    window = Window::SharedCta;
  }
  out.immediate = static_cast<uint64_t>(window);
  out.handler = isspacep;
}

// --- mapa, getctarank: operands 0 d, 1 a, 2 rank; immediate: the window that addresses are relative to ---------------

template <class T>
void mapa(Execution& execution, const DecodedInstruction& instruction) {
  const auto* addresses = execution.lanes<T>(instruction.operand[1]);
  const auto* ranks = execution.lanes<uint32_t>(instruction.operand[2]);
  auto* results = execution.lanes<T>(instruction.operand[0]);
  const size_t ctas = execution.warp.cta.cluster.ctas.size();
  forEachLane(execution.mask, [&](unsigned lane) {
    const uint64_t window = uint64_t{addresses[lane]} - instruction.immediate;
    if (window >= kWindowSpan)
      throw EmulatorError(ErrorKind::OutOfBounds,
                          fmt::format("lane {}: mapa of 0x{:x}, which is not an address in shared memory", lane, addresses[lane]));
    if (ranks[lane] >= ctas)
      throw EmulatorError(ErrorKind::OutOfBounds,
                          fmt::format("lane {}: mapa to CTA rank {}, but the cluster has {} CTAs", lane, ranks[lane], ctas));
    const uint64_t mapped = uint64_t{ranks[lane]} << kSharedRankShift | (window & kSharedOffsetMask);
    results[lane] = static_cast<T>(mapped + instruction.immediate);
  });
}

template <class T>
void getCtaRank(Execution& execution, const DecodedInstruction& instruction) {
  const auto* addresses = execution.lanes<T>(instruction.operand[1]);
  auto* results = execution.lanes<uint32_t>(instruction.operand[0]);
  forEachLane(execution.mask, [&](unsigned lane) {
    const uint64_t window = uint64_t{addresses[lane]} - instruction.immediate;
    if (window >= kWindowSpan)
      throw EmulatorError(
          ErrorKind::OutOfBounds,
          fmt::format("lane {}: getctarank of 0x{:x}, which is not an address in shared memory", lane, addresses[lane]));
    results[lane] = static_cast<uint32_t>(window >> kSharedRankShift);
  });
}

void requireGenericWidth(DecodeContext& context, bool generic, ScalarType type) {
  if (generic && type == ScalarType::U32) context.illegal("a generic address has 64 bits: use .u64, or .shared::cluster");
}

void decodeMapa(DecodeContext& context, const FormMatch& match) {
  expectOperands(context, 3);
  const auto& operands = context.instruction().operands;
  const bool generic = !match.has("shared::cluster");
  requireGenericWidth(context, generic, match.type());
  DecodedInstruction& out = context.out();
  out.operand[0] = context.destination(operands[0], match.type());
  out.operand[1] = context.source(operands[1], match.type());
  out.operand[2] = context.source(operands[2], ScalarType::U32);
  out.immediate = generic ? kSharedWindow : 0;
  out.handler = match.type() == ScalarType::U32 ? mapa<uint32_t> : mapa<uint64_t>;
}

void decodeGetCtaRank(DecodeContext& context, const FormMatch& match) {
  expectOperands(context, 2);
  const auto& operands = context.instruction().operands;
  const bool generic = !match.has("shared::cluster");
  requireGenericWidth(context, generic, match.type());
  DecodedInstruction& out = context.out();
  out.operand[0] = context.destination(operands[0], ScalarType::U32);
  out.operand[1] = context.source(operands[1], match.type());
  out.immediate = generic ? kSharedWindow : 0;
  out.handler = match.type() == ScalarType::U32 ? getCtaRank<uint32_t> : getCtaRank<uint64_t>;
}

// --- cache hints ----------------------------------------------------------------------------------------------------

void decodePrefetch(DecodeContext& context, const FormMatch& match) {
  expectOperands(context, 1);
  memoryOperand(context, context.instruction().operands[0], match.has("global") ? "global" : match.has("local") ? "local" : "");
  context.out().handler = nothing;
}

constexpr uint32_t kCacheLine = 128;

struct LineDetail final : InstructionDetail {
  MemoryOperand line;
};

/// discard leaves the line undefined: a pattern that a reader will notice.
void discard(Execution& execution, const DecodedInstruction& instruction) {
  constexpr int kPoison = 0xCB;
  LanePointers pointers;
  resolve(execution, execution.mask, instruction.as<LineDetail>().line, kCacheLine, AccessKind::Write, pointers);
  forEachLane(execution.mask, [&](unsigned lane) { std::memset(pointers[lane], kPoison, kCacheLine); });
}

void decodeLineHint(DecodeContext& context, const FormMatch& match) {
  expectOperands(context, 2);
  const auto& operands = context.instruction().operands;
  if (context.integer(operands[1]) != kCacheLine) context.illegal("the size operand must be 128");
  auto detail = std::make_shared<LineDetail>();
  detail->line = memoryOperand(context, operands[0], match.has("global") ? "global" : "");
  context.out().detail = std::move(detail);
  context.out().handler = context.instruction().opcode == "discard" ? discard : nothing;
}

/// Policies are opaque to programs; this value marks one that came from createpolicy.
constexpr uint64_t kCachePolicy = 0x1000'0000'0000'0000ull;

void createPolicy(Execution& execution, const DecodedInstruction& instruction) {
  auto* results = execution.lanes<uint64_t>(instruction.operand[0]);
  forEachLane(execution.mask, [&](unsigned lane) { results[lane] = kCachePolicy; });
}

void decodeCreatePolicy(DecodeContext& context, const FormMatch& match) {
  const bool range = match.has("range");
  expectOperands(context, range ? 4 : 1, range ? 4 : 2);
  const auto& operands = context.instruction().operands;
  context.out().operand[0] = context.destination(operands[0], ScalarType::B64);
  if (range) {
    memoryOperand(context, operands[1], match.has("global") ? "global" : "");
    context.source(operands[2], ScalarType::U32);
    context.source(operands[3], ScalarType::U32);
  } else if (operands.size() == 2) {
    context.source(operands[1], ScalarType::F32);
  }
  context.out().handler = createPolicy;
}

}  // namespace

isa::FormFamily addressForms() {
  return {
      {"cvta.(const|global|local|shared|shared::cta|shared::cluster|param|param::entry).u64", decodeCvta<false>},
      {"cvta.to.(const|global|local|shared|shared::cta|shared::cluster|param|param::entry).u64", decodeCvta<true>},
      {"isspacep.(const|global|local|shared|shared::cta|shared::cluster|param|param::entry)", decodeIsspacep},
      {"mapa{.shared::cluster}.(u32|u64)", decodeMapa},
      {"getctarank{.shared::cluster}.(u32|u64)", decodeGetCtaRank},
      {"prefetch{.(global|local)}.(L1|L2)", decodePrefetch},
      {"prefetch.global.(L2::evict_last|L2::evict_normal)", decodePrefetch},
      {"prefetchu.L1", decodePrefetch},
      {"applypriority{.global}.L2::evict_normal", decodeLineHint},
      {"discard{.global}.L2", decodeLineHint},
      {"createpolicy.fractional.(L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged){.(L2::evict_first|L2::evict_"
       "unchanged)}.b64",
       decodeCreatePolicy},
      {"createpolicy.range{.global}.(L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged)"
       "{.(L2::evict_first|L2::evict_unchanged)}.b64",
       decodeCreatePolicy},
  };
}

}  // namespace shiftconv::emulator::machine
