// What can be said about the properties of a device before anything is planned for it.
#pragma once

#include "common/device/device.hpp"
#include "common/device/status.hpp"

namespace shiftconv::plan {

/// Properties that a CUDA device can have. The message names the field as the C API does.
Status validate(const device::Properties& properties);

}  // namespace shiftconv::plan
