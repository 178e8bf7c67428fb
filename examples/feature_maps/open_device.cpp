#include "examples/feature_maps/open_device.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace feature_maps {

shiftconv::Device openDevice(const std::string& name) {
  try {
    return name.empty() ? shiftconv::Device() : shiftconv::Device(name);
  } catch (const shiftconv::Error& error) {
    if (error.status() == SHIFTCONV_STATUS_INVALID_ARGUMENT) throw std::invalid_argument(fmt::format("--device: {}", error.what()));
    if (error.status() != SHIFTCONV_STATUS_NOT_FOUND || !name.empty()) throw;
    fmt::print("Taking the emulated device: {}\n", error.what());
    return shiftconv::Device("emulated");
  }
}

}  // namespace feature_maps
