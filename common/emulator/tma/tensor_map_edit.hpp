// tensormap.replace on the emulator's tensor maps: one field of the 128 bytes changes, and the checksum with it.
//
// A map may be edited field by field, so that it is only looked at as a whole when a copy uses it: see editFault.
#pragma once

#include <cstdint>
#include <string>

#include "common/emulator/tma/tensor_map.hpp"

namespace shiftconv::emulator::tma {

/// The fields of PTX ISA 9.0, 9.7.9.26, in its words.
enum class MapField : uint8_t {
  GlobalAddress,
  Rank,  ///< value is the rank minus 1
  BoxDim,
  GlobalDim,
  GlobalStride,  ///< of dimension ordinal + 1, bytes
  ElementStride,
  ElementType,
  InterleaveLayout,
  SwizzleMode,
  SwizzleAtomicity,
  FillMode
};

/// Replaces a field of a tiled map; `ordinal` is the dimension for those that have one. Element types and swizzles are numbered
/// as the instruction does. Returns an empty string, or one sentence: no tiled map, or a value that the field cannot hold.
std::string replaceField(TensorMapImage& image, MapField field, uint32_t ordinal, uint64_t value);

/// What rule of cuTensorMapEncodeTiled an edited map breaks; empty for maps that are sound or that nobody edited.
std::string editFault(const TensorMapImage& image);

}  // namespace shiftconv::emulator::tma
