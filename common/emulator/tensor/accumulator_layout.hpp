// How the rows and columns of an MMA lie in Tensor Memory (PTX ISA 9.7.16.10.5, layouts A-G; formulas as in CUTLASS
// mma_traits_sm100_frag).
//
// Every layout is seen from the Tensor Memory lane: a lane of a CTA multiplies one row of A by a run of B's columns and
// adds to its own cells. An A operand in Tensor Memory is read from that same lane, which is why some layouts need it
// there two or four times.
#pragma once

#include <cstdint>

namespace shiftconv::emulator::tensor {

class AccumulatorLayout {
 public:
  /// `m`, `n` as in the instruction descriptor, i.e. of the whole pair for `ctaGroup` 2.
  constexpr AccumulatorLayout(uint32_t m, uint32_t n, uint32_t ctaGroup, bool weightStationary = false) {
    rowsPerCta = m / ctaGroup;
    spaced = ctaGroup == 1 && m == 64 && !weightStationary;  // layout F
    if (ctaGroup == 2 && m == 128) columnGroups = 2;         // layout B
    if (weightStationary) columnGroups = 128 / m;            // layouts D, E and G
    columns = n / columnGroups;
  }

  uint32_t rowsPerCta = 0;    ///< rows of D and A in each CTA
  uint32_t columns = 0;       ///< Tensor Memory columns of D
  bool spaced = false;        ///< 16 rows in each window (layout F)
  uint32_t columnGroups = 1;  ///< the lanes repeat the rows that many times, each time for the next part of the columns (B, E, G)

  /// Row of A and D (within the CTA) that `lane`, counted from the operand's base lane, works on; -1: none.
  constexpr int rowOfLane(uint32_t lane) const {
    if (spaced) return lane % 32 < 16 ? static_cast<int>(lane / 32 * 16 + lane % 32) : -1;
    return lane < rowsPerCta * columnGroups ? static_cast<int>(lane % rowsPerCta) : -1;
  }
  /// First column of B that `lane` works on; it works on `columns` of them.
  constexpr uint32_t firstColumnOfLane(uint32_t lane) const { return columnGroups == 1 ? 0 : lane / rowsPerCta * columns; }
  /// Base lanes that D and A may have: 0, and 16 for layout F.
  constexpr bool allowsBaseLane(uint32_t lane) const { return lane == 0 || (spaced && lane == 16); }
};

}  // namespace shiftconv::emulator::tensor
