#include "common/device/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>

#include "common/device/cuda_device.hpp"
#include "common/device/emulated_device.hpp"

namespace shiftconv::device {
namespace {

constexpr uint32_t kSharedBytes =
    227 * 1024;  // opt-in maximum of compute capability 9.0, 10.x and 11.0 (CUDA C++ Programming Guide)
constexpr uint64_t kMebi = 1024 * 1024;
constexpr uint64_t kGiga = 1'000'000'000;

Properties gpu(const char* name, int major, int minor, uint32_t multiprocessors, uint64_t l2Bytes, uint64_t globalBytes) {
  return {Kind::Cuda, name, major, minor, multiprocessors, kSharedBytes, l2Bytes, globalBytes};
}

}  // namespace

bool hasTensorMemory(const Properties& properties) { return properties.computeMajor == 10 || properties.computeMajor == 11; }

std::vector<Properties> enumerateDevices() {
  std::vector<Properties> devices;
  int count = 0;
  if (cudaDeviceCount(count).ok())
    for (int i = 0; i < count; ++i) {
      Properties properties;
      if (cudaDeviceProperties(i, properties).ok()) devices.push_back(std::move(properties));
    }
  for (std::string_view target : EmulatedDevice::targets()) devices.push_back(EmulatedDevice::emulatedProperties(target));
  return devices;
}

Status openDevice(Kind kind, int index, std::unique_ptr<Device>& device) {
  if (kind == Kind::Cuda) return openCudaDevice(index, device);
  const std::span<const std::string_view> targets = EmulatedDevice::targets();
  if (index < 0 || static_cast<size_t>(index) >= targets.size())
    return {StatusCode::NotFound, fmt::format("there is no emulated device {}; there are {}, from 0 on: {}", index, targets.size(),
                                              fmt::join(targets, ", "))};
  device = std::make_unique<EmulatedDevice>(targets[static_cast<size_t>(index)]);
  return {};
}

Status openPreferredDevice(std::unique_ptr<Device>& device, std::string& note) {
  int count = 0;
  const Status driver = cudaDeviceCount(count);
  std::string seen;
  for (int i = 0; driver.ok() && i < count; ++i) {
    Properties properties;
    if (Status status = cudaDeviceProperties(i, properties); !status.ok()) return status;
    if (hasTensorMemory(properties)) return openCudaDevice(i, device);
    seen +=
        fmt::format("{}{} ({}.{})", seen.empty() ? "" : ", ", properties.name, properties.computeMajor, properties.computeMinor);
  }
  const std::string reason = !driver.ok()   ? driver.message()
                             : seen.empty() ? "the CUDA driver shows no GPU"
                                            : "the GPUs present have no Tensor Memory: " + seen;
  note = fmt::format("no Blackwell GPU found, using the emulated device ({}); results are exact to the hardware model, but slow",
                     reason);
  return openDevice(Kind::Emulated, 0, device);
}

std::span<const Preset> presets() {
  // Multiprocessors and L2 as the driver reports them on these devices; memory as in the vendor's data sheets.
  static const Preset table[] = {{"B200", gpu("NVIDIA B200", 10, 0, 148, 132'644'864, 180 * kGiga)},
                                 {"B300", gpu("NVIDIA B300", 10, 3, 148, 132'644'864, 288 * kGiga)},
                                 {"Thor", gpu("NVIDIA Thor", 11, 0, 20, 32 * kMebi, 128 * kGiga)},
                                 {"H200", gpu("NVIDIA H200", 9, 0, 132, 50 * kMebi, 141 * kGiga)},
                                 {"emulated", EmulatedDevice::emulatedProperties()},
                                 {"emulated_sm_90a", EmulatedDevice::emulatedProperties("sm_90a")}};
  return table;
}

}  // namespace shiftconv::device
