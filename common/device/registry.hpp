// Which devices there are, and how to open them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "common/device/device_name.hpp"

namespace shiftconv::device {

/// GPUs in the driver's order, then the emulated devices in the order of their numbers.
std::vector<Properties> enumerateDevices();

/// GPU `index` of the driver, or an emulated device, by its place in emulatedTargets().
Status openDevice(Kind kind, int index, std::unique_ptr<Device>& device);
/// By name; "auto" is openGpu(isSupported).
Status openDevice(const DeviceName& name, std::unique_ptr<Device>& device);

/// A property of GPUs, and what a message calls it.
struct Suitability {
  bool (*holds)(const Properties& gpu);
  const char* words;
};
/// GPUs that an algorithm of the library has kernels for.
extern const Suitability kSupported;
/// GPUs that have the tcgen05 instructions.
extern const Suitability kTensorMemory;

/// The first GPU that suits. Without one: NotFound, and a sentence that says what was found instead and how to ask for an emulated
/// device.
Status openGpu(const Suitability& suitability, std::unique_ptr<Device>& device);
/// That sentence. `driver`: why there is none, or success; `gpus`: what it shows.
std::string noGpuSuits(const Suitability& suitability, const Status& driver, std::span<const Properties> gpus);

/// True for GPUs that have the tcgen05 instructions.
bool hasTensorMemory(const Properties& properties);

/// Properties of known devices, for plans made without one.
struct Preset {
  const char* name;
  Properties properties;
};
std::span<const Preset> presets();

}  // namespace shiftconv::device
