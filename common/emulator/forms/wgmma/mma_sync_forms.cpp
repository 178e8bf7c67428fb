// mma.sync of 16 x 8 tiles held in the registers of a warp (PTX ISA 9.0, 9.7.14.5): f16, bf16, tf32 and 8-bit integers.
//
// Sums follow the model of wgmma (tensor/numerics_hardware.hpp); whether K = 16 is one sum of 16-bit products is question U34.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "common/emulator/error.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/isa/form.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/tensor/numerics_fast.hpp"
#include "common/emulator/tensor/numerics_hardware.hpp"
#include "common/emulator/tensor/vector_types.hpp"
#include "common/emulator/wgmma/fragments.hpp"

namespace shiftconv::emulator::wgmma {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using machine::DecodedInstruction;
using machine::Execution;
using machine::Slot;
using ptx::Operand;
using ptx::ScalarType;
using tensor::AccumulatorType;
using tensor::ElementType;
using tensor::OperandTile;

constexpr uint32_t kTileRows = 16, kTileColumns = 8;

struct TileProduct final : machine::InstructionDetail {
  ElementType a = ElementType::Count, b = ElementType::Count;
  AccumulatorType c = AccumulatorType::F32, d = AccumulatorType::F32;
  uint32_t depth = 0;
  bool saturate = false;
  std::vector<Slot> registersA, registersB, registersC, registersD;
};

uint32_t* lanesOf(const Execution& execution, Slot slot) { return execution.lanes<uint32_t>(slot); }

/// Operand A as [row][k], or B as [k][column]: the thread's column takes the place of the row.
OperandTile gather(const Execution& execution, ElementType type, const std::vector<Slot>& registers, uint32_t depth, bool columns) {
  const tensor::ElementFormat& format = tensor::elementFormat(type);
  const uint32_t bits = format.containerBits, perRegister = 32 / bits, mask = bits == 32 ? ~0u : (1u << bits) - 1;
  OperandTile tile;
  tile.type = type;
  // Rows of A in whole vectors, as decodeForHardware reads them.
  tile.resize(columns ? depth : kTileRows, columns ? kTileColumns : std::max(depth, tensor::kVectorLanes));
  for (uint32_t i = 0; i < registers.size() * perRegister; ++i)
    for (uint32_t lane = 0; lane < machine::kWarpLanes; ++lane) {
      const uint32_t raw =
          (lanesOf(execution, registers[i / perRegister])[lane] >> (i % perRegister * bits) & mask) >> format.shift;
      if (!columns) {
        const Element at = operandElement(lane, i, bits);
        tile.raw[size_t{at.row} * tile.stride + at.column] = raw;
      } else {
        const uint32_t k = perRegister * (lane % 4) + i % perRegister + 4 * perRegister * (i / perRegister);
        tile.raw[size_t{k} * kTileColumns + lane / 4] = raw;
      }
    }
  return tile;
}

using Accumulators = std::array<uint32_t, kTileRows * kTileColumns>;

void accumulate(const TileProduct& product, const Options& options, Counters& counters, OperandTile& a, OperandTile& b,
                Accumulators& d) {
  std::array<tensor::LaneWork, kTileRows> work;
  for (uint32_t row = 0; row < kTileRows; ++row) work[row] = {.row = row, .firstColumn = 0, .d = d.data() + row * kTileColumns};
  if (product.d == AccumulatorType::S32) {
    tensor::decodeIntegers(a, kTileRows, product.depth);
    tensor::decodeIntegers(b, product.depth, kTileColumns);
    return tensor::accumulateIntegers(a, b, kTileColumns, product.depth, true, product.saturate, work);
  }
  tensor::AccumulatorInput input;
  input.type = product.d;
  if (options.numerics == Numerics::Fast) {
    tensor::decodeForFast(a, kTileRows, a.stride);
    tensor::decodeForFast(b, product.depth, kTileColumns);
    return tensor::accumulateFast(a, b, kTileColumns, product.depth, input, work);
  }
  tensor::decodeForHardware(a, kTileRows, product.depth, true);
  tensor::decodeForHardware(b, product.depth, kTileColumns, false);
  constexpr uint32_t kHalfDepth = 8;
  const bool wide = tensor::elementFormat(product.a).containerBits == 16 && product.depth > kHalfDepth;
  if (wide) counters.use(Unproven::U34);
  if (!wide || options.semantics[Unproven::U34] == 0)
    return tensor::accumulateHardware(a, b, kTileColumns, product.depth, input, work);
  for (uint32_t first = 0; first < product.depth; first += kHalfDepth) {
    OperandTile left = a, right = b;
    for (uint32_t row = 0; row < kTileRows; ++row)
      for (uint32_t k = 0; k < kHalfDepth; ++k) {
        const size_t from = size_t{row} * a.stride + first + k, to = size_t{row} * a.stride + k;
        left.raw[to] = a.raw[from], left.significand[to] = a.significand[from], left.exponent[to] = a.exponent[from];
      }
    for (uint32_t i = 0; i < kHalfDepth * kTileColumns; ++i) {
      const size_t from = size_t{first} * kTileColumns + i;
      right.raw[i] = b.raw[from], right.significand[i] = b.significand[from], right.exponent[i] = b.exponent[from];
    }
    tensor::accumulateHardware(left, right, kTileColumns, kHalfDepth, input, work);
  }
}

/// The thread's element i of C or D: two f16 share a register.
uint32_t readElement(const Execution& execution, AccumulatorType type, const std::vector<Slot>& registers, uint32_t lane,
                     uint32_t i) {
  if (type != AccumulatorType::F16) return lanesOf(execution, registers[i])[lane];
  return lanesOf(execution, registers[i / 2])[lane] >> (16 * (i % 2)) & 0xffff;
}

void runTileProduct(Execution& execution, const DecodedInstruction& instruction) {
  machine::Warp& warp = execution.warp;
  warp.requireAligned(execution.mask, "mma.sync");
  if (execution.mask != machine::kAllLanes)
    throw EmulatorError(
        ErrorKind::IllegalInstruction,
        fmt::format("mma.sync needs all 32 lanes of the warp; only those of mask {:#010x} execute it", execution.mask));
  const auto& product = instruction.as<TileProduct>();
  OperandTile a = gather(execution, product.a, product.registersA, product.depth, false);
  OperandTile b = gather(execution, product.b, product.registersB, product.depth, true);
  constexpr uint32_t kElements = kTileRows * kTileColumns / machine::kWarpLanes;
  Accumulators d{};
  for (uint32_t lane = 0; lane < machine::kWarpLanes; ++lane)
    for (uint32_t i = 0; i < kElements; ++i) {
      const Element at = accumulatorElement(lane, i);
      uint32_t& element = d[at.row * kTileColumns + at.column];
      element = readElement(execution, product.c, product.registersC, lane, i);
      // C enters in the type of D: f16 into f32 is exact; f32 into f16 is rounded.
      if (product.c == product.d) continue;
      if (product.c == AccumulatorType::F16)
        element = std::bit_cast<uint32_t>(tensor::halfToFloat(element));
      else
        element = tensor::floatToHalf(std::bit_cast<float>(element));
    }
  Counters& counters = warp.cta.cluster.counters;
  accumulate(product, warp.cta.cluster.options, counters, a, b, d);
  for (uint32_t lane = 0; lane < machine::kWarpLanes; ++lane)
    for (uint32_t i = 0; i < kElements; ++i) {
      const Element at = accumulatorElement(lane, i);
      const uint32_t value = d[at.row * kTileColumns + at.column];
      if (product.d != AccumulatorType::F16) {
        lanesOf(execution, product.registersD[i])[lane] = value;
        continue;
      }
      uint32_t& pair = lanesOf(execution, product.registersD[i / 2])[lane];
      pair = i % 2 == 0 ? value : (pair & 0xffff) | value << 16;
    }
  ++counters.mma[fmt::format("mma.sync m16n8k{} {}.{}.{}", product.depth, toString(product.d),
                             tensor::elementFormat(product.a).name, tensor::elementFormat(product.b).name)];
}

ElementType fragmentElement(std::string_view type) {
  for (int i = 0; i < static_cast<int>(ElementType::Count); ++i)
    if (tensor::elementFormat(static_cast<ElementType>(i)).name == type) return static_cast<ElementType>(i);
  return ElementType::Count;
}

AccumulatorType accumulatorOf(std::string_view type) {
  return type == "f16" ? AccumulatorType::F16 : type == "f32" ? AccumulatorType::F32 : AccumulatorType::S32;
}

/// `registers` of 32 bits, as a vector or, when it is one, by itself.
std::vector<Slot> fragment(DecodeContext& context, const Operand& operand, uint32_t registers, const char* name, bool writes) {
  const bool vector = operand.kind == Operand::Kind::Vector;
  const size_t given = vector ? operand.elements.size() : 1;
  if (given != registers) context.illegal(fmt::format("{} takes {} registers here, {} were given", name, registers, given));
  std::vector<Slot> slots;
  for (uint32_t i = 0; i < registers; ++i) {
    const Operand& element = vector ? operand.elements[i] : operand;
    slots.push_back(writes ? context.destination(element, ScalarType::B32) : context.source(element, ScalarType::B32));
  }
  return slots;
}

void decodeTileProduct(DecodeContext& context, const FormMatch& match) {
  const auto& operands = context.instruction().operands;
  if (operands.size() != 4) context.illegal(fmt::format("D, A, B and C are expected, {} operands were given", operands.size()));
  auto product = std::make_shared<TileProduct>();
  // Groups behind sync.aligned: shape, row, col, D, A, B, C; integers have .satfinite before D.
  const std::string_view shape = match.group(2);
  const bool integer = match.has("s32");
  const size_t first = integer ? 6 : 5;
  product->saturate = match.has("satfinite");
  product->depth = static_cast<uint32_t>(std::stoul(std::string(shape.substr(shape.find('k') + 1))));
  product->d = accumulatorOf(match.group(first));
  product->a = fragmentElement(match.group(first + 1));
  product->b = fragmentElement(match.group(first + 2));
  product->c = accumulatorOf(match.group(first + 3));
  const uint32_t bits = tensor::elementFormat(product->a).containerBits;
  const auto accumulators = [](AccumulatorType type) { return type == AccumulatorType::F16 ? 2u : 4u; };
  product->registersA = fragment(context, operands[1], kTileRows * product->depth * bits / 1024, "operand A", false);
  product->registersB = fragment(context, operands[2], kTileColumns * product->depth * bits / 1024, "operand B", false);
  product->registersC = fragment(context, operands[3], accumulators(product->c), "operand C", false);
  product->registersD = fragment(context, operands[0], accumulators(product->d), "operand D", true);
  context.out().detail = std::move(product);
  context.out().handler = runTileProduct;
  context.out().endsGroup = true;
}

}  // namespace
}  // namespace shiftconv::emulator::wgmma

namespace shiftconv::emulator::isa {

FormFamily tileProductForms() {
  using wgmma::decodeTileProduct;
  return {
      {"mma.sync.aligned.(m16n8k8|m16n8k16).row.col.(f32|f16).f16.f16.(f32|f16)", decodeTileProduct},
      {"mma.sync.aligned.(m16n8k8|m16n8k16).row.col.f32.bf16.bf16.f32", decodeTileProduct},
      {"mma.sync.aligned.(m16n8k4|m16n8k8).row.col.f32.tf32.tf32.f32", decodeTileProduct},
      {"mma.sync.aligned.(m16n8k16|m16n8k32).row.col{.satfinite}.s32.(s8|u8).(s8|u8).s32", decodeTileProduct},
  };
}

}  // namespace shiftconv::emulator::isa
