#include "common/emulator/tensor/block_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/emulator/error.hpp"
#include "common/emulator/tensor/numerics_hardware.hpp"

namespace shiftconv::emulator::tensor {

namespace {

constexpr uint32_t kWordsPerColumn = 32;  ///< rows or columns of the matrix in one Tensor Memory column
constexpr uint32_t kAddressBits = 0x3fffffffu;
constexpr uint32_t kFourBitDepth = 64, kGroup = 16, kGroups = kFourBitDepth / kGroup;
constexpr int kFourBitFractionBits = 35;

/// Bits 31:30 of the address are not part of it (CUTLASS passes a byte position there): question U21.
uint32_t scaleId(uint32_t address, uint8_t descriptorId, const Semantics& semantics) {
  return semantics[Unproven::U21] == 2 ? address >> 30 : descriptorId;
}

void checkScaleOperand(uint32_t address, uint8_t id, uint32_t columns, const char* name, const MmaOperation& operation,
                       const MmaContext& context) {
  if (address >> 30 != 0) {
    context.counters.use(Unproven::U21);
    if (context.options.semantics[Unproven::U21] == 1) {
      throw EmulatorError(
          ErrorKind::Misaligned,
          fmt::format("Scale factors of {}: address {:#x} has bits 31:30 set (alternative 1 of question U21).", name, address));
    }
  }
  const TmemAddress at = unpackAddress(address & kAddressBits);
  if (at.lane != 0) {
    throw EmulatorError(ErrorKind::Misaligned,
                        fmt::format("Scale factors of {} start at lane {}: the lane must be 0.", name, at.lane));
  }
  if (id + operation.scaleVector > 4) {
    throw EmulatorError(
        ErrorKind::Descriptor,
        fmt::format("Instruction descriptor: scale factor id {} of {} with {} factors per row: they must lie in one 32-bit word.",
                    id, name, operation.scaleVector));
  }
  if (operation.scaleVector == 2 && id % 2 != 0) {
    throw EmulatorError(
        ErrorKind::Descriptor,
        fmt::format("Instruction descriptor: scale factor id {} of {} must be 0 or 2 with 2 factors per row.", id, name));
  }
  for (const CtaMemories& cta : context.ctas) {
    cta.tensor.requireCells(0, kTmemLanes, at.column, columns, fmt::format("The scale factors of {}", name));
  }
}

ScaleRow readFactors(const TensorMemory& memory, uint32_t lane, uint32_t column, uint32_t id, uint32_t count, bool isUe8m0) {
  ScaleRow result;
  for (uint32_t block = 0; block < count; ++block) {
    result[block] = decodeScale(memory.cells(lane)[column] >> 8 * ((id + block) % 4) & 0xffu, isUe8m0);
  }
  return result;
}

/// An aligned term: significand * 2^(exponent - fractionBits).
struct Term {
  int64_t significand;
  int exponent;
};

int64_t truncatingShift(int64_t value, int shift) {
  if (shift >= 63) return 0;
  return value < 0 ? -(-value >> shift) : value >> shift;
}

/// For exponents of normal numbers.
double powerOfTwo(int exponent) { return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52); }

uint32_t truncateToFloatBits(double value) {
  if (value == 0) return 0;
  float nearest = static_cast<float>(value);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value) && std::fabs(value) < 0x1p128)
    nearest = std::nextafter(nearest, 0.0f);
  return nearest == 0 ? 0u : std::bit_cast<uint32_t>(nearest);
}

Term accumulatorTerm(uint32_t bits) {
  const uint32_t field = bits >> 23 & 0xff, mantissa = bits & 0x7fffff;
  const int64_t magnitude = mantissa | (field != 0 ? 0x800000u : 0u);
  const int exponent = magnitude == 0 ? kZeroExponent : std::max<int>(static_cast<int>(field), 1) - 127;
  return {(bits >> 31 ? -magnitude : magnitude) << (kFourBitFractionBits - 23), exponent};
}

}  // namespace

ScaleFactor decodeScale(uint32_t bits, bool isUe8m0) {
  if (isUe8m0) return {8, static_cast<int32_t>(bits) - 127, bits == 0xff};
  const uint32_t magnitude = bits & 0x7f;
  const auto field = static_cast<int32_t>(magnitude >> 3);
  const auto significand = static_cast<int32_t>((field != 0 ? 8u : 0u) | (magnitude & 7));
  return {significand, significand == 0 ? kZeroExponent : std::max(field, 1) - 7, magnitude == 0x7f};
}

void checkScales(const MmaOperation& operation, const MmaContext& context) {
  const AccumulatorLayout layout = operation.layout();
  const Semantics& semantics = context.options.semantics;
  if (operation.descriptor.n % kWordsPerColumn != 0) {
    context.counters.use(Unproven::U27);
    if (semantics[Unproven::U27] == 1) {
      throw EmulatorError(ErrorKind::Descriptor, fmt::format("N = {} with block scaling: refused by alternative 1 of question U27.",
                                                             operation.descriptor.n));
    }
  }
  const auto columnsFor = [](uint32_t count) { return (count + kWordsPerColumn - 1) / kWordsPerColumn; };
  checkScaleOperand(operation.scaleA, operation.descriptor.scaleIdA, columnsFor(layout.rowsPerCta), "A", operation, context);
  checkScaleOperand(operation.scaleB, operation.descriptor.scaleIdB, columnsFor(layout.columns), "B", operation, context);
}

ScaleRow fetchRowScales(const MmaOperation& operation, const Semantics& semantics, const TensorMemory& memory, uint32_t lane,
                        uint32_t row) {
  const uint32_t column = unpackAddress(operation.scaleA & kAddressBits).column + row / kWordsPerColumn;
  const uint32_t id = scaleId(operation.scaleA, operation.descriptor.scaleIdA, semantics);
  return readFactors(memory, lane, column, id, operation.scaleVector, operation.descriptor.scaleIsUe8m0);
}

std::vector<ScaleRow> fetchColumnScales(const MmaOperation& operation, const Semantics& semantics, const TensorMemory& memory,
                                        uint32_t window) {
  const uint32_t column = unpackAddress(operation.scaleB & kAddressBits).column;
  const uint32_t id = scaleId(operation.scaleB, operation.descriptor.scaleIdB, semantics);
  std::vector<ScaleRow> scales;
  for (uint32_t n = 0; n < operation.layout().columns; ++n) {
    scales.push_back(readFactors(memory, window * kWindowLanes + n % kWordsPerColumn, column + n / kWordsPerColumn, id,
                                 operation.scaleVector, operation.descriptor.scaleIsUe8m0));
  }
  return scales;
}

Definedness rowScalesDefined(const MmaOperation& operation, const TensorMemory& memory, uint32_t lane, uint32_t row) {
  const uint32_t column = unpackAddress(operation.scaleA & kAddressBits).column + row / kWordsPerColumn;
  return {memory.isDefined(lane, column, 1, kWholeCell), memory.isStale(lane, column, 1)};
}

Definedness columnScalesDefined(const MmaOperation& operation, const TensorMemory& memory, uint32_t window, uint32_t n) {
  const uint32_t column = unpackAddress(operation.scaleB & kAddressBits).column + n / kWordsPerColumn;
  const uint32_t lane = window * kWindowLanes + n % kWordsPerColumn;
  return {memory.isDefined(lane, column, 1, kWholeCell), memory.isStale(lane, column, 1)};
}

std::vector<int32_t> scaleExponents(const ScaleRow& a, std::span<const ScaleRow> b) {
  std::vector<int32_t> sums;
  for (const ScaleRow& column : b) sums.push_back(a[0].nan || column[0].nan ? kNanScale : a[0].exponent + column[0].exponent);
  return sums;
}

void decodeFourBit(OperandTile& tile, uint32_t rows, uint32_t columns) {
  static constexpr std::array<float, 8> kMagnitudes{0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  for (uint32_t row = 0; row < rows; ++row)
    for (size_t at = size_t{row} * tile.stride, end = at + columns; at < end; ++at) {
      const float magnitude = kMagnitudes[tile.raw[at] & 7];
      tile.value[at] = (tile.raw[at] >> 3 & 1) != static_cast<uint32_t>(tile.negate) ? -magnitude : magnitude;
    }
}

void accumulateFourBit(const OperandTile& a, const OperandTile& b, uint32_t scaleVector, const ScaleRow& scaleA,
                       std::span<const ScaleRow> scaleB, bool enabled, uint32_t columns, const LaneWork& lane) {
  // Exact: multiples of 1/4, up to 16 * 36.
  std::array<std::array<float, kMaximumColumns>, kGroups> sums{};
  for (uint32_t k = 0; k < kFourBitDepth; ++k) {
    const float x = a.value[size_t{lane.row} * a.stride + k];
    const float* const row = &b.value[size_t{k} * b.stride + lane.firstColumn];
    float* const sum = sums[k / kGroup].data();
    for (uint32_t n = 0; n < columns; ++n) sum[n] += x * row[n];
  }
  for (uint32_t n = 0; n < columns; ++n) {
    const uint32_t old = enabled ? lane.d[n] : 0u;
    bool nan = (old & 0x7fffffffu) > 0x7f800000u;
    std::array<Term, kGroups + 1> terms;
    terms[kGroups] = accumulatorTerm(old);
    for (uint32_t group = 0; group < kGroups; ++group) {
      const uint32_t block = group * scaleVector / kGroups;
      const ScaleFactor& x = scaleA[block];
      const ScaleFactor& y = scaleB[n][block];
      nan |= x.nan || y.nan;
      // 2 fraction bits in the sum and 3 in each factor.
      const int64_t significand = static_cast<int64_t>(4 * sums[group][n]) * x.significand * y.significand;
      terms[group] = {significand * (int64_t{1} << (kFourBitFractionBits - 8)), x.exponent + y.exponent};
    }
    if (nan) {
      lane.d[n] = kCanonicalNanF32;
      continue;
    }
    if ((old & 0x7f800000u) == 0x7f800000u) continue;  // infinity stays
    const int largest = std::max_element(terms.begin(), terms.end(), [](const Term& l, const Term& r) {
                          return l.exponent < r.exponent;
                        })->exponent;
    int64_t total = 0;
    for (const Term& term : terms) total += truncatingShift(term.significand, largest - term.exponent);
    // The sum has at most 50 bits, and the exponents of two factors and of an accumulator are within those of a double.
    lane.d[n] = total == 0 ? 0 : truncateToFloatBits(static_cast<double>(total) * powerOfTwo(largest - kFourBitFractionBits));
  }
}

}  // namespace shiftconv::emulator::tensor
