// The facts of a launch, of no device in particular.
#pragma once

#include <cstdint>

namespace shiftconv {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t{x} * y * z; }
};

struct LaunchConfig {
  Dim3 grid, block, cluster;
  uint32_t dynamicSharedBytes = 0;
  /// The launch may start while the one before it in the stream still runs; its kernel waits with griddepcontrol.wait before it
  /// reads what that one writes (programmatic dependent launch). A device that runs launches one after another ignores it.
  bool programmaticDependent = false;
};

}  // namespace shiftconv
