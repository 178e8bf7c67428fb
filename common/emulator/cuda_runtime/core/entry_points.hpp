// Functions of the driver API by name.
#pragma once

#include <cstdint>

namespace shiftconv::runtime {

/// The newest variant of "cuMemAlloc" that libcuda.so.1 has; nullptr when it has none. Of functions that the emulated device
/// lacks it is the one that says so. `flags` may ask for per-thread default streams.
void* driverEntryPoint(const char* name, uint64_t flags);

}  // namespace shiftconv::runtime
