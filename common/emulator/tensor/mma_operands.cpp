#include "common/emulator/tensor/mma_operands.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "common/emulator/tensor/operand_address.hpp"
#include "common/emulator/tensor/operand_chunk.hpp"

namespace shiftconv::emulator::tensor {

namespace {

/// How the elements of a 16-byte chunk are stored.
struct ChunkFormat {
  uint32_t elements;  ///< in a chunk
  uint32_t bitStep;   ///< from one element to the next
  uint32_t shift;     ///< of the element inside its step
  uint32_t mask;
  uint32_t definedBytes;  ///< data before the padding of packed sub-byte elements
};

/// PTX ISA 9.7.16.10.4 (Tensor Memory) and 9.7.16.10.6 (shared memory).
ChunkFormat chunkFormat(const MmaOperation& operation, ElementType type, bool inTensorMemory, const Semantics& semantics) {
  const ElementFormat& format = elementFormat(type);
  const uint32_t width = format.specials == Specials::Integer ? 8u : 1u + format.exponentBits + format.mantissaBits;
  const uint32_t mask = (1u << width) - 1;
  const bool fourBitKind = operation.kind == MmaKind::MXF4 || operation.kind == MmaKind::MXF4NVF4;
  if (fourBitKind) return {32, 4, 0, mask, kChunkBytes};
  if (format.packedBits < 8 && !inTensorMemory) return {16, format.packedBits, 0, mask, 2u * format.packedBits};
  uint32_t shift = format.shift;
  if (format.packedBits == 6 && semantics[Unproven::U8] == 1) shift = 0;
  return {kChunkBytes * 8u / format.containerBits, format.containerBits, shift, mask, kChunkBytes};
}

/// Element bits of a chunk, `step` array elements apart.
void unpackChunk(const ChunkFormat& format, const std::byte* chunk, uint32_t* raw, size_t step) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(chunk);
  if (format.bitStep == 16) {
    for (uint32_t i = 0; i < 8; ++i) raw[i * step] = bytes[2 * i] | uint32_t{bytes[2 * i + 1]} << 8;
    return;
  }
  if (format.bitStep == 32) {
    for (uint32_t i = 0; i < 4; ++i) {
      uint32_t word;
      std::memcpy(&word, bytes + 4 * i, sizeof word);
      raw[i * step] = word >> format.shift & format.mask;
    }
    return;
  }
  for (uint32_t i = 0; i < format.elements; ++i) {
    const uint32_t bit = i * format.bitStep + format.shift;
    const uint32_t next = bit / 8 + 1 < kChunkBytes ? bytes[bit / 8 + 1] : 0u;
    raw[i * step] = (bytes[bit / 8] | next << 8) >> bit % 8 & format.mask;
  }
}

/// The shared-memory half of both fetches: `count` rows of an operand from row `firstRow` of the matrix on, element (row, k) of
/// them to raw[row * rowStep + k * kStep].
struct SharedOperand {
  const MatrixDescriptor& descriptor;
  ElementType type;
  bool transposed;
  const char* name;
  uint32_t depth;       ///< elements along K
  uint32_t firstIndex;  ///< added to the row in messages
  uint32_t firstRow = 0;
};

/// Calls undefined(row) for rows of which an element is undefined.
template <class Undefined>
void fetchShared(const MmaOperation& operation, const MmaContext& context, const machine::SharedMemory& shared,
                 const SharedOperand& operand, uint32_t count, std::span<const bool> rows, uint32_t* raw, size_t rowStep,
                 size_t kStep, Undefined&& undefined) {
  const Semantics& semantics = context.options.semantics;
  const OperandAddress addresses(operand.descriptor, semantics[Unproven::U11]);
  const ChunkFormat format = chunkFormat(operation, operand.type, false, semantics);
  const uint32_t depth = operand.depth;
  const auto wanted = [&](uint32_t row) { return rows.empty() || rows[row]; };
  if (!operand.transposed) {
    for (uint32_t row = 0; row < count; ++row) {
      if (!wanted(row)) continue;
      for (uint32_t chunk = 0; chunk < depth / format.elements; ++chunk) {
        const std::byte* bytes = readChunk(shared, addresses.kMajor(operand.firstRow + row, chunk), format.definedBytes, semantics,
                                           context.counters, [&] {
                                             return fmt::format("Operand {} of tcgen05.mma, row {}, k {}..{},", operand.name,
                                                                operand.firstIndex + operand.firstRow + row,
                                                                chunk * format.elements, (chunk + 1) * format.elements - 1);
                                           });
        if (!shared.isWritten(static_cast<uint32_t>(bytes - shared.data()), format.definedBytes)) [[unlikely]]
          undefined(row);
        unpackChunk(format, bytes, raw + row * rowStep + chunk * format.elements * kStep, kStep);
      }
    }
    return;
  }
  // Chunks hold neighbouring rows of the matrix.
  const uint32_t elementBytes = kChunkBytes / format.elements;
  const uint32_t firstRow = operand.firstRow, end = firstRow + count;
  for (uint32_t chunk = firstRow / format.elements; chunk * format.elements < end; ++chunk) {
    const uint32_t first = chunk * format.elements;
    const auto isWanted = [&](uint32_t i) { return first + i >= firstRow && first + i < end && wanted(first + i - firstRow); };
    bool whole = true, any = false;
    for (uint32_t i = 0; i < format.elements; ++i) {
      whole &= isWanted(i);
      any |= isWanted(i);
    }
    if (!any) continue;
    for (uint32_t k = 0; k < depth; ++k) {
      const uint32_t address = addresses.mnMajor(chunk, k);
      const auto describe = [&] {
        return fmt::format("Operand {} of tcgen05.mma (MN-major), rows {}..{}, k {},", operand.name, operand.firstIndex + first,
                           operand.firstIndex + first + format.elements - 1, k);
      };
      const std::byte* bytes = readChunk(shared, address, whole ? kChunkBytes : 0, semantics, context.counters, describe);
      const auto place = static_cast<uint32_t>(bytes - shared.data());
      const bool isDefined = shared.isWritten(place, kChunkBytes);
      for (uint32_t i = 0; i < format.elements; ++i) {
        if (!isWanted(i)) continue;
        const uint32_t row = first + i - firstRow;
        if (!whole) shared.observe(place + i * elementBytes, elementBytes, false);
        if (!isDefined && !shared.isWritten(place + i * elementBytes, elementBytes)) [[unlikely]]
          undefined(row);
        uint32_t value = 0;
        std::memcpy(&value, bytes + i * elementBytes, elementBytes);
        raw[row * rowStep + k * kStep] = value >> format.shift & format.mask;
      }
    }
  }
}

}  // namespace

void fetchA(const MmaOperation& operation, const MmaContext& context, const CtaMemories& cta,
            std::span<const bool, kTmemLanes> rows, OperandTile& tile, std::span<Definedness, kTmemLanes> states) {
  const uint32_t depth = kindTraits(operation.kind).depth;
  tile.type = operation.descriptor.a;
  tile.negate = operation.descriptor.negateA;
  tile.resize(kTmemLanes, depth);
  if (!operation.aInTensorMemory) {
    const SharedOperand operand{operation.a, tile.type, operation.descriptor.transposeA, "A", depth, 0};
    fetchShared(operation, context, cta.shared, operand, operation.layout().rowsPerCta, rows, tile.raw.data(), depth, 1,
                [&](uint32_t row) { states[row].defined = false; });
    return;
  }
  const ChunkFormat format = chunkFormat(operation, tile.type, true, context.options.semantics);
  const TmemAddress at = unpackAddress(operation.aAddress);
  for (uint32_t row = 0; row < kTmemLanes; ++row) {
    if (!rows[row]) continue;
    const uint32_t lane = at.lane + row;
    constexpr uint32_t kRowColumns = 8;
    states[row] = {cta.tensor.isDefined(lane, at.column, kRowColumns, kWholeCell),
                   cta.tensor.isStale(lane, at.column, kRowColumns)};
    const auto* bytes = reinterpret_cast<const std::byte*>(cta.tensor.cells(lane) + at.column);
    for (uint32_t chunk = 0; chunk < depth / format.elements; ++chunk) {
      unpackChunk(format, bytes + chunk * kChunkBytes, tile.raw.data() + size_t{row} * depth + chunk * format.elements, 1);
    }
  }
}

std::vector<bool> fetchB(const MmaOperation& operation, const MmaContext& context, const std::bitset<kMaximumColumns>& zero,
                         OperandTile& tile) {
  tile.type = operation.descriptor.b;
  tile.negate = operation.descriptor.negateB;
  const uint32_t columns = operation.descriptor.n;
  const uint32_t depth = operation.depth();
  tile.resize(depth, columns);
  const uint32_t share = columns / static_cast<uint32_t>(context.ctas.size());
  std::vector<bool> undefined;
  std::array<bool, kMaximumColumns> used;
  std::span<const bool> columnsRead;  // all
  if (zero.any()) {
    for (uint32_t column = 0; column < columns; ++column) {
      used[column] = !zero[column];
      for (uint32_t k = 0; zero[column] && k < depth; ++k) tile.raw[size_t{k} * columns + column] = 0;
    }
    columnsRead = {used.data(), columns};
  }
  for (uint32_t cta = 0; cta < context.ctas.size(); ++cta) {
    const SharedOperand operand{operation.b, tile.type,   operation.descriptor.transposeB, "B",
                                depth,       cta * share, operation.columnMask.shift};
    fetchShared(operation, context, context.ctas[cta].shared, operand, share, columnsRead, tile.raw.data() + cta * share, 1,
                columns, [&](uint32_t column) {
                  undefined.resize(columns);
                  undefined[cta * share + column] = true;
                });
  }
  return undefined;
}

}  // namespace shiftconv::emulator::tensor
