// cuLaunch* and cuOccupancy*: CUDA Driver API, "Execution Control" and "Occupancy".
#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/launch_limits.hpp"

using namespace shiftconv::runtime;

namespace {

/// `extra`: pairs of a tag and a value, see CU_LAUNCH_PARAM_BUFFER_POINTER.
std::vector<std::vector<std::byte>> argumentsOf(const Function& function, void** parameters, void** extra) {
  if (extra == nullptr || parameters != nullptr) return copyArguments(function, parameters);
  const std::byte* block = nullptr;
  size_t bytes = 0;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) block = static_cast<const std::byte*>(extra[1]);
    if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<const size_t*>(extra[1]);
  }
  require(block != nullptr, "extra names no buffer of arguments");
  return splitArguments(function, block, bytes);
}

KernelWork workOf(Function& function, Extent grid, Extent block, unsigned sharedBytes) {
  KernelWork work;
  work.function = &function;
  work.shape = {grid, block, defaultCluster(function), sharedBytes};
  return work;
}

KernelWork workOf(Function& function, const CUlaunchConfig& config, Stream& stream) {
  KernelWork work = workOf(function, {config.gridDimX, config.gridDimY, config.gridDimZ},
                           {config.blockDimX, config.blockDimY, config.blockDimZ}, config.sharedMemBytes);
  static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute));
  applyAttributes(work, reinterpret_cast<const cudaLaunchAttribute*>(config.attrs), config.numAttrs, stream);
  return work;
}

CUresult launch(const char* name, CUfunction f, Extent grid, Extent block, unsigned sharedBytes, CUstream stream, void** parameters,
                void** extra, bool cooperative) {
  return driverCall(name, [&] {
    Function& function = ImageTable::instance().functionOfHandle(f);
    Stream& target = StreamTable::instance().find(stream);
    KernelWork work = workOf(function, grid, block, sharedBytes);
    work.cooperative = cooperative;
    work.arguments = argumentsOf(function, parameters, extra);
    submit(target, std::move(work));
  });
}

}  // namespace

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX,
                        unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                        void** kernelParams, void** extra) {
  return launch("cuLaunchKernel", f, {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes, hStream,
                kernelParams, extra, false);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                                   unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                                   unsigned int sharedMemBytes, CUstream hStream, void** kernelParams) {
  return launch("cuLaunchCooperativeKernel", f, {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes,
                hStream, kernelParams, nullptr, true);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra) {
  return driverCall("cuLaunchKernelEx", [&] {
    require(config != nullptr, "the configuration is null");
    Function& function = ImageTable::instance().functionOfHandle(f);
    Stream& stream = StreamTable::instance().find(config->hStream);
    KernelWork work = workOf(function, *config, stream);
    work.arguments = argumentsOf(function, kernelParams, extra);
    submit(stream, std::move(work));
  });
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
  return driverCall("cuLaunchHostFunc", [&] { submit(StreamTable::instance().find(hStream), HostWork{fn, userData}); });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize, 0);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, CUfunction func, int blockSize,
                                                              size_t dynamicSMemSize, unsigned int) {
  return driverCall("cuOccupancyMaxActiveBlocksPerMultiprocessor", [&] {
    require(numBlocks != nullptr && blockSize > 0, "the result is null or the block is empty");
    *numBlocks = occupancy(ImageTable::instance().functionOfHandle(func), static_cast<uint32_t>(blockSize), dynamicSMemSize);
  });
}

CUresult cuOccupancyMaxActiveClusters(int* numClusters, CUfunction func, const CUlaunchConfig* config) {
  return driverCall("cuOccupancyMaxActiveClusters", [&] {
    require(numClusters != nullptr && config != nullptr, "an argument is null");
    Function& function = ImageTable::instance().functionOfHandle(func);
    const KernelWork work = workOf(function, *config, StreamTable::instance().find(config->hStream));
    *numClusters = residentClusters(function, static_cast<uint32_t>(work.shape.block.count()), work.shape.dynamicSharedBytes,
                                    static_cast<uint32_t>(work.shape.cluster.count()));
  });
}
