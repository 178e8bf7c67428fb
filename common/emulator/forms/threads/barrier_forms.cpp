// Barriers of warps, CTAs and clusters (PTX ISA 9.0, 9.7.13.1 to 9.7.13.3), and small control instructions.
#include <fmt/format.h>

#include <bit>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/threads/form_parts.hpp"
#include "common/emulator/forms/threads/handler_parts.hpp"
#include "common/emulator/forms/threads/member_lanes.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/barrier.hpp"
#include "common/emulator/machine/lane_access.hpp"
#include "common/emulator/machine/warp_state.hpp"

namespace shiftconv::emulator::machine {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using ptx::ScalarType;

constexpr uint64_t kAligned = 1;
constexpr uint64_t kNegated = 2;  ///< the predicate of a reduction is used inverted
constexpr uint64_t kReduceAnd = 4;
constexpr uint64_t kReduceOr = 8;  ///< neither: popc
constexpr uint64_t kRelaxed = 16;
// Operands of bar: 0 barrier, 1 thread count (kNoSlot: all), 2 predicate in, 3 result.

/// Lanes may name different barriers when the instruction is not aligned: `action(lanes, id, threads)` per barrier.
template <class Action>
void forEachBarrier(const Execution& execution, const DecodedInstruction& instruction, Action&& action) {
  const auto* ids = execution.lanes<uint32_t>(instruction.operand[0]);
  const auto* counts = instruction.operand[1] == kNoSlot ? nullptr : execution.lanes<uint32_t>(instruction.operand[1]);
  for (LaneMask rest = execution.mask; rest != 0;) {
    const auto first = static_cast<unsigned>(std::countr_zero(rest));
    LaneMask together = 0;
    forEachLane(rest, [&](unsigned lane) { together |= static_cast<LaneMask>(ids[lane] == ids[first]) << lane; });
    const uint32_t threads = counts == nullptr ? 0 : counts[first];
    if (counts != nullptr && threads == 0)
      throw EmulatorError(ErrorKind::Synchronisation, fmt::format("barrier {}: the thread count is 0", ids[first]));
    action(together, ids[first], threads);
    rest &= ~together;
  }
}

void requireAlignedBarrier(const Execution& execution, const DecodedInstruction& instruction) {
  if (instruction.immediate & kAligned) execution.warp.requireAligned(execution.mask, "barrier.aligned");
}

WaitReason barrierReason(const Cta& cta, uint32_t id) {
  return {.text = {},
          .mayTimeOut = false,
          .describe =
              [&cta, id] {
                const NamedBarrier& barrier = cta.barriers[id];
                return fmt::format("barrier {} of the CTA ({} of {} threads have arrived)", id, barrier.arrived,
                                   barrier.expected == 0 ? cta.liveThreads : barrier.expected);
              },
          .target = {WaitTarget::Kind::Barrier, &cta, id}};
}

/// Arrives on first execution, and sleeps until the round is complete; `done(lanes, id, round)` then.
template <class Done>
void synchronise(Execution& execution, const DecodedInstruction& instruction, std::optional<LaneMask> predicate, Done&& done) {
  Warp& warp = execution.warp;
  const uint64_t token = warp.state->resumeToken();
  if (token == 0) requireAlignedBarrier(execution, instruction);
  forEachBarrier(execution, instruction, [&](LaneMask lanes, uint32_t id, uint32_t threads) {
    // The token is the round plus one, so that it is never 0.
    const uint64_t round = token != 0 ? token - 1 : arriveAtBarrier(warp, lanes, id, threads, predicate);
    if (barrierRoundDone(warp.cta, id, round)) {
      if (auto* observer = warp.cta.cluster.observer.get()) observer->barrierLeave(warp, lanes, id, round);
      done(lanes, id, round);
    } else {
      warp.state->sleep(lanes, barrierReason(warp.cta, id), round + 1);
    }
  });
}

void barrierSync(Execution& execution, const DecodedInstruction& instruction) {
  synchronise(execution, instruction, {}, [](LaneMask, uint32_t, uint64_t) {});
}

void barrierArrive(Execution& execution, const DecodedInstruction& instruction) {
  requireAlignedBarrier(execution, instruction);
  forEachBarrier(execution, instruction,
                 [&](LaneMask lanes, uint32_t id, uint32_t threads) { arriveAtBarrier(execution.warp, lanes, id, threads); });
}

void barrierReduce(Execution& execution, const DecodedInstruction& instruction) {
  const LaneMask bits = execution.predicate(instruction.operand[2]);
  const LaneMask predicate = instruction.immediate & kNegated ? ~bits : bits;
  synchronise(execution, instruction, predicate, [&](LaneMask lanes, uint32_t id, uint64_t round) {
    const NamedBarrier::Result result = barrierResult(execution.warp.cta, id, round);
    if (instruction.immediate & (kReduceAnd | kReduceOr)) {
      const bool value = instruction.immediate & kReduceAnd ? result.trueCount == result.contributions : result.trueCount != 0;
      LaneMask& destination = execution.predicate(instruction.operand[3]);
      destination = value ? destination | lanes : destination & ~lanes;
    } else {
      auto* destination = execution.lanes<uint32_t>(instruction.operand[3]);
      forEachLane(lanes, [&](unsigned lane) { destination[lane] = result.trueCount; });
    }
  });
}

bool isAligned(DecodeContext& context, const FormMatch& match) {
  return context.instruction().opcode == "bar" || match.has("aligned");
}

void decodeBarrierOperands(DecodeContext& context, size_t first, size_t last) {
  const auto& operands = context.instruction().operands;
  context.out().operand[0] = context.source(operands[first], ScalarType::U32);
  if (last > first + 1) context.out().operand[1] = context.source(operands[first + 1], ScalarType::U32);
  context.out().endsGroup = true;
}

void decodeBarrierSync(DecodeContext& context, const FormMatch& match) {
  const size_t count = context.instruction().operands.size();
  if (count != 1 && count != 2) context.illegal("a barrier and optionally a thread count are expected");
  decodeBarrierOperands(context, 0, count);
  context.out().immediate = isAligned(context, match) ? kAligned : 0;
  context.out().handler = barrierSync;
}

void decodeBarrierArrive(DecodeContext& context, const FormMatch& match) {
  if (context.instruction().operands.size() != 2) context.illegal("a barrier and a thread count are expected");
  decodeBarrierOperands(context, 0, 2);
  context.out().immediate = isAligned(context, match) ? kAligned : 0;
  context.out().handler = barrierArrive;
}

void decodeBarrierReduce(DecodeContext& context, const FormMatch& match) {
  const auto& operands = context.instruction().operands;
  if (operands.size() != 3 && operands.size() != 4)
    context.illegal("a result, a barrier, optionally a thread count, and a predicate are expected");
  decodeBarrierOperands(context, 1, operands.size() - 1);
  bool negated = false;
  context.out().operand[2] = context.predicateSource(operands.back(), negated);
  context.out().operand[3] =
      match.has("popc") ? context.destination(operands[0], ScalarType::U32) : context.predicateDestination(operands[0]);
  context.out().immediate = (isAligned(context, match) ? kAligned : 0) | (negated ? kNegated : 0) |
                            (match.has("and") ? kReduceAnd : 0) | (match.has("or") ? kReduceOr : 0);
  context.out().handler = barrierReduce;
}

void warpSync(Execution& execution, const DecodedInstruction& instruction) {
  forEachMemberMask(execution, instruction.operand[0],
                    [&](LaneMask lanes, LaneMask members) { execution.warp.state->warpBarrier(lanes, members); });
}

void decodeWarpSync(DecodeContext& context, const FormMatch&) {
  if (context.instruction().operands.size() != 1) context.illegal("bar.warp.sync takes a member mask");
  context.out().operand[0] = context.source(context.instruction().operands[0], ScalarType::B32);
  context.out().handler = warpSync;
  context.out().endsGroup = true;
}

void clusterArrive(Execution& execution, const DecodedInstruction& instruction) {
  if (instruction.immediate & kAligned) execution.warp.requireAligned(execution.mask, "barrier.cluster.arrive.aligned");
  arriveAtClusterBarrier(execution.warp, execution.mask, (instruction.immediate & kRelaxed) == 0);
}

void clusterWait(Execution& execution, const DecodedInstruction& instruction) {
  if (instruction.immediate & kAligned) execution.warp.requireAligned(execution.mask, "barrier.cluster.wait.aligned");
  if (waitAtClusterBarrier(execution.warp, execution.mask)) return;
  const Cluster& cluster = execution.warp.cta.cluster;
  execution.warp.block({.text = {},
                        .mayTimeOut = false,
                        .describe =
                            [&cluster] {
                              return fmt::format("the cluster barrier ({} of {} threads have arrived)", cluster.barrier.arrived,
                                                 cluster.liveThreads);
                            },
                        .target = {WaitTarget::Kind::ClusterBarrier, nullptr, 0}});
}

template <Handler kHandler>
void decodeClusterBarrier(DecodeContext& context, const FormMatch& match) {
  if (!context.instruction().operands.empty()) context.illegal("the instruction takes no operands");
  context.out().immediate = (match.has("aligned") ? kAligned : 0) | (match.has("relaxed") ? kRelaxed : 0);
  context.out().handler = kHandler;
  context.out().endsGroup = true;
}

void decodeNanosleep(DecodeContext& context, const FormMatch&) {
  if (context.instruction().operands.size() != 1) context.illegal("nanosleep takes a duration");
  context.source(context.instruction().operands[0], ScalarType::U32);
  context.out().handler = nothing;  // instructions take no time here
}

void decodePmevent(DecodeContext& context, const FormMatch&) {
  if (context.instruction().operands.size() != 1) context.illegal("pmevent takes one immediate");
  context.integer(context.instruction().operands[0]);
  context.out().handler = nothing;  // there are no performance monitors
}

void activemask(Execution& execution, const DecodedInstruction& instruction) {
  auto* destination = execution.lanes<uint32_t>(instruction.operand[0]);
  forEachLane(execution.mask, [&](unsigned lane) { destination[lane] = execution.mask; });
}

void decodeActivemask(DecodeContext& context, const FormMatch&) {
  if (context.instruction().operands.size() != 1) context.illegal("activemask takes one destination");
  context.out().operand[0] = context.destination(context.instruction().operands[0], ScalarType::B32);
  context.out().handler = activemask;
}

}  // namespace

isa::FormFamily barrierForms() {
  return {
      {"bar{.cta}.sync", decodeBarrierSync},
      {"bar{.cta}.arrive", decodeBarrierArrive},
      {"bar{.cta}.red.popc.u32", decodeBarrierReduce},
      {"bar{.cta}.red.(and|or).pred", decodeBarrierReduce},
      {"barrier{.cta}.sync{.aligned}", decodeBarrierSync},
      {"barrier{.cta}.arrive{.aligned}", decodeBarrierArrive},
      {"barrier{.cta}.red.popc{.aligned}.u32", decodeBarrierReduce},
      {"barrier{.cta}.red.(and|or){.aligned}.pred", decodeBarrierReduce},
      {"bar.warp.sync", decodeWarpSync},
      {"barrier.cluster.arrive{.(release|relaxed)}{.aligned}", decodeClusterBarrier<clusterArrive>},
      {"barrier.cluster.wait{.acquire}{.aligned}", decodeClusterBarrier<clusterWait>},
      {"nanosleep.u32", decodeNanosleep},
      {"activemask.b32", decodeActivemask},
      {"pmevent", decodePmevent},
  };
}

}  // namespace shiftconv::emulator::machine

namespace shiftconv::emulator::isa {

FormFamily controlForms() {
  FormFamily forms = machine::branchForms();
  const FormFamily barriers = machine::barrierForms();
  forms.insert(forms.end(), barriers.begin(), barriers.end());
  return forms;
}

}  // namespace shiftconv::emulator::isa
