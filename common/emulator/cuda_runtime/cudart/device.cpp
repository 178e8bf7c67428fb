// The device, its properties and limits: CUDA Runtime API, "Device Management" and "Peer Device Memory Access".
#include <fmt/format.h>

#include <cstring>

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/properties.hpp"
#include "common/emulator/cuda_runtime/core/work.hpp"

using namespace shiftconv::runtime;

namespace {

constexpr const char* kBusId = "0000:00:00.0";
unsigned deviceFlags = cudaDeviceScheduleAuto;

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  return call(
      "cudaGetDeviceCount", [&] { into(count) = 1; }, Api::RuntimeQuery);
}

cudaError_t cudaGetDevice(int* device) {
  return call(
      "cudaGetDevice", [&] { into(device) = 0; }, Api::RuntimeQuery);
}

cudaError_t cudaSetDevice(int device) {
  return call("cudaSetDevice", [&] { requireDevice(device); });
}

cudaError_t cudaInitDevice(int device, unsigned int, unsigned int) {
  return call("cudaInitDevice", [&] { requireDevice(device); });
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
  return call("cudaSetValidDevices", [&] {
    require(devices != nullptr || count == 0, "the list is null");
    for (int i = 0; i < count; ++i) requireDevice(devices[i]);
  });
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return call("cudaSetDeviceFlags", [&] { deviceFlags = flags; });
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  return call("cudaGetDeviceFlags", [&] { into(flags) = deviceFlags; });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) {
  return call("cudaChooseDevice", [&] { into(device) = 0; });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call(
      "cudaGetDeviceProperties",
      [&] {
        requireDevice(device);
        require(properties != nullptr, "the result is null");
        *properties = deviceProperties();
      },
      Api::RuntimeQuery);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return call(
      "cudaDeviceGetAttribute",
      [&] {
        requireDevice(device);
        require(value != nullptr, "the result is null");
        *value = deviceAttribute(attribute);
      },
      Api::RuntimeQuery);
}

cudaError_t cudaDeviceSynchronize() {
  return call("cudaDeviceSynchronize", [] {
    StreamTable& streams = StreamTable::instance();
    for (Stream* stream : streams.all()) refuseCapturing(*stream);
    streams.hostWaitsForAll();
  });
}

// What a program has allocated goes away with the process; a lost context stays lost, as on a GPU.
cudaError_t cudaDeviceReset() {
  return call("cudaDeviceReset", [] { StreamTable::instance().hostWaitsForAll(); });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return call("cudaDeviceGetLimit", [&] { into(value) = deviceLimit(limit); });
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return call("cudaDeviceSetLimit", [&] { setDeviceLimit(limit, value); });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return call("cudaDeviceGetCacheConfig", [&] { into(config) = cudaFuncCachePreferNone; });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return call("cudaDeviceSetCacheConfig", [] {});
}

cudaError_t cudaCtxResetPersistingL2Cache() {
  return call("cudaCtxResetPersistingL2Cache", [] {});
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call("cudaDeviceGetStreamPriorityRange", [&] {
    if (least != nullptr) *least = kLeastPriority;
    if (greatest != nullptr) *greatest = kGreatestPriority;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  return call("cudaDeviceGetPCIBusId", [&] {
    requireDevice(device);
    require(text != nullptr && bytes > static_cast<int>(std::strlen(kBusId)), "there is no room for the text");
    std::strcpy(text, kBusId);
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return call("cudaDeviceGetByPCIBusId", [&] {
    require(text != nullptr && std::strcmp(text, kBusId) == 0, "there is no such device", cudaErrorInvalidDevice);
    into(device) = 0;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return call("cudaDeviceCanAccessPeer", [&] {
    requireDevice(device);
    requireDevice(peer);
    into(can) = 0;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int) {
  return call("cudaDeviceEnablePeerAccess", [&] {
    requireDevice(peer);
    throw Failure(cudaErrorInvalidDevice, "a device is no peer of itself");
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return call("cudaDeviceDisablePeerAccess", [&] {
    requireDevice(peer);
    throw Failure(cudaErrorPeerAccessNotEnabled, "a device is no peer of itself");
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  return call(
      "cudaDriverGetVersion", [&] { into(version) = kCudaVersion; }, Api::RuntimeQuery);
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return call(
      "cudaRuntimeGetVersion", [&] { into(version) = kCudaVersion; }, Api::RuntimeQuery);
}

cudaError_t cudaProfilerStart() {
  return call("cudaProfilerStart", [] {});
}

cudaError_t cudaProfilerStop() {
  return call("cudaProfilerStop", [] {});
}
