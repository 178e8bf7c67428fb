// Elements of less than a byte as they lie densely in global memory: element i occupies bits b*i .. b*i + b - 1 of the row read as
// one little-endian bit string (b = 4: two in a byte, the low nibble first; b = 6: four in three bytes). This is what tensor maps
// of types 16U4 and 16U6 read (PTX ISA 5.5.1, sub-byte types) and what tcgen05.cp decompresses (9.7.16.9.1).
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/numerics/number_types.hpp"

namespace shiftconv::numerics {

/// Writes element `index` of the row that starts at `row`; the other elements keep their bits. Any type.
inline void storePacked(NumberType type, std::byte* row, int64_t index, uint32_t code) {
  const int bits = storageBits(type);
  for (int done = 0; done < bits;) {
    const int64_t position = index * bits + done;
    const int offset = static_cast<int>(position % 8);
    const int count = bits - done < 8 - offset ? bits - done : 8 - offset;
    const auto mask = static_cast<uint32_t>(((1u << count) - 1) << offset);
    std::byte& target = row[position / 8];
    target = static_cast<std::byte>((static_cast<uint32_t>(target) & ~mask) | (code >> done << offset & mask));
    done += count;
  }
}

/// The inverse.
inline uint32_t loadPacked(NumberType type, const std::byte* row, int64_t index) {
  const int bits = storageBits(type);
  uint32_t code = 0;
  for (int done = 0; done < bits;) {
    const int64_t position = index * bits + done;
    const int offset = static_cast<int>(position % 8);
    const int count = bits - done < 8 - offset ? bits - done : 8 - offset;
    code |= (static_cast<uint32_t>(row[position / 8]) >> offset & ((1u << count) - 1)) << done;
    done += count;
  }
  return code;
}

}  // namespace shiftconv::numerics
