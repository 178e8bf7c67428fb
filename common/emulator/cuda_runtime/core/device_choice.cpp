#include "common/emulator/cuda_runtime/core/device_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "common/emulator/cuda_runtime/core/images.hpp"
#include "common/emulator/cuda_runtime/core/settings.hpp"
#include "common/emulator/cuda_runtime/machine_binding.hpp"

namespace shiftconv::runtime {
namespace {

/// How many of the images hold PTX that the device can run.
size_t usableImages(const std::vector<std::vector<std::string>>& targetsOfImages, std::string_view device) {
  return static_cast<size_t>(std::count_if(targetsOfImages.begin(), targetsOfImages.end(), [&](const auto& targets) {
    return std::any_of(targets.begin(), targets.end(), [&](const std::string& target) { return runsOn(target, device); });
  }));
}

}  // namespace

std::string_view chooseDevice() {
  const std::span<const std::string_view> devices = deviceTargets();
  const char* asked = std::getenv("EMURUN_DEVICE");
  if (asked != nullptr && *asked != '\0') {
    const auto found = std::find(devices.begin(), devices.end(), asked);
    if (found != devices.end()) return *found;
    say(fmt::format("EMURUN_DEVICE is \"{}\", but must be one of {}", asked, fmt::join(devices, ", ")));
    std::_Exit(1);
  }
  const auto targetsOfImages = ImageTable::instance().ptxTargets();
  std::string_view best = devices.front();
  for (const std::string_view device : devices)
    if (usableImages(targetsOfImages, device) > usableImages(targetsOfImages, best)) best = device;
  return best;
}

}  // namespace shiftconv::runtime
