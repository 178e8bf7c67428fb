#include "common/emulator/wgmma/multiplication.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <vector>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/cluster.hpp"
#include "common/emulator/machine/lane_access.hpp"
#include "common/emulator/machine/observer.hpp"
#include "common/emulator/tensor/numerics_fast.hpp"
#include "common/emulator/tensor/numerics_hardware.hpp"
#include "common/emulator/tensor/operand_address.hpp"
#include "common/emulator/tensor/operand_chunk.hpp"
#include "common/emulator/tensor/operand_tile.hpp"
#include "common/emulator/wgmma/fragments.hpp"

namespace shiftconv::emulator::wgmma {
namespace {

using tensor::AccumulatorType;
using tensor::ElementType;
using tensor::kChunkBytes;
using tensor::OperandTile;

constexpr uint32_t kLanes = program::kWarpLanes;

std::string_view typeName(const Shape& shape, ElementType type) { return shape.bits ? "b1" : tensor::elementFormat(type).name; }

/// An operand as 32-bit words: element bits at [row][k], or 32 of them for b1.
struct Words {
  uint32_t stride = 0;  ///< words of a row
  std::vector<uint32_t> words;
  /// Rows of which an element is undefined, where somebody asks for it; empty: none.
  std::vector<bool> undefined{};
  machine::Observer::UndefinedSource source{};  ///< of one of them

  void markUndefined(uint32_t row, const machine::Observer::UndefinedSource& from) {
    undefined.resize(words.size() / stride);
    undefined[row] = true;
    source = from;
  }
  bool isUndefined(uint32_t row) const { return !undefined.empty() && undefined[row]; }
};

/// Elements of a chunk, shifted down to bit 0; b1: whole words of 32.
void unpack(const std::byte* chunk, uint32_t bits, uint32_t shift, uint32_t* out) {
  for (uint32_t i = 0; i < kChunkBytes * 8 / bits; ++i) {
    uint32_t value = 0;
    std::memcpy(&value, chunk + i * bits / 8, bits / 8);
    out[i] = value >> shift;
  }
}

/// Rows of an operand in shared memory: M rows of A, or N of B.
Words fetch(const Shape& shape, const tensor::MatrixDescriptor& descriptor, ElementType type, bool transposed, uint32_t rows,
            const char* name, machine::Cta& cta) {
  const machine::SharedMemory& shared = cta.shared;
  const Options& options = cta.cluster.options;
  Counters& counters = cta.cluster.counters;
  const bool watched = cta.cluster.observer != nullptr;
  const tensor::OperandAddress addresses(descriptor, options.semantics[Unproven::U11]);
  const uint32_t bits = shape.bits ? 32 : shape.elementBits();
  const uint32_t shift = shape.bits ? 0 : tensor::elementFormat(type).shift;
  const uint32_t perChunk = kChunkBytes * 8 / bits, depth = shape.bits ? shape.depth / 32 : shape.depth;
  const auto read = [&](uint32_t address, uint32_t row, uint32_t k) {
    return tensor::readChunk(shared, address, kChunkBytes, options.semantics, counters, [&] {
      return fmt::format("Operand {} of wgmma.mma_async, row {}, k {},", name, row, shape.bits ? 32 * k : k);
    });
  };
  Words result{depth, std::vector<uint32_t>(size_t{rows} * depth)};
  std::array<uint32_t, kChunkBytes> elements;
  if (!transposed) {
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t chunk = 0; chunk < depth / perChunk; ++chunk) {
        const std::byte* const bytes = read(addresses.kMajor(row, chunk), row, chunk * perChunk);
        const auto place = static_cast<uint32_t>(bytes - shared.data());
        if (watched && !shared.isWritten(place, kChunkBytes)) [[unlikely]]
          result.markUndefined(row, {nullptr, place});
        unpack(bytes, bits, shift, result.words.data() + size_t{row} * depth + chunk * perChunk);
      }
    return result;
  }
  for (uint32_t chunk = 0; chunk < rows / perChunk; ++chunk)
    for (uint32_t k = 0; k < depth; ++k) {
      const std::byte* const bytes = read(addresses.mnMajor(chunk, k), chunk * perChunk, k);
      const auto place = static_cast<uint32_t>(bytes - shared.data());
      const bool isDefined = !watched || shared.isWritten(place, kChunkBytes);
      unpack(bytes, bits, shift, elements.data());
      for (uint32_t i = 0; i < perChunk; ++i) {
        result.words[size_t{chunk * perChunk + i} * depth + k] = elements[i];
        const uint32_t element = place + i * kChunkBytes / perChunk;
        if (!isDefined && !shared.isWritten(element, kChunkBytes / perChunk)) [[unlikely]]
          result.markUndefined(chunk * perChunk + i, {nullptr, element});
      }
    }
  return result;
}

/// Operand A out of the registers of all four warps.
Words gather(const Shape& shape, std::span<const WarpRegisters, kWarps> warps, const machine::Observer* observer) {
  const uint32_t bits = shape.bits ? 32 : shape.elementBits(), perRegister = 32 / bits;
  const uint32_t depth = shape.bits ? shape.depth / 32 : shape.depth;
  const uint32_t shift = shape.bits ? 0 : tensor::elementFormat(shape.a).shift;
  const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
  Words result{depth, std::vector<uint32_t>(size_t{kRows} * depth)};
  for (uint32_t warp = 0; warp < kWarps; ++warp)
    for (uint32_t reg = 0; reg < kRegistersOfA; ++reg) {
      const auto* lanes = reinterpret_cast<const uint32_t*>(warps[warp].frame + warps[warp].a[reg]);
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        for (uint32_t i = 0; i < perRegister; ++i) {
          const Element at = operandElement(lane, reg * perRegister + i, bits);
          result.words[size_t{warp * kRowsOfWarp + at.row} * depth + at.column] = (lanes[lane] >> (i * bits) & mask) >> shift;
        }
      if (observer == nullptr || !observer->following) continue;
      const std::byte* const place = warps[warp].frame + warps[warp].a[reg];
      machine::forEachLane(observer->undefinedLanes(place), [&](unsigned lane) {
        result.markUndefined(warp * kRowsOfWarp + operandElement(lane, reg * perRegister, bits).row, {place, 0});
      });
    }
  return result;
}

/// A as [row][k], B as [k][column].
OperandTile tileOf(const Words& words, ElementType type, bool negate, bool columnsOfB) {
  OperandTile tile;
  tile.type = type;
  tile.negate = negate;
  const auto rows = static_cast<uint32_t>(words.words.size() / words.stride);
  if (!columnsOfB) {
    tile.resize(rows, words.stride);
    tile.raw = words.words;
    return tile;
  }
  tile.resize(words.stride, rows);
  for (uint32_t row = 0; row < rows; ++row)
    for (uint32_t k = 0; k < words.stride; ++k) tile.raw[size_t{k} * rows + row] = words.words[size_t{row} * words.stride + k];
  return tile;
}

/// D of all warps, one word for each element.
std::vector<uint32_t> gatherAccumulators(const Shape& shape, std::span<const WarpRegisters, kWarps> warps) {
  std::vector<uint32_t> d(size_t{kRows} * shape.columns);
  const bool half = shape.d == AccumulatorType::F16;
  for (uint32_t warp = 0; warp < kWarps; ++warp)
    for (uint32_t i = 0; i < shape.columns / 2; ++i) {
      const auto* lanes = reinterpret_cast<const uint32_t*>(warps[warp].frame + warps[warp].d[half ? i / 2 : i]);
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const Element at = accumulatorElement(lane, i);
        d[size_t{warp * kRowsOfWarp + at.row} * shape.columns + at.column] =
            half ? lanes[lane] >> (16 * (i % 2)) & 0xffff : lanes[lane];
      }
    }
  return d;
}

void scatterAccumulators(const Shape& shape, std::span<const WarpRegisters, kWarps> warps, const std::vector<uint32_t>& d) {
  const bool half = shape.d == AccumulatorType::F16;
  for (uint32_t warp = 0; warp < kWarps; ++warp)
    for (uint32_t i = 0; i < shape.columns / 2; ++i) {
      auto* lanes = reinterpret_cast<uint32_t*>(warps[warp].frame + warps[warp].d[half ? i / 2 : i]);
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const Element at = accumulatorElement(lane, i);
        const uint32_t value = d[size_t{warp * kRowsOfWarp + at.row} * shape.columns + at.column];
        if (!half)
          lanes[lane] = value;
        else
          lanes[lane] = i % 2 == 0 ? (lanes[lane] & 0xffff0000u) | value : (lanes[lane] & 0xffffu) | value << 16;
      }
    }
}

/// Tells the observer which lanes of every accumulator register are made of undefined operands.
void followUndefined(const Shape& shape, bool accumulates, const Words& a, const Words& b,
                     std::span<const WarpRegisters, kWarps> warps, const machine::Cta& cta) {
  machine::Observer* const observer = cta.cluster.observer.get();
  if (observer == nullptr || (!observer->following && a.undefined.empty() && b.undefined.empty())) return;
  const uint32_t perRegister = shape.d == AccumulatorType::F16 ? 2 : 1;
  const machine::Observer::UndefinedSource& source = a.undefined.empty() ? b.source : a.source;
  for (uint32_t warp = 0; warp < kWarps; ++warp)
    for (uint32_t reg = 0; reg < shape.registers(); ++reg) {
      machine::LaneMask undefined = 0;
      for (uint32_t lane = 0; lane < kLanes; ++lane)
        for (uint32_t i = 0; i < perRegister; ++i) {
          const Element at = accumulatorElement(lane, reg * perRegister + i);
          if (a.isUndefined(warp * kRowsOfWarp + at.row) || b.isUndefined(at.column)) undefined |= machine::LaneMask{1} << lane;
        }
      observer->productResult(cta.rank, warps[warp].frame + warps[warp].d[reg], undefined, accumulates, source);
    }
}

void multiplyBits(const Shape& shape, const Words& a, const Words& b, bool accumulate, std::vector<uint32_t>& d) {
  for (uint32_t row = 0; row < kRows; ++row)
    for (uint32_t column = 0; column < shape.columns; ++column) {
      uint32_t& sum = d[size_t{row} * shape.columns + column];
      if (!accumulate) sum = 0;
      for (uint32_t word = 0; word < a.stride; ++word)
        sum += static_cast<uint32_t>(
            std::popcount(a.words[size_t{row} * a.stride + word] & b.words[size_t{column} * b.stride + word]));
    }
}

bool isEightBitFloat(ElementType type) { return type == ElementType::E4M3 || type == ElementType::E5M2; }

void accumulate(const Shape& shape, const Operands& operands, const Words& wordsOfA, const Words& wordsOfB, const Options& options,
                std::vector<uint32_t>& d) {
  OperandTile a = tileOf(wordsOfA, shape.a, operands.negateA, false);
  OperandTile b = tileOf(wordsOfB, shape.b, operands.negateB, true);
  std::array<tensor::LaneWork, kRows> work;
  for (uint32_t row = 0; row < kRows; ++row)
    work[row] = {.row = row, .firstColumn = 0, .d = d.data() + size_t{row} * shape.columns};
  if (shape.d == AccumulatorType::S32) {
    tensor::decodeIntegers(a, kRows, shape.depth);
    tensor::decodeIntegers(b, shape.depth, shape.columns);
    tensor::accumulateIntegers(a, b, shape.columns, shape.depth, operands.accumulate, shape.saturate, work);
    return;
  }
  tensor::AccumulatorInput input;
  input.type = shape.d;
  input.enabled = operands.accumulate;
  if (options.numerics == Numerics::Fast) {
    tensor::decodeForFast(a, kRows, shape.depth);
    tensor::decodeForFast(b, shape.depth, shape.columns);
    tensor::accumulateFast(a, b, shape.columns, shape.depth, input, work);
    return;
  }
  if (isEightBitFloat(shape.a)) input.precision = tensor::kHopperEightBitPrecision;
  tensor::decodeForHardware(a, kRows, shape.depth, true);
  tensor::decodeForHardware(b, shape.depth, shape.columns, false);
  tensor::accumulateHardware(a, b, shape.columns, shape.depth, input, work);
}

}  // namespace

std::string Shape::name() const {
  return fmt::format("wgmma m64n{}k{} {}.{}.{}", columns, depth, toString(d), typeName(*this, a), typeName(*this, b));
}

tensor::MatrixDescriptor decodeDescriptor(uint64_t word, std::string_view who) {
  constexpr uint64_t kUsed = 0xc00e'3fff'3fff'3fffull;
  if ((word & ~kUsed) != 0)
    throw EmulatorError(ErrorKind::Descriptor,
                        fmt::format("Descriptor {:#018x} of {}: bits {:#x} are set, which no field of a wgmma "
                                    "descriptor has.",
                                    word, who, word & ~kUsed));
  constexpr std::array<tensor::Swizzle, 4> kSwizzles{tensor::Swizzle::None, tensor::Swizzle::Bytes128, tensor::Swizzle::Bytes64,
                                                     tensor::Swizzle::Bytes32};
  const auto offset = [&](unsigned shift) { return static_cast<uint32_t>(word >> shift & 0x3fff) << 4; };
  tensor::MatrixDescriptor result;
  result.start = offset(0);
  result.leadingOffset = offset(16);
  result.strideOffset = offset(32);
  result.baseOffset = static_cast<uint8_t>(word >> 49 & 7);
  result.swizzle = kSwizzles[word >> 62];
  return result;
}

void multiply(const Shape& shape, const Operands& operands, std::span<const WarpRegisters, kWarps> warps, machine::Cta& cta) {
  const Options& options = cta.cluster.options;
  Counters& counters = cta.cluster.counters;
  const Words a = operands.aInRegisters ? gather(shape, warps, cta.cluster.observer.get())
                                        : fetch(shape, operands.a, shape.a, operands.transposeA, kRows, "A", cta);
  const Words b = fetch(shape, operands.b, shape.b, operands.transposeB, shape.columns, "B", cta);
  std::vector<uint32_t> d = gatherAccumulators(shape, warps);
  if (shape.bits)
    multiplyBits(shape, a, b, operands.accumulate, d);
  else
    accumulate(shape, operands, a, b, options, d);
  scatterAccumulators(shape, warps, d);
  followUndefined(shape, operands.accumulate, a, b, warps, cta);
  ++counters.mma[shape.name() + (operands.aInRegisters ? " a:registers" : " a:shared")];
  const uint64_t rows = shape.columns + (operands.aInRegisters ? 0 : kRows);
  counters.addBytes(Engine::TensorCore, Traffic::SharedRead, rows * shape.depth * shape.elementBits() / 8);
}

}  // namespace shiftconv::emulator::wgmma
