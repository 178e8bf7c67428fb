// Moves the tile of a bulk tensor copy between global and shared memory.
//
// Loads fill elements outside of the tensor, per element and per dimension. Stores drop them, but must not start at a
// negative coordinate (PTX ISA 9.0, 9.7.9.25.5.1). Swizzles act on absolute shared addresses (swizzle.hpp).
//
// Conversions on the way in, which no public document spells out bit by bit (defaults of this emulator): *_FTZ types
// replace subnormals by zeros of the same sign; TFLOAT32 types round to nearest even at 10 fraction bits and leave the
// low 13 bits zero. Stores move bits unchanged. NaN fill is the quiet NaN with all fraction bits set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/emulator/machine/memory.hpp"
#include "common/emulator/tma/reduction.hpp"
#include "common/emulator/tma/tensor_map.hpp"
#include "common/emulator/tma/tile_walk.hpp"

namespace shiftconv::emulator::tma {

/// What a copy touched; shared bytes of a load include the fill, as its complete-tx count does.
struct CopyBytes {
  uint64_t global = 0;
  uint64_t shared = 0;
};

/// Throws EmulatorError Unsupported for what this engine does not copy: packed types, interleaved layouts, and
/// swizzled boxes whose rows are narrower than the swizzle span (how those rows are spaced is documented nowhere).
/// Throws EmulatorError Descriptor for an im2col start outside of the bounding box.
void requireCopyable(const DecodedMap& map, const TileStart& start);

/// Further limits of stores (PTX ISA 9.0, 9.7.9.25.5.1): throws EmulatorError OutOfBounds for a negative start coordinate of
/// a tile, Descriptor for an im2col map whose bounding box reaches outside of the tensor.
void requireStorable(const DecodedMap& map, const TileStart& start);

/// Alignment of the tile in shared memory (CUDA Programming Guide, table of TMA alignment requirements).
inline constexpr uint32_t kTileAlignment = 128;

/// Reads the tile from global memory and writes it at `offset` of `shared`.
/// Throws EmulatorError OutOfBounds or Misaligned, naming the address.
CopyBytes loadTile(const DecodedMap& map, const TileStart& start, const machine::GlobalMemory& global,
                   machine::SharedMemory& shared, uint32_t offset);

/// First half of a store: the dense tile, unswizzled, out of `offset` of `shared`. Reads only what storeTile will write;
/// throws EmulatorError Uninitialised when nothing wrote one of those bytes.
std::vector<std::byte> gatherTile(const DecodedMap& map, const TileStart& start, const machine::SharedMemory& shared,
                                  uint32_t offset);

/// Second half: writes the elements inside of the tensor, or combines them into it; the others are dropped.
CopyBytes storeTile(const DecodedMap& map, const TileStart& start, const std::vector<std::byte>& tile,
                    machine::GlobalMemory& global, Reduction reduction = nullptr);

/// The reduction of cp.reduce.async.bulk.tensor on the map's element type (PTX ISA 9.0, 9.7.9.25.5.3). Throws EmulatorError
/// Descriptor when the operation does not exist for that type.
Reduction tensorReduction(const TiledMap& map, std::string_view operation);

}  // namespace shiftconv::emulator::tma
