#include "bench/conv/gpu/regimes.hpp"

#include <algorithm>
#include <cmath>

namespace shiftconv::gpu {
namespace {

constexpr double kRestMilliseconds = 10;
constexpr double kSustainedMilliseconds = 250;  // of warming up, and again of measuring

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n == 0 ? 0 : n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

void timeRested(std::vector<TimedSide>& sides, int rounds) {
  for (TimedSide& side : sides) side.many->time(0);  // warm
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < sides.size(); ++i) {
      TimedSide& side = sides[(i + static_cast<size_t>(round)) % sides.size()];
      side.times.rested.push_back(side.many->time(kRestMilliseconds));
    }
}

void timeOtherRegimes(std::vector<TimedSide>& sides, int rounds, const Buffer& evicting, CUstream stream) {
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < sides.size(); ++i) {
      TimedSide& side = sides[(i + static_cast<size_t>(round)) % sides.size()];
      side.times.burst.push_back(side.many->time(0));
    }
  for (TimedSide& side : sides) {
    std::vector<double> cold, warm;
    for (int round = 0; round < rounds; ++round) {
      SHIFTCONV_GPU(cuMemsetD8Async(evicting.address(), static_cast<unsigned char>(round), evicting.bytes(), stream));
      cold.push_back(side.once->timeBehind());
      warm.push_back(side.once->timeBehind());
    }
    side.times.coldOnce = median(cold);
    side.times.warmOnce = median(warm);
  }
  for (TimedSide& side : sides) {
    const double replay = side.many->time(0) * side.many->repeats() / 1000;  // milliseconds
    side.times.sustained = side.many->timeSustained(static_cast<int>(std::ceil(kSustainedMilliseconds / replay)));
  }
}

}  // namespace shiftconv::gpu
