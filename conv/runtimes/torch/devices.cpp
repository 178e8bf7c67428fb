#include "conv/runtimes/torch/devices.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace shiftconv::torch_glue {
namespace {

// Never destroyed: at the end of the process the CUDA driver may be gone before.
OpenDevice& opened(const std::string& name) {
  static std::mutex& mutex = *new std::mutex;
  static auto& devices = *new std::map<std::string, std::unique_ptr<OpenDevice>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<OpenDevice>& device = devices[name];
  if (!device) device = std::make_unique<OpenDevice>(name);
  return *device;
}

}  // namespace

OpenDevice& cudaDevice(int32_t index) {
  thread_local int32_t lastIndex = -1;
  thread_local OpenDevice* last = nullptr;
  if (index != lastIndex) {
    last = &opened("cuda:" + std::to_string(index));
    lastIndex = index;
  }
  return *last;
}

OpenDevice& emulatedDevice() {
  const char* const name = std::getenv("SHIFTCONV_DEVICE");
  if (name == nullptr || !std::string_view(name).starts_with("emulated"))
    throw std::runtime_error(
        "shiftconv: x is on the CPU, and ShiftConv computes on GPUs. Move x to one, or call shiftconv.emulate() to run on the "
        "emulated device");
  return opened(name);
}

shiftconv_stream_t currentCudaStream(int32_t index) {
  // A PyTorch without CUDA has no such function, and its loader binds every symbol at once.
  static const auto function =
      reinterpret_cast<AOTITorchError (*)(int32_t, void**)>(dlsym(RTLD_DEFAULT, "aoti_torch_get_current_cuda_stream"));
  if (function == nullptr) throw std::runtime_error("shiftconv: this PyTorch has no CUDA");
  void* stream = nullptr;
  checkTorch(function(index, &stream));
  return stream;
}

}  // namespace shiftconv::torch_glue
