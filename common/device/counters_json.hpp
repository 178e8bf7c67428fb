// Counters of an emulated device for programs to read.
#pragma once

#include <string>
#include <vector>

#include "common/device/emulated_device.hpp"

namespace shiftconv::device {

/// The JSON object that shiftconv_device_counters documents, without line breaks.
std::string countersJson(const std::vector<KernelCounters>& kernels);

}  // namespace shiftconv::device
