// The regimes in which a kernel is timed. The card's power management makes them differ: rested, it runs at the highest clock; at
// work for half a second, at what its power limit leaves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/conv/gpu/cuda.hpp"

namespace shiftconv::gpu {

double median(std::vector<double> values);

enum class Regime : uint8_t {
  Rested,     ///< a replay after 10 ms without work
  Burst,      ///< replays of the sides behind each other, without a pause
  Sustained,  ///< half a second of this side alone, the second half of it
  ColdOnce,   ///< one call after 256 MiB of writes, which leave nothing of its tensors in the L2 cache
  WarmOnce,   ///< one call after another one; as with ColdOnce, the start of a graph is part of it
};
inline constexpr std::array kRegimes{Regime::Rested, Regime::Burst, Regime::Sustained, Regime::ColdOnce, Regime::WarmOnce};
/// "rested", "burst", "sustained", "once_cold_l2", "once_warm_l2".
const char* nameOf(Regime regime);

/// Microseconds of one call, of each round.
class RegimeTimes {
 public:
  std::vector<double>& operator[](Regime regime) { return times_[static_cast<size_t>(regime)]; }
  const std::vector<double>& operator[](Regime regime) const { return times_[static_cast<size_t>(regime)]; }

 private:
  std::array<std::vector<double>, kRegimes.size()> times_;
};

/// A side of a comparison as a graph of many calls and a graph of one, which only single calls need.
struct TimedSide {
  Replay* many = nullptr;
  Replay* once = nullptr;
  RegimeTimes times;
};

/// Times every side once more, one after the other, beginning with another one each round. Only ColdOnce needs `evicting`, of
/// kEvictingBytes.
void timeRound(Regime regime, std::span<TimedSide> sides, int round, const Buffer* evicting, CUstream stream);
/// So many rounds, after a replay of each side that is not timed.
void timeRested(std::span<TimedSide> sides, int rounds);
/// So many rounds of every other regime; one of Sustained.
void timeOtherRegimes(std::span<TimedSide> sides, int rounds, const Buffer& evicting, CUstream stream);
inline constexpr size_t kEvictingBytes = size_t{256} << 20;

}  // namespace shiftconv::gpu
