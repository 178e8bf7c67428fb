// mbarrier.* (PTX ISA 9.0, 9.7.13.15). Memory is sequentially consistent within a cluster, so `.sem` and `.scope` have
// no effect on values; observers follow `.sem`.
#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <optional>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/threads/handler_parts.hpp"
#include "common/emulator/forms/threads/memory_operand.hpp"
#include "common/emulator/isa/decode_helpers.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/lane_access.hpp"
#include "common/emulator/machine/report.hpp"
#include "common/emulator/machine/warp_state.hpp"

namespace shiftconv::emulator::machine {
namespace {

using isa::DecodeContext;
using isa::expectOperands;
using isa::FormMatch;
using ptx::Operand;
using ptx::ScalarType;

// Operands: 0 destination (state, count or predicate), 1 count / bytes / parity / state.
struct MbarrierDetail final : InstructionDetail {
  MemoryOperand barrier;
  bool drop = false;
  bool noComplete = false;
  bool expectTransactions = false;
  bool parity = false;
  bool relaxed = false;  ///< neither publishes nor acquires
};

std::string_view spaceOf(const FormMatch& match) {
  for (std::string_view space : {"shared", "shared::cta", "shared::cluster"})
    if (match.has(space)) return space;
  return {};
}

std::shared_ptr<MbarrierDetail> barrierDetail(DecodeContext& context, const FormMatch& match, const Operand& address) {
  auto detail = std::make_shared<MbarrierDetail>();
  detail->barrier = memoryOperand(context, address, spaceOf(match));
  detail->relaxed = match.has("relaxed");
  return detail;
}

uint32_t valueOf(const Execution& execution, const DecodedInstruction& instruction, unsigned lane, uint32_t otherwise) {
  return instruction.operand[1] == kNoSlot ? otherwise : execution.lanes<uint32_t>(instruction.operand[1])[lane];
}

/// The barrier of a lane that only threads of its own CTA may operate on.
SharedObject ownBarrier(const Execution& execution, const MbarrierDetail& detail, unsigned lane, const char* what) {
  const SharedObject object = sharedObject(execution, detail.barrier, lane);
  if (object.cta != &execution.warp.cta)
    throw EmulatorError(ErrorKind::IllegalInstruction,
                        fmt::format("lane {}: {} works on mbarriers of the executing CTA only; this one is in CTA rank {}", lane,
                                    what, object.cta->rank));
  return object;
}

void initialise(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<MbarrierDetail>();
  forEachLane(execution.mask, [&](unsigned lane) {
    const SharedObject object = ownBarrier(execution, detail, lane, "mbarrier.init");
    MbarrierTable& table = object.cta->mbarriers;
    const bool over =
        table.isLive(object.offset) && goesOn(execution.warp, lane, "mbarrier.init over the live " + table.describe(object.offset),
                                              "mbarrier.inval before the place is initialised again (PTX ISA 9.0, 9.7.13.15.9)");
    table.initialise(object.offset, valueOf(execution, instruction, lane, 0), over);
    if (auto* observer = object.cta->cluster.observer.get())
      observer->mbarrierInit(execution.warp, lane, *object.cta, object.offset);
  });
  ++execution.warp.cta.cluster.changes;
}

void invalidate(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<MbarrierDetail>();
  forEachLane(execution.mask, [&](unsigned lane) {
    const SharedObject object = ownBarrier(execution, detail, lane, "mbarrier.inval");
    object.cta->mbarriers.invalidate(object.offset);
    if (auto* observer = object.cta->cluster.observer.get())
      observer->mbarrierInval(execution.warp, lane, *object.cta, object.offset);
  });
  ++execution.warp.cta.cluster.changes;
}

void arrive(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<MbarrierDetail>();
  if (!detail.relaxed) execution.warp.cta.released(execution.warp);
  forEachLane(execution.mask, [&](unsigned lane) {
    const SharedObject object = sharedObject(execution, detail.barrier, lane);
    const uint32_t value = valueOf(execution, instruction, lane, 1);
    MbarrierTable& table = object.cta->mbarriers;
    if (instruction.operand[0] != kNoSlot && object.cta != &execution.warp.cta)
      throw EmulatorError(ErrorKind::IllegalInstruction,
                          fmt::format("lane {}: an arrive on an mbarrier of another CTA (rank {}) returns no state: use '_'", lane,
                                      object.cta->rank));
    if (detail.expectTransactions) table.expectTransactions(object.offset, value);
    if (auto* observer = object.cta->cluster.observer.get())
      observer->mbarrierArrive(execution.warp, lane, *object.cta, object.offset, !detail.relaxed);
    const uint64_t state = table.arrive(object.offset, detail.expectTransactions ? 1 : value, detail.drop, detail.noComplete);
    if (instruction.operand[0] != kNoSlot) execution.lanes<uint64_t>(instruction.operand[0])[lane] = state;
  });
  ++execution.warp.cta.cluster.changes;
}

void expectTransactions(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<MbarrierDetail>();
  forEachLane(execution.mask, [&](unsigned lane) {
    const SharedObject object = sharedObject(execution, detail.barrier, lane);
    object.cta->mbarriers.expectTransactions(object.offset, valueOf(execution, instruction, lane, 0));
  });
  ++execution.warp.cta.cluster.changes;
}

void completeTransactions(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<MbarrierDetail>();
  forEachLane(execution.mask, [&](unsigned lane) {
    const SharedObject object = sharedObject(execution, detail.barrier, lane);
    object.cta->mbarriers.completeTransactions(object.offset, valueOf(execution, instruction, lane, 0));
  });
  ++execution.warp.cta.cluster.changes;
}

/// Phases of an mbarrier that lanes of a warp have seen complete by waiting for a parity there. A wait for the other parity than
/// the last time is for the next phase; what the first wait for parity 1, or one for the same parity again, is for cannot be told.
struct Lap {
  uint64_t awaited = 0, completed = 0;
  bool passed() const { return completed > awaited + 1; }  ///< that phase, and others since
};
std::optional<Lap> lapOf(const Warp& warp, unsigned lane, const SharedObject& object, uint32_t parity) {
  const MbarrierTable::State* state = object.cta->mbarriers.find(object.offset);
  if (state == nullptr) return std::nullopt;
  const auto& known = warp.state->phasesSeen;
  const auto found = known.find({object.cta, object.offset});
  const uint64_t seen = found == known.end() ? 0 : found->second[lane];
  if (seen % 2 != parity || seen > state->phase) return std::nullopt;
  return Lap{seen, state->phase};
}

void noteSeen(Warp& warp, unsigned lane, const SharedObject& object) {
  if (const MbarrierTable::State* state = object.cta->mbarriers.find(object.offset))
    warp.state->phasesSeen[{object.cta, object.offset}][lane] = state->phase;
}

std::string describeLap(const Warp& warp, unsigned lane, const SharedObject& object, uint32_t parity) {
  const auto lap = lapOf(warp, lane, object, parity);
  if (!lap || !lap->passed()) return {};
  return fmt::format("; lane {} has seen {} phases there, and phase {}, which comes next, has completed, with {} more since", lane,
                     lap->awaited, lap->awaited, lap->completed - lap->awaited - 1);
}

/// Lanes whose phase is complete; the others in `waiting`.
LaneMask completedLanes(const Execution& execution, const DecodedInstruction& instruction, const char* what) {
  const auto& detail = instruction.as<MbarrierDetail>();
  LaneMask done = 0;
  forEachLane(execution.mask, [&](unsigned lane) {
    const SharedObject object = ownBarrier(execution, detail, lane, what);
    const bool complete =
        detail.parity ? object.cta->mbarriers.testParity(object.offset, execution.lanes<uint32_t>(instruction.operand[1])[lane])
                      : object.cta->mbarriers.testState(object.offset, execution.lanes<uint64_t>(instruction.operand[1])[lane]);
    done |= static_cast<LaneMask>(complete) << lane;
    if (detail.parity) {
      if (auto* observer = object.cta->cluster.observer.get())
        if (const auto lap = lapOf(execution.warp, lane, object, execution.lanes<uint32_t>(instruction.operand[1])[lane]);
            lap && lap->passed())
          observer->mbarrierLapped(execution.warp, lane, *object.cta, object.offset, lap->awaited, lap->completed);
      if (complete) noteSeen(execution.warp, lane, object);
    }
    if (auto* observer = object.cta->cluster.observer.get(); observer != nullptr && complete)
      observer->mbarrierWaited(execution.warp, lane, *object.cta, object.offset, !detail.relaxed);
  });
  return done;
}

void testWait(Execution& execution, const DecodedInstruction& instruction) {
  const LaneMask done = completedLanes(execution, instruction, "mbarrier.test_wait");
  assign(execution.predicate(instruction.operand[0]), execution.mask, done);
}

/// Sleeps instead of returning false at once; false is returned when nothing else in the cluster can make progress.
void tryWait(Execution& execution, const DecodedInstruction& instruction) {
  const LaneMask done = completedLanes(execution, instruction, "mbarrier.try_wait");
  const LaneMask waiting = execution.mask & ~done;
  LaneMask answered = execution.mask;
  if (waiting != 0 && !execution.warp.timedOut()) {
    answered = done;
    const auto lane = static_cast<unsigned>(std::countr_zero(waiting));
    const SharedObject object = sharedObject(execution, instruction.as<MbarrierDetail>().barrier, lane);
    const bool parity = instruction.as<MbarrierDetail>().parity;
    const uint32_t value = parity ? execution.lanes<uint32_t>(instruction.operand[1])[lane] : 0;
    execution.warp.block(waiting,
                         {.text = {},
                          .mayTimeOut = true,
                          .describe =
                              [object, parity, value, lane, &warp = execution.warp] {
                                return (parity ? fmt::format("parity {} at the ", value) : std::string("a phase of the ")) +
                                       object.cta->mbarriers.describe(object.offset) +
                                       (parity ? describeLap(warp, lane, object, value) : std::string());
                              },
                          .target = {WaitTarget::Kind::Mbarrier, object.cta, object.offset}});
  }
  assign(execution.predicate(instruction.operand[0]), answered, done);
}

void pendingCount(Execution& execution, const DecodedInstruction& instruction) {
  const auto* states = execution.lanes<uint64_t>(instruction.operand[1]);
  auto* counts = execution.lanes<uint32_t>(instruction.operand[0]);
  forEachLane(execution.mask, [&](unsigned lane) { counts[lane] = MbarrierTable::pendingCount(states[lane]); });
}

void checkCount(DecodeContext& context, const Operand& operand) {
  if (operand.kind == Operand::Kind::Integer && (operand.integer == 0 || operand.integer > MbarrierTable::kMaximumCount))
    context.illegal(fmt::format("count {} is outside 1..{}", operand.integer, MbarrierTable::kMaximumCount));
}

void decodeInit(DecodeContext& context, const FormMatch& match) {
  expectOperands(context, 2);
  const auto& operands = context.instruction().operands;
  checkCount(context, operands[1]);
  context.out().detail = barrierDetail(context, match, operands[0]);
  context.out().operand[1] = context.source(operands[1], ScalarType::U32);
  context.out().handler = initialise;
}

void decodeInval(DecodeContext& context, const FormMatch& match) {
  expectOperands(context, 1);
  context.out().detail = barrierDetail(context, match, context.instruction().operands[0]);
  context.out().handler = invalidate;
}

void decodeArrive(DecodeContext& context, const FormMatch& match) {
  const bool expect = match.has("expect_tx");
  const bool noComplete = match.has("noComplete");
  expectOperands(context, expect || noComplete ? 3 : 2, 3);
  const auto& operands = context.instruction().operands;
  const bool sink = operands[0].kind == Operand::Kind::Sink;
  if (match.has("shared::cluster") && !sink) context.illegal("an arrive on a .shared::cluster mbarrier has the destination '_'");
  auto detail = barrierDetail(context, match, operands[1]);
  detail->drop = context.instruction().modifiers[0] == "arrive_drop";
  detail->noComplete = noComplete;
  detail->expectTransactions = expect;
  if (!expect && operands.size() == 3) checkCount(context, operands[2]);
  context.out().detail = std::move(detail);
  if (!sink) context.out().operand[0] = context.destination(operands[0], ScalarType::B64);
  if (operands.size() == 3) context.out().operand[1] = context.source(operands[2], ScalarType::U32);
  context.out().handler = arrive;
}

template <Handler kHandler>
void decodeTransactions(DecodeContext& context, const FormMatch& match) {
  expectOperands(context, 2);
  const auto& operands = context.instruction().operands;
  context.out().detail = barrierDetail(context, match, operands[0]);
  context.out().operand[1] = context.source(operands[1], ScalarType::U32);
  context.out().handler = kHandler;
}

template <Handler kHandler, size_t kMostOperands>
void decodeWait(DecodeContext& context, const FormMatch& match) {
  expectOperands(context, 3, kMostOperands);
  const auto& operands = context.instruction().operands;
  auto detail = barrierDetail(context, match, operands[1]);
  detail->parity = match.has("parity");
  if (detail->parity && operands[2].kind == Operand::Kind::Integer && operands[2].integer > 1)
    context.illegal("a phase parity is 0 or 1");
  context.out().operand[0] = context.predicateDestination(operands[0]);
  context.out().operand[1] = context.source(operands[2], detail->parity ? ScalarType::U32 : ScalarType::B64);
  if (operands.size() == 4) context.source(operands[3], ScalarType::U32);  // time hint: sleeping costs nothing here
  context.out().detail = std::move(detail);
  context.out().handler = kHandler;
  context.out().endsGroup = true;
}

void decodePendingCount(DecodeContext& context, const FormMatch&) {
  expectOperands(context, 2);
  const auto& operands = context.instruction().operands;
  context.out().operand[0] = context.destination(operands[0], ScalarType::U32);
  context.out().operand[1] = context.source(operands[1], ScalarType::B64);
  context.out().handler = pendingCount;
}

}  // namespace
}  // namespace shiftconv::emulator::machine

namespace shiftconv::emulator::isa {

FormFamily mbarrierForms() {
  using namespace machine;
  return {
      {"mbarrier.init{.(shared|shared::cta)}.b64", decodeInit},
      {"mbarrier.inval{.(shared|shared::cta)}.b64", decodeInval},
      {"mbarrier.expect_tx{.relaxed}{.(cta|cluster)}{.(shared|shared::cta|shared::cluster)}.b64",
       decodeTransactions<expectTransactions>},
      {"mbarrier.complete_tx{.relaxed}{.(cta|cluster)}{.(shared|shared::cta|shared::cluster)}.b64",
       decodeTransactions<completeTransactions>},
      {"mbarrier.(arrive|arrive_drop){.expect_tx}{.(release|relaxed)}{.(cta|cluster)}{.(shared|shared::cta|shared::cluster)}.b64",
       decodeArrive},
      {"mbarrier.(arrive|arrive_drop).noComplete{.release}{.cta}{.(shared|shared::cta)}.b64", decodeArrive},
      {"mbarrier.test_wait{.parity}{.(acquire|relaxed)}{.(cta|cluster)}{.(shared|shared::cta)}.b64", decodeWait<testWait, 3>},
      {"mbarrier.try_wait{.parity}{.(acquire|relaxed)}{.(cta|cluster)}{.(shared|shared::cta)}.b64", decodeWait<tryWait, 4>},
      {"mbarrier.pending_count.b64", decodePendingCount},
  };
}

}  // namespace shiftconv::emulator::isa
