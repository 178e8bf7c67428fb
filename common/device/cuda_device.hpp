// A GPU through the CUDA driver API, in the primary context that the CUDA runtime uses too.
#pragma once

#include <memory>
#include <vector>

#include "common/device/device.hpp"

namespace shiftconv::device {

/// Number of GPUs that the driver shows; fails with the reason when there is no usable driver.
Status cudaDeviceCount(int& count);
/// Properties of GPU `index` without making a context on it.
Status cudaDeviceProperties(int index, Properties& properties);
/// Opens GPU `index`.
Status openCudaDevice(int index, std::unique_ptr<Device>& device);

}  // namespace shiftconv::device
