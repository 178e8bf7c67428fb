// Which elements of the tensor make up the tile of a bulk tensor copy: the walk over rows of the box.
//
// A row is what lies side by side in shared memory: boxDim[0] elements of a tiled copy, channelsPerPixel elements of
// one im2col pixel. Rows follow each other, dimension 0 fastest (PTX ISA 9.0, 5.5.3 and 5.5.4), without gaps, or under a
// swizzle at the pitch of its span: rows shorter than the span leave the rest of it untouched (observed on H200).
//
// Rows are counted in units, the smallest parts that move: an element, or for the packed types 2 or 16 elements that
// share whole bytes. Units of the padded types are larger in shared memory than in global memory (5.5.1.1.1).
#pragma once

#include <array>
#include <cstdint>

#include "common/emulator/tma/tensor_map.hpp"

namespace shiftconv::emulator::tma {

/// Where a copy starts: signed coordinates, innermost first, and the pixel offsets {W, H, D} of an im2col load.
struct TileStart {
  std::array<int32_t, 5> coordinates{};
  std::array<uint16_t, 3> offsets{};
  bool fourRows = false;  ///< tile::gather4 and ::scatter4: the coordinates are {column, row, row, row, row} of a matrix
};

/// One row of the tile, cut into the part that the tensor holds and what lies before and after it.
struct TileRow {
  uint64_t address;    ///< global address of the first unit inside
  uint32_t before;     ///< units before the tensor's first one in dimension 0; all of them for a row outside
  uint32_t inside;     ///< units inside
  uint32_t after;      ///< units after the tensor's last one
  uint32_t tileBytes;  ///< offset of the row in the tile before swizzling
};

/// The shape of the tile in shared memory.
struct TileShape {
  uint32_t unitElements = 1;
  uint32_t globalUnitBytes = 0;
  uint32_t unitBytes = 0;  ///< in shared memory
  uint32_t rowUnits = 0;
  uint64_t rows = 1;
  uint32_t rowPitch = 0;
  uint32_t rowBytes() const { return rowUnits * unitBytes; }
  uint64_t bytes() const { return rows * rowBytes(); }
  /// What an mbarrier counts: the data, without the padding that 4- and 6-bit elements get in shared memory (CUTLASS's mxfp8 x
  /// mxfp4 GEMM, verified on a B200, expects that).
  uint64_t payload() const { return rows * rowUnits * globalUnitBytes; }
  uint64_t footprint() const { return rows * rowPitch; }
};

/// Entries of a tiled box along dimension i: an element stride s keeps every s-th (dimension 0: cuda.h ignores it).
inline uint32_t boxEntries(const TiledMap& map, uint32_t i) {
  return i == 0 ? map.box[0] : (map.box[i] + map.elementStrides[i] - 1) / map.elementStrides[i];
}

inline constexpr uint32_t kGatheredRows = 4;

inline TileShape tileShape(const DecodedMap& map, const TileStart& start) {
  const DataType type = map.tensor.type;
  TileShape shape;
  shape.unitElements = isPadded(type) ? 16 : isPacked(type) ? 2 : 1;
  shape.globalUnitBytes = shape.unitElements * elementBits(type) / 8;
  shape.unitBytes = isPadded(type) ? 16 : shape.globalUnitBytes;
  if (map.pixels) {
    shape.rowUnits = map.pixels->channelsPerPixel / shape.unitElements;
    shape.rows = map.pixels->pixelsPerColumn;
  } else {
    shape.rowUnits = boxEntries(map.tensor, 0) / shape.unitElements;
    for (uint32_t i = 1; i < map.tensor.rank; ++i) shape.rows *= boxEntries(map.tensor, i);
  }
  if (start.fourRows) shape.rows = kGatheredRows;
  shape.rowPitch = map.tensor.swizzle == Swizzle::None ? shape.rowBytes() : swizzlePattern(map.tensor.swizzle).span;
  return shape;
}

/// A row that starts at index `first` of dimension 0, a multiple of the unit; `outer` is the address of index 0 of the same line,
/// and `outerInside` tells whether all other indices lie in the tensor.
inline TileRow makeRow(const TiledMap& map, const TileShape& shape, int64_t first, bool outerInside, uint64_t outer,
                       uint64_t rowNumber) {
  TileRow row{.address = 0,
              .before = shape.rowUnits,
              .inside = 0,
              .after = 0,
              .tileBytes = static_cast<uint32_t>(rowNumber) * shape.rowPitch};
  const int64_t count = shape.rowUnits, size = static_cast<int64_t>(map.dims[0] / shape.unitElements);
  first /= shape.unitElements;
  const int64_t begin = first < 0 ? -first : 0;
  const int64_t end = first + count > size ? size - first : count;
  if (!outerInside || begin >= end) return row;
  row.address = outer + static_cast<uint64_t>(first + begin) * shape.globalUnitBytes;
  row.before = static_cast<uint32_t>(begin);
  row.inside = static_cast<uint32_t>(end - begin);
  row.after = static_cast<uint32_t>(count - end);
  return row;
}

/// Tiled mode. The range test is per dimension index, not per address: with overlapping strides an index outside its
/// dimension is outside even where the memory belongs to the tensor (observed on H200).
template <class Visit>
void forEachTiledRow(const TiledMap& map, const TileShape& shape, const TileStart& start, Visit&& visit) {
  std::array<uint32_t, 5> index{};
  for (uint64_t number = 0; number < shape.rows; ++number) {
    bool inside = true;
    uint64_t outer = map.globalAddress;
    for (uint32_t i = 1; i < map.rank; ++i) {
      const int64_t position = start.fourRows ? int64_t{start.coordinates[1 + number]}
                                              : int64_t{start.coordinates[i]} + int64_t{index[i]} * map.elementStrides[i];
      inside = inside && position >= 0 && position < static_cast<int64_t>(map.dims[i]);
      outer += static_cast<uint64_t>(position) * map.strides[i - 1];
    }
    visit(makeRow(map, shape, start.coordinates[0], inside, outer, number));
    for (uint32_t i = 1; !start.fourRows && i < map.rank && ++index[i] == boxEntries(map, i); ++i) index[i] = 0;
  }
}

/// Im2col mode: the position walks through the bounding box [lower, size - 1 + upper] in steps of the element strides, W
/// fastest, then H, D, N; the offsets move the access away from the position without taking part in the wrap.
template <class Visit>
void forEachPixel(const DecodedMap& map, const TileShape& shape, const TileStart& start, Visit&& visit) {
  const TiledMap& tensor = map.tensor;
  const PixelBox& box = *map.pixels;
  const uint32_t images = tensor.rank - 1;  // dimension N
  std::array<int64_t, 5> position{};
  for (uint32_t i = 0; i < tensor.rank; ++i) position[i] = start.coordinates[i];
  for (uint64_t number = 0; number < shape.rows; ++number) {
    bool inside = true;
    uint64_t outer = tensor.globalAddress;
    for (uint32_t i = 1; i < tensor.rank; ++i) {
      const int64_t access = position[i] + (i < images ? start.offsets[i - 1] : 0);
      inside = inside && access >= 0 && access < static_cast<int64_t>(tensor.dims[i]);
      outer += static_cast<uint64_t>(access) * tensor.strides[i - 1];
    }
    visit(makeRow(tensor, shape, position[0], inside, outer, number));
    for (uint32_t i = 1; i <= images; ++i) {
      position[i] += i < images ? tensor.elementStrides[i] : 1;
      if (i == images || position[i] <= static_cast<int64_t>(tensor.dims[i]) - 1 + box.upperCorner[i - 1]) break;
      position[i] = box.lowerCorner[i - 1];
    }
  }
}

template <class Visit>
void forEachRow(const DecodedMap& map, const TileShape& shape, const TileStart& start, Visit&& visit) {
  if (map.pixels)
    forEachPixel(map, shape, start, visit);
  else
    forEachTiledRow(map.tensor, shape, start, visit);
}

}  // namespace shiftconv::emulator::tma
