#include "common/device/emulated_opener.hpp"

#include "common/device/emulated_device.hpp"

namespace shiftconv::device {

Status openEmulatedDevice(std::string_view target, std::unique_ptr<Device>& device) {
  device = std::make_unique<EmulatedDevice>(target);
  return {};
}

}  // namespace shiftconv::device
