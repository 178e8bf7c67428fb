#include "common/emulator/tensor/collector.hpp"

#include <fmt/format.h>

#include "common/emulator/error.hpp"

namespace shiftconv::emulator::tensor {

namespace {

bool isSameA(const MmaOperation& held, const MmaOperation& operation) {
  const InstructionDescriptor &one = held.descriptor, &other = operation.descriptor;
  return held.ctaGroup == operation.ctaGroup && one.m == other.m && one.a == other.a && one.transposeA == other.transposeA &&
         held.aInTensorMemory == operation.aInTensorMemory &&
         (operation.aInTensorMemory ? held.aAddress == operation.aAddress : held.a == operation.a);
}

/// M says how the columns are spread over the data paths, the maximum shift how many of them are kept.
bool isSameB(const MmaOperation& held, const MmaOperation& operation) {
  const InstructionDescriptor &one = held.descriptor, &other = operation.descriptor;
  return one.m == other.m && one.n == other.n && one.b == other.b && one.transposeB == other.transposeB &&
         one.maximumShift == other.maximumShift && held.b == operation.b;
}

std::string nameOf(const MmaOperation& operation) {
  return operation.weightStationary ? fmt::format("b{}", operation.collectorBuffer) : "a";
}

}  // namespace

void enterCollector(MmaOperation& operation, CollectorState& state, const MmaContext& context) {
  std::optional<MmaOperation>& holding = state.holding[operation.weightStationary ? 1 + operation.collectorBuffer : 0];
  if (operation.usesCollector()) {
    const bool isHeld = holding && holding->kind == operation.kind &&
                        (operation.weightStationary ? isSameB(*holding, operation) : isSameA(*holding, operation));
    if (!isHeld) {
      throw EmulatorError(
          ErrorKind::IllegalInstruction,
          fmt::format(
              ".collector::{0}::{1} needs a valid .collector::{0}::fill of the same operand {2} before it, but the collector "
              "buffer holds {3} (PTX ISA {4}).",
              nameOf(operation), operation.collector == Collector::Use ? "use" : "lastuse", operation.weightStationary ? "B" : "A",
              holding ? "another operand" : "nothing", operation.weightStationary ? "9.7.16.10.9.3" : "9.7.16.10.9.1"));
    }
    if (holding->columnMask.shift != operation.columnMask.shift) {
      context.counters.use(Unproven::U36);
      if (context.options.semantics[Unproven::U36] == 1) {
        throw EmulatorError(
            ErrorKind::IllegalInstruction,
            fmt::format("Column shift {} with an operand B that was kept with shift {}: alternative 1 of question U36.",
                        operation.columnMask.shift, holding->columnMask.shift));
      }
    }
    operation.fill = holding->fill;
  }
  if (operation.collector == Collector::Fill) {
    operation.fill = ++state.fills;
    holding = operation;
  } else if (operation.collector != Collector::Use) {
    holding.reset();
  }
}

void passRowsThroughCollector(const MmaOperation& operation, const MmaContext& context, uint32_t cta, const LaneBits& lanes,
                              OperandTile& a) {
  if (operation.weightStationary) return;
  std::optional<CollectorBuffers::Rows>& buffer = context.collectors.a[cta];
  if (operation.usesCollector() && context.options.semantics[Unproven::U20] == 1 && buffer && buffer->fill == operation.fill) {
    bool covered = true;
    for (size_t word = 0; word < lanes.size(); ++word) covered &= (lanes[word] & ~buffer->lanes[word]) == 0;
    if (covered) a.raw = buffer->a.raw;
  }
  if (operation.collector == Collector::Fill) buffer = CollectorBuffers::Rows{operation.fill, a, lanes};
}

void passColumnsThroughCollector(const MmaOperation& operation, const MmaContext& context, const std::bitset<kMaximumColumns>& zero,
                                 OperandTile& b) {
  if (!operation.weightStationary || context.options.semantics[Unproven::U20] != 1) return;
  std::optional<CollectorBuffers::Columns>& buffer = context.collectors.b[operation.collectorBuffer];
  const uint32_t shift = operation.columnMask.shift, columns = operation.descriptor.n;
  if (operation.usesCollector() && buffer && buffer->fill == operation.fill) {
    for (uint32_t column = 0; column < columns; ++column) {
      const uint32_t kept = column + shift - buffer->shift;  // wraps around where the fill began further
      if (zero[column] || kept >= columns || buffer->zero[kept]) continue;
      for (uint32_t k = 0; k < kindTraits(operation.kind).depth; ++k)
        b.raw[size_t{k} * b.stride + column] = buffer->b.raw[size_t{k} * b.stride + kept];
    }
  }
  if (operation.collector == Collector::Fill) buffer = CollectorBuffers::Columns{operation.fill, b, shift, zero};
}

}  // namespace shiftconv::emulator::tensor
