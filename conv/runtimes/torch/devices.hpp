// The devices that tensors are computed on, opened once for the life of the process, and PyTorch's stream on them.
#pragma once

#include <shiftconv/shiftconv.hpp>

#include <cstdint>

#include "conv/runtimes/torch/tensor.hpp"

namespace shiftconv::torch_glue {

struct OpenDevice {
  Device device;
  DeviceProperties properties;

  explicit OpenDevice(const std::string& name) : device(name), properties(device.properties()) {}
};

/// The GPU `index` of PyTorch, which counts as the CUDA driver does.
OpenDevice& cudaDevice(int32_t index);

/// The device that SHIFTCONV_DEVICE names now. Throws what to do when it names no emulated one.
OpenDevice& emulatedDevice();

/// PyTorch's current stream on the GPU `index`.
shiftconv_stream_t currentCudaStream(int32_t index);

}  // namespace shiftconv::torch_glue
