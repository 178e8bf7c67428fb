// Which devices there are, and how to open them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/device/device.hpp"

namespace shiftconv::device {

/// GPUs in the driver's order, then the emulated devices in the order of their numbers.
std::vector<Properties> enumerateDevices();

/// GPU `index` of the driver, or an emulated device: 0 is an sm_100a, 1 an sm_90a.
Status openDevice(Kind kind, int index, std::unique_ptr<Device>& device);

/// The first GPU with Tensor Memory (compute capability 10.x or 11.0), else the emulated device; `note` then says why.
Status openPreferredDevice(std::unique_ptr<Device>& device, std::string& note);

/// True for GPUs that have the tcgen05 instructions.
bool hasTensorMemory(const Properties& properties);

/// Properties of known devices, for plans made without one.
struct Preset {
  const char* name;
  Properties properties;
};
std::span<const Preset> presets();

}  // namespace shiftconv::device
