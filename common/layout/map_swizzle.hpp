// Shared-memory swizzles of tensor maps, as address arithmetic.
//
// A swizzle permutes small chunks inside each 128-byte line; which permutation a line gets depends on the absolute
// shared-window address, not on the position in the tile. So one formula serves loads, stores and matrix descriptors.
//
//   mode              chunk   address a becomes                        pattern repeats every
//   32B               16 B    a ^ (((a >> 7) & 1) << 4)                 256 B
//   64B               16 B    a ^ (((a >> 7) & 3) << 4)                 512 B
//   128B              16 B    a ^ (((a >> 7) & 7) << 4)                1024 B
//   128B_ATOM_32B     32 B    a ^ (((a >> 7) & 3) << 5)                 512 B
//   .._FLIP_8B         8 B    the same, then a ^ (((a >> 7) & 1) << 3)  512 B
//   128B_ATOM_64B     64 B    a ^ (((a >> 7) & 1) << 6)                 256 B
//
// Source: the chunk tables of PTX ISA 9.0, 5.5.7 (all modes but the flip, whose line parity - odd lines flipped - is an
// assumption); that the address is absolute follows from the "base offset" (address / 128) % 8 of the same tables and
// of the CUDA Programming Guide, and was observed on an H200 for 32B, 64B and 128B at every 128-byte offset.
#pragma once

#include <cstdint>

#include "common/layout/tensor_map.hpp"

namespace shiftconv::layout {

struct SwizzlePattern {
  uint32_t lineMask = 0;  ///< which bits of the line number (address / 128) take part
  uint32_t shift = 4;     ///< where they are XORed in
  uint32_t flip = 0;      ///< 1: odd lines also swap the 8-byte halves of 16 bytes
  uint32_t chunk = 128;   ///< bytes that stay together
  uint32_t span = 128;    ///< bytes inside which chunks move: the largest inner box

  constexpr uint32_t operator()(uint32_t address) const {
    const uint32_t line = address >> 7;
    return address ^ ((line & lineMask) << shift) ^ ((line & flip) << 3);
  }
};

constexpr SwizzlePattern swizzlePattern(MapSwizzle mode) {
  switch (mode) {
    case MapSwizzle::None:
      return {};
    case MapSwizzle::B32:
      return {.lineMask = 1, .shift = 4, .flip = 0, .chunk = 16, .span = 32};
    case MapSwizzle::B64:
      return {.lineMask = 3, .shift = 4, .flip = 0, .chunk = 16, .span = 64};
    case MapSwizzle::B128:
      return {.lineMask = 7, .shift = 4, .flip = 0, .chunk = 16, .span = 128};
    case MapSwizzle::B128Atom32:
      return {.lineMask = 3, .shift = 5, .flip = 0, .chunk = 32, .span = 128};
    case MapSwizzle::B128Atom32Flip8:
      return {.lineMask = 3, .shift = 5, .flip = 1, .chunk = 8, .span = 128};
    case MapSwizzle::B128Atom64:
      return {.lineMask = 1, .shift = 6, .flip = 0, .chunk = 64, .span = 128};
  }
  return {};
}

}  // namespace shiftconv::layout
