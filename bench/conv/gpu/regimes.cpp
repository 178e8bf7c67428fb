#include "bench/conv/gpu/regimes.hpp"

#include <algorithm>
#include <cmath>

namespace shiftconv::gpu {
namespace {

constexpr double kRestMilliseconds = 10;
constexpr double kSustainedMilliseconds = 250;  // of warming up, and again of measuring

double timeOnce(Regime regime, const TimedSide& side, int round, const Buffer* evicting, CUstream stream) {
  switch (regime) {
    case Regime::Rested:
      return side.many->time(kRestMilliseconds);
    case Regime::Burst:
      return side.many->time(0);
    case Regime::Sustained: {
      const double replay = side.many->time(0) * side.many->repeats() / 1000;  // milliseconds
      return side.many->timeSustained(static_cast<int>(std::ceil(kSustainedMilliseconds / replay)));
    }
    case Regime::ColdOnce:
      SHIFTCONV_GPU(cuMemsetD8Async(evicting->address(), static_cast<unsigned char>(round), evicting->bytes(), stream));
      return side.once->timeBehind();
    case Regime::WarmOnce:
      side.once->timeBehind();
      return side.once->timeBehind();
  }
  return 0;
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n == 0 ? 0 : n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

const char* nameOf(Regime regime) {
  static constexpr std::array kNames{"rested", "burst", "sustained", "once_cold_l2", "once_warm_l2"};
  static_assert(kNames.size() == kRegimes.size());
  return kNames[static_cast<size_t>(regime)];
}

void timeRound(Regime regime, std::span<TimedSide> sides, int round, const Buffer* evicting, CUstream stream) {
  for (size_t i = 0; i < sides.size(); ++i) {
    TimedSide& side = sides[(i + static_cast<size_t>(round)) % sides.size()];
    side.times[regime].push_back(timeOnce(regime, side, round, evicting, stream));
  }
}

void timeRested(std::span<TimedSide> sides, int rounds) {
  for (const TimedSide& side : sides) side.many->time(0);  // warm
  for (int round = 0; round < rounds; ++round) timeRound(Regime::Rested, sides, round, nullptr, nullptr);
}

void timeOtherRegimes(std::span<TimedSide> sides, int rounds, const Buffer& evicting, CUstream stream) {
  for (const Regime regime : kRegimes) {
    if (regime == Regime::Rested) continue;
    for (int round = 0; round < (regime == Regime::Sustained ? 1 : rounds); ++round)
      timeRound(regime, sides, round, &evicting, stream);
  }
}

}  // namespace shiftconv::gpu
