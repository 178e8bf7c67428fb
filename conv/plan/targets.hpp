// Compute capabilities that kernels are built for. Code for an architecture with an "a", as sm_90a, runs on its own alone.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "common/device/device.hpp"

namespace shiftconv::plan {

inline bool isCapability(const device::Properties& properties, int major, int minor) {
  return properties.computeMajor == major && properties.computeMinor == minor;
}
/// Of sm_90a.
inline bool isHopper(const device::Properties& properties) { return isCapability(properties, 9, 0); }
/// With tcgen05.
inline bool isBlackwell(const device::Properties& properties) {
  return isCapability(properties, 10, 0) || isCapability(properties, 10, 3) || isCapability(properties, 11, 0);
}
/// Of kernels without instructions of one architecture.
inline bool isHopperOrBlackwell(const device::Properties& properties) { return isHopper(properties) || isBlackwell(properties); }

/// Empty where isHopperOrBlackwell(), else one sentence.
inline std::string targetRefusal(std::string_view algorithm, const device::Properties& properties) {
  if (isHopperOrBlackwell(properties)) return {};
  return fmt::format("{} is built for compute capability 9.0, 10.0, 10.3 and 11.0, but {} has {}.{}", algorithm, properties.name,
                     properties.computeMajor, properties.computeMinor);
}

}  // namespace shiftconv::plan
