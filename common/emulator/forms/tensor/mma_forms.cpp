// tcgen05.mma (PTX ISA 9.7.16.10.9): decoding, and issuing one operation per executing thread.
#include <fmt/format.h>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/tensor/tensor_forms.hpp"
#include "common/emulator/tensor/collector.hpp"
#include "common/emulator/tensor/mma.hpp"
#include "common/emulator/tensor/sparse_mma.hpp"

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
  bool weightStationary = false;
  bool sparse = false;
  tma::LaneAddress metadata;
  Slot columnMask = machine::kNoSlot;
  uint32_t collectorBuffer = 0;  ///< .ws
  Collector collector = Collector::Discard;
  tma::LaneAddress d;
  bool aInTensorMemory = false;
  tma::LaneAddress aAddress;
  Slot aDescriptor = machine::kNoSlot;
  Slot bDescriptor = machine::kNoSlot;
  Slot instructionDescriptor = machine::kNoSlot;
  std::vector<Slot> disabled;
  tma::LaneAddress scaleA, scaleB;
  uint32_t scaleVector = 0;  ///< 0: not block-scaled
  Slot enableInputD = machine::kNoSlot;
  bool enableNegated = false;
  uint32_t scaleD = 0;
};

/// An operand that identifies accumulator and shape: mma -> mma is ordered when both agree (PTX ISA 9.7.16.6.2).
uint64_t accumulatorKey(const MmaOperation& operation) {
  return uint64_t{operation.d} << 32 | uint64_t{operation.weightStationary} << 31 | uint64_t{operation.descriptor.m} << 20 |
         uint64_t{operation.descriptor.n} << 8 | operation.depth();
}

/// The scale type stands in the instruction descriptor (PTX ISA 9.7.16.10.7, table 54).
void checkScaleType(const MmaOperation& operation) {
  if (operation.descriptor.scaleIsUe8m0 || operation.scaleVector == 4) return;
  throw EmulatorError(ErrorKind::Descriptor,
                      "Instruction descriptor: scale type ue4m3 (bit 23 = 0) needs scale_vec::4X or block16.");
}

MmaOperation gather(const Execution& execution, const MmaDetail& detail, unsigned lane) {
  MmaOperation operation;
  operation.kind = detail.kind;
  operation.ctaGroup = detail.ctaGroup;
  operation.shiftA = detail.shiftA;
  operation.weightStationary = detail.weightStationary;
  operation.sparse = detail.sparse;
  if (detail.sparse) operation.metadata = addressWord(detail.metadata, execution, lane);
  operation.collector = detail.collector;
  operation.collectorBuffer = detail.collectorBuffer;
  operation.d = addressWord(detail.d, execution, lane);
  operation.aInTensorMemory = detail.aInTensorMemory;
  if (detail.aInTensorMemory) {
    operation.aAddress = addressWord(detail.aAddress, execution, lane);
  } else {
    operation.a = decodeMatrixDescriptor(execution.lanes<uint64_t>(detail.aDescriptor)[lane], "operand A of tcgen05.mma");
  }
  operation.b = decodeMatrixDescriptor(execution.lanes<uint64_t>(detail.bDescriptor)[lane], "operand B of tcgen05.mma");
  operation.descriptor = decodeInstructionDescriptor(execution.lanes<uint32_t>(detail.instructionDescriptor)[lane], detail.kind,
                                                     detail.ctaGroup, {detail.weightStationary, detail.sparse});
  if (detail.columnMask != machine::kNoSlot)
    operation.columnMask = decodeColumnMask(execution.lanes<uint64_t>(detail.columnMask)[lane], operation.descriptor.m);
  operation.masked = !detail.disabled.empty();
  for (size_t word = 0; word < detail.disabled.size(); ++word) {
    operation.disabled[word] = execution.lanes<uint32_t>(detail.disabled[word])[lane];
  }
  operation.enableInputD = ((execution.predicate(detail.enableInputD) >> lane & 1) != 0) != detail.enableNegated;
  operation.scaleD = detail.scaleD;
  operation.scaleVector = detail.scaleVector;
  if (detail.scaleVector != 0) {
    operation.scaleA = addressWord(detail.scaleA, execution, lane);
    operation.scaleB = addressWord(detail.scaleB, execution, lane);
    checkScaleType(operation);
  }
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
  // Metadata are copied into Tensor Memory as scale factors are, by the same thread.
  if (operation.sparse) ordered.scaleA = {metadataColumn(operation), metadataColumns(operation)};
  if (operation.scaleVector != 0) {
    constexpr uint32_t kRowsPerColumn = 32;
    const auto range = [](uint32_t address, uint32_t count) {
      return ColumnRange{unpackAddress(address).column, (count + kRowsPerColumn - 1) / kRowsPerColumn};
    };
    ordered.scaleA = range(operation.scaleA, operation.layout().rowsPerCta);
    ordered.scaleB = range(operation.scaleB, operation.layout().columns);
  }
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
    MmaOperation operation = gather(execution, detail, lane);
    withMemories(cluster, ctas, [&](const MmaContext& context) {
      checkMma(operation, context);
      enterCollector(operation, stateOf(*ctas[0]).collector, context);
    });
    issueOrdered(execution, lane, machine::OperationKind::TensorMma, orderOf(operation, execution, lane, ctas),
                 [operation, ctas, &cluster] {
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

Collector collectorOf(const FormMatch& match, const std::string& buffer) {
  if (match.has("collector::" + buffer + "::fill")) return Collector::Fill;
  if (match.has("collector::" + buffer + "::use")) return Collector::Use;
  if (match.has("collector::" + buffer + "::lastuse")) return Collector::LastUse;
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
  if (!context.target().has(program::Feature::ScaledInput))
    context.illegal(fmt::format("scale-input-d does not exist on {}.", context.target().name));
  if (scale > 15) context.illegal(fmt::format("scale-input-d is {}, but must be a literal from 0 to 15.", scale));
  detail.scaleD = static_cast<uint32_t>(scale);
}

/// Factors per row of one instruction (PTX ISA 9.7.16.10.7, tables 54 and 55).
uint32_t scaleVectorOf(DecodeContext& context, const FormMatch& match, MmaKind kind) {
  struct Legal {
    MmaKind kind;
    std::string_view modifier;  ///< "" when none is written
    uint32_t factors;
  };
  static constexpr std::array<Legal, 10> kLegal{{
      {MmaKind::MXF8F6F4, "", 1},
      {MmaKind::MXF8F6F4, "scale_vec::1X", 1},
      {MmaKind::MXF8F6F4, "block32", 1},
      {MmaKind::MXF4, "", 2},
      {MmaKind::MXF4, "scale_vec::2X", 2},
      {MmaKind::MXF4, "block32", 2},
      {MmaKind::MXF4NVF4, "scale_vec::2X", 2},
      {MmaKind::MXF4NVF4, "block32", 2},
      {MmaKind::MXF4NVF4, "scale_vec::4X", 4},
      {MmaKind::MXF4NVF4, "block16", 4},
  }};
  std::string_view written;
  for (const std::string_view modifier : {"scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32"}) {
    if (match.has(modifier)) written = modifier;
  }
  for (const Legal& row : kLegal) {
    if (row.kind == kind && row.modifier == written) return row.factors;
  }
  context.illegal(written.empty() ? fmt::format("{} must name its scale vector size: .block16 or .block32.", kindTraits(kind).name)
                                  : fmt::format(".{} is not legal for {}.", written, kindTraits(kind).name));
}

/// The part that all forms share: accumulator, A, B, metadata of .sp, and instruction descriptor.
std::shared_ptr<MmaDetail> decodeOperands(DecodeContext& context, const FormMatch& match, tma::OperandCursor& operands,
                                          bool sparse = false) {
  auto detail = std::make_shared<MmaDetail>();
  detail->kind = kindOf(match);
  detail->ctaGroup = ctaGroupOf(match);
  detail->shiftA = match.has("ashift");
  detail->collector = collectorOf(match, "a");
  detail->d = tensorAddress(context, operands.next("accumulator"));
  const Operand& a = operands.next("operand A");
  detail->aInTensorMemory = a.kind == Operand::Kind::Address;
  if (detail->aInTensorMemory) {
    detail->aAddress = tensorAddress(context, a);
  } else {
    detail->aDescriptor = context.source(a, ScalarType::B64);
  }
  detail->bDescriptor = operands.source("descriptor of operand B", ScalarType::B64);
  detail->sparse = sparse;
  if (sparse) detail->metadata = tensorAddress(context, operands.next("metadata"));
  detail->instructionDescriptor = operands.source("instruction descriptor", ScalarType::B32);
  return detail;
}

void finish(DecodeContext& context, tma::OperandCursor& operands, std::shared_ptr<MmaDetail> detail) {
  operands.finish();
  context.out().handler = runMma;
  context.out().detail = std::move(detail);
}

void decodeUnscaled(DecodeContext& context, const FormMatch& match, bool sparse) {
  tma::OperandCursor operands(context);
  auto detail = decodeOperands(context, match, operands, sparse);
  const Operand* next = &operands.next("enable-input-d predicate");
  if (next->kind == Operand::Kind::Vector) {
    decodeLaneMask(context, *next, *detail);
    next = &operands.next("enable-input-d predicate");
  }
  detail->enableInputD = context.predicateSource(*next, detail->enableNegated);
  if (operands.more()) decodeScaleD(context, operands.next("scale-input-d"), *detail);

  if (detail->shiftA && !detail->aInTensorMemory) context.illegal(".ashift needs operand A in Tensor Memory.");
  if (detail->shiftA && (detail->collector == Collector::Fill || detail->collector == Collector::Use)) {
    context.illegal(".ashift cannot be combined with .collector::a::fill or .collector::a::use.");
  }
  finish(context, operands, std::move(detail));
}

void decodeMma(DecodeContext& context, const FormMatch& match) { decodeUnscaled(context, match, false); }
void decodeSparse(DecodeContext& context, const FormMatch& match) { decodeUnscaled(context, match, true); }

void decodeBlockScaled(DecodeContext& context, const FormMatch& match) {
  tma::OperandCursor operands(context);
  auto detail = decodeOperands(context, match, operands);
  detail->scaleVector = scaleVectorOf(context, match, detail->kind);
  detail->scaleA = tensorAddress(context, operands.next("scale factors of A"));
  detail->scaleB = tensorAddress(context, operands.next("scale factors of B"));
  detail->enableInputD = context.predicateSource(operands.next("enable-input-d predicate"), detail->enableNegated);
  finish(context, operands, std::move(detail));
}

void decodeWeightStationary(DecodeContext& context, const FormMatch& match) {
  tma::OperandCursor operands(context);
  auto detail = decodeOperands(context, match, operands);
  detail->weightStationary = true;
  constexpr uint32_t kBuffers = 4;
  for (uint32_t buffer = 0; buffer < kBuffers; ++buffer) {
    const Collector collector = collectorOf(match, fmt::format("b{}", buffer));
    if (collector == Collector::Discard && !match.has(fmt::format("collector::b{}::discard", buffer))) continue;
    detail->collector = collector;
    detail->collectorBuffer = buffer;
  }
  const Operand& enable = operands.next("enable-input-d predicate");
  if (enable.kind == Operand::Kind::Vector)
    context.illegal("tcgen05.mma.ws has no disable-output-lane operand (PTX ISA 9.7.16.10.9.3).");
  detail->enableInputD = context.predicateSource(enable, detail->enableNegated);
  if (operands.more()) detail->columnMask = operands.source("zero-column mask descriptor", ScalarType::B64);
  finish(context, operands, std::move(detail));
}

}  // namespace

isa::FormFamily mmaForms() {
  return {
      {"tcgen05.mma.(cta_group::1|cta_group::2).(kind::f16|kind::tf32|kind::f8f6f4|kind::i8){.ashift}"
       "{.(collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard)}",
       decodeMma},
      {"tcgen05.mma.sp.(cta_group::1|cta_group::2).(kind::f16|kind::tf32|kind::f8f6f4|kind::i8)"
       "{.(collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard)}",
       decodeSparse},
      {"tcgen05.mma.(cta_group::1|cta_group::2).(kind::mxf8f6f4|kind::mxf4|kind::mxf4nvf4).block_scale"
       "{.(scale_vec::1X|scale_vec::2X|scale_vec::4X|block16|block32)}"
       "{.(collector::a::fill|collector::a::use|collector::a::lastuse|collector::a::discard)}",
       decodeBlockScaled},
      {"tcgen05.mma.ws.cta_group::1.(kind::f16|kind::tf32|kind::f8f6f4|kind::i8)"
       "{.(collector::b0::fill|collector::b0::use|collector::b0::lastuse|collector::b0::discard|"
       "collector::b1::fill|collector::b1::use|collector::b1::lastuse|collector::b1::discard|"
       "collector::b2::fill|collector::b2::use|collector::b2::lastuse|collector::b2::discard|"
       "collector::b3::fill|collector::b3::use|collector::b3::lastuse|collector::b3::discard)}",
       decodeWeightStationary},
  };
}

}  // namespace shiftconv::emulator::tensor
