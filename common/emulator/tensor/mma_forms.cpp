// tcgen05.mma (PTX ISA 9.7.16.10.9): decoding, and issuing one operation per executing thread.
#include <fmt/format.h>

#include "common/emulator/error.hpp"
#include "common/emulator/tensor/mma.hpp"
#include "common/emulator/tensor/tensor_forms.hpp"

namespace shiftconv::emulator::tensor {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using machine::DecodedInstruction;
using machine::Execution;
using machine::Slot;
using ptx::Operand;
using ptx::ScalarType;

struct MmaDetail : machine::InstructionDetail {
  MmaKind kind = MmaKind::F16;
  uint32_t ctaGroup = 1;
  bool shiftA = false;
  Collector collector = Collector::Discard;
  tma::LaneAddress d;
  bool aInTensorMemory = false;
  tma::LaneAddress aAddress;
  Slot aDescriptor = machine::kNoSlot;
  Slot bDescriptor = machine::kNoSlot;
  Slot instructionDescriptor = machine::kNoSlot;
  std::vector<Slot> disabled;
  Slot enableInputD = machine::kNoSlot;
  bool enableNegated = false;
  uint32_t scaleD = 0;
};

/// An operand that identifies accumulator and shape: mma -> mma is ordered when both agree (PTX ISA 9.7.16.6.2).
uint64_t accumulatorKey(const MmaOperation& operation) {
  return uint64_t{operation.d} << 32 | uint64_t{operation.descriptor.m} << 20 | uint64_t{operation.descriptor.n} << 8 |
         kindTraits(operation.kind).depth;
}

MmaOperation gather(const Execution& execution, const MmaDetail& detail, unsigned lane) {
  MmaOperation operation;
  operation.kind = detail.kind;
  operation.ctaGroup = detail.ctaGroup;
  operation.shiftA = detail.shiftA;
  operation.collector = detail.collector;
  operation.d = addressWord(detail.d, execution, lane);
  operation.aInTensorMemory = detail.aInTensorMemory;
  if (detail.aInTensorMemory) {
    operation.aAddress = addressWord(detail.aAddress, execution, lane);
  } else {
    operation.a = decodeMatrixDescriptor(execution.lanes<uint64_t>(detail.aDescriptor)[lane], "operand A of tcgen05.mma");
  }
  operation.b = decodeMatrixDescriptor(execution.lanes<uint64_t>(detail.bDescriptor)[lane], "operand B of tcgen05.mma");
  operation.descriptor =
      decodeInstructionDescriptor(execution.lanes<uint32_t>(detail.instructionDescriptor)[lane], detail.kind, detail.ctaGroup);
  operation.masked = !detail.disabled.empty();
  for (size_t word = 0; word < detail.disabled.size(); ++word) {
    operation.disabled[word] = execution.lanes<uint32_t>(detail.disabled[word])[lane];
  }
  operation.enableInputD = ((execution.predicate(detail.enableInputD) >> lane & 1) != 0) != detail.enableNegated;
  operation.scaleD = detail.scaleD;
  operation.issuerParity = execution.warp.cta.rank & 1;
  return operation;
}

OrderedOperation orderOf(const MmaOperation& operation, const Execution& execution, unsigned lane,
                         const std::vector<machine::Cta*>& ctas) {
  OrderedOperation ordered;
  ordered.kind = OperationClass::Mma;
  ordered.thread = clusterThread(execution.warp, lane);
  ordered.ctas = ctaBits(ctas);
  ordered.accumulator = accumulatorKey(operation);
  ordered.shiftsOperand = operation.shiftA;
  if (operation.aInTensorMemory) ordered.operand = {unpackAddress(operation.aAddress).column, kShiftColumns};
  ordered.result = {unpackAddress(operation.d).column, operation.layout().columns};
  return ordered;
}

/// Calls action(context) with the memories of the participating CTAs.
template <class Action>
void withMemories(machine::Cluster& cluster, const std::vector<machine::Cta*>& ctas, Action&& action) {
  std::vector<CtaMemories> memories;
  for (machine::Cta* cta : ctas) memories.push_back({stateOf(*cta).memory, cta->shared});
  action(MmaContext{memories, cluster.options, cluster.counters, stateOf(*ctas[0]).collectors});
}

void runMma(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<MmaDetail>();
  machine::Cluster& cluster = execution.warp.cta.cluster;
  const std::vector<machine::Cta*> ctas = participants(execution.warp.cta, detail.ctaGroup);
  tma::forEachLane(execution, [&](unsigned lane) {
    const MmaOperation operation = gather(execution, detail, lane);
    withMemories(cluster, ctas, [&](const MmaContext& context) { checkMma(operation, context); });
    issueOrdered(execution, lane, "tcgen05.mma", orderOf(operation, execution, lane, ctas), [operation, ctas, &cluster] {
      withMemories(cluster, ctas, [&](const MmaContext& context) { performMma(operation, context); });
    });
  });
}

// --- decoding -------------------------------------------------------------------------------------------------

MmaKind kindOf(const FormMatch& match) {
  for (size_t kind = 0; kind < static_cast<size_t>(MmaKind::Count); ++kind) {
    if (match.has(kindTraits(static_cast<MmaKind>(kind)).name)) return static_cast<MmaKind>(kind);
  }
  return MmaKind::Count;
}

Collector collectorOf(const FormMatch& match) {
  if (match.has("collector::a::fill")) return Collector::Fill;
  if (match.has("collector::a::use")) return Collector::Use;
  if (match.has("collector::a::lastuse")) return Collector::LastUse;
  return Collector::Discard;
}

void decodeLaneMask(DecodeContext& context, const Operand& vector, MmaDetail& detail) {
  const size_t expected = detail.ctaGroup == 2 ? 8 : 4;
  if (vector.elements.size() != expected) {
    context.illegal(fmt::format("The disable-output-lane vector has {} words, but cta_group::{} takes {}.", vector.elements.size(),
                                detail.ctaGroup, expected));
  }
  bool anyRegister = false;
  for (const Operand& word : vector.elements) {
    anyRegister |= word.kind == Operand::Kind::Register;
    detail.disabled.push_back(context.source(word, ScalarType::B32));
  }
  if (!anyRegister) context.illegal("The disable-output-lane vector cannot consist of immediates only.");
}

void decodeScaleD(DecodeContext& context, const Operand& operand, MmaDetail& detail) {
  const uint64_t scale = context.integer(operand);
  if (detail.kind == MmaKind::F8F6F4) context.illegal("scale-input-d is not available with kind::f8f6f4 (PTX ISA 9.7.16.10.9.1).");
  if (scale > 15) context.illegal(fmt::format("scale-input-d is {}, but must be a literal from 0 to 15.", scale));
  detail.scaleD = static_cast<uint32_t>(scale);
}

void decodeMma(DecodeContext& context, const FormMatch& match) {
  auto detail = std::make_shared<MmaDetail>();
  detail->kind = kindOf(match);
  detail->ctaGroup = ctaGroupOf(match);
  detail->shiftA = match.has("ashift");
  detail->collector = collectorOf(match);

  tma::OperandCursor operands(context);
  detail->d = tensorAddress(context, operands.next("accumulator"));
  const Operand& a = operands.next("operand A");
  detail->aInTensorMemory = a.kind == Operand::Kind::Address;
  if (detail->aInTensorMemory) {
    detail->aAddress = tensorAddress(context, a);
  } else {
    detail->aDescriptor = context.source(a, ScalarType::B64);
  }
  detail->bDescriptor = operands.source("descriptor of operand B", ScalarType::B64);
  detail->instructionDescriptor = operands.source("instruction descriptor", ScalarType::B32);
  const Operand* next = &operands.next("enable-input-d predicate");
  if (next->kind == Operand::Kind::Vector) {
    decodeLaneMask(context, *next, *detail);
    next = &operands.next("enable-input-d predicate");
  }
  detail->enableInputD = context.predicateSource(*next, detail->enableNegated);
  if (operands.more()) decodeScaleD(context, operands.next("scale-input-d"), *detail);
  operands.finish();

  if (detail->shiftA && !detail->aInTensorMemory) context.illegal(".ashift needs operand A in Tensor Memory.");
  if (detail->shiftA && (detail->collector == Collector::Fill || detail->collector == Collector::Use)) {
    context.illegal(".ashift cannot be combined with .collector::a::fill or .collector::a::use.");
  }
  context.out().handler = runMma;
  context.out().detail = std::move(detail);
}

}  // namespace

isa::FormFamily mmaForms() {
  return {
      {"tcgen05.mma.(cta_group::1|cta_group::2).(kind::f16|kind::tf32|kind::f8f6f4|kind::i8){.ashift}"
       "{.(collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard)}",
       decodeMma},
  };
}

}  // namespace shiftconv::emulator::tensor
