// Options of an emulated device as text, so that they can come from an API call, a command line or a file.
#pragma once

#include <string_view>

#include "common/device/status.hpp"
#include "common/emulator/options.hpp"

namespace shiftconv::device {

/// Sets one option; on failure `options` keeps its value and the message lists what exists.
///   "schedule"          earliest | latest | random
///   "seed"              decimal
///   "numerics"          hardware | fast
///   "hazards"           off | warn | error: what to do with races and missing fences
///   "hazards.severity"  which of them: race,formal,unproven (all, unless set)
///   "semantics.U<n>"    number or text of an alternative
///   "semantics.file"    path of a JSON object whose member "semantics" holds such choices, as {"U3": 1}
///   "host_threads"      decimal, 0..1024
///   "instruction_limit" decimal
Status setEmulatedOption(emulator::Options& options, std::string_view name, std::string_view value);

}  // namespace shiftconv::device
