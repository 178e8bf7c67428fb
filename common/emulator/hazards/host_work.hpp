// What the host does to global memory in a stream: copies, fills, and releases of allocations.
#pragma once

#include <cstdint>
#include <string>

#include "common/emulator/hazards/global_shadow.hpp"
#include "common/emulator/hazards/reporter.hpp"
#include "common/emulator/stream_order.hpp"

namespace shiftconv::emulator::hazards {

/// Reports the launches and the host's other work that use the bytes and are not ordered before `place`. With `writes`, later
/// work is checked against this one. `name`: "copyToDevice". Throws EmulatorError Hazard in mode Error.
void checkHostWork(GlobalShadow& shadow, Reporter& reporter, std::string name, const StreamPlace& place, uint64_t address,
                   uint64_t bytes, bool writes);

}  // namespace shiftconv::emulator::hazards
