// What a plan multiplies and moves, counted: the same numbers that the emulator's counters show when it runs.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "conv/plan/estimate.hpp"

namespace shiftconv::plan {

/// Of all CTAs together, unless it says otherwise.
struct Traffic {
  int64_t mmas = 0;               ///< instructions; in a pair one is for both CTAs
  int64_t shifts = 0;             ///< tcgen05.shift instructions
  int64_t products = 0;           ///< of 16-bit operands; 32 bytes of a row are 16 of them, whatever their type
  int64_t multiplyReadBytes = 0;  ///< shared memory read by MMAs
  int64_t copyReadBytes = 0;      ///< shared memory read by tcgen05.cp
  int64_t activationBytes = 0;    ///< of the input from global to shared memory by bulk copies; filled-in zeros do not count
  int64_t filterBytes = 0;        ///< of the filter, likewise
  int64_t scaleBytes = 0;         ///< of block scale factors, likewise; those that threads load do not count
  int64_t writtenBytes = 0;       ///< to shared memory by bulk copies: whole boxes
  int64_t multipliedRows = 0;     ///< accumulator rows that leave for the epilogue, times passes
  int64_t storedRows = 0;         ///< of these the ones that are output pixels

  Traffic& operator+=(const Traffic& other);
  friend Traffic operator*(Traffic traffic, int64_t count);
  friend auto operator<=>(const Traffic&, const Traffic&) = default;

  int64_t sharedReadBytes() const { return multiplyReadBytes + copyReadBytes; }
};

/// What `share` of it asks of one multiprocessor. Bytes from L2 are counted in whole sectors: `sectors` is what the rows of a box
/// take there for each byte that is written.
std::array<Demand, 5> demandsOf(const Traffic& traffic, double share, double sectors);

/// One line: MMAs, shifts, bytes read, loads.
std::string describe(const Traffic& traffic);

}  // namespace shiftconv::plan
