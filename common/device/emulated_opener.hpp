// Opening an emulated device. Two libraries define it, and each program or shared library links one of them:
// shiftconv_emulated_device, which is the emulator itself, or shiftconv_emulated_plugin, which loads that from a file.
#pragma once

#include <memory>
#include <string_view>

#include "common/device/device.hpp"

namespace shiftconv::device {

/// `target`: one of emulatedTargets().
Status openEmulatedDevice(std::string_view target, std::unique_ptr<Device>& device);

}  // namespace shiftconv::device
