// wmma.load, wmma.store and wmma.mma (PTX ISA 9.0, 9.7.14.4).
//
// Which element of a matrix a thread holds is not specified, only that the three agree for one shape and type. Here fragments are
// those of mma.sync, in blocks: of 16 rows of A, C and D, or of 8 where there are no more, each row by row as mma.sync.m16n8 has
// them; of 8 columns of B, C and D. A 16 x 16 accumulator so is a pair of those of mma.sync.m16n8, the left one first. Fragments of
// f16 operands have eight registers whatever the shape: where the elements fill fewer, they repeat.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/threads/memory_operand.hpp"
#include "common/emulator/forms/threads/whole_warp.hpp"
#include "common/emulator/forms/wgmma/tile_product.hpp"

namespace shiftconv::emulator::wgmma {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using machine::DecodedInstruction;
using machine::Execution;
using machine::kWarpLanes;
using machine::Slot;
using ptx::ScalarType;

constexpr uint32_t kHalfRegisters = 8;

/// Moves a fragment between memory and registers.
struct FragmentMove final : machine::InstructionDetail {
  machine::MemoryOperand base;  ///< as the instruction has it
  machine::MemoryOperand unit;  ///< its address is computed, lane by lane, into `addresses`
  Slot addresses = machine::kNoSlot, stride = machine::kNoSlot;
  FragmentLayout layout;
  std::vector<Slot> registers;
  uint32_t bits = 0;          ///< of an element
  uint32_t registerBits = 0;  ///< 32, or 64 for f64
  bool alongColumns = false;  ///< neighbours in memory are neighbours along the columns of the layout
};

/// All lanes must bring the same address and stride (PTX ISA 9.0, 9.7.14.4.3).
template <class Value>
Value uniform(const char* instruction, const char* what, Value (*at)(const Execution&, const FragmentMove&, unsigned),
              const Execution& execution, const FragmentMove& move) {
  const Value first = at(execution, move, 0);
  for (unsigned lane = 1; lane < kWarpLanes; ++lane)
    if (at(execution, move, lane) != first)
      throw EmulatorError(ErrorKind::IllegalInstruction,
                          fmt::format("{} of {} is {:#x} in lane 0 and {:#x} in lane {}: all threads of the warp must agree", what,
                                      instruction, first, at(execution, move, lane), lane));
  return first;
}

/// Calls transfer(register's bytes, memory, bytes) for everything that a thread has. Elements of less than a byte go by whole
/// registers: they are neighbours in memory.
template <class Transfer>
void moveFragment(const Execution& execution, const FragmentMove& move, const char* name, machine::AccessKind kind,
                  Transfer&& transfer) {
  machine::requireWholeWarp(execution, name);
  const auto base = uniform<uint64_t>(
      name, "the address", [](const Execution& e, const FragmentMove& m, unsigned lane) { return m.base.address.at(e, lane); },
      execution, move);
  const auto stride = uniform<uint32_t>(
      name, "the stride",
      [](const Execution& e, const FragmentMove& m, unsigned lane) { return e.lanes<uint32_t>(m.stride)[lane]; }, execution, move);
  const uint32_t together = move.bits < 8 ? move.registerBits / move.bits : 1, unitBytes = move.bits * together / 8;
  const auto units = static_cast<uint32_t>(move.registers.size()) * move.registerBits / 8 / unitBytes;
  auto* const addresses = execution.lanes<uint64_t>(move.addresses);
  for (uint32_t unit = 0; unit < units; ++unit) {
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      const Element at = move.layout.at(lane, unit * together);
      const uint64_t index = move.alongColumns ? uint64_t{at.row} * stride + at.column : uint64_t{at.column} * stride + at.row;
      addresses[lane] = base + index * move.bits / 8;
    }
    machine::LanePointers pointers{};
    machine::resolve(execution, machine::kAllLanes, move.unit, unitBytes, kind, pointers);
    const uint32_t bit = unit * together * move.bits, reg = bit / move.registerBits, byte = bit % move.registerBits / 8;
    auto* const values = execution.lanes<std::byte>(move.registers[reg]);
    for (unsigned lane = 0; lane < kWarpLanes; ++lane)
      transfer(values + size_t{lane} * move.registerBits / 8 + byte, pointers[lane], unitBytes);
  }
}

void runLoad(Execution& execution, const DecodedInstruction& instruction) {
  moveFragment(execution, instruction.as<FragmentMove>(), "wmma.load", machine::AccessKind::Read,
               [](std::byte* value, const std::byte* memory, uint32_t bytes) { std::memcpy(value, memory, bytes); });
  machine::noteValuesRead(execution);
}

void runStore(Execution& execution, const DecodedInstruction& instruction) {
  moveFragment(execution, instruction.as<FragmentMove>(), "wmma.store", machine::AccessKind::Write,
               [](const std::byte* value, std::byte* memory, uint32_t bytes) { std::memcpy(memory, value, bytes); });
}

/// Operands: registers and address in the order of the instruction, then the stride in elements, which may be missing: the matrix
/// is dense.
void decodeMove(DecodeContext& context, const FormMatch& match, bool load) {
  const auto& operands = context.instruction().operands;
  if (operands.size() != 2 && operands.size() != 3)
    context.illegal(
        fmt::format("registers, an address and perhaps a stride are expected, {} operands were given", operands.size()));
  // Groups: load or store, the matrix, sync, aligned, layout, shape, space, type.
  const char matrix = match.group(1)[0];
  const std::string_view type = match.group(7);
  const TileShape shape = parseTileShape(match.group(5));
  const bool isRowMajor = match.group(4) == "row", isOperand = matrix == 'a' || matrix == 'b';
  auto move = std::make_shared<FragmentMove>();
  move->registerBits = type == "f64" ? 64 : 32;
  move->bits = type == "b1" ? 1 : type == "f32" || type == "s32" ? 32 : fragmentType(type).bits;
  const uint32_t rows = matrix == 'b' ? shape.columns : shape.rows, columns = isOperand ? shape.depth : shape.columns;
  move->layout = isOperand ? operandLayout(rows, columns, move->bits, matrix == 'a') : accumulatorLayout(rows, columns);
  // What are rows of the layout are columns of B.
  move->alongColumns = isRowMajor == (matrix != 'b');
  const uint32_t filled = std::max(1u, move->layout.elements() * move->bits / move->registerBits);
  const uint32_t registers = isOperand && type == "f16" ? kHalfRegisters : filled;
  const ScalarType registerType = type == "f64" ? ScalarType::F64 : ScalarType::B32;
  move->registers = fragmentRegisters(context, operands[load ? 0 : 1], registers, "the fragment", registerType, load);
  move->base = machine::memoryOperand(context, operands[load ? 1 : 0], match.group(6));
  move->addresses = context.scratch(ScalarType::B64);
  move->unit.space = move->base.space;
  move->unit.address.base = move->addresses;
  move->stride = operands.size() == 3 ? context.source(operands[2], ScalarType::U32)
                                      : context.constant(move->alongColumns ? columns : rows, ScalarType::U32);
  context.out().detail = std::move(move);
  context.out().handler = load ? runLoad : runStore;
  context.out().endsGroup = true;
}

void decodeLoad(DecodeContext& context, const FormMatch& match) { decodeMove(context, match, true); }
void decodeStore(DecodeContext& context, const FormMatch& match) { decodeMove(context, match, false); }

/// Groups of a product: mma, sync, aligned, the layouts of A and B, shape, then the types.
TileWords wordsOf(const FormMatch& match) {
  return {.instruction = "wmma.mma", .shape = match.group(5), .d = match.group(6), .a = {}, .b = {}, .c = {}};
}

/// Types: D and C.
void decodeHalfProduct(DecodeContext& context, const FormMatch& match) {
  TileWords words = wordsOf(match);
  words.a = words.b = "f16";
  words.c = match.group(7);
  words.halfRegisters = kHalfRegisters;
  decodeTileProduct(context, words);
}

/// Types: D, A, B, C; after them rounding or saturation.
void decodeWmma(DecodeContext& context, const FormMatch& match) {
  TileWords words = wordsOf(match);
  words.a = match.group(7);
  words.b = match.group(8);
  words.c = match.group(9);
  if (words.a != words.b) context.illegal(fmt::format("A is .{} and B .{}: wmma.mma wants one type", words.a, words.b));
  words.saturate = match.has("satfinite");
  if (words.a == "f64") words.rounding = match.group(10);
  decodeTileProduct(context, words);
}

void decodeBitWmma(DecodeContext& context, const FormMatch& match) {
  decodeTileProduct(context, {.instruction = "wmma.mma",
                              .shape = match.group(7),
                              .d = match.group(8),
                              .a = match.group(9),
                              .b = match.group(10),
                              .c = match.group(11),
                              .logic = match.group(1)});
}

}  // namespace
}  // namespace shiftconv::emulator::wgmma

namespace shiftconv::emulator::isa {

FormFamily wmmaForms() {
  using namespace wgmma;
  return {
      {"wmma.load.(a|b).sync.aligned.(row|col).(m16n16k16|m8n32k16|m32n8k16){.(global|shared|shared::cta)}.(f16|bf16|s8|u8)",
       decodeLoad},
      {"wmma.load.(a|b).sync.aligned.(row|col).m16n16k8{.(global|shared|shared::cta)}.tf32", decodeLoad},
      {"wmma.load.(a|b).sync.aligned.(row|col).m8n8k4{.(global|shared|shared::cta)}.f64", decodeLoad},
      {"wmma.load.a.sync.aligned.row.m8n8k32{.(global|shared|shared::cta)}.(s4|u4)", decodeLoad},
      {"wmma.load.b.sync.aligned.col.m8n8k32{.(global|shared|shared::cta)}.(s4|u4)", decodeLoad},
      {"wmma.load.a.sync.aligned.row.m8n8k128{.(global|shared|shared::cta)}.b1", decodeLoad},
      {"wmma.load.b.sync.aligned.col.m8n8k128{.(global|shared|shared::cta)}.b1", decodeLoad},
      {"wmma.load.c.sync.aligned.(row|col).(m16n16k16|m8n32k16|m32n8k16){.(global|shared|shared::cta)}.(f16|f32|s32)", decodeLoad},
      {"wmma.load.c.sync.aligned.(row|col).m16n16k8{.(global|shared|shared::cta)}.f32", decodeLoad},
      {"wmma.load.c.sync.aligned.(row|col).m8n8k4{.(global|shared|shared::cta)}.f64", decodeLoad},
      {"wmma.load.c.sync.aligned.(row|col).(m8n8k32|m8n8k128){.(global|shared|shared::cta)}.s32", decodeLoad},
      {"wmma.store.d.sync.aligned.(row|col).(m16n16k16|m8n32k16|m32n8k16){.(global|shared|shared::cta)}.(f16|f32|s32)",
       decodeStore},
      {"wmma.store.d.sync.aligned.(row|col).m16n16k8{.(global|shared|shared::cta)}.f32", decodeStore},
      {"wmma.store.d.sync.aligned.(row|col).m8n8k4{.(global|shared|shared::cta)}.f64", decodeStore},
      {"wmma.store.d.sync.aligned.(row|col).(m8n8k32|m8n8k128){.(global|shared|shared::cta)}.s32", decodeStore},
      {"wmma.mma.sync.aligned.(row|col).(row|col).(m16n16k16|m8n32k16|m32n8k16).(f32|f16).(f32|f16)", decodeHalfProduct},
      {"wmma.mma.sync.aligned.(row|col).(row|col).(m16n16k16|m8n32k16|m32n8k16).f32.bf16.bf16.f32", decodeWmma},
      {"wmma.mma.sync.aligned.(row|col).(row|col).m16n16k8.f32.tf32.tf32.f32", decodeWmma},
      {"wmma.mma.sync.aligned.(row|col).(row|col).(m16n16k16|m8n32k16|m32n8k16).s32.(s8|u8).(s8|u8).s32{.satfinite}", decodeWmma},
      {"wmma.mma.sync.aligned.row.col.m8n8k32.s32.(s4|u4).(s4|u4).s32{.satfinite}", decodeWmma},
      {"wmma.mma.sync.aligned.(row|col).(row|col).m8n8k4.f64.f64.f64.f64{.(rn|rz|rm|rp)}", decodeWmma},
      {"wmma.mma.(xor|and).popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32", decodeBitWmma},
  };
}

}  // namespace shiftconv::emulator::isa
