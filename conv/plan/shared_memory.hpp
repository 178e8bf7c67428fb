// How the CTAs of a multiprocessor divide its shared memory.
#pragma once

#include <cstdint>

#include "common/device/device.hpp"

namespace shiftconv::plan {

/// Of shared memory, for each CTA by the system (CUDA C++ Programming Guide, compute capabilities 9.0 and 10.0).
inline constexpr int64_t kReservedSharedBytes = 1024;

/// What each of `ctas` CTAs may ask for, so that a multiprocessor holds them at once.
inline int64_t sharedBytesOfEach(const device::Properties& properties, int64_t ctas) {
  return (int64_t{properties.sharedBytesPerBlock} + kReservedSharedBytes) / ctas - kReservedSharedBytes;
}

}  // namespace shiftconv::plan
