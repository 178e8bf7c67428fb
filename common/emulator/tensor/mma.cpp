#include "common/emulator/tensor/mma.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "common/emulator/error.hpp"
#include "common/emulator/tensor/block_scale.hpp"
#include "common/emulator/tensor/collector.hpp"
#include "common/emulator/tensor/mma_operands.hpp"
#include "common/emulator/tensor/numerics_fast.hpp"
#include "common/emulator/tensor/numerics_hardware.hpp"
#include "common/emulator/tensor/operand_address.hpp"
#include "common/emulator/tensor/sparse_mma.hpp"

namespace shiftconv::emulator::tensor {

namespace {

/// Every instruction reads 32 bytes of A per row (PTX ISA 9.7.16.10.4).
constexpr uint32_t kOperandColumns = 8;
constexpr uint32_t kOperandRowBytes = 32;

bool isSet(const LaneBits& bits, uint32_t lane) { return bits[lane / 32] >> lane % 32 & 1; }

template <class... Arguments>
[[noreturn]] void refuse(ErrorKind kind, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw EmulatorError(kind, fmt::format(format, std::forward<Arguments>(arguments)...));
}

bool isSixBit(ElementType type) { return elementFormat(type).packedBits == 6; }

/// The columns may have been freed between issue and completion.
void requireColumns(const MmaOperation& operation, const MmaContext& context) {
  if (operation.sparse) requireMetadata(operation, context);
  for (const CtaMemories& cta : context.ctas) {
    cta.tensor.requireCells(0, kTmemLanes, unpackAddress(operation.d).column, operation.layout().columns,
                            "The accumulator of tcgen05.mma");
    if (!operation.aInTensorMemory) continue;
    cta.tensor.requireCells(0, kTmemLanes, unpackAddress(operation.aAddress).column, kOperandColumns, "Operand A of tcgen05.mma");
  }
}

void checkAccumulator(const MmaOperation& operation, const MmaContext& context) {
  const TmemAddress d = unpackAddress(operation.d);
  const AccumulatorLayout layout = operation.layout();
  if (!layout.allowsBaseLane(d.lane)) {
    refuse(ErrorKind::Misaligned,
           "The accumulator of tcgen05.mma starts at lane {}; with M = {} and cta_group::{} the lane must be {}.", d.lane,
           operation.descriptor.m, operation.ctaGroup, layout.spaced ? "0 or 16" : "0");
  }
  const uint8_t rule = context.options.semantics[Unproven::U23];
  const uint32_t alignment = rule == 1 ? 4 : rule == 2 ? 32 : 1;
  if (d.column % 32 != 0) context.counters.use(Unproven::U23);
  if (d.column % alignment != 0) {
    refuse(ErrorKind::Misaligned,
           "The accumulator of tcgen05.mma starts at column {}: alternative {} of question U23 wants a multiple of {}.", d.column,
           rule, alignment);
  }
}

void checkOperandA(const MmaOperation& operation, const MmaContext& context) {
  const InstructionDescriptor& descriptor = operation.descriptor;
  if (!operation.aInTensorMemory) {
    checkOperandDescriptor(operation.a, descriptor.a, descriptor.transposeA, "operand A", context.options.semantics,
                           context.counters);
    return;
  }
  if (descriptor.transposeA) {
    refuse(ErrorKind::Descriptor, "Instruction descriptor: A in Tensor Memory is always K-major, but bit 15 says MN-major.");
  }
  const TmemAddress a = unpackAddress(operation.aAddress);
  const AccumulatorLayout layout = operation.layout();
  const uint32_t dLane = unpackAddress(operation.d).lane;
  if (!layout.allowsBaseLane(a.lane) || a.lane != dLane) {
    refuse(ErrorKind::Misaligned,
           "Operand A of tcgen05.mma starts at lane {} and the accumulator at lane {}: both must start at lane {}.", a.lane, dLane,
           layout.spaced ? "0, or both at lane 16" : "0");
  }
  if (isSixBit(descriptor.a)) context.counters.use(Unproven::U8);
  if (operation.weightStationary && layout.columnGroups > 1) context.counters.use(Unproven::U12);
}

/// What .ws adds: PTX ISA 9.7.16.4.2, table 42 (maximum shift), and 9.7.16.4.3.
void checkWeightStationary(const MmaOperation& operation, const MmaContext& context) {
  const uint32_t shift = operation.columnMask.shift, most = operation.descriptor.maximumShift;
  if (operation.collector != Collector::Discard && shift > most) {
    refuse(
        ErrorKind::Descriptor,
        "Column shift {} of an operand B that the collector keeps is more than the maximum of {} in bits 31:30 of the instruction "
        "descriptor (PTX ISA 9.7.16.4.2).",
        shift, most);
  }
  if (operation.columnMask.masks && shift != 0) context.counters.use(Unproven::U19);
}

void checkShiftOfA(const MmaOperation& operation, const MmaContext& context) {
  context.counters.use(Unproven::U3);
  if (std::any_of(operation.disabled.begin(), operation.disabled.end(), [](uint32_t word) { return word != 0; })) {
    context.counters.use(Unproven::U25);
  }
  if (operation.layout().rowsPerCta != 64 || operation.ctaGroup != 1) return;
  context.counters.use(Unproven::U24);
  if (context.options.semantics[Unproven::U24] == 0) {
    refuse(ErrorKind::IllegalInstruction, ".ashift with M = 64: it is defined for M = 128 and 256 (PTX ISA 9.7.16.10.9.1).");
  }
}

void checkScaleD(const MmaOperation& operation, const MmaContext& context) {
  if (operation.scaleD == 0) return;
  if (operation.kind == MmaKind::I8) {
    context.counters.use(Unproven::U22);
    if (context.options.semantics[Unproven::U22] == 0) {
      refuse(ErrorKind::IllegalInstruction, "scale-input-d is defined for kind::f16 and kind::tf32 only (PTX ISA 9.7.16.10.9.1).");
    }
    return;
  }
  context.counters.use(Unproven::U15);
}

/// The A rows that some enabled lane multiplies, and the work of those lanes.
struct LanePlan {
  std::array<bool, kTmemLanes> rows{};
  std::vector<LaneWork> work;
  LaneBits lanes{};  ///< the enabled lanes
};

LanePlan planLanes(const MmaOperation& operation, const CtaMemories& cta, const LaneBits& disabled, const Semantics& semantics) {
  LanePlan plan;
  const AccumulatorLayout layout = operation.layout();
  const TmemAddress d = unpackAddress(operation.d);
  for (uint32_t relative = 0; relative + d.lane < kTmemLanes; ++relative) {
    const int row = layout.rowOfLane(relative);
    const uint32_t lane = d.lane + relative;
    if (row < 0 || isSet(disabled, lane)) continue;
    // In Tensor Memory every lane multiplies its own copy of the row (.ws: question U12).
    const bool hasCopy = operation.aInTensorMemory && !(operation.weightStationary && semantics[Unproven::U12] == 1);
    const uint32_t index = hasCopy ? relative : static_cast<uint32_t>(row);
    plan.rows[index] = true;
    plan.lanes[lane / 32] |= 1u << lane % 32;
    plan.work.push_back({index, layout.firstColumnOfLane(relative), cta.tensor.cells(lane) + d.column});
  }
  return plan;
}

/// Block-scaled kinds always use the hardware numerics; the fast ones would have to scale B for every row of A.
void accumulateBlockScaled(const MmaOperation& operation, const MmaContext& context, const CtaMemories& cta, OperandTile& a,
                           OperandTile& b, const LanePlan& plan) {
  const Semantics& semantics = context.options.semantics;
  const uint32_t columns = operation.layout().columns;
  const uint32_t depth = kindTraits(operation.kind).depth;
  const bool fourBit = operation.kind != MmaKind::MXF8F6F4;
  if (fourBit) {
    decodeFourBit(a, kTmemLanes, depth);
    decodeFourBit(b, depth, b.stride);
  } else {
    decodeForHardware(a, kTmemLanes, depth, true);
  }
  const AccumulatorInput input{AccumulatorType::F32, operation.enableInputD, 0, false};
  std::array<std::vector<ScaleRow>, kTmemLanes / kWindowLanes> scaleB;
  size_t next = 0;
  for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
    if (!isSet(plan.lanes, lane)) continue;
    LaneWork work = plan.work[next++];
    std::vector<ScaleRow>& window = scaleB[lane / kWindowLanes];
    if (window.empty()) window = fetchColumnScales(operation, semantics, cta.tensor, lane / kWindowLanes);
    const auto row = static_cast<uint32_t>(operation.layout().rowOfLane(lane));
    const ScaleRow scaleA = fetchRowScales(operation, semantics, cta.tensor, lane, row);
    if (fourBit) {
      accumulateFourBit(a, b, operation.scaleVector, scaleA, window, operation.enableInputD, columns, work);
      continue;
    }
    const std::vector<int32_t> exponents = scaleExponents(scaleA, window);
    work.scaleExponents = exponents.data();
    accumulateHardware(a, b, columns, depth, input, {&work, 1});
  }
}

/// Decodes the operands and runs the arithmetic of the chosen numerics.
void accumulate(const MmaOperation& operation, const MmaContext& context, const CtaMemories& cta, OperandTile& a, OperandTile& b,
                const LanePlan& plan) {
  if (kindTraits(operation.kind).blockScaled) {
    accumulateBlockScaled(operation, context, cta, a, b, plan);
    return;
  }
  const uint32_t depth = kindTraits(operation.kind).depth;
  const uint32_t columns = operation.layout().columns;
  if (operation.kind == MmaKind::I8) {
    decodeIntegers(a, kTmemLanes, depth);
    if (operation.scaleD != 0 && context.options.semantics[Unproven::U22] == 2) {
      for (const LaneWork& lane : plan.work) {
        for (uint32_t n = 0; n < columns; ++n)
          lane.d[n] = static_cast<uint32_t>(static_cast<int32_t>(lane.d[n]) >> operation.scaleD);
      }
    }
    const bool saturate = operation.descriptor.saturate && context.options.semantics[Unproven::U13] == 0;
    accumulateIntegers(a, b, columns, depth, operation.enableInputD, saturate, plan.work);
    return;
  }
  const AccumulatorInput input{operation.descriptor.d, operation.enableInputD, operation.scaleD,
                               context.options.semantics[Unproven::U15] == 1};
  if (context.options.numerics == Numerics::Fast) {
    decodeForFast(a, kTmemLanes, depth);
    accumulateFast(a, b, columns, depth, input, plan.work);
  } else {
    decodeForHardware(a, kTmemLanes, depth, true);
    accumulateHardware(a, b, columns, depth, input, plan.work);
  }
}

/// The columns of D whose column of B counts as zero.
std::bitset<kMaximumColumns> zeroColumnsOf(const MmaOperation& operation, const Semantics& semantics) {
  if (!operation.columnMask.masks) return {};
  const auto zero = zeroColumns(operation.columnMask, operation.descriptor.m, operation.descriptor.n);
  return semantics[Unproven::U19] == 1 ? zero >> operation.columnMask.shift : zero;
}

void decodeB(const MmaOperation& operation, const MmaContext& context, OperandTile& b) {
  const uint32_t depth = kindTraits(operation.kind).depth;
  if (operation.sparse) return;  // row by row
  if (operation.kind == MmaKind::I8) {
    decodeIntegers(b, depth, b.stride);
  } else if (operation.kind == MmaKind::MXF4 || operation.kind == MmaKind::MXF4NVF4) {
    return;  // works on the codes
  } else if (context.options.numerics == Numerics::Fast && !kindTraits(operation.kind).blockScaled) {
    decodeForFast(b, depth, b.stride);
  } else {
    decodeForHardware(b, depth, b.stride, false);
  }
}

/// What is undefined of the operands of one CTA.
struct OperandStates {
  std::array<Definedness, kTmemLanes> rows{};  ///< of A, by row of the tile
  const std::vector<bool>& undefinedColumns;   ///< of B; empty when none is
};

/// The operand that makes the results of a whole lane undefined, if there is one.
std::optional<machine::Observer::UndefinedOperand> undefinedRow(const MmaOperation& operation, const CtaMemories& cta,
                                                                const OperandStates& states, uint32_t lane, uint32_t row) {
  const auto isBad = [](const Definedness& state) { return !state.defined || state.stale; };
  const bool scaled = kindTraits(operation.kind).blockScaled;
  const bool maskable = !scaled && !operation.weightStationary;
  if (const Definedness& a = states.rows[row]; isBad(a)) return {{machine::OperandRole::OperandA, a.defined, maskable}};
  if (!scaled) return std::nullopt;
  const auto m = static_cast<uint32_t>(operation.layout().rowOfLane(lane - unpackAddress(operation.d).lane));
  const Definedness scale = rowScalesDefined(operation, cta.tensor, lane, m);
  if (isBad(scale)) return {{machine::OperandRole::ScaleA, scale.defined, false}};
  return std::nullopt;
}

/// The columns that a lane of `window` cannot compute, because of B or of its scale factors; empty when there is none.
std::vector<bool> undefinedColumns(const MmaOperation& operation, const CtaMemories& cta, const OperandStates& states,
                                   uint32_t window, uint32_t firstColumn, machine::Observer::UndefinedOperand& operand) {
  const uint32_t columns = operation.layout().columns;
  std::vector<bool> undefined;
  if (!states.undefinedColumns.empty()) {
    undefined.assign(states.undefinedColumns.begin() + firstColumn, states.undefinedColumns.begin() + firstColumn + columns);
    operand = {machine::OperandRole::OperandB, false, false};
  }
  if (!kindTraits(operation.kind).blockScaled) return undefined;
  for (uint32_t n = 0; n < columns; ++n) {
    const Definedness scale = columnScalesDefined(operation, cta.tensor, window, n);
    if (scale.defined && !scale.stale) continue;
    undefined.resize(columns);
    undefined[n] = true;
    operand = {machine::OperandRole::ScaleB, scale.defined, false};
  }
  return undefined;
}

/// Marks the results as defined where the operands were. f16 results: what the high halves hold is question U9.
void finishAccumulators(const MmaOperation& operation, const MmaContext& context, const CtaMemories& cta, const LanePlan& plan,
                        const std::vector<uint32_t>& highHalves, const OperandStates& states) {
  const uint32_t columns = operation.layout().columns;
  const uint32_t column = unpackAddress(operation.d).column;
  const bool isHalf = operation.descriptor.d == AccumulatorType::F16;
  const uint8_t needed = isHalf ? kLowHalf : kWholeCell;
  const uint8_t rule = isHalf ? context.options.semantics[Unproven::U9] : 0;
  size_t next = 0, nextHalf = 0;
  uint32_t window = kTmemLanes, firstColumn = 0;
  std::vector<bool> missing;
  machine::Observer::UndefinedOperand missingOperand;
  for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
    if (!isSet(plan.lanes, lane)) continue;
    const LaneWork& work = plan.work[next++];
    if (window != lane / kWindowLanes || firstColumn != work.firstColumn) {
      window = lane / kWindowLanes;
      firstColumn = work.firstColumn;
      missing = undefinedColumns(operation, cta, states, window, firstColumn, missingOperand);
    }
    const auto row = undefinedRow(operation, cta, states, lane, work.row);
    if (row) cta.tensor.observeUndefined(lane, *row);
    if (!row && !missing.empty()) cta.tensor.observeUndefined(lane, missingOperand);
    uint8_t* written = cta.tensor.written(lane) + column;
    const bool whole = !row && missing.empty() && (!operation.enableInputD || cta.tensor.isDefined(lane, column, columns, needed));
    if (whole && rule == 0) {
      std::fill_n(written, columns, static_cast<uint8_t>(kWholeCell));
      continue;
    }
    uint32_t* cells = cta.tensor.cells(lane) + column;
    for (uint32_t n = 0; n < columns; ++n) {
      const bool isDefined =
          !row && (missing.empty() || !missing[n]) && (!operation.enableInputD || (written[n] & needed) == needed);
      if (rule != 0) cells[n] = (cells[n] & 0xffffu) | highHalves[nextHalf++];
      if (!isDefined)
        written[n] = kNothing;
      else
        written[n] = rule == 0 ? kWholeCell : rule == 1 ? (written[n] & kWholeCell) | kLowHalf : kLowHalf;
    }
  }
}

/// The high halves of f16 accumulators before the MMA, in the order of the enabled lanes.
std::vector<uint32_t> saveHighHalves(const MmaOperation& operation, const MmaContext& context, const LanePlan& plan) {
  std::vector<uint32_t> saved;
  if (operation.descriptor.d != AccumulatorType::F16) return saved;
  context.counters.use(Unproven::U9);
  if (context.options.semantics[Unproven::U9] == 0) return saved;
  for (const LaneWork& lane : plan.work) {
    for (uint32_t n = 0; n < operation.layout().columns; ++n) saved.push_back(lane.d[n] & 0xffff0000u);
  }
  return saved;
}

void zeroMaskedLanes(const MmaOperation& operation, const CtaMemories& cta, const LaneBits& disabled) {
  const TmemAddress d = unpackAddress(operation.d);
  for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
    if (!isSet(disabled, lane)) continue;
    for (uint32_t n = 0; n < operation.layout().columns; ++n) cta.tensor.store(lane, d.column + n, 0);
  }
}

void shiftOperandA(const MmaOperation& operation, const MmaContext& context, const CtaMemories& cta, const LaneBits& disabled) {
  const Semantics& semantics = context.options.semantics;
  const TmemAddress a = unpackAddress(operation.aAddress);
  constexpr uint32_t kWideColumns = 32;
  const uint32_t width = semantics[Unproven::U3] == 1 ? std::min(kWideColumns, kTmemColumns - a.column) : kShiftColumns;
  const LaneBits heldBack = semantics[Unproven::U25] == 1 ? disabled : LaneBits{};
  if (!operation.layout().spaced) {
    shiftWindows(cta.tensor, a.column, width, kAllWindows, heldBack);
    return;
  }
  // Question U24, M = 64: 16 rows in each window, or nothing.
  if (semantics[Unproven::U24] != 1) return;
  for (uint32_t lane = a.lane; lane < kTmemLanes; lane += kWindowLanes) shiftLanes(cta.tensor, a.column, width, lane, 16, heldBack);
}

/// Tells observers what the MMA touches in Tensor Memory; operands in shared memory are reported as they are read.
void observeOperands(const MmaOperation& operation, const CtaMemories& cta, const LanePlan& plan) {
  using Role = machine::OperandRole;
  // Calls action(first, count) for runs of set entries.
  const auto forEachRun = [](auto&& isIncluded, auto&& action) {
    for (uint32_t first = 0; first < kTmemLanes; ++first) {
      if (!isIncluded(first)) continue;
      uint32_t end = first;
      while (end < kTmemLanes && isIncluded(end)) ++end;
      action(first, end - first);
      first = end;
    }
  };
  if (operation.aInTensorMemory) {
    const TmemAddress a = unpackAddress(operation.aAddress);
    forEachRun([&](uint32_t row) { return plan.rows[row]; },
               [&](uint32_t first, uint32_t count) {
                 cta.tensor.observe(a.lane + first, count, a.column, kOperandColumns, false, Role::OperandA);
               });
  }
  if (operation.sparse)
    cta.tensor.observe(0, kTmemLanes, metadataColumn(operation), metadataColumns(operation), false, Role::OperandA);
  if (operation.scaleVector != 0) {
    constexpr uint32_t kRowsPerColumn = 32;
    const auto observeScales = [&](uint32_t address, uint32_t rows, Role role) {
      const uint32_t column = unpackAddress(address).column;
      cta.tensor.observe(0, kTmemLanes, column, (rows + kRowsPerColumn - 1) / kRowsPerColumn, false, role);
    };
    observeScales(operation.scaleA, operation.layout().rowsPerCta, Role::ScaleA);
    observeScales(operation.scaleB, operation.layout().columns, Role::ScaleB);
  }
  const uint32_t column = unpackAddress(operation.d).column;
  forEachRun([&](uint32_t lane) { return isSet(plan.lanes, lane); },
             [&](uint32_t first, uint32_t count) {
               cta.tensor.observe(first, count, column, operation.layout().columns, true, Role::Accumulator);
             });
}

void countTraffic(const MmaOperation& operation, const MmaContext& context, const LanePlan& plan) {
  const uint64_t lanes = plan.work.size();
  const uint64_t accumulatorBytes = lanes * operation.layout().columns * sizeof(uint32_t);
  const auto rows = static_cast<uint64_t>(std::count(plan.rows.begin(), plan.rows.end(), true));
  Counters& counters = context.counters;
  // What a collector buffer holds need not be read again (PTX ISA 9.7.16.10.9.1 and .3).
  const bool keptA = operation.usesCollector() && !operation.weightStationary;
  const bool keptB = operation.usesCollector() && operation.weightStationary;
  if (!keptA)
    counters.addBytes(Engine::TensorCore, operation.aInTensorMemory ? Traffic::TmemRead : Traffic::SharedRead,
                      rows * kOperandRowBytes);
  if (!keptB)
    counters.addBytes(Engine::TensorCore, Traffic::SharedRead,
                      uint64_t{operation.descriptor.n} / context.ctas.size() * kOperandRowBytes * (operation.sparse ? 2 : 1));
  if (operation.enableInputD) counters.addBytes(Engine::TensorCore, Traffic::TmemRead, accumulatorBytes);
  counters.addBytes(Engine::TensorCore, Traffic::TmemWrite, accumulatorBytes);
}

}  // namespace

std::string MmaOperation::shapeName() const {
  std::string name = fmt::format("{} m{}n{}k{} a:{}", kindTraits(kind).name, descriptor.m, descriptor.n, depth(),
                                 aInTensorMemory ? "tmem" : "smem");
  if (scaleVector != 0) name += fmt::format(" scale_vec::{}X", scaleVector);
  if (ctaGroup == 2) name += " cta_group::2";
  if (masked) name += " masked";
  if (shiftA) name += " ashift";
  if (weightStationary) name += " ws";
  if (sparse) name += " sparse";
  return name;
}

LaneBits disabledLanes(const MmaOperation& operation, uint32_t cta, const Semantics& semantics) {
  LaneBits result{};
  const auto& words = operation.disabled;
  if (operation.ctaGroup == 1) {
    std::copy_n(words.begin(), result.size(), result.begin());
    return result;
  }
  // Question U7: which CTA words 4..7 belong to, and whether layout B's bits are rows.
  const uint8_t rule = semantics[Unproven::U7];
  if (rule == 2 && operation.layout().columnGroups == 2) {
    for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
      const uint32_t row = cta * 64 + lane % 64;
      if (words[row / 32] >> row % 32 & 1) result[lane / 32] |= 1u << lane % 32;
    }
    return result;
  }
  const bool second = rule == 1 ? cta != operation.issuerParity : cta == 1;
  std::copy_n(words.begin() + (second ? 4 : 0), result.size(), result.begin());
  return result;
}

void checkMma(const MmaOperation& operation, const MmaContext& context) {
  checkAccumulator(operation, context);
  checkOperandA(operation, context);
  requireColumns(operation, context);
  checkOperandDescriptor(operation.b, operation.descriptor.b, operation.descriptor.transposeB, "operand B",
                         context.options.semantics, context.counters);
  if (operation.shiftA) checkShiftOfA(operation, context);
  if (operation.weightStationary) checkWeightStationary(operation, context);
  if (operation.sparse) checkSparse(operation);
  if (kindTraits(operation.kind).blockScaled) checkScales(operation, context);
  checkScaleD(operation, context);
  const bool anyMasked = std::any_of(operation.disabled.begin(), operation.disabled.end(), [](uint32_t word) { return word != 0; });
  if (anyMasked && operation.ctaGroup == 2) context.counters.use(Unproven::U7);
  if (anyMasked && !operation.enableInputD) context.counters.use(Unproven::U26);
  if (operation.usesCollector()) context.counters.use(Unproven::U20);
  if (operation.kind == MmaKind::I8) context.counters.use(Unproven::U13);
  if (operation.weightStationary || operation.sparse || operation.ctaGroup == 2 || operation.kind == MmaKind::I8 ||
      isSixBit(operation.descriptor.a) || isSixBit(operation.descriptor.b)) {
    context.counters.use(Unproven::U14);
  }
}

void performMma(const MmaOperation& operation, const MmaContext& context) {
  // Large buffers, kept from one MMA to the next.
  thread_local OperandTile a, b;
  requireColumns(operation, context);
  const std::bitset<kMaximumColumns> zero = zeroColumnsOf(operation, context.options.semantics);
  const std::vector<bool> undefinedB = fetchB(operation, context, zero, b);
  passColumnsThroughCollector(operation, context, zero, b);
  decodeB(operation, context, b);
  for (uint32_t cta = 0; cta < context.ctas.size(); ++cta) {
    const CtaMemories& memories = context.ctas[cta];
    const LaneBits disabled = disabledLanes(operation, cta, context.options.semantics);
    const LanePlan plan = planLanes(operation, memories, disabled, context.options.semantics);
    OperandStates states{{}, undefinedB};
    fetchA(operation, context, memories, plan.rows, a, states.rows);
    passRowsThroughCollector(operation, context, cta, plan.lanes, a);
    observeOperands(operation, memories, plan);
    const std::vector<uint32_t> highHalves = saveHighHalves(operation, context, plan);
    if (operation.sparse) {
      for (uint32_t row = 0; row < kTmemLanes; ++row)
        if (plan.rows[row] && !isMetadataDefined(operation, memories.tensor, row)) states.rows[row].defined = false;
      accumulateSparse(operation, context, memories, a, b, plan.work, states.rows);
    } else {
      accumulate(operation, context, memories, a, b, plan);
    }
    finishAccumulators(operation, context, memories, plan, highHalves, states);
    if (!operation.enableInputD && context.options.semantics[Unproven::U26] == 1) zeroMaskedLanes(operation, memories, disabled);
    if (operation.shiftA) shiftOperandA(operation, context, memories, disabled);
    countTraffic(operation, context, plan);
  }
  ++context.counters.mma[operation.shapeName()];
}

}  // namespace shiftconv::emulator::tensor
