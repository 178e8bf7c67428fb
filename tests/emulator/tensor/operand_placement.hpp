// Where matrix elements lie in shared memory, stated with the row-based swizzle of a dense tile (as TMA writes it), not
// with the summed address the emulator uses; plus descriptor words assembled field by field.
#pragma once

#include <cstdint>
#include <stdexcept>

namespace shiftconv::tests {

enum class Mode : uint32_t { None = 0, Base32 = 1, Bytes128 = 2, Bytes64 = 4, Bytes32 = 6 };

/// One operand tile in shared memory: `rows` M or N indices, `depth` K indices of `bytes` each. Atoms are stacked: for K-major
/// first along K, then 8 rows further; for MN-major first along MN, then along K.
struct Placement {
  Mode mode = Mode::None;
  bool transposed = false;  ///< MN-major
  uint32_t start = 0;       ///< multiple of 1024
  uint32_t rows = 0, depth = 0, bytes = 0;

  uint32_t pitch() const {
    switch (mode) {
      case Mode::None:
        return 16;
      case Mode::Bytes32:
        return 32;
      case Mode::Bytes64:
        return 64;
      default:
        return 128;
    }
  }
  /// Position of 16-byte chunk `chunk` of row `line` of an atom: its column is XORed with the line number.
  uint32_t inAtom(uint32_t line, uint32_t chunk) const {
    switch (mode) {
      case Mode::None:
        break;
      case Mode::Bytes32:
        chunk ^= line / 4 % 2;
        break;
      case Mode::Bytes64:
        chunk ^= line / 2 % 4;
        break;
      case Mode::Bytes128:
        chunk ^= line % 8;
        break;
      case Mode::Base32:
        chunk ^= line % 4 * 2;
        break;
    }
    return line * pitch() + chunk * 16;
  }

  uint32_t perChunk() const { return 16 / bytes; }
  /// Bytes between neighbouring 8-row (4-row for Base32) groups and between neighbouring atoms in the other direction.
  uint32_t leadingOffset() const {
    if (mode == Mode::None) return transposed ? 128 * (rows / perChunk()) : 128;  // MN: next 8 K; K-major: next chunk
    return transposed ? atomBytes() : 16;
  }
  uint32_t strideOffset() const {
    if (mode == Mode::None) return transposed ? 128 : 128 * (depth / perChunk());
    if (!transposed) return atomBytes();
    return atomBytes() * (rows / (pitch() / bytes));
  }
  uint32_t atomBytes() const { return pitch() * (mode == Mode::Base32 ? 4 : 8); }
  uint32_t size() const { return rows * depth * bytes < 1024 ? 1024 : rows * depth * bytes * (mode == Mode::None ? 1 : 4); }

  uint32_t address(uint32_t row, uint32_t k) const {
    if (!transposed) {
      const uint32_t chunk = k / perChunk();
      const uint32_t byte = k % perChunk() * bytes;
      if (mode == Mode::None) return start + row / 8 * strideOffset() + chunk * leadingOffset() + row % 8 * 16 + byte;
      if (chunk >= pitch() / 16) throw std::logic_error("K beyond the atom");
      return start + row / 8 * strideOffset() + inAtom(row % 8, chunk) + byte;
    }
    const uint32_t chunk = row / perChunk();
    const uint32_t byte = row % perChunk() * bytes;
    if (mode == Mode::None) return start + chunk * strideOffset() + k / 8 * leadingOffset() + k % 8 * 16 + byte;
    const uint32_t lines = mode == Mode::Base32 ? 4 : 8;
    const uint32_t perAtom = pitch() / 16;
    return start + chunk / perAtom * leadingOffset() + k / lines * strideOffset() + inAtom(k % lines, chunk % perAtom) + byte;
  }

  uint64_t descriptor() const {
    return uint64_t{start >> 4} | uint64_t{leadingOffset() >> 4} << 16 | uint64_t{strideOffset() >> 4} << 32 | uint64_t{1} << 46 |
           static_cast<uint64_t>(mode) << 61;
  }
};

/// Fields of the 32-bit instruction descriptor of the kinds without block scaling.
struct IdescFields {
  uint32_t d = 1, a = 0, b = 0;
  uint32_t m = 128, n = 64;
  bool negateA = false, negateB = false, transposeA = false, transposeB = false;
  uint32_t maximumShift = 0;  ///< .ws: code 0 to 3
  uint32_t word() const {
    return d << 4 | a << 7 | b << 10 | static_cast<uint32_t>(negateA) << 13 | static_cast<uint32_t>(negateB) << 14 |
           static_cast<uint32_t>(transposeA) << 15 | static_cast<uint32_t>(transposeB) << 16 | (n / 8) << 17 | (m / 16) << 24 |
           maximumShift << 30;
  }
};

}  // namespace shiftconv::tests
