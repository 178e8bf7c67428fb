// tcgen05.cp and tcgen05.shift (PTX ISA 9.7.16.9): every executing thread issues one operation.
#include <fmt/format.h>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/tensor/tensor_forms.hpp"
#include "common/emulator/tensor/data_movement.hpp"

namespace shiftconv::emulator::tensor {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using machine::DecodedInstruction;
using machine::Execution;

struct MovementDetail : machine::InstructionDetail {
  uint32_t ctaGroup = 1;
  tma::LaneAddress address;
  CopyShape shape = CopyShape::S128x256b;
  SourceFormat format = SourceFormat::Same;
};

void runCopy(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<MovementDetail>();
  machine::Cluster& cluster = execution.warp.cta.cluster;
  const std::vector<machine::Cta*> ctas = participants(execution.warp.cta, detail.ctaGroup);
  tma::forEachLane(execution, [&](unsigned lane) {
    CopyOperation copy{detail.shape, detail.format, addressWord(detail.address, execution, lane), {}};
    copy.source = decodeMatrixDescriptor(execution.lanes<uint64_t>(instruction.operand[0])[lane], "the source of tcgen05.cp");
    const Semantics& semantics = cluster.options.semantics;
    for (machine::Cta* cta : ctas) checkCopy(copy, stateOf(*cta).memory, semantics, cluster.counters);

    OrderedOperation ordered;
    ordered.kind = copy.shape == CopyShape::S4x256b ? OperationClass::Copy4x256b : OperationClass::OtherCopy;
    ordered.thread = clusterThread(execution.warp, lane);
    ordered.ctas = ctaBits(ctas);
    ordered.operand = {unpackAddress(copy.destination).column, copyTraits(copy.shape).bytesPerRow / 4};
    issueOrdered(execution, lane, machine::OperationKind::TensorCopy, ordered, [copy, ctas, &cluster] {
      for (machine::Cta* cta : ctas) {
        performCopy(copy, stateOf(*cta).memory, cta->shared, cluster.options.semantics, cluster.counters);
      }
    });
  });
}

void runShift(Execution& execution, const DecodedInstruction& instruction) {
  const auto& detail = instruction.as<MovementDetail>();
  machine::Cluster& cluster = execution.warp.cta.cluster;
  const std::vector<machine::Cta*> ctas = participants(execution.warp.cta, detail.ctaGroup);
  tma::forEachLane(execution, [&](unsigned lane) {
    const uint32_t address = addressWord(detail.address, execution, lane);
    const uint32_t column = unpackAddress(address).column;
    uint32_t windows = 0;
    for (machine::Cta* cta : ctas) windows = checkShift(address, stateOf(*cta).memory, cluster.options.semantics, cluster.counters);

    OrderedOperation ordered;
    ordered.kind = OperationClass::Shift;
    ordered.thread = clusterThread(execution.warp, lane);
    ordered.ctas = ctaBits(ctas);
    ordered.operand = {column, kShiftColumns};
    issueOrdered(execution, lane, machine::OperationKind::TensorShift, ordered, [column, windows, ctas] {
      for (machine::Cta* cta : ctas) {
        stateOf(*cta).memory.requireCells(0, kTmemLanes, column, kShiftColumns, "tcgen05.shift");
        shiftWindows(stateOf(*cta).memory, column, kShiftColumns, windows);
      }
    });
  });
}

template <CopyShape Shape>
void decodeCopyShape(DecodeContext& context, const FormMatch& match) {
  auto detail = std::make_shared<MovementDetail>();
  detail->ctaGroup = ctaGroupOf(match);
  detail->shape = Shape;
  if (Shape == CopyShape::S128x256b) {
    if (match.has("128x128b")) detail->shape = CopyShape::S128x128b;
    if (match.has("4x256b")) detail->shape = CopyShape::S4x256b;
  }
  if (Shape == CopyShape::S64x128bWarpx2_02_13 && match.has("warpx2::01_23")) detail->shape = CopyShape::S64x128bWarpx2_01_23;
  if (match.has("b6x16_p32")) detail->format = SourceFormat::B6x16P32;
  if (match.has("b4x16_p64")) detail->format = SourceFormat::B4x16P64;
  if (match.has("b8x16") != (detail->format != SourceFormat::Same)) {
    context.illegal("Decompression is written as .b8x16 followed by .b6x16_p32 or .b4x16_p64.");
  }
  tma::OperandCursor operands(context);
  detail->address = tensorAddress(context, operands.next("Tensor Memory address"));
  context.out().operand[0] = operands.source("shared-memory descriptor", ptx::ScalarType::B64);
  operands.finish();
  context.out().handler = runCopy;
  context.out().detail = std::move(detail);
}

void decodeShift(DecodeContext& context, const FormMatch& match) {
  auto detail = std::make_shared<MovementDetail>();
  detail->ctaGroup = ctaGroupOf(match);
  tma::OperandCursor operands(context);
  detail->address = tensorAddress(context, operands.next("Tensor Memory address"));
  operands.finish();
  context.out().handler = runShift;
  context.out().detail = std::move(detail);
}

}  // namespace

isa::FormFamily movementForms() {
  return {
      {"tcgen05.cp.(cta_group::1|cta_group::2).(128x256b|128x128b|4x256b){.b8x16}{.(b6x16_p32|b4x16_p64)}",
       decodeCopyShape<CopyShape::S128x256b>},
      {"tcgen05.cp.(cta_group::1|cta_group::2).64x128b.(warpx2::02_13|warpx2::01_23){.b8x16}{.(b6x16_p32|b4x16_p64)}",
       decodeCopyShape<CopyShape::S64x128bWarpx2_02_13>},
      {"tcgen05.cp.(cta_group::1|cta_group::2).32x128b.warpx4{.b8x16}{.(b6x16_p32|b4x16_p64)}",
       decodeCopyShape<CopyShape::S32x128bWarpx4>},
      {"tcgen05.shift.(cta_group::1|cta_group::2).down", decodeShift},
  };
}

}  // namespace shiftconv::emulator::tensor
