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

/// While this lives, the calling thread may load modules even if a stream is being captured in a graph: loading enqueues nothing.
/// Does nothing where there is no CUDA driver. (CUDA driver API, cuThreadExchangeStreamCaptureMode.)
class RelaxedCapture {
 public:
  RelaxedCapture();
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  int mode_;
};

}  // namespace shiftconv::torch_glue
