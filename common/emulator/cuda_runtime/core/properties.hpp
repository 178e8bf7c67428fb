// The device that programs see: like the GPU that it stands for, with as many multiprocessors as the user asks for and the memory
// of the host.
#pragma once

#include "common/emulator/cuda_runtime/core/failure.hpp"

namespace shiftconv::runtime {

/// Of the runtime and the driver that are emulated.
inline constexpr int kCudaVersion = CUDART_VERSION;

const cudaDeviceProp& deviceProperties();
/// 90 for an sm_90a device.
int architectureNumber();
/// By the numbers of cudaDeviceAttr and CUdevice_attribute, which are the same. Throws Failure cudaErrorInvalidValue.
int deviceAttribute(int attribute);
/// Refuses every device but 0.
void requireDevice(int device);
/// Limits of cudaLimit and CUlimit, which a program may set and read back; that of the heap limits malloc of the device. Throw
/// Failure cudaErrorUnsupportedLimit.
size_t deviceLimit(int limit);
void setDeviceLimit(int limit, size_t value);

}  // namespace shiftconv::runtime
