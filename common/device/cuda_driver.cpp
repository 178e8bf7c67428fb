#include "common/device/cuda_driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace shiftconv::device {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

struct OpenedDriver {
  CudaDriver driver;
  Status status;
};

template <class Function>
void look(void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
}

OpenedDriver open() {
  OpenedDriver opened;
  // Never closed: the driver does not support being unloaded while its threads may run.
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    opened.status = {StatusCode::NotFound, fmt::format("no CUDA driver: {}", dlerror())};
    return opened;
  }
  std::string missing;
#define SHIFTCONV_TEXT(name) #name
#define SHIFTCONV_LOOK(name) look(library, SHIFTCONV_TEXT(name), opened.driver.name, missing);
  SHIFTCONV_DRIVER_FUNCTIONS(SHIFTCONV_LOOK)
#undef SHIFTCONV_LOOK
#undef SHIFTCONV_TEXT
  if (!missing.empty()) {
    opened.status = {StatusCode::NotFound, fmt::format("the CUDA driver is too old, {} lacks {}", kLibrary, missing)};
    return opened;
  }
  const CUresult initialised = opened.driver.cuInit(0);
  if (initialised == CUDA_ERROR_NO_DEVICE) {
    opened.status = {StatusCode::NotFound, "the CUDA driver shows no GPU; CUDA_VISIBLE_DEVICES may hide them"};
    return opened;
  }
  opened.status = opened.driver.check(initialised, "cuInit");
  return opened;
}

}  // namespace

Status CudaDriver::get(const CudaDriver*& driver) {
  static const OpenedDriver opened = open();
  if (opened.status.ok()) driver = &opened.driver;
  return opened.status;
}

Status CudaDriver::check(CUresult result, const char* call) const {
  if (result == CUDA_SUCCESS) return {};
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS) name = "unknown CUDA error";
  if (cuGetErrorString(result, &text) != CUDA_SUCCESS) text = "no description";
  const StatusCode code = result == CUDA_ERROR_OUT_OF_MEMORY ? StatusCode::OutOfMemory : StatusCode::DeviceError;
  return {code, fmt::format("{} failed: {} ({}, {})", call, name, static_cast<int>(result), text)};
}

}  // namespace shiftconv::device
