#include "common/device/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>

#include "common/device/cuda_device.hpp"
#include "common/device/emulated_opener.hpp"
#include "common/device/emulated_targets.hpp"

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
  for (std::string_view target : emulatedTargets()) devices.push_back(emulatedProperties(target));
  return devices;
}

Status openDevice(Kind kind, int index, std::unique_ptr<Device>& device) {
  if (kind == Kind::Cuda) return openCudaDevice(index, device);
  const std::span<const std::string_view> targets = emulatedTargets();
  if (index < 0 || static_cast<size_t>(index) >= targets.size())
    return {StatusCode::NotFound, fmt::format("there is no emulated device {}; there are {}, from 0 on: {}", index, targets.size(),
                                              fmt::join(targets, ", "))};
  return openEmulatedDevice(targets[static_cast<size_t>(index)], device);
}

Status openDevice(const DeviceName& name, std::unique_ptr<Device>& device) {
  return name.kind ? openDevice(*name.kind, name.index, device) : openGpu(kSupported, device);
}

const Suitability kSupported{[](const Properties& gpu) {
                               const int capability = gpu.computeMajor * 10 + gpu.computeMinor;
                               return capability == 90 || capability == 100 || capability == 103 || capability == 110;
                             },
                             "of compute capability 9.0, 10.0, 10.3 or 11.0"};
const Suitability kTensorMemory{[](const Properties& gpu) { return kSupported.holds(gpu) && hasTensorMemory(gpu); },
                                "with Tensor Memory (compute capability 10.0, 10.3 or 11.0)"};

std::string noGpuSuits(const Suitability& suitability, const Status& driver, std::span<const Properties> gpus) {
  std::string found;
  for (const Properties& gpu : gpus)
    found += fmt::format("{}{} ({}.{})", found.empty() ? "only " : ", ", gpu.name, gpu.computeMajor, gpu.computeMinor);
  if (!driver.ok()) found = driver.message();
  if (found.empty()) found = "the CUDA driver shows no GPU";
  return fmt::format(
      "there is no GPU {}: {}; the emulated device, which is slow, is opened when it is named: SHIFTCONV_DEVICE_EMULATED, or "
      "\"emulated\" in the environment variable SHIFTCONV_DEVICE",
      suitability.words, found);
}

Status openGpu(const Suitability& suitability, std::unique_ptr<Device>& device) {
  int count = 0;
  const Status driver = cudaDeviceCount(count);
  std::vector<Properties> gpus(driver.ok() ? static_cast<size_t>(count) : 0);
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (Status status = cudaDeviceProperties(static_cast<int>(i), gpus[i]); !status.ok()) return status;
    if (suitability.holds(gpus[i])) return openCudaDevice(static_cast<int>(i), device);
  }
  return {StatusCode::NotFound, noGpuSuits(suitability, driver, gpus)};
}

std::span<const Preset> presets() {
  // Multiprocessors and L2 as the driver reports them on these devices; memory as in the vendor's data sheets.
  static const Preset table[] = {{"B200", gpu("NVIDIA B200", 10, 0, 148, 132'644'864, 180 * kGiga)},
                                 {"B300", gpu("NVIDIA B300", 10, 3, 148, 132'644'864, 288 * kGiga)},
                                 {"Thor", gpu("NVIDIA Thor", 11, 0, 20, 32 * kMebi, 128 * kGiga)},
                                 {"H200", gpu("NVIDIA H200", 9, 0, 132, 60 * kMebi, 141 * kGiga)},
                                 {"emulated", emulatedProperties()},
                                 {"emulated_sm_90a", emulatedProperties("sm_90a")}};
  return table;
}

}  // namespace shiftconv::device
