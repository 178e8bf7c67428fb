// Which GPU the device is for this program.
#pragma once

#include <string_view>

namespace shiftconv::runtime {

/// The target of the device: what EMURUN_DEVICE names, else the first GPU that can run all device code which the program has
/// registered, or, when none can, the first of those that can run most of it. Device code that is loaded later changes nothing.
/// A wrong name ends the process.
std::string_view chooseDevice();

}  // namespace shiftconv::runtime
