#include "common/emulator/tma/copy_engine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "common/emulator/error.hpp"
#include "common/emulator/machine/racing_copy.hpp"
#include "common/emulator/tma/tensor_map.hpp"

namespace shiftconv::emulator::tma {
namespace {

constexpr uint32_t kMaximumRowBytes = 256 * 8;

uint32_t coordinateCount(const DecodedMap& map, const TileStart& start) {
  return start.fourRows ? 1 + kGatheredRows : map.tensor.rank;
}

std::string describe(const DecodedMap& map, const TileStart& start) {
  return fmt::format("tile at coordinates {{{}}}",
                     fmt::join(start.coordinates.begin(), start.coordinates.begin() + coordinateCount(map, start), ", "));
}

/// Calls copy(dense offset, shared offset, bytes) for every piece of a range that the swizzle keeps together.
template <class Copy>
void forEachChunk(const SwizzlePattern& swizzle, uint32_t base, uint32_t begin, uint32_t bytes, Copy&& copy) {
  if (swizzle.lineMask == 0) return copy(begin, base + begin, bytes);
  while (bytes > 0) {
    const uint32_t address = base + begin;
    const uint32_t piece = std::min(bytes, swizzle.chunk - (address & (swizzle.chunk - 1)));
    copy(begin, swizzle(address), piece);
    begin += piece;
    bytes -= piece;
  }
}

void copyPiece(std::byte* to, const std::byte* from, uint32_t bytes) {
  if (bytes == 16)
    machine::racingCopy(to, from, 16);  // the usual piece, as a few instructions
  else
    machine::racingCopy(to, from, bytes);
}

uint32_t roundToTf32(uint32_t bits) {
  constexpr uint32_t kInfinity = 0x7f800000u, kNan = 0x7fffe000u;
  if ((bits & 0x7fffffffu) > kInfinity) return kNan;
  return (bits + 0x0fffu + (bits >> 13 & 1u)) & 0xffffe000u;
}

bool converts(DataType type) { return type == DataType::TF32 || type == DataType::TF32Ftz; }

void convertRow(const std::byte* from, std::byte* to, uint32_t elements) {
  for (uint32_t i = 0; i < elements; ++i) {
    const uint32_t bits = roundToTf32(__atomic_load_n(reinterpret_cast<const uint32_t*>(from + 4 * i), __ATOMIC_RELAXED));
    std::memcpy(to + 4 * i, &bits, 4);
  }
}

constexpr uint32_t kGranule = 16;  ///< bytes; the smallest part of a row that a copy can begin or a store can end with
constexpr uint64_t kOutOfBoundsNan = 0x7ff7'7ff7'7ff7'7ff7;

/// Global memory to shared memory of padded types; the padding is poisoned later.
void expandUnits(const TileShape& shape, const std::byte* from, std::byte* to, uint32_t units) {
  for (uint32_t i = 0; i < units; ++i)
    machine::racingCopy(to + i * shape.unitBytes, from + i * shape.globalUnitBytes, shape.globalUnitBytes);
}

/// One 6-bit element per byte to 16 of them in 12 bytes, the first one in the lowest bits.
void packUnits(const TileShape& shape, const std::byte* from, std::byte* to, uint32_t units) {
  constexpr uint32_t kGroup = 4;  // elements that fill 3 bytes
  for (uint32_t i = 0; i < units * shape.unitElements; i += kGroup) {
    uint32_t bits = 0;
    for (uint32_t j = 0; j < kGroup; ++j) bits |= (std::to_integer<uint32_t>(from[i + j]) & 0x3f) << (6 * j);
    for (uint32_t j = 0; j < 3; ++j) to[i / kGroup * 3 + j] = static_cast<std::byte>(bits >> (8 * j));
  }
}

using RowBuffer = std::array<std::byte, kMaximumRowBytes>;

RowBuffer fillRow(const TiledMap& map, const TileShape& shape) {
  RowBuffer row{};
  const uint64_t pattern = map.fill == Fill::Zero ? 0 : kOutOfBoundsNan;
  if (pattern != 0)
    for (uint32_t i = 0; i < shape.rowUnits; ++i) std::memcpy(&row[i * shape.unitBytes], &pattern, shape.unitBytes);
  return row;
}

void requireInsidePixelBox(const DecodedMap& map, const TileStart& start) {
  for (uint32_t i = 1; i + 1 < map.tensor.rank; ++i) {
    const int64_t lower = map.pixels->lowerCorner[i - 1];
    const int64_t upper = static_cast<int64_t>(map.tensor.dims[i]) - 1 + map.pixels->upperCorner[i - 1];
    if (start.coordinates[i] < lower || start.coordinates[i] > upper)
      throw EmulatorError(ErrorKind::Descriptor,
                          fmt::format("im2col {}: coordinate {} is {}, outside of the map's bounding box [{}, {}]",
                                      describe(map, start), i, start.coordinates[i], lower, upper));
  }
}

}  // namespace

void requireCopyable(const DecodedMap& map, const TileStart& start) {
  const TiledMap& tensor = map.tensor;
  const auto refuse = [](const std::string& what) { throw EmulatorError(ErrorKind::Unsupported, what); };
  if (tensor.interleave != Interleave::None) refuse("copying through a tensor map with an interleaved layout is not implemented");
  if (map.pixels) requireInsidePixelBox(map, start);
  if (start.fourRows && (map.pixels || tensor.rank != 2 || tensor.box[1] != 1))
    throw EmulatorError(
        ErrorKind::Descriptor,
        fmt::format("gather4 and scatter4 need a tiled map of rank 2 with a box of one row, but this one has {}",
                    tensor.rank != 2 ? fmt::format("rank {}", tensor.rank) : fmt::format("a box of {} rows", tensor.box[1])));
  const int32_t step = isPadded(tensor.type) ? 128 : static_cast<int32_t>(8 * kGranule / elementBits(tensor.type));
  if (start.coordinates[0] % step != 0)
    throw EmulatorError(ErrorKind::Descriptor, fmt::format("{}: with elements of type {} coordinate 0 must be a multiple of {}",
                                                           describe(map, start), toString(tensor.type), step));
}

void requireLoadable(const DecodedMap& map) {
  if (map.tensor.type == DataType::U6Align16 && map.tensor.swizzle == Swizzle::B128Atom64)
    throw EmulatorError(ErrorKind::Descriptor, fmt::format("a map of type {} with swizzle {} is for stores only",
                                                           toString(map.tensor.type), toString(map.tensor.swizzle)));
}

void requireStorable(const DecodedMap& map, const TileStart& start) {
  if (map.tensor.type == DataType::U4Align16)
    throw EmulatorError(ErrorKind::Descriptor, fmt::format("a map of type {} is for loads only", toString(map.tensor.type)));
  if (map.pixels) {
    for (uint32_t i = 0; i + 2 < map.tensor.rank; ++i)
      if (map.pixels->lowerCorner[i] < 0 || map.pixels->upperCorner[i] > 0)
        throw EmulatorError(
            ErrorKind::Descriptor,
            fmt::format(
                "an im2col store needs a lower corner >= 0 and an upper corner <= 0, but those of dimension {} are {} and {}",
                i + 1, map.pixels->lowerCorner[i], map.pixels->upperCorner[i]));
    return;
  }
  for (uint32_t i = 0; i < coordinateCount(map, start); ++i)
    if (start.coordinates[i] < 0)
      throw EmulatorError(ErrorKind::OutOfBounds, fmt::format("store of the {}: coordinate {} is negative, which only loads may be",
                                                              describe(map, start), i));
}

CopyBytes loadTile(const DecodedMap& map, const TileStart& start, const machine::GlobalPort& global, machine::SharedMemory& shared,
                   uint32_t offset) {
  const TileShape shape = tileShape(map, start);
  const SwizzlePattern swizzle = swizzlePattern(map.tensor.swizzle);
  const RowBuffer fill = fillRow(map.tensor, shape);
  // A swizzle moves bytes only inside whole spans, so that a swizzled tile of full rows covers the range of the dense one.
  const bool gaps = shape.rowPitch != shape.rowBytes();
  std::byte* const origin = shared.write(offset, gaps ? 0 : static_cast<uint32_t>(shape.bytes()), kTileAlignment) - offset;
  const auto put = [&](const std::byte* from, uint32_t tileBytes, uint32_t units) {
    forEachChunk(swizzle, offset, tileBytes, units * shape.unitBytes, [&](uint32_t dense, uint32_t place, uint32_t bytes) {
      copyPiece(gaps ? shared.write(place, bytes, 1) : origin + place, from + (dense - tileBytes), bytes);
    });
  };
  RowBuffer converted;
  CopyBytes moved{.global = 0, .shared = shape.bytes(), .payload = shape.payload()};
  forEachRow(map, shape, start, [&](const TileRow& row) {
    const uint32_t inside = row.tileBytes + row.before * shape.unitBytes;
    const uint32_t after = inside + row.inside * shape.unitBytes;
    const uint32_t bytes = row.inside * shape.globalUnitBytes;
    if (row.before) put(fill.data(), row.tileBytes, row.before);
    if (row.after) put(fill.data(), after, row.after);
    if (!row.inside) return;
    const auto source = global.read(row.address, bytes, 1);
    const std::byte* from = source.bytes;
    if (converts(map.tensor.type)) {
      convertRow(from, converted.data(), row.inside);
      from = converted.data();
    } else if (isPadded(map.tensor.type)) {
      expandUnits(shape, from, converted.data(), row.inside);
      from = converted.data();
    }
    put(from, inside, row.inside);
    moved.global += bytes;
    for (const auto& [address, count] : source.undefined) {
      const auto first = static_cast<uint32_t>(address - row.address) / shape.globalUnitBytes;
      const auto last = static_cast<uint32_t>(address + count - 1 - row.address) / shape.globalUnitBytes;
      forEachChunk(swizzle, offset, inside + first * shape.unitBytes, (last - first + 1) * shape.unitBytes,
                   [&, from = address](uint32_t, uint32_t place, uint32_t size) { shared.undefine(place, size, from); });
    }
  });
  if (shape.unitBytes != shape.globalUnitBytes)  // every unit, fill included
    for (uint32_t unit = 0; unit < shape.bytes(); unit += shape.unitBytes)
      shared.poison(swizzle(offset + unit) + shape.globalUnitBytes, shape.unitBytes - shape.globalUnitBytes);
  return moved;
}

namespace {

/// Bytes of a row that a store moves from shared memory.
uint32_t storedBytes(const TileShape& shape, const TileRow& row) {
  return (row.inside * shape.unitBytes + kGranule - 1) / kGranule * kGranule;
}

}  // namespace

std::vector<std::byte> gatherTile(const DecodedMap& map, const TileStart& start, const machine::SharedMemory& shared,
                                  uint32_t offset) {
  const TileShape shape = tileShape(map, start);
  const SwizzlePattern swizzle = swizzlePattern(map.tensor.swizzle);
  const auto bytes = static_cast<uint32_t>(shape.footprint());
  std::vector<std::byte> tile(bytes);
  if (offset % kTileAlignment != 0 || offset > shared.size() || bytes > shared.size() - offset)
    shared.read(offset, bytes, kTileAlignment);  // throws with its own sentence
  const bool written = shared.isWritten(offset, bytes);
  forEachRow(map, shape, start, [&](const TileRow& row) {
    const uint32_t first = row.tileBytes + row.before * shape.unitBytes;
    forEachChunk(swizzle, offset, first, storedBytes(shape, row), [&](uint32_t dense, uint32_t place, uint32_t count) {
      if (count == 0) return;
      copyPiece(tile.data() + dense, shared.read(place, count, 1), count);
      if (written) return;
      // What fills the last granule of a row is stored, too, but nobody's data.
      const uint32_t data =
          std::min(count, first + row.inside * shape.unitBytes - std::min(dense, first + row.inside * shape.unitBytes));
      shared.noteStored(place, data, row.address + uint64_t{dense - first} * shape.globalUnitBytes / shape.unitBytes);
    });
  });
  return tile;
}

CopyBytes storeTile(const DecodedMap& map, const TileStart& start, const std::vector<std::byte>& tile,
                    const machine::GlobalPort& global, Reduction reduction) {
  const TileShape shape = tileShape(map, start);
  CopyBytes moved;
  RowBuffer packed;
  forEachRow(map, shape, start, [&](const TileRow& row) {
    if (!row.inside) return;
    const uint32_t bytes = isPadded(map.tensor.type) ? row.inside * shape.globalUnitBytes : storedBytes(shape, row);
    std::byte* const to = global.write(row.address, bytes, 1);
    const std::byte* from = tile.data() + row.tileBytes + row.before * shape.unitBytes;
    if (isPadded(map.tensor.type)) {
      packUnits(shape, from, packed.data(), row.inside);
      from = packed.data();
    }
    if (reduction)
      reduction(to, from, bytes, {.global = true, .bulk = true});
    else
      machine::racingCopy(to, from, bytes);
    moved.global += bytes;
    moved.shared += storedBytes(shape, row);
  });
  return moved;
}

Reduction tensorReduction(const TiledMap& map, std::string_view operation) {
  using ptx::ScalarType;
  struct Reducible {
    DataType type;
    ScalarType values;
    bool adds, orders, logic;
  };
  constexpr std::array<Reducible, 6> kTypes{{{DataType::U32, ScalarType::U32, true, true, true},
                                             {DataType::S32, ScalarType::S32, true, true, true},
                                             {DataType::U64, ScalarType::U64, true, true, true},
                                             {DataType::S64, ScalarType::S64, false, true, false},
                                             {DataType::F16, ScalarType::F16, true, true, false},
                                             {DataType::BF16, ScalarType::BF16, true, true, false}}};
  const bool counts = operation == "inc" || operation == "dec", orders = operation == "min" || operation == "max";
  if (map.type == DataType::F32 && operation == "add") return reductionFor(operation, ScalarType::F32);
  for (const Reducible& row : kTypes)
    if (row.type == map.type && (counts               ? row.type == DataType::U32
                                 : orders             ? row.orders
                                 : operation == "add" ? row.adds
                                                      : row.logic))
      return reductionFor(operation, row.values);
  throw EmulatorError(ErrorKind::Descriptor, fmt::format("a bulk tensor reduction .{} does not exist for elements of type {}",
                                                         operation, toString(map.type)));
}

}  // namespace shiftconv::emulator::tma
