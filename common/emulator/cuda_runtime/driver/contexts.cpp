// Devices and contexts: CUDA Driver API, "Device Management", "Primary Context Management", "Context Management". The one device
// has one context, whichever way a program asks for it.
#include <algorithm>
#include <cstring>

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/properties.hpp"
#include "common/emulator/cuda_runtime/core/work.hpp"

using namespace shiftconv::runtime;

namespace {

char theContext;
CUcontext context() { return reinterpret_cast<CUcontext>(&theContext); }

void requireContext(CUcontext given) { require(given == context(), "this is no context", cudaErrorDeviceUninitialized); }

thread_local int pushed = 0;  ///< how often this thread has made the context current
unsigned retained = 0;        ///< how often programs hold the primary context; guarded by the lock of calls

}  // namespace

CUresult cuInit(unsigned int) {
  return driverCall(
      "cuInit", [] {}, Api::DriverQuery);
}

CUresult cuDriverGetVersion(int* driverVersion) {
  return driverCall(
      "cuDriverGetVersion", [&] { into(driverVersion) = kCudaVersion; }, Api::DriverQuery);
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return driverCall(
      "cuDeviceGet",
      [&] {
        requireDevice(ordinal);
        into(device) = 0;
      },
      Api::DriverQuery);
}

CUresult cuDeviceGetCount(int* count) {
  return driverCall(
      "cuDeviceGetCount", [&] { into(count) = 1; }, Api::DriverQuery);
}

CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
  return driverCall(
      "cuDeviceGetName",
      [&] {
        requireDevice(dev);
        require(name != nullptr && len > 0, "there is no room for the name");
        std::strncpy(name, deviceProperties().name, static_cast<size_t>(len));
        name[len - 1] = '\0';
      },
      Api::DriverQuery);
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) {
  return driverCall(
      "cuDeviceGetUuid",
      [&] {
        requireDevice(dev);
        std::memcpy(&into(uuid), &deviceProperties().uuid, sizeof *uuid);
      },
      Api::DriverQuery);
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice dev) {
  return driverCall(
      "cuDeviceTotalMem",
      [&] {
        requireDevice(dev);
        into(bytes) = deviceProperties().totalGlobalMem;
      },
      Api::DriverQuery);
}

CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  return driverCall(
      "cuDeviceGetAttribute",
      [&] {
        requireDevice(dev);
        into(pi) = deviceAttribute(attrib);
      },
      Api::DriverQuery);
}

CUresult cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  return driverCall("cuDeviceCanAccessPeer", [&] {
    requireDevice(dev);
    requireDevice(peerDev);
    into(canAccessPeer) = 0;
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  return driverCall("cuDevicePrimaryCtxRetain", [&] {
    requireDevice(dev);
    into(pctx) = context();
    ++retained;
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
  return driverCall("cuDevicePrimaryCtxRelease", [&] {
    requireDevice(dev);
    require(retained > 0, "nobody has retained the primary context", cudaErrorDeviceUninitialized);
    --retained;
  });
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev) {
  return driverCall("cuDevicePrimaryCtxReset", [&] { requireDevice(dev); });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int) {
  return driverCall("cuDevicePrimaryCtxSetFlags", [&] { requireDevice(dev); });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  return driverCall("cuDevicePrimaryCtxGetState", [&] {
    requireDevice(dev);
    into(flags) = 0;
    // The runtime API keeps it from its first call on.
    into(active) = retained > 0 || isRuntimeInUse();
  });
}

CUresult cuCtxCreate(CUcontext* pctx, CUctxCreateParams*, unsigned int, CUdevice dev) {
  return driverCall("cuCtxCreate", [&] {
    requireDevice(dev);
    ++pushed;
    into(pctx) = context();
  });
}

CUresult cuCtxDestroy(CUcontext ctx) {
  return driverCall("cuCtxDestroy", [&] {
    requireContext(ctx);
    pushed = std::max(0, pushed - 1);
  });
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
  return driverCall("cuCtxSetCurrent", [&] {
    if (ctx != nullptr) requireContext(ctx);
    pushed = ctx == nullptr ? 0 : std::max(1, pushed);
  });
}

CUresult cuCtxGetCurrent(CUcontext* pctx) {
  // The runtime API makes the primary context current without being asked, and programs mix both.
  return driverCall("cuCtxGetCurrent", [&] { into(pctx) = context(); });
}

CUresult cuCtxPushCurrent(CUcontext ctx) {
  return driverCall("cuCtxPushCurrent", [&] {
    requireContext(ctx);
    ++pushed;
  });
}

CUresult cuCtxPopCurrent(CUcontext* pctx) {
  return driverCall("cuCtxPopCurrent", [&] {
    require(pushed > 0, "no context was pushed", cudaErrorDeviceUninitialized);
    --pushed;
    if (pctx != nullptr) *pctx = context();
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return driverCall("cuCtxGetDevice", [&] { into(device) = 0; });
}

CUresult cuCtxSynchronize() {
  return driverCall("cuCtxSynchronize", [] {
    StreamTable& streams = StreamTable::instance();
    for (Stream* stream : streams.all()) refuseCapturing(*stream);
    streams.hostWaitsForAll();
  });
}

CUresult cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
  return driverCall("cuCtxGetLimit", [&] { into(pvalue) = deviceLimit(limit); });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return driverCall("cuCtxSetLimit", [&] { setDeviceLimit(limit, value); });
}

CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  return driverCall("cuCtxGetStreamPriorityRange", [&] {
    if (leastPriority != nullptr) *leastPriority = kLeastPriority;
    if (greatestPriority != nullptr) *greatestPriority = kGreatestPriority;
  });
}
