// tcgen05.ld, tcgen05.st, tcgen05.wait (PTX ISA 9.7.16.8).
//
// Both are asynchronous. A load's destination registers hold kPoisonRegister from issue to completion; a store takes its
// registers at issue and writes the cells at completion. tcgen05.wait::ld and ::st complete everything that the executing warp
// has outstanding. By the PTX ISA nothing else orders them; shipped programs rely on what ptxas makes of them, question U30: an
// instruction that touches a loaded register waits for it (a scoreboard), and conflicting ld and st of a warp stay in order;
// question U35: stores are complete for whoever acquires what threads of the warp released since (TensorUnit::released). Loads are
// not: a release says nothing of when registers are filled.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/tensor/tensor_forms.hpp"
#include "common/emulator/tensor/fragment_layout.hpp"

namespace shiftconv::emulator::tensor {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using machine::DecodedInstruction;
using machine::Execution;
using machine::kWarpLanes;
using machine::Slot;

/// A NaN that stands out, in registers whose load has not completed.
constexpr uint32_t kPoisonRegister = 0x7fbadbadu;
/// Complete loads and stores that a warp never waits for are forgotten beyond this many.
constexpr size_t kRememberedFragments = 256;

struct FragmentDetail : machine::InstructionDetail {
  FragmentShape shape = FragmentShape::S32x32b;
  uint32_t columns = 0;     ///< spanned, per half
  bool packed = false;      ///< .pack::16b or .unpack::16b
  uint32_t secondHalf = 0;  ///< immediate of 16x32bx2, added to the address word
  tma::LaneAddress address;
  std::vector<Slot> registers;
  std::vector<FragmentCell> cells;  ///< [register][thread]
  const char* name = "";
};

/// Address of the first cell after the warp's window was applied: a warp reaches only lanes 32 * (warp % 4) and the 31 after
/// (PTX ISA 9.7.16.8.1). Question U10: what a lane field outside that window means.
TmemAddress windowAddress(const Execution& execution, const FragmentDetail& detail, uint32_t word) {
  machine::Cluster& cluster = execution.warp.cta.cluster;
  TmemAddress at = unpackAddress(word);
  const uint32_t window = execution.warp.index % (kTmemLanes / kWindowLanes);
  if (at.lane / kWindowLanes != window) {
    cluster.counters.use(Unproven::U10);
    const uint8_t rule = cluster.options.semantics[Unproven::U10];
    if (rule == 2 || (rule == 1 && at.lane >= kWindowLanes)) {
      throw EmulatorError(ErrorKind::OutOfBounds,
                          fmt::format("{} at lane {} by warp {}, which reaches only lanes {}..{}.", detail.name, at.lane,
                                      execution.warp.index, window * kWindowLanes, window * kWindowLanes + kWindowLanes - 1));
    }
    // Kernels for CTA pairs pass lanes of the pair: 128 and more.
    const uint32_t lane = at.lane % kTmemLanes;
    if (cluster.observer && lane >= kWindowLanes && lane / kWindowLanes != window)
      cluster.observer->foreignWindow(execution.warp, lane);
  }
  at.lane = window * kWindowLanes + at.lane % kWindowLanes;
  const uint32_t lanes = fragmentTraits(detail.shape).lanes;
  if (at.lane % lanes != 0) {
    throw EmulatorError(ErrorKind::Misaligned,
                        fmt::format("{} at lane {}: the lane must be a multiple of {}.", detail.name, at.lane, lanes));
  }
  return at;
}

struct FragmentAddress {
  TmemAddress first, second;
};

/// Checked at issue and again at completion: the columns may have been freed in between.
void requireFragment(const TensorMemory& memory, const FragmentDetail& detail, const FragmentAddress& address) {
  const uint32_t lanes = fragmentTraits(detail.shape).lanes;
  memory.requireCells(address.first.lane, lanes, address.first.column, detail.columns, detail.name);
  if (detail.shape != FragmentShape::S16x32bx2) return;
  memory.requireCells(address.second.lane, lanes, address.second.column, detail.columns, detail.name);
}

FragmentAddress fragmentAddress(const Execution& execution, const FragmentDetail& detail) {
  std::array<uint32_t, kWarpLanes> words;
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) words[lane] = addressWord(detail.address, execution, lane);
  const uint32_t word = uniformValue(execution, words.data(), "Tensor Memory address");
  FragmentAddress result{windowAddress(execution, detail, word), {}};
  if (detail.shape == FragmentShape::S16x32bx2) result.second = windowAddress(execution, detail, word + detail.secondHalf);
  requireFragment(stateOf(execution.warp.cta).memory, detail, result);
  return result;
}

/// Tells observers about the cells of a load or store.
void observeFragment(const TensorMemory& memory, const FragmentDetail& detail, const FragmentAddress& address, bool writes) {
  const auto role = writes ? machine::OperandRole::Destination : machine::OperandRole::Source;
  const uint32_t lanes = fragmentTraits(detail.shape).lanes;
  memory.observe(address.first.lane, lanes, address.first.column, detail.columns, writes, role);
  if (detail.shape != FragmentShape::S16x32bx2) return;
  memory.observe(address.second.lane, lanes, address.second.column, detail.columns, writes, role);
}

void loadCells(const TensorMemory& memory, const FragmentDetail& detail, const FragmentAddress& address, std::byte* frame) {
  requireFragment(memory, detail, address);
  observeFragment(memory, detail, address, false);
  for (size_t index = 0; index < detail.registers.size(); ++index) {
    auto* lanes = reinterpret_cast<uint32_t*>(frame + detail.registers[index]);
    machine::LaneMask undefined = 0;
    uint32_t undefinedLane = 0;
    const auto requireDefined = [&](uint32_t thread, uint32_t lane, uint32_t column, uint32_t count, uint8_t halves) {
      if (memory.isDefined(lane, column, count, halves)) return;
      undefined |= machine::LaneMask{1} << thread;
      undefinedLane = lane;
    };
    for (uint32_t thread = 0; thread < kWarpLanes; ++thread) {
      const FragmentCell& cell = detail.cells[index * kWarpLanes + thread];
      const TmemAddress& base = cell.secondHalf ? address.second : address.first;
      const uint32_t lane = base.lane + cell.lane;
      if (!detail.packed) {
        const uint32_t column = base.column + cell.column;
        if (memory.written(lane)[column] != kWholeCell) [[unlikely]]
          requireDefined(thread, lane, column, 1, kWholeCell);
        lanes[thread] = memory.cells(lane)[column];
        continue;
      }
      const uint32_t column = base.column + 2u * cell.column;
      requireDefined(thread, lane, column, 2, kLowHalf);
      lanes[thread] = (memory.cells(lane)[column] & 0xffffu) | memory.cells(lane)[column + 1] << 16;
    }
    memory.observeUndefinedLoad(frame + detail.registers[index], undefined, undefinedLane);
  }
}

/// A 16-bit store: what the high half of the cell becomes is question U9.
void storeHalf(TensorMemory& memory, uint32_t lane, uint32_t column, uint32_t half, uint8_t rule) {
  uint32_t& cell = memory.cells(lane)[column];
  uint8_t& written = memory.written(lane)[column];
  if (rule == 0) {
    cell = half;
    written = kWholeCell;
    return;
  }
  cell = (cell & 0xffff0000u) | half;
  written = rule == 1 ? written | kLowHalf : kLowHalf;
}

/// `undefined`: by register, the lanes whose value is undefined data; empty when none is.
void storeCells(TensorMemory& memory, const FragmentDetail& detail, const FragmentAddress& address,
                const std::vector<uint32_t>& values, const std::vector<machine::LaneMask>& undefined, const Semantics& semantics) {
  requireFragment(memory, detail, address);
  observeFragment(memory, detail, address, true);
  for (size_t i = 0; i < values.size(); ++i) {
    const FragmentCell& cell = detail.cells[i];
    const TmemAddress& base = cell.secondHalf ? address.second : address.first;
    const uint32_t lane = base.lane + cell.lane;
    const bool isUndefined = !undefined.empty() && (undefined[i / kWarpLanes] >> i % kWarpLanes & 1) != 0;
    const uint32_t column = base.column + (detail.packed ? 2u : 1u) * cell.column;
    if (detail.packed) {
      storeHalf(memory, lane, column, values[i] & 0xffffu, semantics[Unproven::U9]);
      storeHalf(memory, lane, column + 1, values[i] >> 16, semantics[Unproven::U9]);
    } else {
      memory.store(lane, column, values[i]);
    }
    if (isUndefined) std::memset(memory.written(lane) + column, kNothing, detail.packed ? 2 : 1);
  }
}

/// What the fragment follows: conflicting ones of its warp, complete or not, that the warp has not waited for.
std::vector<machine::OperationId> predecessors(machine::Warp& warp, const TensorUnit::State::Fragment& next) {
  machine::Cluster& cluster = warp.cta.cluster;
  std::vector<machine::OperationId> conflicting;
  for (const auto& earlier : stateOf(warp.cta).fragments[warp.index]) {
    if (!earlier.writes && !next.writes) continue;
    bool overlap = false;
    for (const ColumnRange& a : earlier.columns)
      for (const ColumnRange& b : next.columns) overlap |= a.count != 0 && b.count != 0 && a.overlaps(b);
    if (overlap) conflicting.push_back(earlier.id);
  }
  if (!conflicting.empty()) cluster.counters.use(Unproven::U30);
  if (cluster.options.semantics[Unproven::U30] != 0) conflicting.clear();
  return conflicting;
}

/// Issues a load or store, and remembers it until the warp waits.
machine::OperationId issueFragment(const Execution& execution, const FragmentDetail& detail, const FragmentAddress& address,
                                   bool writes, std::function<void()> complete) {
  machine::Warp& warp = execution.warp;
  TensorUnit::State::Fragment fragment;
  fragment.writes = writes;
  fragment.columns[0] = {address.first.column, detail.columns};
  if (detail.shape == FragmentShape::S16x32bx2) fragment.columns[1] = {address.second.column, detail.columns};
  const auto lane = static_cast<unsigned>(std::countr_zero(execution.mask));
  fragment.id = warp.cta.cluster.queue.issue({writes ? machine::OperationKind::TensorStore : machine::OperationKind::TensorLoad,
                                              warp.issuePoint(lane), predecessors(warp, fragment), std::move(complete)});
  auto& fragments = stateOf(warp.cta).fragments[warp.index];
  if (fragments.size() >= kRememberedFragments)
    std::erase_if(fragments, [&](const auto& earlier) { return warp.cta.cluster.queue.isComplete(earlier.id); });
  fragments.push_back(fragment);
  return fragment.id;
}

void runLoad(Execution& execution, const DecodedInstruction& instruction) {
  execution.warp.requireAligned(execution.mask, "tcgen05.ld");
  const auto& detail = instruction.as<FragmentDetail>();
  machine::Cta& cta = execution.warp.cta;
  const FragmentAddress address = fragmentAddress(execution, detail);
  for (Slot slot : detail.registers) std::fill_n(execution.lanes<uint32_t>(slot), kWarpLanes, kPoisonRegister);
  // The program, and so the detail, outlives the launch; the frame lives as long as the warp.
  const auto complete = [&cta, &detail, address, frame = execution.frame] {
    loadCells(stateOf(cta).memory, detail, address, frame);
    cta.cluster.counters.addBytes(Engine::TensorLoadStore, Traffic::TmemRead, detail.cells.size() * sizeof(uint32_t));
  };
  const machine::OperationId id = issueFragment(execution, detail, address, false, complete);
  for (Slot slot : detail.registers) execution.warp.busyRegisters[execution.frame + slot] = {.operation = id};
}

void runStore(Execution& execution, const DecodedInstruction& instruction) {
  execution.warp.requireAligned(execution.mask, "tcgen05.st");
  const auto& detail = instruction.as<FragmentDetail>();
  machine::Cta& cta = execution.warp.cta;
  machine::Cluster& cluster = cta.cluster;
  const FragmentAddress address = fragmentAddress(execution, detail);
  if (detail.packed) cluster.counters.use(Unproven::U9);
  std::vector<uint32_t> values(detail.cells.size());
  for (size_t index = 0; index < detail.registers.size(); ++index) {
    std::copy_n(execution.lanes<uint32_t>(detail.registers[index]), kWarpLanes,
                values.begin() + static_cast<ptrdiff_t>(index * kWarpLanes));
  }
  std::vector<machine::LaneMask> undefined;
  if (cluster.observer && cluster.observer->following)
    for (Slot slot : detail.registers) undefined.push_back(cluster.observer->undefinedLanes(execution.frame + slot));
  const auto complete = [&cta, &detail, address, values = std::move(values), undefined = std::move(undefined)] {
    storeCells(stateOf(cta).memory, detail, address, values, undefined, cta.cluster.options.semantics);
    cta.cluster.counters.addBytes(Engine::TensorLoadStore, Traffic::TmemWrite, values.size() * sizeof(uint32_t));
  };
  issueFragment(execution, detail, address, true, complete);
}

template <bool ofStores>
void runWait(Execution& execution, const DecodedInstruction&) {
  machine::Warp& warp = execution.warp;
  warp.requireAligned(execution.mask, "tcgen05.wait");
  machine::Cluster& cluster = warp.cta.cluster;
  std::vector<machine::OperationId> own;
  std::erase_if(stateOf(warp.cta).fragments[warp.index], [&](const auto& fragment) {
    if (fragment.writes == ofStores) own.push_back(fragment.id);
    return fragment.writes == ofStores;
  });
  for (machine::OperationId id : own) cluster.queue.force(id);
  if (!ofStores) warp.busyRegisters.clear();
  if (cluster.observer)
    cluster.observer->waitedTogether(warp, ofStores ? machine::OperationKind::TensorStore : machine::OperationKind::TensorLoad);
}

uint32_t repetitions(const FormMatch& match) {
  for (std::string_view group : match.groups_) {
    uint32_t value = 0;
    if (group.size() >= 2 && group[0] == 'x' &&
        std::from_chars(group.data() + 1, group.data() + group.size(), value).ec == std::errc{}) {
      return value;
    }
  }
  return 0;
}

template <bool IsLoad>
void decodeFragment(DecodeContext& context, const FormMatch& match) {
  auto detail = std::make_shared<FragmentDetail>();
  detail->name = IsLoad ? "tcgen05.ld" : "tcgen05.st";
  for (std::string_view group : match.groups_) {
    if (const auto shape = fragmentShape(group)) detail->shape = *shape;
  }
  detail->packed = match.has("pack::16b") || match.has("unpack::16b");
  const FragmentTraits& traits = fragmentTraits(detail->shape);
  const uint32_t count = repetitions(match);
  if (count > traits.largestN) {
    context.illegal(fmt::format(".x{} with .{}: at most .x{} (128 registers).", count, traits.name, traits.largestN));
  }
  detail->columns = traits.columnsPerN * count * (detail->packed ? 2 : 1);

  const bool twoHalves = detail->shape == FragmentShape::S16x32bx2;
  const size_t expected = twoHalves ? 3 : 2;
  const auto& operands = context.instruction().operands;
  if (operands.size() != expected)
    context.illegal(fmt::format("{} operands given, but .{} takes {}.", operands.size(), traits.name, expected));
  detail->address = tensorAddress(context, operands[IsLoad ? 1 : 0]);
  if (twoHalves) detail->secondHalf = static_cast<uint32_t>(context.integer(operands[IsLoad ? 2 : 1]));

  const ptx::Operand& list = operands[IsLoad ? 0 : expected - 1];
  if (list.kind != ptx::Operand::Kind::Vector) context.illegal("The registers are written as a list in braces.");
  if (list.elements.size() != size_t{traits.registersPerN} * count) {
    context.illegal(fmt::format("{} registers given, but .{}.x{} takes {}.", list.elements.size(), traits.name, count,
                                traits.registersPerN * count));
  }
  for (const ptx::Operand& element : list.elements) {
    if (element.kind == ptx::Operand::Kind::Integer || element.kind == ptx::Operand::Kind::Float) {
      context.illegal("The list holds registers only, no immediates.");
    }
    const auto type = ptx::ScalarType::B32;
    detail->registers.push_back(IsLoad ? context.destination(element, type) : context.source(element, type));
  }
  for (uint32_t index = 0; index < detail->registers.size(); ++index) {
    for (uint32_t thread = 0; thread < kWarpLanes; ++thread) detail->cells.push_back(fragmentCell(detail->shape, thread, index));
  }
  context.out().handler = IsLoad ? runLoad : runStore;
  context.out().endsGroup = true;
  context.out().detail = std::move(detail);
}

template <machine::Handler Run>
void decodeWait(DecodeContext& context, const FormMatch&) {
  tma::OperandCursor(context).finish();
  context.out().handler = Run;
  context.out().endsGroup = true;
}

}  // namespace

isa::FormFamily fragmentForms() {
  return {
      {"tcgen05.ld.sync.aligned.(32x32b|16x64b|16x128b|16x256b).(x1|x2|x4|x8|x16|x32|x64|x128){.pack::16b}.b32",
       decodeFragment<true>},
      {"tcgen05.ld.sync.aligned.16x32bx2.(x1|x2|x4|x8|x16|x32|x64|x128){.pack::16b}.b32", decodeFragment<true>},
      {"tcgen05.st.sync.aligned.(32x32b|16x64b|16x128b|16x256b).(x1|x2|x4|x8|x16|x32|x64|x128){.unpack::16b}.b32",
       decodeFragment<false>},
      {"tcgen05.st.sync.aligned.16x32bx2.(x1|x2|x4|x8|x16|x32|x64|x128){.unpack::16b}.b32", decodeFragment<false>},
      {"tcgen05.wait::ld.sync.aligned", decodeWait<runWait<false>>},
      {"tcgen05.wait::st.sync.aligned", decodeWait<runWait<true>>},
  };
}

}  // namespace shiftconv::emulator::tensor
