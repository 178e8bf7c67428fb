// What programs read of the device: every attribute of a B200, worked out from the CUDA C++ Programming Guide (technical
// specifications of compute capability 10.0) and data sheets, and the properties that say the same.
#include <gtest/gtest.h>

#include <map>
#include <string_view>

#include "common/emulator/cuda_runtime/core/properties.hpp"

namespace shiftconv::tests {
namespace {

using runtime::deviceAttribute;
using runtime::deviceProperties;

constexpr int kMost = 2147483647, kL2 = 132644864;

const std::map<int, int> kAttributes = {
    {cudaDevAttrMaxThreadsPerBlock, 1024},
    {cudaDevAttrMaxBlockDimX, 1024},
    {cudaDevAttrMaxBlockDimY, 1024},
    {cudaDevAttrMaxBlockDimZ, 64},
    {cudaDevAttrMaxGridDimX, kMost},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrMaxGridDimZ, 65535},
    {cudaDevAttrMaxSharedMemoryPerBlock, 48 * 1024},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 * 1024},
    {cudaDevAttrMaxSharedMemoryPerMultiprocessor, 228 * 1024},
    {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
    {cudaDevAttrTotalConstantMemory, 64 * 1024},
    {cudaDevAttrWarpSize, 32},
    {cudaDevAttrMaxPitch, kMost},
    {cudaDevAttrMaxRegistersPerBlock, 64 * 1024},
    {cudaDevAttrMaxRegistersPerMultiprocessor, 64 * 1024},
    {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
    {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
    {cudaDevAttrMultiProcessorCount, 148},
    {cudaDevAttrClockRate, 1'965'000},
    {cudaDevAttrMemoryClockRate, 3'996'000},
    {cudaDevAttrGlobalMemoryBusWidth, 8192},
    {cudaDevAttrL2CacheSize, kL2},
    {cudaDevAttrMaxPersistingL2CacheSize, kL2 / 2},
    {cudaDevAttrMaxAccessPolicyWindowSize, kL2 / 2},
    {cudaDevAttrTextureAlignment, 512},
    {cudaDevAttrSurfaceAlignment, 512},
    {cudaDevAttrTexturePitchAlignment, 32},
    {cudaDevAttrComputeCapabilityMajor, 10},
    {cudaDevAttrComputeCapabilityMinor, 0},
    {cudaDevAttrAsyncEngineCount, 4},
    {cudaDevAttrMemSyncDomainCount, 4},
    {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
    {cudaDevAttrGpuOverlap, 1},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrEccEnabled, 1},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrStreamPrioritiesSupported, 1},
    {cudaDevAttrGlobalL1CacheSupported, 1},
    {cudaDevAttrLocalL1CacheSupported, 1},
    {cudaDevAttrManagedMemory, 1},
    {cudaDevAttrConcurrentManagedAccess, 1},
    {cudaDevAttrDirectManagedMemAccessFromHost, 1},
    {cudaDevAttrComputePreemptionSupported, 1},
    {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
    {cudaDevAttrHostRegisterSupported, 1},
    {cudaDevAttrCooperativeLaunch, 1},
    {cudaDevAttrClusterLaunch, 1},
    {cudaDevAttrMemoryPoolsSupported, 1},
    {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 1},
};

/// Attributes that the table lacks are of textures, peers, processes and graphics, of which the device has none.
TEST(DeviceProperties, AttributesAreThoseOfAB200) {
  for (int attribute = 1; attribute < CU_DEVICE_ATTRIBUTE_MAX; ++attribute) {
    const auto found = kAttributes.find(attribute);
    EXPECT_EQ(deviceAttribute(attribute), found == kAttributes.end() ? 0 : found->second) << "attribute " << attribute;
  }
  for (const int none : {-1, 0, static_cast<int>(CU_DEVICE_ATTRIBUTE_MAX)})
    EXPECT_THROW(deviceAttribute(none), runtime::Failure) << none;
}

TEST(DeviceProperties, SayWhatTheAttributesSay) {
  const cudaDeviceProp& p = deviceProperties();
  EXPECT_STREQ(p.name, "emulated sm_100a");
  EXPECT_EQ(std::string_view(p.uuid.bytes, sizeof p.uuid.bytes), std::string_view(p.name, sizeof p.uuid.bytes))
      << "as many bytes of the name as there are";
  EXPECT_EQ(runtime::architectureNumber(), 100);
  const std::pair<long long, int> same[] = {
      {p.maxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock},
      {p.maxThreadsDim[0], cudaDevAttrMaxBlockDimX},
      {p.maxThreadsDim[1], cudaDevAttrMaxBlockDimY},
      {p.maxThreadsDim[2], cudaDevAttrMaxBlockDimZ},
      {p.maxGridSize[0], cudaDevAttrMaxGridDimX},
      {p.maxGridSize[1], cudaDevAttrMaxGridDimY},
      {p.maxGridSize[2], cudaDevAttrMaxGridDimZ},
      {p.sharedMemPerBlock, cudaDevAttrMaxSharedMemoryPerBlock},
      {p.sharedMemPerBlockOptin, cudaDevAttrMaxSharedMemoryPerBlockOptin},
      {p.sharedMemPerMultiprocessor, cudaDevAttrMaxSharedMemoryPerMultiprocessor},
      {p.reservedSharedMemPerBlock, cudaDevAttrReservedSharedMemoryPerBlock},
      {p.totalConstMem, cudaDevAttrTotalConstantMemory},
      {p.warpSize, cudaDevAttrWarpSize},
      {p.memPitch, cudaDevAttrMaxPitch},
      {p.regsPerBlock, cudaDevAttrMaxRegistersPerBlock},
      {p.regsPerMultiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor},
      {p.maxThreadsPerMultiProcessor, cudaDevAttrMaxThreadsPerMultiProcessor},
      {p.maxBlocksPerMultiProcessor, cudaDevAttrMaxBlocksPerMultiprocessor},
      {p.multiProcessorCount, cudaDevAttrMultiProcessorCount},
      {p.memoryBusWidth, cudaDevAttrGlobalMemoryBusWidth},
      {p.l2CacheSize, cudaDevAttrL2CacheSize},
      {p.persistingL2CacheMaxSize, cudaDevAttrMaxPersistingL2CacheSize},
      {p.accessPolicyMaxWindowSize, cudaDevAttrMaxAccessPolicyWindowSize},
      {p.textureAlignment, cudaDevAttrTextureAlignment},
      {p.surfaceAlignment, cudaDevAttrSurfaceAlignment},
      {p.texturePitchAlignment, cudaDevAttrTexturePitchAlignment},
      {p.major, cudaDevAttrComputeCapabilityMajor},
      {p.minor, cudaDevAttrComputeCapabilityMinor},
      {p.asyncEngineCount, cudaDevAttrAsyncEngineCount},
      {p.canMapHostMemory, cudaDevAttrCanMapHostMemory},
      {p.concurrentKernels, cudaDevAttrConcurrentKernels},
      {p.ECCEnabled, cudaDevAttrEccEnabled},
      {p.unifiedAddressing, cudaDevAttrUnifiedAddressing},
      {p.streamPrioritiesSupported, cudaDevAttrStreamPrioritiesSupported},
      {p.globalL1CacheSupported, cudaDevAttrGlobalL1CacheSupported},
      {p.localL1CacheSupported, cudaDevAttrLocalL1CacheSupported},
      {p.managedMemory, cudaDevAttrManagedMemory},
      {p.concurrentManagedAccess, cudaDevAttrConcurrentManagedAccess},
      {p.directManagedMemAccessFromHost, cudaDevAttrDirectManagedMemAccessFromHost},
      {p.computePreemptionSupported, cudaDevAttrComputePreemptionSupported},
      {p.canUseHostPointerForRegisteredMem, cudaDevAttrCanUseHostPointerForRegisteredMem},
      {p.hostRegisterSupported, cudaDevAttrHostRegisterSupported},
      {p.cooperativeLaunch, cudaDevAttrCooperativeLaunch},
      {p.clusterLaunch, cudaDevAttrClusterLaunch},
      {p.memoryPoolsSupported, cudaDevAttrMemoryPoolsSupported},
      {p.unifiedFunctionPointers, CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS},
  };
  for (const auto& [value, attribute] : same) EXPECT_EQ(value, deviceAttribute(attribute)) << "attribute " << attribute;
  EXPECT_GT(p.totalGlobalMem, size_t{1} << 30);
  EXPECT_EQ(p.integrated + p.isMultiGpuBoard + p.tccDriver + p.multiGpuBoardGroupID, 0);
}

TEST(DeviceProperties, LimitsKeepWhatIsSet) {
  const size_t before = runtime::deviceLimit(cudaLimitStackSize), other = runtime::deviceLimit(cudaLimitPrintfFifoSize);
  runtime::setDeviceLimit(cudaLimitStackSize, before + 512);
  EXPECT_EQ(runtime::deviceLimit(cudaLimitStackSize), before + 512);
  EXPECT_EQ(runtime::deviceLimit(cudaLimitPrintfFifoSize), other);
  runtime::setDeviceLimit(cudaLimitStackSize, before);
  for (const int none : {-1, static_cast<int>(cudaLimitPersistingL2CacheSize) + 1}) {
    EXPECT_THROW(runtime::deviceLimit(none), runtime::Failure);
    EXPECT_THROW(runtime::setDeviceLimit(none, 1), runtime::Failure);
  }
  EXPECT_NO_THROW(runtime::deviceLimit(cudaLimitPersistingL2CacheSize));
}

}  // namespace
}  // namespace shiftconv::tests
