// Moves the tile of a bulk tensor copy between global and shared memory.
//
// Loads fill elements outside of the tensor, per element and per dimension. Stores drop them, but must not start at a
// negative coordinate (PTX ISA 9.0, 9.7.9.25.5.1). Swizzles act on absolute shared addresses (swizzle.hpp).
//
// What no public document spells out was observed on an H200 (tests/hardware_recordings): the first coordinate must be a multiple
// of 16 bytes, else the copy faults; stores and reductions clip dimension 0 in steps of 16 bytes only, so that they change the rest
// of the 16 bytes that hold the end of a row; TFLOAT32 types, with or without FTZ, round to nearest even at 10 fraction bits,
// subnormals included, and make NaN 0x7FFFE000 on the way in; FLOAT32_FTZ changes nothing; stores move bits unchanged; NaN fill is
// 0x7FF7 in every 16 bits, whatever the type.
//
// Padded packed types (PTX ISA 9.0, 5.5.1.1.1): 16 elements of 4 or 6 bits, 8 or 12 bytes in global memory, become these
// bytes and 8 or 4 bytes of undefined padding in shared memory. A store of 6-bit elements (b6p2x16) reads one byte per
// element and ignores its upper two bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/emulator/machine/global_port.hpp"
#include "common/emulator/tma/reduction.hpp"
#include "common/emulator/tma/tensor_map.hpp"
#include "common/emulator/tma/tile_walk.hpp"

namespace shiftconv::emulator::tma {

/// What a copy touched; shared bytes of a load include the fill, as its complete-tx count does.
struct CopyBytes {
  uint64_t global = 0;
  uint64_t shared = 0;
  uint64_t payload = 0;  ///< of a load: what an mbarrier counts, without the padding of padded types
};

/// Throws EmulatorError Unsupported for what this engine does not copy: interleaved layouts.
/// Throws EmulatorError Descriptor for an im2col start outside of the bounding box (H200 faults, too), a row that does not
/// start at a multiple of 16 bytes (for the padded types of 128 elements, PTX ISA 9.0, 9.7.9.25.5.1), and a gather or scatter
/// through a map that is not a matrix with a box of one row.
void requireCopyable(const DecodedMap& map, const TileStart& start);

/// Further limits of loads and prefetches: throws EmulatorError Descriptor for 16U6_ALIGN16B with swizzle 128B_ATOM_64B, which
/// cuda.h allows for stores only.
void requireLoadable(const DecodedMap& map);

/// Further limits of stores (PTX ISA 9.0, 9.7.9.25.5.1): throws EmulatorError OutOfBounds for a negative start coordinate of
/// a tile, Descriptor for an im2col map whose bounding box reaches outside of the tensor and for type 16U4_ALIGN16B.
void requireStorable(const DecodedMap& map, const TileStart& start);

/// Alignment of the tile in shared memory (CUDA Programming Guide, table of TMA alignment requirements).
inline constexpr uint32_t kTileAlignment = 128;

/// Reads the tile from global memory and writes it at `offset` of `shared`. What it reads of bytes that nothing has written
/// (GlobalPort::Source) becomes undefined there.
/// Throws EmulatorError OutOfBounds or Misaligned, naming the address.
CopyBytes loadTile(const DecodedMap& map, const TileStart& start, const machine::GlobalPort& global, machine::SharedMemory& shared,
                   uint32_t offset);

/// First half of a store: the dense tile, unswizzled, out of `offset` of `shared`. Reads only what storeTile will write;
/// tells the observer which of those bytes are undefined.
std::vector<std::byte> gatherTile(const DecodedMap& map, const TileStart& start, const machine::SharedMemory& shared,
                                  uint32_t offset);

/// Second half: writes the elements inside of the tensor, or combines them into it; the others are dropped, but for those
/// that share 16 bytes with the last one of a row.
CopyBytes storeTile(const DecodedMap& map, const TileStart& start, const std::vector<std::byte>& tile,
                    const machine::GlobalPort& global, Reduction reduction = nullptr);

/// The reduction of cp.reduce.async.bulk.tensor on the map's element type (PTX ISA 9.0, 9.7.9.25.5.3). Throws EmulatorError
/// Descriptor when the operation does not exist for that type.
Reduction tensorReduction(const TiledMap& map, std::string_view operation);

}  // namespace shiftconv::emulator::tma
