// One tcgen05.mma on the machine, from operands in shared or Tensor Memory to all cells around its accumulator.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/emulator/emulator.hpp"
#include "tests/published_layouts/matrix_kinds.hpp"

namespace shiftconv::tests::layouts {

/// Tensor Memory columns: D from 0, with cells around it that must stay; then A and the scale factors.
inline constexpr uint32_t kAColumn = 288, kScaleAColumn = 304, kScaleBColumn = 312, kScaleBColumns = 8;
/// Columns that come back: the largest D and 16 more.
inline constexpr uint32_t kDumpedColumns = 272;
/// What every cell of the dumped columns holds before.
inline uint32_t cellBefore(uint32_t lane, uint32_t column) { return lane * 1000 + 0x5a000000 + column % 16; }

using CellTable = std::function<uint32_t(uint32_t cta, uint32_t lane, uint32_t column)>;

struct SingleMma {
  const Kind* kind = &kF16;
  uint32_t ctaGroup = 1, m = 128, n = 64;
  uint32_t typeA = 0, typeB = 0;  ///< positions in kind->types
  uint32_t accumulator = 1;       ///< type code
  uint32_t baseLane = 0;          ///< of D and of A in Tensor Memory
  /// Row of A (in the whole matrix) that a lane of a CTA holds, -1: none; empty: A comes from shared memory.
  std::function<int(uint32_t cta, uint32_t lane)> aLane = {};
  /// Words of the scale factors, `column` from 0; empty: 1.0 everywhere.
  CellTable scalesA = {}, scalesB = {};
  uint32_t scaleIdA = 0, scaleIdB = 0;
  std::string scaleVector = {};  ///< instead of that of the kind
  bool scaleIsUe8m0 = true;
  /// XORed into the instruction descriptor.
  uint32_t flippedBits = 0;

  uint32_t instructionDescriptor() const;
  const ElementType& a() const { return kind->types[typeA]; }
  const ElementType& b() const { return kind->types[typeB]; }
  std::string name() const;
  /// Words of lane l of CTA c at [(c * 128 + l) * kDumpedColumns]. Throws EmulatorError.
  std::vector<uint32_t> run(emulator::Emulator& machine) const;
};

/// Where D[m][n] lies: PTX ISA 9.0, 9.7.16.10.5, data-path layouts A, B, D and F.
struct Place {
  uint32_t cta, lane, column;
};
Place accumulatorPlace(const SingleMma& mma, uint32_t m, uint32_t n);

/// Expects `value(m, n)` in every accumulator and the old content in every other cell.
void expectAccumulators(const SingleMma& mma, const std::vector<uint32_t>& output,
                        const std::function<float(uint32_t m, uint32_t n)>& value);

/// Writes element k of row `row` of a no-swizzle K-major operand of 32-byte rows: 16-byte chunk c of row i lies at
/// i % 8 * 16 + i / 8 * 256 + c * 128 (PTX ISA 9.0, 9.7.16.3: core matrices of 8 rows of 16 bytes, LBO 128, SBO 256).
void putElement(std::vector<std::byte>& image, uint32_t start, const ElementType& type, uint32_t row, uint32_t k, int value);
/// ORs `bits` of a packed element into a 16-byte chunk.
void putInChunk(std::byte* chunk, const ElementType& type, uint32_t position, uint32_t bits);

}  // namespace shiftconv::tests::layouts
