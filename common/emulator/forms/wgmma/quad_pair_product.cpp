// mma.sync.m8n8k4 of f16 (PTX ISA 9.0, 9.7.14.5.1): four products of 8 x 8 tiles, each by eight lanes of the warp: four of its
// first half and the same four of its second half, which have the rows of A, and the columns of B, from 4 on.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <memory>

#include "common/emulator/forms/threads/whole_warp.hpp"
#include "common/emulator/forms/wgmma/tile_product.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/tensor/numerics_fast.hpp"
#include "common/emulator/tensor/numerics_hardware.hpp"
#include "common/emulator/tensor/vector_types.hpp"

namespace shiftconv::emulator::wgmma {
namespace {

using machine::DecodedInstruction;
using machine::Execution;
using machine::Slot;
using ptx::ScalarType;
using tensor::AccumulatorType;

constexpr uint32_t kSide = 8, kDepth = 4, kPairs = 4, kElements = 4;

struct QuadPairProduct final : machine::InstructionDetail {
  std::string name;
  bool rowsOfA = false, rowsOfB = false;  ///< .row
  AccumulatorType c = AccumulatorType::F32, d = AccumulatorType::F32;
  std::vector<Slot> registersA, registersB, registersC, registersD;
};

/// A thread has four neighbours of a line (a row of A, a column of B), or one of each of its four lines. Result: line, place on it.
Element operandAt(bool wholeLine, uint32_t lane, uint32_t i) {
  const uint32_t half = lane / 16 * 4;
  return wholeLine ? Element{lane % 4 + half, i} : Element{i + half, lane % 4};
}

/// Two f16 share a register: a row of them. f32 are spread in pairs.
Element accumulatorAt(AccumulatorType type, uint32_t lane, uint32_t i) {
  const uint32_t half = lane / 16 * 4;
  if (type == AccumulatorType::F16) return {lane % 4 + half, i};
  return {(lane & 1) + (i & 2) + half, (i & 4) + (lane & 2) + (i & 1)};
}

/// The bits of the thread's element i.
uint32_t read(const Execution& execution, const std::vector<Slot>& registers, bool isHalf, uint32_t lane, uint32_t i) {
  if (!isHalf) return execution.lanes<uint32_t>(registers[i])[lane];
  return execution.lanes<uint32_t>(registers[i / 2])[lane] >> (16 * (i % 2)) & 0xffff;
}

template <class Action>
void forEachLaneOf(uint32_t pair, Action&& action) {
  for (uint32_t i = 0; i < kSide; ++i) action(4 * pair + i % 4 + 16 * (i / 4));
}

void accumulate(const Options& options, AccumulatorType type, tensor::OperandTile& a, tensor::OperandTile& b, uint32_t* d) {
  std::array<tensor::LaneWork, kSide> work;
  for (uint32_t row = 0; row < kSide; ++row) work[row] = {.row = row, .firstColumn = 0, .d = d + row * kSide};
  tensor::AccumulatorInput input;
  input.type = type;
  if (options.numerics == Numerics::Fast) {
    tensor::decodeForFast(a, kSide, a.stride);
    tensor::decodeForFast(b, kDepth, kSide);
    return tensor::accumulateFast(a, b, kSide, kDepth, input, work);
  }
  tensor::decodeForHardware(a, kSide, kDepth, true);
  tensor::decodeForHardware(b, kDepth, kSide, false);
  tensor::accumulateHardware(a, b, kSide, kDepth, input, work);
}

void runQuadPairProduct(Execution& execution, const DecodedInstruction& instruction) {
  machine::requireWholeWarp(execution, "mma.sync");
  const auto& product = instruction.as<QuadPairProduct>();
  const bool halfC = product.c == AccumulatorType::F16, halfD = product.d == AccumulatorType::F16;
  machine::Cluster& cluster = execution.warp.cta.cluster;
  std::array<std::array<uint32_t, kSide * kSide>, kPairs>
      results{};  // written when all is read: D may share registers with A and B
  for (uint32_t pair = 0; pair < kPairs; ++pair) {
    tensor::OperandTile a, b;
    a.resize(kSide, tensor::kVectorLanes);
    b.resize(kDepth, kSide);
    auto& d = results[pair];
    forEachLaneOf(pair, [&](uint32_t lane) {
      for (uint32_t i = 0; i < kElements; ++i) {
        const Element inA = operandAt(product.rowsOfA, lane, i), inB = operandAt(!product.rowsOfB, lane, i);
        a.raw[inA.row * a.stride + inA.column] = read(execution, product.registersA, true, lane, i);
        b.raw[inB.column * kSide + inB.row] = read(execution, product.registersB, true, lane, i);
      }
      for (uint32_t i = 0; i < kSide; ++i) {
        const Element at = accumulatorAt(product.c, lane, i);
        uint32_t& element = d[at.row * kSide + at.column];
        element = read(execution, product.registersC, halfC, lane, i);
        if (halfC && !halfD) element = std::bit_cast<uint32_t>(tensor::halfToFloat(element));
      }
    });
    accumulate(cluster.options, product.d, a, b, d.data());
  }
  for (uint32_t pair = 0; pair < kPairs; ++pair)
    forEachLaneOf(pair, [&](uint32_t lane) {
      for (uint32_t i = 0; i < kSide; ++i) {
        const Element at = accumulatorAt(product.d, lane, i);
        const uint32_t value = results[pair][at.row * kSide + at.column];
        uint32_t& word = execution.lanes<uint32_t>(product.registersD[halfD ? i / 2 : i])[lane];
        word = !halfD ? value : i % 2 == 0 ? value : (word & 0xffff) | value << 16;
      }
    });
  ++cluster.counters.mma[product.name];
}

}  // namespace

void decodeQuadPairProduct(isa::DecodeContext& context, const isa::FormMatch& match) {
  const auto& operands = context.instruction().operands;
  if (operands.size() != 4) context.illegal(fmt::format("D, A, B and C are expected, {} operands were given", operands.size()));
  auto product = std::make_shared<QuadPairProduct>();
  product->name = fmt::format("mma.sync m8n8k4 {}.f16.f16", match.group(5));
  product->rowsOfA = match.group(3) == "row";
  product->rowsOfB = match.group(4) == "row";
  const auto accumulator = [](std::string_view type) { return type == "f16" ? AccumulatorType::F16 : AccumulatorType::F32; };
  product->d = accumulator(match.group(5));
  product->c = accumulator(match.group(8));
  if (product->c == AccumulatorType::F32 && product->d == AccumulatorType::F16) context.illegal("with C of f32, D is of f32, too");
  const auto registersOf = [](AccumulatorType type) { return type == AccumulatorType::F16 ? 4u : 8u; };
  product->registersA = fragmentRegisters(context, operands[1], 2, "operand A", ScalarType::B32, false);
  product->registersB = fragmentRegisters(context, operands[2], 2, "operand B", ScalarType::B32, false);
  product->registersC = fragmentRegisters(context, operands[3], registersOf(product->c), "operand C", ScalarType::B32, false);
  product->registersD = fragmentRegisters(context, operands[0], registersOf(product->d), "operand D", ScalarType::B32, true);
  context.out().handler = runQuadPairProduct;
  context.out().detail = std::move(product);
  context.out().endsGroup = true;
}

}  // namespace shiftconv::emulator::wgmma
