// ldmatrix, stmatrix, movmatrix: 8x8 matrices of 16-bit elements, and matrices of bytes, between shared memory and the
// registers of a warp (PTX ISA 9.0, 9.7.14.5.15 to 9.7.14.5.17). Lane l is written as g = l / 4, t = l % 4. 4-bit values come into
// the low half of their bytes: so says CUTLASS 4 (cute/atom/mma_traits_sm120.hpp), which shifts them to where mma.sync reads them,
// but not 6-bit ones, which mma.sync reads in the low 6 bits (9.7.14.6.3).
#include <fmt/format.h>

#include <array>
#include <cstring>

#include "common/emulator/error.hpp"
#include "common/emulator/forms/threads/memory_operand.hpp"
#include "common/emulator/forms/threads/whole_warp.hpp"
#include "common/emulator/isa/decoder.hpp"
#include "common/emulator/machine/lane_access.hpp"

namespace shiftconv::emulator::machine {
namespace {

using isa::DecodeContext;
using isa::FormMatch;
using ptx::Operand;
using ptx::ScalarType;

constexpr uint32_t kRowBytes = 16;
constexpr unsigned kRegisterBytes = 4;

/// Where an element of a lane's register is in memory: in the 16-byte row that lane `addressLane` points at.
struct Place {
  unsigned addressLane;
  unsigned byte;
};

/// How the registers of a warp spread over the rows. Elements are counted from the low end of the register.
struct MatrixLayout {
  unsigned elementBytes;
  unsigned rows;       ///< of one matrix, each with an address of its own
  unsigned registers;  ///< of one matrix
  Place (*place)(unsigned reg, unsigned lane, unsigned element);
  /// Not 0: a row begins with 16 values of so many bits, which come into the low bits of a byte each.
  unsigned packedBits = 0;
};

/// m8n8.b16: element h is column 2t + h of row g.
constexpr MatrixLayout kHalves{2, 8, 1, [](unsigned reg, unsigned lane, unsigned element) {
                                 return Place{8 * reg + lane / 4, 2 * (2 * (lane % 4) + element)};
                               }};
/// m8n8.trans.b16: element h is column g of row 2t + h.
constexpr MatrixLayout kTransposedHalves{2, 8, 1, [](unsigned reg, unsigned lane, unsigned element) {
                                           return Place{8 * reg + 2 * (lane % 4) + element, 2 * (lane / 4)};
                                         }};
/// ldmatrix m16n16.trans.b8: byte b of register j is column g + 8j of row 4t + b.
constexpr MatrixLayout kLoadedBytes{1, 16, 2, [](unsigned reg, unsigned lane, unsigned element) {
                                      return Place{16 * (reg / 2) + 4 * (lane % 4) + element, lane / 4 + 8 * (reg % 2)};
                                    }};
/// ldmatrix m8n16: byte b is column 4t + b of row g.
constexpr Place placeOfExpanded(unsigned reg, unsigned lane, unsigned element) {
  return {8 * reg + lane / 4, 4 * (lane % 4) + element};
}
constexpr MatrixLayout kExpanded4{1, 8, 1, placeOfExpanded, 4};
constexpr MatrixLayout kExpanded6{1, 8, 1, placeOfExpanded, 6};
/// ldmatrix m16n16.trans of packed values: as with bytes.
constexpr MatrixLayout kTransposed4{1, 16, 2, kLoadedBytes.place, 4};
constexpr MatrixLayout kTransposed6{1, 16, 2, kLoadedBytes.place, 6};
/// stmatrix m16n8.trans.b8: byte b goes to column g + 8 (b / 2) of row 2t + b % 2.
constexpr MatrixLayout kStoredBytes{1, 8, 1, [](unsigned reg, unsigned lane, unsigned element) {
                                      return Place{8 * reg + 2 * (lane % 4) + element % 2, lane / 4 + 8 * (element / 2)};
                                    }};

struct MatrixDetail final : InstructionDetail {
  MemoryOperand rows;
  const MatrixLayout* layout = nullptr;
  std::array<Slot, 4> registers{};
  unsigned registerCount = 0;
};

/// Host pointers to the rows. The addresses of the other lanes are ignored.
void resolveRows(const Execution& execution, const MatrixDetail& detail, AccessKind kind, LanePointers& pointers) {
  const unsigned count = detail.layout->rows * detail.registerCount / detail.layout->registers;
  const LaneMask lanes = kAllLanes >> (kWarpLanes - count);
  forEachLane(lanes, [&](unsigned lane) {
    const SharedObject object = sharedObject(execution, detail.rows, lane);
    if (object.cta != &execution.warp.cta)
      throw EmulatorError(
          ErrorKind::OutOfBounds,
          fmt::format("lane {}: the row of a matrix is in the shared memory of CTA rank {}, not of the executing CTA", lane,
                      object.cta->rank));
  });
  const uint32_t packedBits = detail.layout->packedBits;
  if (packedBits == 0) return resolve(execution, lanes, detail.rows, kRowBytes, kind, pointers);
  // The padding after the values is not read, but the row is aligned with it.
  forEachLane(lanes, [&](unsigned lane) {
    const uint32_t offset = sharedObject(execution, detail.rows, lane).offset;
    if (offset % kRowBytes != 0)
      throw EmulatorError(
          ErrorKind::Misaligned,
          fmt::format("lane {}: the row of a matrix at shared offset {:#x} needs an address that is a multiple of {}", lane, offset,
                      kRowBytes));
  });
  resolve(execution, lanes, detail.rows, kRowBytes * packedBits / 8, kind, pointers);
}

/// Value i of neighbours of `bits` bits each, the first one in the low bits.
std::byte packedValue(const std::byte* row, unsigned i, unsigned bits) {
  const unsigned first = i * bits, byte = first / 8, within = first % 8;
  unsigned value = std::to_integer<unsigned>(row[byte]) >> within;
  if (within + bits > 8) value |= std::to_integer<unsigned>(row[byte + 1]) << (8 - within);
  return static_cast<std::byte>(value & ((1u << bits) - 1));
}

/// Calls move(byte of the register, byte in memory, element size) for every element.
template <class Move>
void forEachElement(const Execution& execution, const MatrixDetail& detail, const LanePointers& rows, Move&& move) {
  const MatrixLayout& layout = *detail.layout;
  for (unsigned reg = 0; reg < detail.registerCount; ++reg) {
    auto* values = execution.lanes<std::byte>(detail.registers[reg]);
    for (unsigned lane = 0; lane < kWarpLanes; ++lane)
      for (unsigned element = 0; element < kRegisterBytes / layout.elementBytes; ++element) {
        const Place place = layout.place(reg, lane, element);
        std::byte* const value = values + kRegisterBytes * lane + layout.elementBytes * element;
        if (layout.packedBits != 0)
          *value = packedValue(rows[place.addressLane], place.byte, layout.packedBits);
        else
          move(value, rows[place.addressLane] + place.byte, layout.elementBytes);
      }
  }
}

void loadMatrix(Execution& execution, const DecodedInstruction& instruction) {
  requireWholeWarp(execution, "ldmatrix");
  const auto& detail = instruction.as<MatrixDetail>();
  LanePointers rows{};
  resolveRows(execution, detail, AccessKind::Read, rows);
  forEachElement(execution, detail, rows,
                 [](std::byte* value, const std::byte* memory, unsigned bytes) { std::memcpy(value, memory, bytes); });
}

void storeMatrix(Execution& execution, const DecodedInstruction& instruction) {
  requireWholeWarp(execution, "stmatrix");
  const auto& detail = instruction.as<MatrixDetail>();
  LanePointers rows{};
  resolveRows(execution, detail, AccessKind::Write, rows);
  forEachElement(execution, detail, rows,
                 [](const std::byte* value, std::byte* memory, unsigned bytes) { std::memcpy(memory, value, bytes); });
}

/// `registers`: a vector, or a single register for one.
void decodeMatrix(DecodeContext& context, const FormMatch& match, const Operand& registers, const Operand& address,
                  const MatrixLayout& layout, bool load) {
  auto detail = std::make_shared<MatrixDetail>();
  detail->layout = &layout;
  const auto matrices = static_cast<unsigned>(match.group(3)[1] - '0');
  detail->registerCount = matrices * layout.registers;
  const bool vector = registers.kind == Operand::Kind::Vector;
  const size_t given = vector ? registers.elements.size() : 1;
  if (given != detail->registerCount)
    context.illegal(fmt::format("{} registers are expected here, {} were given", detail->registerCount, given));
  for (unsigned i = 0; i < detail->registerCount; ++i) {
    const Operand& operand = vector ? registers.elements[i] : registers;
    detail->registers[i] = load ? context.destination(operand, ScalarType::B32) : context.source(operand, ScalarType::B32);
  }
  detail->rows = memoryOperand(context, address, match.has("shared") ? "shared" : match.has("shared::cta") ? "shared::cta" : "");
  context.out().detail = std::move(detail);
  context.out().handler = load ? loadMatrix : storeMatrix;
  context.out().endsGroup = true;
}

const std::vector<Operand>& twoOperands(DecodeContext& context) {
  const auto& operands = context.instruction().operands;
  if (operands.size() != 2) context.illegal(fmt::format("2 operands are expected here, {} were given", operands.size()));
  return operands;
}

void decodeLoad(DecodeContext& context, const FormMatch& match) {
  const auto& operands = twoOperands(context);
  const bool transposed = match.has("trans");
  const MatrixLayout& layout = match.has("b4x16_p64")   ? (transposed ? kTransposed4 : kExpanded4)
                               : match.has("b6x16_p32") ? (transposed ? kTransposed6 : kExpanded6)
                               : match.has("b8")        ? kLoadedBytes
                               : transposed             ? kTransposedHalves
                                                        : kHalves;
  decodeMatrix(context, match, operands[0], operands[1], layout, true);
}

void decodeStore(DecodeContext& context, const FormMatch& match) {
  const auto& operands = twoOperands(context);
  const MatrixLayout& layout = match.has("b8") ? kStoredBytes : match.has("trans") ? kTransposedHalves : kHalves;
  decodeMatrix(context, match, operands[1], operands[0], layout, false);
}

/// Operands: 0 d, 1 a. Element (row, column) of a matrix is half column % 2 of lane 4 row + column / 2.
void transposeMatrix(Execution& execution, const DecodedInstruction& instruction) {
  requireWholeWarp(execution, "movmatrix");
  const auto* source = execution.lanes<uint16_t>(instruction.operand[1]);
  std::array<uint16_t, 64> transposed{};  // the destination may be the source
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned column = 0; column < 8; ++column) transposed[8 * row + column] = source[8 * column + row];
  std::memcpy(execution.lanes<uint16_t>(instruction.operand[0]), transposed.data(), sizeof(transposed));
}

void decodeTranspose(DecodeContext& context, const FormMatch&) {
  const auto& operands = twoOperands(context);
  context.out().operand[0] = context.destination(operands[0], ScalarType::B32);
  context.out().operand[1] = context.source(operands[1], ScalarType::B32);
  context.out().handler = transposeMatrix;
  context.out().endsGroup = true;
}

}  // namespace
}  // namespace shiftconv::emulator::machine

namespace shiftconv::emulator::isa {

FormFamily matrixForms() {
  using namespace machine;
  return {
      {"ldmatrix.sync.aligned.m8n8.(x1|x2|x4){.trans}{.(shared|shared::cta)}.b16", decodeLoad},
      {"ldmatrix.sync.aligned.m16n16.(x1|x2).trans{.(shared|shared::cta)}.b8", decodeLoad},
      {"ldmatrix.sync.aligned.m8n16.(x1|x2|x4){.(shared|shared::cta)}.b8x16.(b4x16_p64|b6x16_p32)", decodeLoad},
      {"ldmatrix.sync.aligned.m16n16.(x1|x2).trans{.(shared|shared::cta)}.b8x16.(b4x16_p64|b6x16_p32)", decodeLoad},
      {"stmatrix.sync.aligned.m8n8.(x1|x2|x4){.trans}{.(shared|shared::cta)}.b16", decodeStore},
      {"stmatrix.sync.aligned.m16n8.(x1|x2|x4).trans{.(shared|shared::cta)}.b8", decodeStore},
      {"movmatrix.sync.aligned.m8n8.trans.b16", decodeTranspose},
  };
}

}  // namespace shiftconv::emulator::isa
