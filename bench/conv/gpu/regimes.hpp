// The regimes in which a kernel is timed. The card's power management makes them differ: rested, it runs at the highest clock; at
// work for half a second, at what its power limit leaves.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/conv/gpu/cuda.hpp"

namespace shiftconv::gpu {

double median(std::vector<double> values);

/// Microseconds of one call.
struct RegimeTimes {
  std::vector<double> rested;  ///< a replay after 10 ms without work
  std::vector<double> burst;   ///< replays of the sides behind each other, without a pause
  double sustained = 0;        ///< half a second of this side alone, the second half of it
  double coldOnce = 0;         ///< one call after 256 MiB of writes, which leave nothing of its tensors in the L2 cache
  double warmOnce = 0;         ///< one call after another one; with coldOnce: both hold the start of a graph
};

/// A side of a comparison as a graph of many calls and a graph of one.
struct TimedSide {
  Replay* many = nullptr;
  Replay* once = nullptr;
  RegimeTimes times;
};

/// Rested times of all sides: `rounds` rounds, each starting with another side.
void timeRested(std::vector<TimedSide>& sides, int rounds);
/// The other regimes.
void timeOtherRegimes(std::vector<TimedSide>& sides, int rounds, const Buffer& evicting, CUstream stream);
inline constexpr size_t kEvictingBytes = size_t{256} << 20;

}  // namespace shiftconv::gpu
