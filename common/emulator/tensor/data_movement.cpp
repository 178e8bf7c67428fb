#include "common/emulator/tensor/data_movement.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "common/emulator/tensor/operand_address.hpp"
#include "common/emulator/tensor/operand_chunk.hpp"

namespace shiftconv::emulator::tensor {

namespace {
constexpr std::array<CopyTraits, static_cast<size_t>(CopyShape::Count)> kCopies{{
    {"128x256b", 128, 32, 1},
    {"128x128b", 128, 16, 1},
    {"64x128b.warpx2::02_13", 64, 16, 2},
    {"64x128b.warpx2::01_23", 64, 16, 2},
    {"32x128b.warpx4", 32, 16, 4},
    {"4x256b", 4, 32, 1},
}};

/// Bytes of data in a 16-byte chunk; padding follows.
uint32_t definedBytes(SourceFormat format) {
  return format == SourceFormat::B4x16P64 ? 8 : format == SourceFormat::B6x16P32 ? 12 : kChunkBytes;
}
}  // namespace

const CopyTraits& copyTraits(CopyShape shape) { return kCopies[static_cast<size_t>(shape)]; }

// CUTLASS copy_traits_sm100, SM100_UTCCP_*: destination layouts.
uint32_t copyLane(CopyShape shape, uint32_t row, uint32_t copy) {
  switch (shape) {
    case CopyShape::S64x128bWarpx2_02_13:
      return row + 64 * copy;
    case CopyShape::S64x128bWarpx2_01_23:
      return row % 32 + 64 * (row / 32) + 32 * copy;
    case CopyShape::S32x128bWarpx4:
      return row + 32 * copy;
    case CopyShape::S4x256b:
      return kWindowLanes * row;
    default:
      return row;
  }
}

void decompress(SourceFormat format, uint8_t sixBitShift, const std::byte* source, std::byte* destination) {
  std::array<uint8_t, 16> bytes;
  std::memcpy(bytes.data(), source, bytes.size());
  for (uint32_t element = 0; element < 16; ++element) {
    uint32_t value = bytes[element];
    if (format == SourceFormat::B4x16P64) {
      value = (bytes[element / 2] >> 4 * (element % 2) & 0xfu) << 2;
    } else if (format == SourceFormat::B6x16P32) {
      const uint32_t bit = 6 * element;
      const uint32_t pair = bytes[bit / 8] | bytes[bit / 8 + 1] << 8;
      value = (pair >> bit % 8 & 0x3fu) << sixBitShift;
    }
    destination[element] = static_cast<std::byte>(value);
  }
}

void checkCopy(const CopyOperation& operation, const TensorMemory& memory, const Semantics& semantics, Counters& counters) {
  const CopyTraits& traits = copyTraits(operation.shape);
  const TmemAddress to = unpackAddress(operation.destination);
  const std::string who = fmt::format("tcgen05.cp.{}", traits.name);
  // Seen on GB200: destination columns that are not a multiple of 4 fault (question U23 keeps that as the only rule).
  if (to.column % 4 != 0) {
    throw EmulatorError(ErrorKind::Misaligned,
                        fmt::format("{} writes column {}: the column must be a multiple of 4.", who, to.column));
  }
  if (operation.shape == CopyShape::S4x256b) {
    counters.use(Unproven::U4);
    const uint8_t rule = semantics[Unproven::U4];
    const bool legal = rule == 1 ? to.lane == 0 : rule == 2 ? to.lane >= 28 && to.lane < 32 : to.lane < 32;
    if (!legal) {
      throw EmulatorError(ErrorKind::Misaligned, fmt::format("{} at lane {}: the lane must be {}.", who, to.lane,
                                                             rule == 1   ? "0"
                                                             : rule == 2 ? "28..31"
                                                                         : "0..31"));
    }
  } else if (to.lane != 0) {
    throw EmulatorError(ErrorKind::Misaligned, fmt::format("{} at lane {}: the lane must be 0.", who, to.lane));
  }
  memory.requireCells(0, kTmemLanes, to.column, traits.bytesPerRow / 4, who);
  if (operation.source.swizzle != Swizzle::None) counters.use(Unproven::U29);
  if (operation.source.swizzle != Swizzle::None && operation.source.baseOffset != 0) counters.use(Unproven::U11);
  if (operation.format == SourceFormat::B6x16P32) counters.use(Unproven::U8);
  if (operation.shape == CopyShape::S4x256b && operation.format != SourceFormat::Same) {
    counters.use(Unproven::U5);
    if (semantics[Unproven::U5] == 1) {
      throw EmulatorError(ErrorKind::IllegalInstruction,
                          "tcgen05.cp.4x256b with decompression: refused by alternative 1 of question U5.");
    }
  }
}

void performCopy(const CopyOperation& operation, TensorMemory& memory, const machine::SharedMemory& shared,
                 const Semantics& semantics, Counters& counters) {
  const CopyTraits& traits = copyTraits(operation.shape);
  const TmemAddress to = unpackAddress(operation.destination);
  const OperandAddress addresses(operation.source, semantics[Unproven::U11], semantics[Unproven::U29] == 0);
  MatrixDescriptor adjacent = operation.source;
  adjacent.leadingOffset = kChunkBytes;
  const OperandAddress adjacentAddresses(adjacent, semantics[Unproven::U11], semantics[Unproven::U29] == 0);
  const bool adjacentChunks = operation.shape == CopyShape::S4x256b && semantics[Unproven::U4] == 3;
  const uint8_t sixBitShift = semantics[Unproven::U8] == 0 ? 1 : 0;
  memory.requireCells(0, kTmemLanes, to.column, traits.bytesPerRow / 4, fmt::format("tcgen05.cp.{}", traits.name));

  for (uint32_t row = 0; row < traits.rows; ++row) {
    for (uint32_t chunk = 0; chunk < traits.bytesPerRow / kChunkBytes; ++chunk) {
      const uint32_t offset = (adjacentChunks ? adjacentAddresses : addresses).kMajor(row, chunk);
      const std::byte* source = readChunk(shared, offset, definedBytes(operation.format), semantics, counters, [&] {
        return fmt::format("Row {}, 16-byte chunk {} of the source of tcgen05.cp.{}", row, chunk, traits.name);
      });
      const auto place = static_cast<uint32_t>(source - shared.data());
      const bool isDefined = shared.isWritten(place, definedBytes(operation.format));
      std::array<std::byte, kChunkBytes> bytes;
      decompress(operation.format, sixBitShift, source, bytes.data());
      const uint32_t column = to.column + chunk * kChunkBytes / 4;
      for (uint32_t copy = 0; copy < traits.copies; ++copy) {
        const uint32_t lane = to.lane + copyLane(operation.shape, row, copy);
        std::memcpy(memory.cells(lane) + column, bytes.data(), bytes.size());
        std::memset(memory.written(lane) + column, isDefined ? kWholeCell : kNothing, bytes.size() / 4);
        memory.observe(lane, 1, column, kChunkBytes / 4, true, machine::OperandRole::Destination);
        if (!isDefined) memory.observeUndefined(lane, place);
      }
    }
  }
  counters.addBytes(Engine::TensorCopy, Traffic::SharedRead, uint64_t{traits.rows} * traits.bytesPerRow);
  counters.addBytes(Engine::TensorCopy, Traffic::TmemWrite, uint64_t{traits.rows} * traits.bytesPerRow * traits.copies);
}

void shiftLanes(TensorMemory& memory, uint32_t firstColumn, uint32_t columns, uint32_t firstLane, uint32_t lanes,
                const LaneBits& heldBack) {
  memory.observeShift(firstLane, lanes, firstColumn, columns);
  for (uint32_t lane = firstLane; lane + 1 < firstLane + lanes; ++lane) {
    if (heldBack[lane / 32] >> lane % 32 & 1) continue;
    std::memcpy(memory.cells(lane) + firstColumn, memory.cells(lane + 1) + firstColumn, columns * sizeof(uint32_t));
    std::memcpy(memory.written(lane) + firstColumn, memory.written(lane + 1) + firstColumn, columns);
  }
  uint8_t* last = memory.written(firstLane + lanes - 1) + firstColumn;
  for (uint32_t column = 0; column < columns; ++column) last[column] |= kStale;
}

void shiftWindows(TensorMemory& memory, uint32_t firstColumn, uint32_t columns, uint32_t windows, const LaneBits& heldBack) {
  for (uint32_t window = 0; window < kTmemLanes / kWindowLanes; ++window) {
    if (windows >> window & 1) shiftLanes(memory, firstColumn, columns, window * kWindowLanes, kWindowLanes, heldBack);
  }
}

uint32_t checkShift(uint32_t address, const TensorMemory& memory, const Semantics& semantics, Counters& counters) {
  const TmemAddress at = unpackAddress(address);
  if (at.lane % kWindowLanes != 0) {
    throw EmulatorError(ErrorKind::Misaligned,
                        fmt::format("tcgen05.shift at lane {}: the lane must be a multiple of 32 (PTX ISA 9.7.16.9.3).", at.lane));
  }
  memory.requireCells(at.lane, kWindowLanes, at.column, kShiftColumns, "tcgen05.shift");
  counters.use(Unproven::U1);
  const uint32_t window = at.lane / kWindowLanes;
  if (semantics[Unproven::U1] == 1) return 1u << window;
  if (window == 0) return kAllWindows;
  counters.use(Unproven::U2);
  switch (semantics[Unproven::U2]) {
    case 1:
      throw EmulatorError(
          ErrorKind::Misaligned,
          fmt::format("tcgen05.shift at lane {}: refused by alternative 1 of question U2 (only lane 0 is legal).", at.lane));
    case 2:
      return kAllWindows & kAllWindows << window;
    default:
      return kAllWindows;
  }
}

}  // namespace shiftconv::emulator::tensor
