// Device functions that the CUDA runtime provides and modules only declare.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "common/emulator/machine/cluster.hpp"

namespace shiftconv::emulator::machine {

/// Called once per executing lane with the raw bits of the arguments; returns the raw bits of the result.
using BuiltinFunction = uint64_t (*)(Warp& warp, unsigned lane, std::span<const uint64_t> arguments);

/// vprintf writes to the host's standard output; __assertfail raises ErrorKind::Trap with the assertion's text; malloc and free
/// work on the device's heap (machine/device_heap.hpp); cudaGraphSetConditional stores its value where the handle points to.
/// nullptr for any other name.
BuiltinFunction findBuiltin(std::string_view name);

}  // namespace shiftconv::emulator::machine
