// How the CTAs of a multiprocessor divide its shared memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/device/device.hpp"
#include "common/layout/ceil_divide.hpp"

namespace shiftconv::plan {

/// Of shared memory, for each CTA by the system (CUDA C++ Programming Guide, compute capabilities 9.0 and 10.0).
inline constexpr int64_t kReservedSharedBytes = 1024;

/// What each of `ctas` CTAs may ask for, so that a multiprocessor holds them at once.
inline int64_t sharedBytesOfEach(const device::Properties& properties, int64_t ctas) {
  return (int64_t{properties.sharedBytesPerBlock} + kReservedSharedBytes) / ctas - kReservedSharedBytes;
}

/// Above this many CTAs a multiprocessor an uneven division costs little, and shared memory is better left to the first-level
/// cache. (Without this limit, windows and chains on an H200 took as long.)
inline constexpr int64_t kMostSpreadCtas = 8;

/// Raises the dynamic shared memory of a launch so far that no multiprocessor holds more than its even share of the CTAs.
///
/// CTAs of a launch that may start before the one before it has ended go where that one ends first, as many as there is room for:
/// observed on an H200, 98 CTAs lay on 26 of 132 multiprocessors. Measured there, with `channelwise`, `depthwise`, `thin` and
/// `pointwise` spread: sequences of seven layers take 0.98 to 1.00 of the time in runs whose layers alone took 0.99 to 1.00.
/// Blackwell has as much shared memory; there it is emulated only.
inline void spreadEvenly(const device::Properties& properties, LaunchConfig& launch) {
  if (!launch.programmaticDependent) return;
  const auto multiprocessors = static_cast<int64_t>(std::max<uint32_t>(1, properties.multiprocessors));
  const int64_t share = ceilDivide(static_cast<int64_t>(launch.grid.count()), multiprocessors);
  if (share > kMostSpreadCtas) return;
  const int64_t tooMuchForOneMore = sharedBytesOfEach(properties, share + 1) + 1;
  launch.dynamicSharedBytes = std::max(launch.dynamicSharedBytes, static_cast<uint32_t>(tooMuchForOneMore));
}

}  // namespace shiftconv::plan
