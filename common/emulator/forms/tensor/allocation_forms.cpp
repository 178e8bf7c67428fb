// tcgen05.alloc, .dealloc, .relinquish_alloc_permit (PTX ISA 9.7.16.7.1).
//
// With cta_group::2 one warp of each CTA of a pair executes the instruction, and they act together (9.7.16.5): tcgen05.alloc
// happens in both CTAs when the second warp arrives and both CTAs have the same columns free; who came first waits until then. Each
// warp writes the address to its own CTA's shared memory. tcgen05.dealloc frees the columns of its own CTA at once.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/tensor/tensor_forms.hpp"
#include "common/emulator/machine/report.hpp"

namespace shiftconv::emulator::tensor {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using machine::DecodedInstruction;
using machine::Execution;
using machine::ResolvedAddress;
using ptx::ScalarType;

struct AllocationDetail : machine::InstructionDetail {
  uint32_t ctaGroup = 1;
  bool sharedAddress = false;  ///< .shared::cta
  tma::LaneAddress destination;
};

uint32_t destinationOffset(const Execution& execution, const AllocationDetail& detail) {
  const auto lane = static_cast<unsigned>(std::countr_zero(execution.mask));
  if (detail.sharedAddress) return tma::sharedPlace(execution, detail.destination, lane, false, "destination").offset;
  const uint64_t address = detail.destination.at(execution, lane);
  const ResolvedAddress place = resolveGeneric(execution.warp.cta.cluster, address);
  if (place.space != ResolvedAddress::Space::Shared || place.cta != &execution.warp.cta) {
    throw EmulatorError(
        ErrorKind::OutOfBounds,
        fmt::format("The destination {:#x} of tcgen05.alloc is not in the shared memory of the executing CTA.", address));
  }
  return static_cast<uint32_t>(place.offset);
}

machine::WaitReason noFreeColumns(const TensorMemory& memory, uint32_t columns) {
  machine::WaitReason reason;
  reason.text = fmt::format("{} free Tensor Memory columns (allocated: {})", columns, memory.allocatedColumns());
  return reason;
}

/// The columns are the executing warp's: their address goes to shared memory.
void writeAddress(Execution& execution, uint32_t offset, uint32_t column) {
  machine::Cta& cta = execution.warp.cta;
  const uint32_t address = packAddress({0, column});
  std::memcpy(cta.shared.write(offset, sizeof address, sizeof address), &address, sizeof address);
  if (auto* observer = cta.cluster.observer.get()) {
    std::array<uint64_t, machine::kWarpLanes> place;
    place.fill(uint64_t{cta.rank} << machine::kSharedRankShift | offset);
    observer->sharedAccess(execution.warp, execution.mask & -execution.mask, place, sizeof address, false, true);
  }
  ++cta.cluster.changes;
}

/// Column of the allocation once it has happened in both CTAs; nothing while the warp has to wait, for which it is blocked.
std::optional<uint32_t> allocateInPair(machine::Warp& warp, const std::vector<machine::Cta*>& pair, uint32_t columns) {
  using Request = TensorUnit::State::PairRequest;
  machine::Cta& peer = *pair[pair[0] == &warp.cta ? 1 : 0];
  TensorMemory& memory = stateOf(warp.cta).memory;
  TensorMemory& peerMemory = stateOf(peer).memory;
  std::vector<Request>& requests = stateOf(warp.cta).pairRequests;
  auto mine = std::find_if(requests.begin(), requests.end(), [&](const Request& request) { return request.warp == warp.index; });
  if (mine == requests.end()) {
    memory.findFree(columns);  // legal at all?
    mine = requests.insert(requests.end(), {warp.index, columns, {}});
  }
  if (const std::optional<uint32_t> granted = mine->granted) {
    requests.erase(mine);
    return granted;
  }
  std::vector<Request>& others = stateOf(peer).pairRequests;
  const auto other = std::find_if(others.begin(), others.end(), [](const Request& request) { return !request.granted; });
  if (other == others.end()) {
    machine::WaitReason reason;
    reason.text = fmt::format("the tcgen05.alloc.cta_group::2 of CTA {}, the other one of the pair", peer.rank);
    warp.block(std::move(reason));
    return std::nullopt;
  }
  if (other->columns != columns)
    throw EmulatorError(
        ErrorKind::Synchronisation,
        fmt::format("tcgen05.alloc.cta_group::2 of {} columns in CTA {} meets one of {} columns in CTA {}: the two CTAs "
                    "of a pair allocate together.",
                    columns, warp.cta.rank, other->columns, peer.rank));
  const std::optional<uint32_t> here = memory.findFree(columns), there = peerMemory.findFree(columns);
  if (!here || here != there) {
    warp.block(noFreeColumns(here ? peerMemory : memory, columns));
    return std::nullopt;
  }
  memory.allocate(columns);
  peerMemory.allocate(columns);
  other->granted = here;
  requests.erase(mine);
  if (auto* observer = warp.cta.cluster.observer.get()) observer->pairAllocated(warp, *peer.warps[other->warp], *here, columns);
  ++warp.cta.cluster.wakeups;
  return here;
}

void runAlloc(Execution& execution, const DecodedInstruction& instruction) {
  execution.warp.requireAligned(execution.mask, "tcgen05.alloc");
  const auto& detail = instruction.as<AllocationDetail>();
  machine::Cta& cta = execution.warp.cta;
  const std::vector<machine::Cta*> ctas = participants(cta, detail.ctaGroup);
  const uint32_t columns = uniformValue(execution, execution.lanes<uint32_t>(instruction.operand[0]), "number of columns");
  const uint32_t offset = destinationOffset(execution, detail);
  if (ctas.size() > 1) {
    if (const auto column = allocateInPair(execution.warp, ctas, columns)) writeAddress(execution, offset, *column);
    return;
  }
  TensorMemory& memory = stateOf(cta).memory;
  const std::optional<uint32_t> column = memory.allocate(columns);
  if (!column) return execution.warp.block(noFreeColumns(memory, columns));
  writeAddress(execution, offset, *column);
  if (auto* observer = cta.cluster.observer.get()) observer->columnsChangeHands(execution.warp, *column, columns);
}

void runDealloc(Execution& execution, const DecodedInstruction& instruction) {
  execution.warp.requireAligned(execution.mask, "tcgen05.dealloc");
  machine::Cta& cta = execution.warp.cta;
  participants(cta, instruction.as<AllocationDetail>().ctaGroup);
  const uint32_t address = uniformValue(execution, execution.lanes<uint32_t>(instruction.operand[0]), "Tensor Memory address");
  const uint32_t columns = uniformValue(execution, execution.lanes<uint32_t>(instruction.operand[1]), "number of columns");
  TensorMemory& memory = stateOf(cta).memory;
  if (!memory.isAllocation(address) &&
      machine::goesOn(execution.warp, static_cast<unsigned>(std::countr_zero(execution.mask)),
                      fmt::format("tcgen05.dealloc of address {:#x}, where no live allocation starts (allocated columns: {})",
                                  address, memory.allocatedColumns()),
                      "one tcgen05.dealloc for every tcgen05.alloc (PTX ISA 9.0, 9.7.16.7.1)"))
    return;
  memory.deallocate(address, columns);
  if (auto* observer = cta.cluster.observer.get())
    observer->columnsChangeHands(execution.warp, unpackAddress(address).column, columns);
  ++cta.cluster.wakeups;
}

void runRelinquish(Execution& execution, const DecodedInstruction& instruction) {
  execution.warp.requireAligned(execution.mask, "tcgen05.relinquish_alloc_permit");
  participants(execution.warp.cta, instruction.as<AllocationDetail>().ctaGroup);
  stateOf(execution.warp.cta).memory.relinquish();
}

std::shared_ptr<AllocationDetail> begin(DecodeContext& context, const FormMatch& match, machine::Handler handler) {
  auto detail = std::make_shared<AllocationDetail>();
  detail->ctaGroup = ctaGroupOf(match);
  context.out().handler = handler;
  context.out().endsGroup = true;
  context.out().detail = detail;
  return detail;
}

machine::Slot columnCount(DecodeContext& context, const ptx::Operand& operand) {
  if (operand.kind == ptx::Operand::Kind::Integer &&
      (!std::has_single_bit(operand.integer) || operand.integer < kAllocationUnit || operand.integer > kTmemColumns)) {
    context.illegal(fmt::format("{} columns: the number must be a power of two from 32 to 512.", operand.integer));
  }
  return context.source(operand, ScalarType::U32);
}

void decodeAlloc(DecodeContext& context, const FormMatch& match) {
  const auto detail = begin(context, match, runAlloc);
  tma::OperandCursor operands(context);
  detail->destination = operands.address("destination");
  detail->sharedAddress = match.has("shared::cta");
  context.out().operand[0] = columnCount(context, operands.next("number of columns"));
  operands.finish();
}

void decodeDealloc(DecodeContext& context, const FormMatch& match) {
  begin(context, match, runDealloc);
  tma::OperandCursor operands(context);
  const ptx::Operand& address = operands.next("Tensor Memory address");
  if (address.kind == ptx::Operand::Kind::Address) context.illegal("tcgen05.dealloc takes its address without brackets.");
  context.out().operand[0] = context.source(address, ScalarType::U32);
  context.out().operand[1] = columnCount(context, operands.next("number of columns"));
  operands.finish();
}

void decodeRelinquish(DecodeContext& context, const FormMatch& match) {
  begin(context, match, runRelinquish);
  tma::OperandCursor(context).finish();
}

}  // namespace

isa::FormFamily allocationForms() {
  return {
      {"tcgen05.alloc.(cta_group::1|cta_group::2).sync.aligned{.shared::cta}.b32", decodeAlloc},
      {"tcgen05.dealloc.(cta_group::1|cta_group::2).sync.aligned.b32", decodeDealloc},
      {"tcgen05.relinquish_alloc_permit.(cta_group::1|cta_group::2).sync.aligned", decodeRelinquish},
  };
}

}  // namespace shiftconv::emulator::tensor
