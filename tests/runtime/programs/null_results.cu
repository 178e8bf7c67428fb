// Calls that leave a result, without a place for it: each gives invalid value and leaves the process alive. Next to them, what the
// same calls say with a place.
#include <cuda.h>

#include <functional>

#include "tests/runtime/programs/check.hpp"

__device__ int variable[4];
__global__ void nothing() {}

struct Query {
  const char* name;
  std::function<cudaError_t()> call;
};

cudaError_t code(CUresult result) { return static_cast<cudaError_t>(result); }  // the same numbers for the same reasons

template <class Value>
constexpr Value* kNowhere = nullptr;

CUfunction function() {
  cudaFunction_t found = nullptr;
  CHECK(cudaGetFuncBySymbol(&found, reinterpret_cast<const void*>(nothing)));
  return found;
}

cudaGraph_t graph() {
  static cudaGraph_t made = nullptr;
  if (made == nullptr) CHECK(cudaGraphCreate(&made, 0));
  return made;
}

const std::vector<Query> kRuntime = {
    {"cudaGetDeviceCount", [] { return cudaGetDeviceCount(nullptr); }},
    {"cudaGetDevice", [] { return cudaGetDevice(nullptr); }},
    {"cudaGetDeviceFlags", [] { return cudaGetDeviceFlags(nullptr); }},
    {"cudaDriverGetVersion", [] { return cudaDriverGetVersion(nullptr); }},
    {"cudaRuntimeGetVersion", [] { return cudaRuntimeGetVersion(nullptr); }},
    {"cudaDeviceGetLimit", [] { return cudaDeviceGetLimit(nullptr, cudaLimitStackSize); }},
    {"cudaDeviceGetCacheConfig", [] { return cudaDeviceGetCacheConfig(nullptr); }},
    {"cudaDeviceCanAccessPeer", [] { return cudaDeviceCanAccessPeer(nullptr, 0, 0); }},
    {"cudaMalloc3D",
     [] {
       return cudaMalloc3D(nullptr, {16, 2, 2});
     }},
    {"cudaMallocAsync", [] { return cudaMallocAsync(kNowhere<void*>, 16, nullptr); }},
    {"cudaDeviceGetDefaultMemPool", [] { return cudaDeviceGetDefaultMemPool(nullptr, 0); }},
    {"cudaDeviceGetMemPool", [] { return cudaDeviceGetMemPool(nullptr, 0); }},
    {"cudaPointerGetAttributes", [] { return cudaPointerGetAttributes(nullptr, &variable); }},
    {"cudaGetSymbolAddress", [] { return cudaGetSymbolAddress(nullptr, variable); }},
    {"cudaGetSymbolSize", [] { return cudaGetSymbolSize(nullptr, variable); }},
    {"cudaGetFuncBySymbol", [] { return cudaGetFuncBySymbol(nullptr, reinterpret_cast<const void*>(nothing)); }},
    {"cudaFuncGetName", [] { return cudaFuncGetName(nullptr, reinterpret_cast<const void*>(nothing)); }},
    {"cudaStreamGetPriority", [] { return cudaStreamGetPriority(nullptr, nullptr); }},
    {"cudaStreamGetFlags", [] { return cudaStreamGetFlags(nullptr, nullptr); }},
    {"cudaStreamGetId", [] { return cudaStreamGetId(nullptr, nullptr); }},
    {"cudaStreamGetDevice", [] { return cudaStreamGetDevice(nullptr, nullptr); }},
    {"cudaStreamIsCapturing", [] { return cudaStreamIsCapturing(nullptr, nullptr); }},
    {"cudaStreamEndCapture", [] { return cudaStreamEndCapture(nullptr, nullptr); }},
    {"cudaGraphCreate", [] { return cudaGraphCreate(nullptr, 0); }},
    {"cudaGraphClone", [] { return cudaGraphClone(nullptr, graph()); }},
    {"cudaGraphInstantiate", [] { return cudaGraphInstantiate(nullptr, graph(), 0); }},
    {"cudaGraphGetNodes", [] { return cudaGraphGetNodes(graph(), nullptr, nullptr); }},
};

const std::vector<Query> kDriver = {
    {"cuDriverGetVersion", [] { return code(cuDriverGetVersion(nullptr)); }},
    {"cuDeviceGet", [] { return code(cuDeviceGet(nullptr, 0)); }},
    {"cuDeviceGetCount", [] { return code(cuDeviceGetCount(nullptr)); }},
    {"cuDeviceGetName", [] { return code(cuDeviceGetName(nullptr, 9, 0)); }},
    {"cuDeviceGetUuid", [] { return code(cuDeviceGetUuid(nullptr, 0)); }},
    {"cuDeviceTotalMem", [] { return code(cuDeviceTotalMem(nullptr, 0)); }},
    {"cuDeviceGetAttribute", [] { return code(cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0)); }},
    {"cuDeviceCanAccessPeer", [] { return code(cuDeviceCanAccessPeer(nullptr, 0, 0)); }},
    {"cuDevicePrimaryCtxRetain", [] { return code(cuDevicePrimaryCtxRetain(nullptr, 0)); }},
    {"cuCtxGetCurrent", [] { return code(cuCtxGetCurrent(nullptr)); }},
    {"cuCtxGetDevice", [] { return code(cuCtxGetDevice(nullptr)); }},
    {"cuCtxGetLimit", [] { return code(cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE)); }},
    {"cuGetErrorName", [] { return code(cuGetErrorName(CUDA_SUCCESS, nullptr)); }},
    {"cuGetErrorString", [] { return code(cuGetErrorString(CUDA_SUCCESS, nullptr)); }},
    {"cuMemAlloc", [] { return code(cuMemAlloc(nullptr, 4)); }},
    {"cuMemAllocAsync", [] { return code(cuMemAllocAsync(nullptr, 4, nullptr)); }},
    {"cuMemGetInfo", [] { return code(cuMemGetInfo(nullptr, nullptr)); }},
    {"cuModuleLoadData", [] { return code(cuModuleLoadData(nullptr, "")); }},
    {"cuModuleGetLoadingMode", [] { return code(cuModuleGetLoadingMode(nullptr)); }},
    {"cuFuncGetAttribute", [] { return code(cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, function())); }},
    {"cuFuncGetName", [] { return code(cuFuncGetName(nullptr, function())); }},
    {"cuFuncGetModule", [] { return code(cuFuncGetModule(nullptr, function())); }},
    {"cuStreamCreate", [] { return code(cuStreamCreate(nullptr, 0)); }},
    {"cuStreamIsCapturing", [] { return code(cuStreamIsCapturing(nullptr, nullptr)); }},
    {"cuEventCreate", [] { return code(cuEventCreate(nullptr, 0)); }},
};

/// Every place starts with something that is not the answer.
void answers() {
  const auto right = [](CUresult result) { CHECK(code(result)); };
  int number = -7, version = -7;
  CUdevice device = -7;
  right(cuDeviceGet(&device, 0));
  right(cuDeviceGetCount(&number));
  EXPECT(device == 0 && number == 1);
  right(cuDeviceCanAccessPeer(&number, 0, 0));
  EXPECT(number == 0);
  right(cuDriverGetVersion(&number));
  CHECK(cudaRuntimeGetVersion(&version));
  EXPECT(number == version && number >= 12000);
  const auto nobody = reinterpret_cast<CUcontext>(&number);
  CUcontext primary = nobody, current = nobody;
  right(cuDevicePrimaryCtxRetain(&primary, 0));
  right(cuCtxGetCurrent(&current));
  EXPECT(primary != nobody && primary != nullptr && primary == current);
  unsigned flags = 7;
  right(cuDevicePrimaryCtxGetState(0, &flags, &number));
  EXPECT(flags == 0 && number == 1);
  device = -7;
  right(cuCtxGetDevice(&device));
  EXPECT(device == 0);
  size_t bytes = 7, total = 7, free = 7, all = 7;
  right(cuDeviceTotalMem(&bytes, 0));
  CHECK(cudaMemGetInfo(&free, &total));
  EXPECT(bytes == total && free < total && free > total / 2);
  CHECK(cudaMemGetInfo(nullptr, &all));
  EXPECT(all == total);
  free = 7;
  CHECK(cudaMemGetInfo(&free, nullptr));
  EXPECT(free < total && free > total / 2);
  CUuuid uuid{};
  cudaDeviceProp properties{};
  right(cuDeviceGetUuid(&uuid, 0));
  CHECK(cudaGetDeviceProperties(&properties, 0));
  EXPECT(std::memcmp(&uuid, &properties.uuid, sizeof uuid) == 0);
  cudaPitchedPtr rows{};
  CHECK(cudaMalloc3D(&rows, {10, 3, 2}));
  EXPECT(rows.ptr != nullptr && rows.pitch >= 10 && rows.xsize == 10 && rows.ysize == 3);
  CHECK(cudaMemset3D(rows, 1, {10, 3, 2}));
  CHECK(cudaFree(rows.ptr));
}

int main() {
  program::onDevice(std::vector<int>(1024));  // so that not all memory is free
  answers();
  for (const auto& queries : {kRuntime, kDriver})
    for (const Query& query : queries) {
      program::expectCode(query.call(), cudaErrorInvalidValue, query.name, __LINE__);
      (void)cudaGetLastError();
    }
  return program::finish();
}
