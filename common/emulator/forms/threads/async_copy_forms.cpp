// cp.async and its completion (PTX ISA 9.0, 9.7.9.25.3, 9.7.13.15.10).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/threads/form_parts.hpp"
#include "common/emulator/forms/threads/memory_operand.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/async_copy.hpp"
#include "common/emulator/machine/lane_access.hpp"
#include "common/emulator/machine/racing_copy.hpp"
#include "common/emulator/machine/warp_state.hpp"

namespace shiftconv::emulator::machine {

void AsyncCopies::add(LaneMask lanes, OperationId operation) {
  forEachLane(lanes, [&](unsigned lane) { lanes_[lane].open.push_back(operation); });
}

void AsyncCopies::commit(LaneMask lanes) {
  forEachLane(lanes, [&](unsigned lane) {
    lanes_[lane].committed.push_back(std::move(lanes_[lane].open));
    lanes_[lane].open.clear();
  });
}

void AsyncCopies::forget(const AsyncQueue& queue, Group& group) {
  std::erase_if(group, [&](OperationId id) { return queue.isComplete(id); });
}

std::vector<OperationId> AsyncCopies::outstanding(const AsyncQueue& queue, unsigned lane) {
  Group all;
  const auto collect = [&](Group& group) {
    forget(queue, group);
    all.insert(all.end(), group.begin(), group.end());
  };
  for (Group& group : lanes_[lane].committed) collect(group);
  collect(lanes_[lane].open);
  return all;
}

bool AsyncCopies::groupsDone(const AsyncQueue& queue, unsigned lane, uint64_t newest) {
  std::deque<Group>& committed = lanes_[lane].committed;
  while (committed.size() > newest) {
    forget(queue, committed.front());
    if (!committed.front().empty()) return false;
    committed.pop_front();
  }
  return true;
}

bool AsyncCopies::allDone(const AsyncQueue& queue, unsigned lane) {
  forget(queue, lanes_[lane].open);
  return lanes_[lane].open.empty() && groupsDone(queue, lane, 0);
}

namespace {

using isa::DecodeContext;
using isa::FormMatch;
using ptx::Operand;
using ptx::ScalarType;

constexpr uint32_t kLargestCopy = 16;

// Operands: 0 source size (or kNoSlot), 1 ignore-source predicate (or kNoSlot); immediate: its negation.
struct CopyDetail final : InstructionDetail {
  MemoryOperand destination, source;
  uint32_t bytes = 0;
};

struct LaneCopy {
  std::byte* to;
  const std::byte* from;
  uint32_t sourceBytes;
};

void copy(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<CopyDetail>();
  Warp& warp = execution.warp;
  Cluster& cluster = warp.cta.cluster;
  LaneMask ignored = 0;
  if (instruction.operand[1] != kNoSlot) {
    const LaneMask predicate = execution.predicate(instruction.operand[1]);
    ignored = instruction.immediate != 0 ? ~predicate : predicate;
  }
  const auto* sizes = instruction.operand[0] == kNoSlot ? nullptr : execution.lanes<uint32_t>(instruction.operand[0]);
  LaneMask reading = 0;
  std::array<uint32_t, kWarpLanes> sourceBytes{};
  forEachLane(execution.mask, [&](unsigned lane) {
    const uint32_t size = sizes == nullptr ? detail.bytes : sizes[lane];
    if (size > detail.bytes)
      throw EmulatorError(ErrorKind::IllegalInstruction,
                          fmt::format("lane {}: source size {} exceeds the copy size {}", lane, size, detail.bytes));
    sourceBytes[lane] = (ignored >> lane & 1) != 0 ? 0 : size;
    reading |= static_cast<LaneMask>(sourceBytes[lane] != 0) << lane;
  });
  LanePointers from{};
  // A short copy may end at the end of an allocation: only what is read must exist.
  forEachLane(reading, [&](unsigned lane) {
    from[lane] = cluster.global.access(detail.source.address.at(execution, lane), sourceBytes[lane], detail.bytes, false);
  });
  std::array<uint32_t, kWarpLanes> offsets{};
  forEachLane(execution.mask, [&](unsigned lane) {
    offsets[lane] = sharedObject(execution, detail.destination, lane).offset;
    if (offsets[lane] % detail.bytes != 0)
      throw EmulatorError(ErrorKind::Misaligned,
                          fmt::format("lane {}: cp.async of {} bytes to shared offset 0x{:x}", lane, detail.bytes, offsets[lane]));
  });
  Cta& cta = warp.cta;
  const LaneMask lanes = execution.mask;
  const uint32_t bytes = detail.bytes;
  const auto first = static_cast<unsigned>(std::countr_zero(lanes));
  auto* observer = cluster.observer.get();
  AsyncOperation operation;
  operation.kind = OperationKind::ThreadCopy;
  operation.issuer = warp.issuePoint(first);
  operation.lanes = lanes;
  operation.complete = [&cta, lanes, bytes, from, offsets, sourceBytes] {
    Cluster& within = cta.cluster;
    forEachLane(lanes, [&](unsigned lane) {
      if (within.observer) within.observer->actsFor(lane);
      std::byte* destination = cta.shared.write(offsets[lane], bytes, bytes);
      std::memset(destination + sourceBytes[lane], 0, bytes - sourceBytes[lane]);
      if (sourceBytes[lane] == 0) return;
      racingCopy(destination, from[lane], sourceBytes[lane]);
      const uint64_t source = reinterpret_cast<uint64_t>(from[lane]);
      for (const auto& [address, count] : within.global.observe(source, sourceBytes[lane], false, lane))
        cta.shared.undefine(offsets[lane] + static_cast<uint32_t>(address - source), static_cast<uint32_t>(count), address);
    });
    Counters& counters = within.counters;
    counters.addBytes(Engine::Threads, Traffic::SharedWrite, uint64_t{bytes} * static_cast<uint64_t>(std::popcount(lanes)));
    forEachLane(lanes, [&](unsigned lane) { counters.addBytes(Engine::Threads, Traffic::GlobalRead, sourceBytes[lane]); });
  };
  const OperationId id = cluster.queue.issue(std::move(operation));
  warp.state->copies.add(lanes, id);
  if (observer != nullptr) forEachLane(lanes, [&](unsigned lane) { observer->addToGroup(Observer::Group::Copy, warp, lane, id); });
}

void decodeCopy(DecodeContext& context, const FormMatch& match) {
  const auto& operands = context.instruction().operands;
  const bool hint = match.has("L2::cache_hint");
  const size_t least = hint ? 4 : 3;
  if (operands.size() < least || operands.size() > least + 1)
    context.illegal("a destination, a source and a copy size are expected");
  auto detail = std::make_shared<CopyDetail>();
  detail->destination = memoryOperand(context, operands[0], "shared::cta");
  detail->source = memoryOperand(context, operands[1], "global");
  detail->bytes = static_cast<uint32_t>(context.integer(operands[2]));
  const bool legal =
      match.has("cg") ? detail->bytes == kLargestCopy : detail->bytes == 4 || detail->bytes == 8 || detail->bytes == kLargestCopy;
  if (!legal)
    context.illegal(match.has("cg") ? "the copy size of cp.async.cg is 16" : "the copy size of cp.async.ca is 4, 8 or 16");
  if (hint) context.source(operands.back(), ScalarType::B64);
  if (operands.size() == least + 1) {
    const Operand& extra = operands[3];
    if (context.declaredType(extra) == ScalarType::Pred) {
      bool negated = false;
      context.out().operand[1] = context.predicateSource(extra, negated);
      context.out().immediate = negated;
    } else {
      context.out().operand[0] = context.source(extra, ScalarType::U32);
    }
  }
  context.out().detail = std::move(detail);
  context.out().handler = copy;
}

void commitGroup(Execution& execution, const DecodedInstruction&) {
  execution.warp.state->copies.commit(execution.mask);
  if (auto* observer = execution.warp.cta.cluster.observer.get())
    forEachLane(execution.mask, [&](unsigned lane) { observer->commitGroup(Observer::Group::Copy, execution.warp, lane); });
}

void decodeCommitGroup(DecodeContext& context, const FormMatch&) {
  if (!context.instruction().operands.empty()) context.illegal("the instruction takes no operands");
  context.out().handler = commitGroup;
}

constexpr uint64_t kWaitAll = UINT64_MAX;

void waitGroup(Execution& execution, const DecodedInstruction& instruction) {
  Warp& warp = execution.warp;
  const AsyncQueue& queue = warp.cta.cluster.queue;
  LaneMask waiting = 0;
  forEachLane(execution.mask, [&](unsigned lane) {
    AsyncCopies& copies = warp.state->copies;
    const bool done =
        instruction.immediate == kWaitAll ? copies.allDone(queue, lane) : copies.groupsDone(queue, lane, instruction.immediate);
    waiting |= static_cast<LaneMask>(!done) << lane;
    auto* observer = warp.cta.cluster.observer.get();
    if (observer == nullptr || !done) return;
    if (instruction.immediate == kWaitAll)
      observer->waitedForAll(Observer::Group::Copy, warp, lane);
    else
      observer->waitedForGroups(Observer::Group::Copy, warp, lane, instruction.immediate);
  });
  if (waiting != 0) warp.block(waiting, {.text = "its groups of cp.async copies", .mayTimeOut = false, .describe = {}});
}

void decodeWaitGroup(DecodeContext& context, const FormMatch& match) {
  const auto& operands = context.instruction().operands;
  if (operands.size() != (match.has("wait_all") ? 0 : 1)) context.illegal("wait_group takes a group count, wait_all nothing");
  context.out().immediate = match.has("wait_all") ? kWaitAll : context.integer(operands[0]);
  context.out().handler = waitGroup;
  context.out().endsGroup = true;
}

struct ArriveDetail final : InstructionDetail {
  MemoryOperand barrier;
  bool counted = false;  ///< .noinc: the arrive is part of the expected count
};

void arriveWhenCopied(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<ArriveDetail>();
  Warp& warp = execution.warp;
  AsyncQueue& queue = warp.cta.cluster.queue;
  forEachLane(execution.mask, [&](unsigned lane) {
    const SharedObject barrier = sharedObject(execution, detail.barrier, lane);
    if (!detail.counted) barrier.cta->mbarriers.addPending(barrier.offset, 1);
    queue.issue({OperationKind::ThreadCopyArrive, warp.issuePoint(lane), warp.state->copies.outstanding(queue, lane),
                 [barrier] { barrier.cta->mbarriers.arrive(barrier.offset, 1); }});
  });
}

void decodeArriveWhenCopied(DecodeContext& context, const FormMatch& match) {
  const auto& operands = context.instruction().operands;
  if (operands.size() != 1) context.illegal("the address of an mbarrier is expected");
  auto detail = std::make_shared<ArriveDetail>();
  detail->barrier = memoryOperand(context, operands[0],
                                  match.has("shared")        ? "shared"
                                  : match.has("shared::cta") ? "shared::cta"
                                                             : "");
  detail->counted = match.has("noinc");
  context.out().detail = std::move(detail);
  context.out().handler = arriveWhenCopied;
}

}  // namespace

isa::FormFamily asyncCopyForms() {
  return {
      {"cp.async.(ca|cg).(shared|shared::cta).global{.L2::cache_hint}{.(L2::64B|L2::128B|L2::256B)}", decodeCopy},
      {"cp.async.commit_group", decodeCommitGroup},
      {"cp.async.(wait_group|wait_all)", decodeWaitGroup},
      {"cp.async.mbarrier.arrive{.noinc}{.(shared|shared::cta)}.b64", decodeArriveWhenCopied},
  };
}

}  // namespace shiftconv::emulator::machine

namespace shiftconv::emulator::isa {

FormFamily memoryForms() {
  FormFamily forms = machine::loadStoreForms();
  for (const auto part : {machine::addressForms, machine::atomicForms, machine::asyncCopyForms}) {
    const FormFamily rows = part();
    forms.insert(forms.end(), rows.begin(), rows.end());
  }
  return forms;
}

}  // namespace shiftconv::emulator::isa
