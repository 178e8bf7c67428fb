#include "common/emulator/cuda_runtime/core/properties.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <string_view>

#include "common/emulator/cuda_runtime/core/launch_limits.hpp"
#include "common/emulator/cuda_runtime/machine_binding.hpp"

namespace shiftconv::runtime {
namespace {

/// Where programs are known to look: boost clocks and widths of memory buses, by the vendor's data sheets.
struct Rates {
  std::string_view product;
  int busWidth, clockKilohertz, memoryClockKilohertz;
};
constexpr std::array<Rates, 4> kRates{{
    {"B200", 8192, 1'965'000, 3'996'000},
    {"B300", 8192, 1'920'000, 3'996'000},
    {"H200", 6144, 1'980'000, 3'201'000},
    {"Thor", 256, 1'575'000, 4'266'000},
}};

const Rates& rates() {
  const std::string& product = Machine::instance().model().product;
  return *std::find_if(kRates.begin(), kRates.end(), [&](const Rates& each) { return each.product == product; });
}

constexpr int kConstantBytes = 64 * 1024;
constexpr int kTextureAlignment = 512, kTexturePitchAlignment = 32;

cudaDeviceProp makeProperties() {
  const Machine& machine = Machine::instance();
  const DeviceModel& model = machine.model();
  cudaDeviceProp p;
  std::memset(&p, 0, sizeof p);
  const std::string name = "emulated " + model.target;
  name.copy(p.name, sizeof p.name - 1);
  name.copy(p.uuid.bytes, sizeof p.uuid.bytes);
  p.totalGlobalMem = machine.memoryBytes();
  p.sharedMemPerBlock = kSharedPerBlock;
  p.sharedMemPerBlockOptin = model.sharedPerBlockOptIn;
  p.sharedMemPerMultiprocessor = model.sharedPerMultiprocessor;
  p.reservedSharedMemPerBlock = kReservedSharedPerBlock;
  p.regsPerBlock = p.regsPerMultiprocessor = static_cast<int>(model.registersPerMultiprocessor);
  p.warpSize = 32;
  p.memPitch = std::numeric_limits<int>::max();
  p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = kThreadsPerBlock;
  p.maxThreadsDim[2] = 64;
  p.maxGridSize[0] = std::numeric_limits<int>::max();
  p.maxGridSize[1] = p.maxGridSize[2] = 65535;
  p.totalConstMem = kConstantBytes;
  p.major = model.computeMajor;
  p.minor = model.computeMinor;
  p.textureAlignment = p.surfaceAlignment = kTextureAlignment;
  p.texturePitchAlignment = kTexturePitchAlignment;
  p.multiProcessorCount = static_cast<int>(machine.multiprocessors());
  p.canMapHostMemory = p.concurrentKernels = p.unifiedAddressing = p.ECCEnabled = 1;
  p.asyncEngineCount = 4;
  p.memoryBusWidth = rates().busWidth;
  p.l2CacheSize = static_cast<int>(model.l2Bytes);
  p.persistingL2CacheMaxSize = p.accessPolicyMaxWindowSize = p.l2CacheSize / 2;
  p.maxThreadsPerMultiProcessor = static_cast<int>(model.threadsPerMultiprocessor);
  p.maxBlocksPerMultiProcessor = static_cast<int>(model.blocksPerMultiprocessor);
  p.streamPrioritiesSupported = p.globalL1CacheSupported = p.localL1CacheSupported = 1;
  p.managedMemory = p.concurrentManagedAccess = p.directManagedMemAccessFromHost = 1;
  p.computePreemptionSupported = p.canUseHostPointerForRegisteredMem = 1;
  p.cooperativeLaunch = p.clusterLaunch = 1;
  p.hostRegisterSupported = p.memoryPoolsSupported = p.unifiedFunctionPointers = 1;
  return p;
}

using Attributes = std::map<int, int>;

Attributes makeAttributes() {
  const cudaDeviceProp& p = deviceProperties();
  return {
      {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
      {cudaDevAttrMaxBlockDimX, p.maxThreadsDim[0]},
      {cudaDevAttrMaxBlockDimY, p.maxThreadsDim[1]},
      {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
      {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
      {cudaDevAttrMaxGridDimY, p.maxGridSize[1]},
      {cudaDevAttrMaxGridDimZ, p.maxGridSize[2]},
      {cudaDevAttrMaxSharedMemoryPerBlock, static_cast<int>(p.sharedMemPerBlock)},
      {cudaDevAttrTotalConstantMemory, static_cast<int>(p.totalConstMem)},
      {cudaDevAttrWarpSize, p.warpSize},
      {cudaDevAttrMaxPitch, static_cast<int>(p.memPitch)},
      {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock},
      {cudaDevAttrClockRate, rates().clockKilohertz},
      {cudaDevAttrTextureAlignment, static_cast<int>(p.textureAlignment)},
      {cudaDevAttrGpuOverlap, 1},
      {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
      {cudaDevAttrCanMapHostMemory, p.canMapHostMemory},
      {cudaDevAttrSurfaceAlignment, static_cast<int>(p.surfaceAlignment)},
      {cudaDevAttrConcurrentKernels, p.concurrentKernels},
      {cudaDevAttrEccEnabled, p.ECCEnabled},
      {cudaDevAttrMemoryClockRate, rates().memoryClockKilohertz},
      {cudaDevAttrGlobalMemoryBusWidth, p.memoryBusWidth},
      {cudaDevAttrL2CacheSize, p.l2CacheSize},
      {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor},
      {cudaDevAttrAsyncEngineCount, p.asyncEngineCount},
      {cudaDevAttrUnifiedAddressing, p.unifiedAddressing},
      {cudaDevAttrTexturePitchAlignment, static_cast<int>(p.texturePitchAlignment)},
      {cudaDevAttrComputeCapabilityMajor, p.major},
      {cudaDevAttrComputeCapabilityMinor, p.minor},
      {cudaDevAttrStreamPrioritiesSupported, p.streamPrioritiesSupported},
      {cudaDevAttrGlobalL1CacheSupported, p.globalL1CacheSupported},
      {cudaDevAttrLocalL1CacheSupported, p.localL1CacheSupported},
      {cudaDevAttrMaxSharedMemoryPerMultiprocessor, static_cast<int>(p.sharedMemPerMultiprocessor)},
      {cudaDevAttrMaxRegistersPerMultiprocessor, p.regsPerMultiprocessor},
      {cudaDevAttrManagedMemory, p.managedMemory},
      {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
      {cudaDevAttrConcurrentManagedAccess, p.concurrentManagedAccess},
      {cudaDevAttrComputePreemptionSupported, p.computePreemptionSupported},
      {cudaDevAttrCanUseHostPointerForRegisteredMem, p.canUseHostPointerForRegisteredMem},
      {cudaDevAttrCooperativeLaunch, p.cooperativeLaunch},
      {cudaDevAttrMaxSharedMemoryPerBlockOptin, static_cast<int>(p.sharedMemPerBlockOptin)},
      {cudaDevAttrHostRegisterSupported, p.hostRegisterSupported},
      {cudaDevAttrDirectManagedMemAccessFromHost, p.directManagedMemAccessFromHost},
      {cudaDevAttrMaxBlocksPerMultiprocessor, p.maxBlocksPerMultiProcessor},
      {cudaDevAttrMaxPersistingL2CacheSize, p.persistingL2CacheMaxSize},
      {cudaDevAttrMaxAccessPolicyWindowSize, p.accessPolicyMaxWindowSize},
      {cudaDevAttrReservedSharedMemoryPerBlock, static_cast<int>(p.reservedSharedMemPerBlock)},
      {cudaDevAttrMemoryPoolsSupported, p.memoryPoolsSupported},
      {cudaDevAttrClusterLaunch, p.clusterLaunch},
      {cudaDevAttrMemSyncDomainCount, 4},
      {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, p.unifiedFunctionPointers},
  };
}

}  // namespace

const cudaDeviceProp& deviceProperties() {
  static const cudaDeviceProp properties = makeProperties();
  return properties;
}

int architectureNumber() { return 10 * deviceProperties().major + deviceProperties().minor; }

int deviceAttribute(int attribute) {
  static const Attributes attributes = makeAttributes();
  require(attribute >= 1 && attribute < static_cast<int>(CU_DEVICE_ATTRIBUTE_MAX), "this is no attribute of a device");
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? 0 : found->second;  // textures, peers, inter-process and graphics: it has none
}

void requireDevice(int device) {
  if (device != 0) throw Failure(cudaErrorInvalidDevice, fmt::format("there is one device, 0, not {}", device));
}

namespace {

size_t& limitOf(int limit) {
  static std::array<size_t, cudaLimitPersistingL2CacheSize + 1> limits{1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
  if (limit < 0 || static_cast<size_t>(limit) >= limits.size())
    throw Failure(cudaErrorUnsupportedLimit, fmt::format("there is no limit {}", limit));
  return limits[static_cast<size_t>(limit)];
}

}  // namespace

size_t deviceLimit(int limit) { return limitOf(limit); }

void setDeviceLimit(int limit, size_t value) {
  limitOf(limit) = value;
  if (limit == cudaLimitMallocHeapSize) Machine::instance().limitHeap(value);
}

}  // namespace shiftconv::runtime
