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

/// How a plan's traffic falls on the multiprocessor that has most of it, and what the counters do not show.
struct Load {
  double share = 1;         ///< of everything
  double fetchedBytes = 0;  ///< of everything, read from L2: whole sectors, without the zeros that TMA fills in
  double crowd = 1;         ///< see crowdOf
  double storedBytes = 0;   ///< of all outputs
  double gatheredRows = 0;  ///< as many rows that start at multiples of 128 bytes take as long as all that TMA gathers
};

/// Clocks of L2ToShared when `loading` multiprocessors load, for each that all of them together would take.
double crowdOf(const Rates& rates, const device::Properties& properties, int64_t loading);

/// Bytes read for each byte of rows of `rowBytes`.
double sectorsOf(int64_t rowBytes);

/// Of all outputs of the problem.
double outputBytesOf(const Problem& problem);

/// Load::fetchedBytes of traffic that knows its activationBytes.
double fetchedBytesOf(const Problem& problem, const Traffic& traffic);

/// What the traffic asks of one multiprocessor.
std::array<Demand, 7> demandsOf(const Traffic& traffic, const Load& load);

/// Clocks of a kernel of sm_100a before its first product and after its last one: launch, latencies, and the outputs of the last
/// tile, `rows` x `columns`, which nothing overlaps.
double clocksAround(const Rates& rates, const Problem& problem, int64_t rows, int64_t columns);

/// One line: MMAs, shifts, bytes read, loads.
std::string describe(const Traffic& traffic);

}  // namespace shiftconv::plan
