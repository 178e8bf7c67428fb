// Devices by name, as the environment variable SHIFTCONV_DEVICE and the programs' option --device give them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/device/device.hpp"

namespace shiftconv::device {

struct DeviceName {
  std::optional<Kind> kind;  ///< nothing: the first GPU that is supported
  int index = 0;             ///< GPU of the driver, or place in emulatedTargets()
};

/// "auto, cuda, cuda:N (GPU N of the driver), emulated, emulated:sm_100a or emulated:sm_90a"
std::string deviceNameForms();

/// Reads one of these forms. A failing message has no subject: "must be auto, ..., but is "gpu"".
Status parseDeviceName(std::string_view text, DeviceName& name);

/// What the environment variable SHIFTCONV_DEVICE names; where it is not set or empty, "auto".
Status readDeviceVariable(DeviceName& name);

}  // namespace shiftconv::device
