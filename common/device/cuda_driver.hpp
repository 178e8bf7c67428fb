// The CUDA driver API, opened at run time so that the library loads where no driver is installed.
#pragma once

#include <cuda.h>

#include <string>

#include "common/device/status.hpp"

// Functions used. cuda.h renames some (cuMemAlloc is cuMemAlloc_v2); members take the renamed names, so that
// `driver.cuMemAlloc` and the symbol looked up always agree.
#define SHIFTCONV_DRIVER_FUNCTIONS(X) \
  X(cuInit)                           \
  X(cuDriverGetVersion)               \
  X(cuGetErrorName)                   \
  X(cuGetErrorString)                 \
  X(cuDeviceGetCount)                 \
  X(cuDeviceGet)                      \
  X(cuDeviceGetName)                  \
  X(cuDeviceGetAttribute)             \
  X(cuDeviceTotalMem)                 \
  X(cuDevicePrimaryCtxRetain)         \
  X(cuDevicePrimaryCtxRelease)        \
  X(cuCtxPushCurrent)                 \
  X(cuCtxPopCurrent)                  \
  X(cuMemAlloc)                       \
  X(cuMemFree)                        \
  X(cuMemcpyHtoDAsync)                \
  X(cuMemcpyDtoHAsync)                \
  X(cuMemsetD8Async)                  \
  X(cuStreamCreate)                   \
  X(cuStreamDestroy)                  \
  X(cuStreamSynchronize)              \
  X(cuEventCreate)                    \
  X(cuEventDestroy)                   \
  X(cuEventRecord)                    \
  X(cuEventSynchronize)               \
  X(cuEventElapsedTime)               \
  X(cuModuleLoadDataEx)               \
  X(cuModuleUnload)                   \
  X(cuModuleGetFunction)              \
  X(cuFuncGetAttribute)               \
  X(cuFuncSetAttribute)               \
  X(cuLaunchKernelEx)                 \
  X(cuTensorMapEncodeTiled)           \
  X(cuTensorMapEncodeIm2col)

namespace shiftconv::device {

struct CudaDriver {
#define SHIFTCONV_DRIVER_MEMBER(name) decltype(&::name) name = nullptr;
  SHIFTCONV_DRIVER_FUNCTIONS(SHIFTCONV_DRIVER_MEMBER)
#undef SHIFTCONV_DRIVER_MEMBER

  /// The initialised driver of this process, or the reason there is none: no library, a function missing
  /// (driver too old), or cuInit failed. Opened once.
  static Status get(const CudaDriver*& driver);

  /// Success, or DeviceError / OutOfMemory with "<call> failed: CUDA_ERROR_X (description)".
  Status check(CUresult result, const char* call) const;
};

}  // namespace shiftconv::device
