// tcgen05.alloc, .dealloc, .relinquish_alloc_permit (PTX ISA 9.7.16.7.1).
//
// With cta_group::2 one warp of each CTA of a pair executes the instruction; each allocates in its own CTA. Both run the
// same sequence, so both get the same addresses.
#include <fmt/format.h>

#include <cstring>

#include "common/emulator/error.hpp"
#include "common/emulator/tensor/tensor_forms.hpp"

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

void runAlloc(Execution& execution, const DecodedInstruction& instruction) {
  execution.warp.requireAligned(execution.mask, "tcgen05.alloc");
  const auto& detail = instruction.as<AllocationDetail>();
  machine::Cta& cta = execution.warp.cta;
  participants(cta, detail.ctaGroup);
  TensorMemory& memory = stateOf(cta).memory;
  const uint32_t columns = uniformValue(execution, execution.lanes<uint32_t>(instruction.operand[0]), "number of columns");
  const uint32_t offset = destinationOffset(execution, detail);
  const std::optional<uint32_t> column = memory.allocate(columns);
  if (!column) {
    machine::WaitReason reason;
    reason.text = fmt::format("{} free Tensor Memory columns (allocated: {})", columns, memory.allocatedColumns());
    execution.warp.block(std::move(reason));
    return;
  }
  const uint32_t address = packAddress({0, *column});
  std::memcpy(cta.shared.write(offset, sizeof address, sizeof address), &address, sizeof address);
  if (auto* observer = cta.cluster.observer.get()) {
    std::array<uint64_t, machine::kWarpLanes> place;
    place.fill(uint64_t{cta.rank} << machine::kSharedRankShift | offset);
    observer->sharedAccess(execution.warp, execution.mask & -execution.mask, place, sizeof address, false, true);
    observer->columnsChangeHands(execution.warp, *column, columns);
  }
  ++cta.cluster.changes;
}

void runDealloc(Execution& execution, const DecodedInstruction& instruction) {
  execution.warp.requireAligned(execution.mask, "tcgen05.dealloc");
  machine::Cta& cta = execution.warp.cta;
  participants(cta, instruction.as<AllocationDetail>().ctaGroup);
  const uint32_t address = uniformValue(execution, execution.lanes<uint32_t>(instruction.operand[0]), "Tensor Memory address");
  const uint32_t columns = uniformValue(execution, execution.lanes<uint32_t>(instruction.operand[1]), "number of columns");
  stateOf(cta).memory.deallocate(address, columns);
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
