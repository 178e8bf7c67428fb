#include "common/emulator/forms/tensor/tensor_forms.hpp"

#include <fmt/format.h>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::tensor {

tma::LaneAddress tensorAddress(isa::DecodeContext& context, const ptx::Operand& operand) {
  if (operand.kind != ptx::Operand::Kind::Address) context.illegal("A Tensor Memory address is written in brackets: [register].");
  const isa::DecodeContext::Address address = context.address(operand);
  if (address.base == machine::kNoSlot || !address.base32) {
    context.illegal("A Tensor Memory address is a 32-bit register, with an optional constant behind it.");
  }
  return tma::LaneAddress(address);
}

uint32_t uniformValue(const machine::Execution& execution, const uint32_t* lanes, const char* what) {
  const auto first = static_cast<unsigned>(std::countr_zero(execution.mask));
  tma::forEachLane(execution, [&](unsigned lane) {
    if (lanes[lane] == lanes[first]) return;
    throw EmulatorError(ErrorKind::IllegalInstruction,
                        fmt::format("The {} is {:#x} in lane {} but {:#x} in lane {}: it must be the same in "
                                    "the whole warp.",
                                    what, lanes[first], first, lanes[lane], lane));
  });
  return lanes[first];
}

uint32_t ctaBits(const std::vector<machine::Cta*>& ctas) {
  uint32_t bits = 0;
  for (const machine::Cta* cta : ctas) bits |= 1u << cta->rank;
  return bits;
}

void issueOrdered(const machine::Execution& execution, unsigned lane, machine::OperationKind kind,
                  const OrderedOperation& operation, std::function<void()> complete) {
  machine::Cluster& cluster = execution.warp.cta.cluster;
  Ordering& ordering = orderingOf(execution.warp.cta);
  std::vector<machine::OperationId> before =
      ordering.predecessors(operation, cluster.options.semantics, cluster.queue, cluster.counters);
  machine::AsyncOperation::Pairs pairs{static_cast<uint8_t>(static_cast<uint8_t>(operation.kind) + 1),
                                       operation.accumulator,
                                       operation.ctas,
                                       operation.shiftsOperand,
                                       {}};
  if (cluster.observer) pairs.before = ordering.directlyBefore();
  const machine::OperationId id =
      cluster.queue.issue({kind, execution.warp.issuePoint(lane), std::move(before), std::move(complete), std::move(pairs)});
  ordering.remember(operation, id, cluster.queue);
}

}  // namespace shiftconv::emulator::tensor

namespace shiftconv::emulator::isa {

FormFamily tensorForms() {
  FormFamily all;
  for (const auto family :
       {tensor::allocationForms, tensor::fragmentForms, tensor::movementForms, tensor::mmaForms, tensor::commitForms}) {
    const FormFamily rows = family();
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace shiftconv::emulator::isa
