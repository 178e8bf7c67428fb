// wgmma.fence, .mma_async, .commit_group and .wait_group (PTX ISA 9.0, 9.7.15).
//
// The four warps of a warpgroup meet at every wgmma.mma_async, as the instruction demands; the last one issues the product. A
// product reads its registers and shared memory, and writes D, at one instant between its issue and the wait for it. Products of a
// warpgroup are done in order.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>

#include "common/emulator/error.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/isa/form.hpp"
#include "common/emulator/machine/warp_state.hpp"
#include "common/emulator/wgmma/warpgroup_unit.hpp"

namespace shiftconv::emulator::wgmma {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using machine::DecodedInstruction;
using machine::Execution;
using machine::Warp;
using ptx::Operand;
using ptx::ScalarType;
using tensor::AccumulatorType;
using tensor::ElementType;

WarpgroupUnit& unitOf(const Warp& warp) { return machine::unitOf<WarpgroupUnit>(warp.cta); }

/// The whole warp, and a whole warpgroup around it.
void requireWarpgroup(const Execution& execution, const char* what) {
  Warp& warp = execution.warp;
  warp.requireAligned(execution.mask, what);
  const size_t first = warp.index / kWarps * kWarps;
  if (execution.mask == machine::kAllLanes && first + kWarps <= warp.cta.warps.size()) return;
  throw EmulatorError(
      ErrorKind::IllegalInstruction,
      execution.mask != machine::kAllLanes
          ? fmt::format("{} needs all 32 lanes of the warp; only those of mask {:#010x} execute it", what, execution.mask)
          : fmt::format("{} needs a whole warpgroup of {} warps; the CTA has {} warps from warp {} on", what, kWarps,
                        warp.cta.warps.size() - first, first));
}

void runFence(Execution& execution, const DecodedInstruction&) {
  requireWarpgroup(execution, "wgmma.fence");
  if (execution.warp.cta.cluster.observer) unitOf(execution.warp).touches(execution.warp).fence();
}

/// A value that all lanes must agree on.
uint64_t uniform(const Execution& execution, machine::Slot slot, const char* what) {
  const auto* lanes = execution.lanes<uint64_t>(slot);
  for (unsigned lane = 1; lane < machine::kWarpLanes; ++lane)
    if (lanes[lane] != lanes[0])
      throw EmulatorError(ErrorKind::IllegalInstruction,
                          fmt::format("{} is {:#x} in lane 0, but {:#x} in lane {}: all threads of the "
                                      "warpgroup must agree",
                                      what, lanes[0], lanes[lane], lane));
  return lanes[0];
}

Operands operandsOf(const Execution& execution, const Product& product) {
  Operands operands;
  operands.aInRegisters = product.aInRegisters;
  if (!product.aInRegisters)
    operands.a =
        decodeDescriptor(uniform(execution, product.descriptorA, "the descriptor of operand A of wgmma.mma_async"), "operand A");
  operands.b =
      decodeDescriptor(uniform(execution, product.descriptorB, "the descriptor of operand B of wgmma.mma_async"), "operand B");
  operands.negateA = product.negateA, operands.negateB = product.negateB;
  operands.transposeA = product.transposeA, operands.transposeB = product.transposeB;
  const machine::LaneMask scale = execution.predicate(product.accumulate);
  if (scale != 0 && scale != machine::kAllLanes)
    throw EmulatorError(
        ErrorKind::IllegalInstruction,
        fmt::format("scale-d of wgmma.mma_async is true in lanes {:#010x} only: all threads of the warpgroup must agree", scale));
  operands.accumulate = (scale != 0) != product.accumulateNegated;
  return operands;
}

bool same(const tensor::MatrixDescriptor& a, const tensor::MatrixDescriptor& b) {
  return a.start == b.start && a.leadingOffset == b.leadingOffset && a.strideOffset == b.strideOffset &&
         a.baseOffset == b.baseOffset && a.swizzle == b.swizzle;
}

/// Whoever arrives must bring the instruction and the operands that the first one brought.
void requireSame(const Meeting& meeting, const DecodedInstruction& instruction, const Operands& operands, const Warp& warp) {
  if (meeting.instruction != &instruction)
    throw EmulatorError(
        ErrorKind::IllegalInstruction,
        fmt::format("warp {} executes this wgmma.mma_async while others of its warpgroup are at another one, PTX line {}",
                    warp.index, meeting.instruction->source->location.ptxLine));
  const Operands& first = meeting.operands;
  if (!same(first.a, operands.a) || !same(first.b, operands.b) || first.accumulate != operands.accumulate)
    throw EmulatorError(
        ErrorKind::IllegalInstruction,
        fmt::format("warp {} brings other descriptors or another scale-d to wgmma.mma_async than the warps before it: all "
                    "threads of the warpgroup must agree",
                    warp.index));
}

/// The registers of a product that the warp must not touch before it has waited.
void markBusy(Warp& warp, const WarpRegisters& registers, const Product& product, machine::OperationId id) {
  if (product.aInRegisters)
    for (machine::Slot slot : registers.a)
      warp.busyRegisters[registers.frame + slot] = {.operation = id, .question = Unproven::U33, .readable = true};
  for (machine::Slot slot : registers.d) warp.busyRegisters[registers.frame + slot] = {.operation = id, .question = Unproven::U33};
}

void issue(WarpgroupUnit::Warpgroup& group, const Product& product, Warp& last) {
  machine::Cta& cta = last.cta;
  machine::Cluster& cluster = cta.cluster;
  machine::AsyncOperation operation;
  operation.kind = machine::OperationKind::WarpgroupMma;
  operation.issuer = last.issuePoint(0);
  if (group.newest != 0 && !cluster.queue.isComplete(group.newest)) operation.predecessors.push_back(group.newest);
  // The program, and so the product, outlives the launch; frames live as long as their warps.
  operation.complete = [&cta, &product, operands = group.meeting.operands, warps = group.meeting.warps] {
    multiply(product.shape, operands, warps, cta);
    ++cta.cluster.wakeups;
  };
  const machine::OperationId id = group.newest = cluster.queue.issue(std::move(operation));
  const uint32_t first = last.index / kWarps * kWarps;
  for (uint32_t i = 0; i < kWarps; ++i) {
    Warp& warp = *cta.warps[first + i];
    markBusy(warp, group.meeting.warps[i], product, id);
    unitOf(warp).groups(warp).open.push_back(id);
  }
}

void checkFence(Warp& warp, const WarpRegisters& registers, const DecodedInstruction& instruction) {
  const auto& product = instruction.as<Product>();
  machine::Observer* const observer = warp.cta.cluster.observer.get();
  if (observer == nullptr) return;
  WarpgroupUnit::Touches& touches = unitOf(warp).touches(warp);
  if (!touches.fenced()) return observer->warpgroupFenceMissing(warp, nullptr);
  const auto check = [&](machine::Slot slot) {
    if (const ptx::Instruction* toucher = touches.toucher(registers.frame + slot)) observer->warpgroupFenceMissing(warp, toucher);
  };
  for (machine::Slot slot : registers.d) check(slot);
  if (product.aInRegisters)
    for (machine::Slot slot : registers.a) check(slot);
  if (const ptx::Instruction* earlier = touches.unorderedWith(registers.frame, instruction))
    observer->warpgroupFenceMissing(warp, earlier);
}

void runProduct(Execution& execution, const DecodedInstruction& instruction) {
  requireWarpgroup(execution, "wgmma.mma_async");
  const auto& product = instruction.as<Product>();
  Warp& warp = execution.warp;
  WarpgroupUnit::Warpgroup& group = unitOf(warp).warpgroup(warp);
  const auto sleep = [&](uint64_t meeting) {
    warp.state->sleep(execution.mask,
                      {.text = fmt::format("wgmma.mma_async: the other warps of warpgroup {}", warp.index / kWarps)}, meeting);
  };
  if (const uint64_t meeting = warp.state->resumeToken(); meeting != 0) {  // it has arrived, and looks again
    if (group.meetings < meeting) sleep(meeting);
    return;
  }
  const Operands operands = operandsOf(execution, product);
  Meeting& meeting = group.meeting;
  if (meeting.arrived == 0) {
    meeting.instruction = &instruction;
    meeting.operands = operands;
  }
  requireSame(meeting, instruction, operands, warp);
  WarpRegisters& registers = meeting.warps[warp.index % kWarps];
  registers = {execution.frame, product.d, product.a};
  checkFence(warp, registers, instruction);
  meeting.arrived |= 1u << warp.index % kWarps;
  if (meeting.arrived != (1u << kWarps) - 1) return sleep(group.meetings + 1);
  issue(group, product, warp);
  ++group.meetings;
  group.meeting = {};
  ++warp.cta.cluster.wakeups;
}

void runCommit(Execution& execution, const DecodedInstruction&) {
  requireWarpgroup(execution, "wgmma.commit_group");
  WarpgroupUnit::Groups& groups = unitOf(execution.warp).groups(execution.warp);
  groups.committed.push_back(std::move(groups.open));
  groups.open.clear();
}

void runWait(Execution& execution, const DecodedInstruction& instruction) {
  requireWarpgroup(execution, "wgmma.wait_group");
  Warp& warp = execution.warp;
  machine::Cluster& cluster = warp.cta.cluster;
  WarpgroupUnit::Groups& groups = unitOf(warp).groups(warp);
  while (groups.committed.size() > instruction.immediate) {
    const std::vector<machine::OperationId> done = std::move(groups.committed.front());
    groups.committed.pop_front();
    for (machine::OperationId id : done) cluster.queue.force(id);
    std::erase_if(warp.busyRegisters,
                  [&](const auto& entry) { return std::find(done.begin(), done.end(), entry.second.operation) != done.end(); });
    if (cluster.observer) cluster.observer->warpgroupWaited(warp, done);
  }
}

// --- decoding -------------------------------------------------------------------------------------------------------------

ElementType elementOf(std::string_view type) {
  for (int i = 0; i < static_cast<int>(ElementType::Count); ++i)
    if (tensor::elementFormat(static_cast<ElementType>(i)).name == type) return static_cast<ElementType>(i);
  return ElementType::U8;  // b1: no element type of its own
}

/// "m64n128k16"
void readShape(std::string_view text, Shape& shape) {
  const auto number = [&](char before) {
    uint32_t value = 0;
    for (size_t i = text.find(before) + 1; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i)
      value = value * 10 + static_cast<uint32_t>(text[i] - '0');
    return value;
  };
  shape.columns = number('n');
  shape.depth = number('k');
}

/// Operand `index` as an immediate that must be one of two values; true for the second.
bool choice(DecodeContext& context, size_t index, const char* name, int64_t no, int64_t yes) {
  const auto value = static_cast<int64_t>(context.integer(context.instruction().operands[index]));
  if (value != no && value != yes) context.illegal(fmt::format("{} is {}, but must be {} or {}", name, value, no, yes));
  return value == yes;
}

void decodeProduct(DecodeContext& context, const FormMatch& match) {
  const auto& operands = context.instruction().operands;
  auto product = std::make_shared<Product>();
  Shape& shape = product->shape;
  // Groups after sync.aligned: shape, type of D, types of A and B.
  const std::string_view d = match.group(4), a = match.group(5), b = match.group(6);
  readShape(match.group(3), shape);
  shape.d = d == "f16" ? AccumulatorType::F16 : d == "f32" ? AccumulatorType::F32 : AccumulatorType::S32;
  shape.a = elementOf(a), shape.b = elementOf(b);
  shape.bits = a == "b1";
  shape.saturate = match.has("satfinite");
  const bool floating = shape.d != AccumulatorType::S32, halves = a == "f16" || a == "bf16";
  if (operands.size() < 4) context.illegal("accumulators, operand A, operand B and scale-d are expected");
  product->aInRegisters = operands[1].kind == Operand::Kind::Vector;
  const size_t expected = !floating ? 4 : !halves ? 6 : product->aInRegisters ? 7 : 8;
  if (operands.size() != expected)
    context.illegal(fmt::format("{} operands are expected with these types, {} were given", expected, operands.size()));

  const Operand& accumulators = operands[0];
  if (accumulators.kind != Operand::Kind::Vector || accumulators.elements.size() != shape.registers())
    context.illegal(fmt::format("a vector of {} accumulator registers is expected", shape.registers()));
  for (const Operand& element : accumulators.elements) product->d.push_back(context.destination(element, ScalarType::B32));
  if (product->aInRegisters) {
    if (operands[1].elements.size() != kRegistersOfA)
      context.illegal(fmt::format("a vector of {} registers of A is expected", kRegistersOfA));
    for (uint32_t i = 0; i < kRegistersOfA; ++i) product->a[i] = context.source(operands[1].elements[i], ScalarType::B32);
  } else {
    product->descriptorA = context.source(operands[1], ScalarType::B64);
  }
  product->descriptorB = context.source(operands[2], ScalarType::B64);
  product->accumulate = context.predicateSource(operands[3], product->accumulateNegated);
  if (floating) {
    product->negateA = choice(context, 4, "imm-scale-a", 1, -1);
    product->negateB = choice(context, 5, "imm-scale-b", 1, -1);
  }
  if (halves) {
    if (!product->aInRegisters) product->transposeA = choice(context, 6, "imm-trans-a", 0, 1);
    product->transposeB = choice(context, expected - 1, "imm-trans-b", 0, 1);
  }
  context.out().detail = std::move(product);
  context.out().handler = runProduct;
  context.out().endsGroup = true;
  context.out().ordersRegisters = true;
}

template <machine::Handler kHandler>
void decodeBare(DecodeContext& context, const FormMatch&) {
  if (!context.instruction().operands.empty()) context.illegal("the instruction takes no operands");
  context.out().handler = kHandler;
  context.out().endsGroup = true;
}

void decodeWait(DecodeContext& context, const FormMatch&) {
  if (context.instruction().operands.size() != 1) context.illegal("a number of groups is expected");
  context.out().immediate = context.integer(context.instruction().operands[0]);
  context.out().handler = runWait;
  context.out().endsGroup = true;
}

}  // namespace
}  // namespace shiftconv::emulator::wgmma

// The shapes of one depth: N from 8 to 256 in steps of 8, and for integers those of them that are multiples of 16 or at most 32.
#define SHIFTCONV_N_COMMON(k)                                                                                             \
  "m64n8" k "|m64n16" k "|m64n24" k "|m64n32" k "|m64n48" k "|m64n64" k "|m64n80" k "|m64n96" k "|m64n112" k "|m64n128" k \
  "|m64n144" k "|m64n160" k "|m64n176" k "|m64n192" k "|m64n208" k "|m64n224" k "|m64n240" k "|m64n256" k
#define SHIFTCONV_N_FLOAT(k)                                                                                                    \
  SHIFTCONV_N_COMMON(k)                                                                                                         \
  "|m64n40" k "|m64n56" k "|m64n72" k "|m64n88" k "|m64n104" k "|m64n120" k "|m64n136" k "|m64n152" k "|m64n168" k "|m64n184" k \
  "|m64n200" k "|m64n216" k "|m64n232" k "|m64n248" k
#define SHIFTCONV_WGMMA "wgmma.mma_async.sync.aligned."

namespace shiftconv::emulator::isa {

FormFamily wgmmaForms() {
  using namespace wgmma;
  return {
      {"wgmma.fence.sync.aligned", decodeBare<runFence>},
      {"wgmma.commit_group.sync.aligned", decodeBare<runCommit>},
      {"wgmma.wait_group.sync.aligned", decodeWait},
      {SHIFTCONV_WGMMA "(" SHIFTCONV_N_FLOAT("k16") ").(f32|f16).f16.f16", decodeProduct},
      {SHIFTCONV_WGMMA "(" SHIFTCONV_N_FLOAT("k16") ").f32.bf16.bf16", decodeProduct},
      {SHIFTCONV_WGMMA "(" SHIFTCONV_N_FLOAT("k8") ").f32.tf32.tf32", decodeProduct},
      {SHIFTCONV_WGMMA "(" SHIFTCONV_N_FLOAT("k32") ").(f32|f16).(e4m3|e5m2).(e4m3|e5m2)", decodeProduct},
      {SHIFTCONV_WGMMA "(" SHIFTCONV_N_COMMON("k32") ").s32.(s8|u8).(s8|u8){.satfinite}", decodeProduct},
      {SHIFTCONV_WGMMA "(" SHIFTCONV_N_COMMON("k256") ").s32.b1.b1.and.popc", decodeProduct},
  };
}

}  // namespace shiftconv::emulator::isa

#undef SHIFTCONV_N_COMMON
#undef SHIFTCONV_N_FLOAT
#undef SHIFTCONV_WGMMA
