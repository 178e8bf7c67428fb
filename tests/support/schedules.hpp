// The orders of completion that kernels are tested under.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "common/emulator/options.hpp"

namespace shiftconv::tests {

/// How many random schedules follow the earliest and the latest. These two extremes are what ordinary tests run; random schedules,
/// which lie between them, cost as much each and run at night (RANDOM_SCHEDULES in tests/CMakeLists.txt).
inline uint64_t randomSchedules(uint64_t atNight) {
  return std::getenv("SHIFTCONV_TEST_RANDOM_SCHEDULES") != nullptr ? atNight : 0;
}

/// `seed`: of the first random schedule.
inline std::vector<emulator::Options> schedulesOfKernels(uint64_t seed, uint64_t atNight = 1) {
  std::vector<emulator::Options> all(2 + randomSchedules(atNight));
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].policy = i == 0   ? emulator::SchedulePolicy::Earliest
                    : i == 1 ? emulator::SchedulePolicy::Latest
                             : emulator::SchedulePolicy::Random;
    all[i].seed = seed + (i < 2 ? 0 : i - 2);
  }
  return all;
}

}  // namespace shiftconv::tests
