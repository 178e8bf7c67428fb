// cudaLaunch*, cudaFunc*, cudaOccupancy*: CUDA Runtime API, "Execution Control" and "Occupancy".
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/launch_limits.hpp"
#include "common/emulator/cuda_runtime/core/properties.hpp"
#include "common/emulator/cuda_runtime/cudart/launching.hpp"

namespace shiftconv::runtime {

KernelWork kernelWork(Function& function, dim3 grid, dim3 block, size_t sharedBytes) {
  require(sharedBytes <= std::numeric_limits<uint32_t>::max(), "the dynamic shared memory is too large");
  KernelWork work;
  work.function = &function;
  work.shape.grid = {grid.x, grid.y, grid.z};
  work.shape.block = {block.x, block.y, block.z};
  work.shape.cluster = defaultCluster(function);
  work.shape.dynamicSharedBytes = static_cast<uint32_t>(sharedBytes);
  return work;
}

void launchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t sharedBytes, cudaStream_t stream,
                  bool cooperative) {
  Function& kernel = ImageTable::instance().function(function);
  Stream& target = StreamTable::instance().find(stream);
  KernelWork work = kernelWork(kernel, grid, block, sharedBytes);
  work.cooperative = cooperative;
  work.arguments = copyArguments(kernel, arguments);
  submit(target, std::move(work));
}

}  // namespace shiftconv::runtime

using namespace shiftconv::runtime;

cudaError_t cudaLaunchKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem, cudaStream_t stream) {
  return call("cudaLaunchKernel", [&] { launchKernel(func, gridDim, blockDim, args, sharedMem, stream, false); });
}

cudaError_t cudaLaunchCooperativeKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem,
                                        cudaStream_t stream) {
  return call("cudaLaunchCooperativeKernel", [&] { launchKernel(func, gridDim, blockDim, args, sharedMem, stream, true); });
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* func, void** args) {
  return call("cudaLaunchKernelExC", [&] {
    require(config != nullptr, "the configuration is null");
    Function& kernel = ImageTable::instance().function(func);
    Stream& stream = StreamTable::instance().find(config->stream);
    KernelWork work = kernelWork(kernel, config->gridDim, config->blockDim, config->dynamicSmemBytes);
    applyAttributes(work, config->attrs, config->numAttrs, stream);
    work.arguments = copyArguments(kernel, args);
    submit(stream, std::move(work));
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  return call("cudaLaunchHostFunc", [&] { submit(StreamTable::instance().find(stream), HostWork{fn, userData}); });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attr, const void* func) {
  return call("cudaFuncGetAttributes", [&] {
    require(attr != nullptr, "the result is null");
    const Function& function = ImageTable::instance().function(func);
    const KernelFacts& facts = function.facts();
    *attr = {};
    attr->sharedSizeBytes = facts.staticSharedBytes;
    attr->localSizeBytes = facts.localBytes;
    attr->maxThreadsPerBlock = static_cast<int>(facts.maximumThreads);
    attr->numRegs = registersOf(function);
    attr->ptxVersion = attr->binaryVersion = architectureNumber();
    attr->maxDynamicSharedSizeBytes = function.maximumDynamicShared;
    attr->preferredShmemCarveout = function.carveout;
    const Extent cluster = requiredCluster(function);
    attr->clusterDimMustBeSet = cluster.x != 0;
    attr->requiredClusterWidth = static_cast<int>(cluster.x);
    attr->requiredClusterHeight = static_cast<int>(cluster.y);
    attr->requiredClusterDepth = static_cast<int>(cluster.z);
    attr->clusterSchedulingPolicyPreference = function.clusterPolicy;
    attr->nonPortableClusterSizeAllowed = function.nonPortableCluster;
  });
}

cudaError_t cudaFuncSetAttribute(const void* func, cudaFuncAttribute attr, int value) {
  return call("cudaFuncSetAttribute", [&] { setFunctionAttribute(ImageTable::instance().function(func), attr, value); });
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attr, int value, int) {
  return call("cudaKernelSetAttributeForDevice",
              [&] { setFunctionAttribute(ImageTable::instance().functionOfHandle(kernel), attr, value); });
}

cudaError_t cudaFuncSetCacheConfig(const void* func, cudaFuncCache) {
  return call("cudaFuncSetCacheConfig", [&] { ImageTable::instance().function(func); });
}

cudaError_t cudaFuncGetName(const char** name, const void* func) {
  return call("cudaFuncGetName", [&] { into(name) = ImageTable::instance().function(func).name.c_str(); });
}

cudaError_t cudaFuncGetParamInfo(const void* func, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  return call("cudaFuncGetParamInfo", [&] {
    const KernelFacts& facts = ImageTable::instance().function(func).facts();
    require(paramIndex < facts.parameters.size(), "the kernel has fewer parameters");
    into(paramOffset) = facts.parameters[paramIndex].offset;
    if (paramSize != nullptr) *paramSize = facts.parameters[paramIndex].bytes;
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* functionPtr, const void* symbolPtr) {
  return call("cudaGetFuncBySymbol",
              [&] { into(functionPtr) = reinterpret_cast<cudaFunction_t>(&ImageTable::instance().function(symbolPtr)); });
}

cudaError_t cudaGetKernel(cudaKernel_t* kernelPtr, const void* entryFuncAddr) {
  return call("cudaGetKernel",
              [&] { into(kernelPtr) = reinterpret_cast<cudaKernel_t>(&ImageTable::instance().function(entryFuncAddr)); });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, const void* func, int blockSize, size_t dynamicSMemSize) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize, cudaOccupancyDefault);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, const void* func, int blockSize,
                                                                   size_t dynamicSMemSize, unsigned int) {
  return call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", [&] {
    require(numBlocks != nullptr && blockSize > 0, "the result is null or the block is empty");
    *numBlocks = occupancy(ImageTable::instance().function(func), static_cast<uint32_t>(blockSize), dynamicSMemSize);
  });
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, const void* func, int numBlocks, int blockSize) {
  return call("cudaOccupancyAvailableDynamicSMemPerBlock", [&] {
    const Function& function = ImageTable::instance().function(func);
    require(numBlocks > 0 && numBlocks <= occupancy(function, static_cast<uint32_t>(blockSize), 0), "so many blocks never fit");
    const DeviceModel& model = Machine::instance().model();
    const uint32_t each = model.sharedPerMultiprocessor / static_cast<uint32_t>(numBlocks) / 128 * 128 - kReservedSharedPerBlock;
    into(dynamicSmemSize) = std::min(each, model.sharedPerBlockOptIn) - function.facts().staticSharedBytes;
  });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* numClusters, const void* func, const cudaLaunchConfig_t* launchConfig) {
  return call("cudaOccupancyMaxActiveClusters", [&] {
    require(numClusters != nullptr && launchConfig != nullptr, "an argument is null");
    Function& function = ImageTable::instance().function(func);
    KernelWork work = kernelWork(function, launchConfig->gridDim, launchConfig->blockDim, launchConfig->dynamicSmemBytes);
    applyAttributes(work, launchConfig->attrs, launchConfig->numAttrs, StreamTable::instance().find(launchConfig->stream));
    *numClusters = residentClusters(function, static_cast<uint32_t>(work.shape.block.count()), work.shape.dynamicSharedBytes,
                                    static_cast<uint32_t>(work.shape.cluster.count()));
  });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* clusterSize, const void* func, const cudaLaunchConfig_t* launchConfig) {
  return call("cudaOccupancyMaxPotentialClusterSize", [&] {
    require(clusterSize != nullptr && launchConfig != nullptr, "an argument is null");
    *clusterSize = ImageTable::instance().function(func).nonPortableCluster ? 16 : 8;
  });
}
