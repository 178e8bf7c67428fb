// Modules, libraries and functions: CUDA Driver API, "Module Management", "Library Management", "Execution Control".
#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string_view>

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/images.hpp"
#include "common/emulator/cuda_runtime/core/launch_limits.hpp"
#include "common/emulator/cuda_runtime/core/properties.hpp"

using namespace shiftconv::runtime;

namespace {

ImageTable& images() { return ImageTable::instance(); }

template <class Handle>
void load(Handle* result, const void* code) {
  require(result != nullptr && code != nullptr, "an argument is null");
  *result = reinterpret_cast<Handle>(&images().load(code));
}

template <class Handle>
void loadFile(Handle* result, const char* path) {
  require(result != nullptr && path != nullptr, "an argument is null");
  *result = reinterpret_cast<Handle>(&images().loadFile(path));
}

/// Into the buffer that the options give for it: what fits.
void writeErrorLog(std::string_view text, std::span<const CUjit_option> options, void** values) {
  char* buffer = nullptr;
  size_t bytes = 0;
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) buffer = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) bytes = reinterpret_cast<uintptr_t>(values[i]);
  }
  if (buffer == nullptr || bytes == 0) return;
  buffer[text.copy(buffer, bytes - 1)] = '\0';
}

void giveVariable(CUdeviceptr* address, size_t* bytes, const void* image, const char* name) {
  const VariablePlace place = images().findImage(image).variable(name);
  if (address != nullptr) *address = place.address;
  if (bytes != nullptr) *bytes = place.bytes;
}

int attributeOf(const Function& function, int attribute) {
  const KernelFacts& facts = function.facts();
  const Extent cluster = requiredCluster(function);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return static_cast<int>(facts.maximumThreads);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(facts.staticSharedBytes);
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
      return 0;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return static_cast<int>(facts.localBytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return registersOf(function);
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return architectureNumber();
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return function.maximumDynamicShared;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return function.carveout;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
      return cluster.x != 0;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
      return static_cast<int>(cluster.x);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
      return static_cast<int>(cluster.y);
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      return static_cast<int>(cluster.z);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return function.nonPortableCluster;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return function.clusterPolicy;
    default:
      throw Failure(cudaErrorInvalidValue, fmt::format("there is no function attribute {}", attribute));
  }
}

}  // namespace

CUresult cuModuleLoad(CUmodule* module, const char* fname) {
  return driverCall("cuModuleLoad", [&] { loadFile(module, fname); });
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return driverCall("cuModuleLoadData", [&] { load(module, image); });
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int numOptions, CUjit_option* options,
                            void** optionValues) {
  return driverCall("cuModuleLoadDataEx", [&] {
    try {
      load(module, image);
    } catch (const Failure& failure) {
      writeErrorLog(failure.what(), {options, options == nullptr ? 0 : numOptions}, optionValues);
      throw;
    }
  });
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) {
  return driverCall("cuModuleLoadFatBinary", [&] { load(module, fatCubin); });
}

CUresult cuModuleUnload(CUmodule hmod) {
  return driverCall("cuModuleUnload", [&] { images().remove(images().findImage(hmod)); });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return driverCall("cuModuleGetLoadingMode", [&] { into(mode) = CU_MODULE_LAZY_LOADING; });
}

CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  return driverCall("cuModuleGetFunction",
                    [&] { into(hfunc) = reinterpret_cast<CUfunction>(&images().findImage(hmod).function(name)); });
}

CUresult cuModuleGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod, const char* name) {
  return driverCall("cuModuleGetGlobal", [&] { giveVariable(dptr, bytes, hmod, name); });
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned int, CUlibraryOption*, void**,
                           unsigned int) {
  return driverCall("cuLibraryLoadData", [&] { load(library, code); });
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* fileName, CUjit_option*, void**, unsigned int, CUlibraryOption*,
                               void**, unsigned int) {
  return driverCall("cuLibraryLoadFromFile", [&] { loadFile(library, fileName); });
}

CUresult cuLibraryUnload(CUlibrary library) {
  return driverCall("cuLibraryUnload", [&] { images().remove(images().findImage(library)); });
}

CUresult cuLibraryGetModule(CUmodule* pMod, CUlibrary library) {
  return driverCall("cuLibraryGetModule", [&] { into(pMod) = reinterpret_cast<CUmodule>(&images().findImage(library)); });
}

CUresult cuLibraryGetKernel(CUkernel* pKernel, CUlibrary library, const char* name) {
  return driverCall("cuLibraryGetKernel",
                    [&] { into(pKernel) = reinterpret_cast<CUkernel>(&images().findImage(library).function(name)); });
}

CUresult cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  return driverCall("cuLibraryGetGlobal", [&] { giveVariable(dptr, bytes, library, name); });
}

CUresult cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
  return driverCall("cuKernelGetFunction", [&] { into(pFunc) = reinterpret_cast<CUfunction>(&images().functionOfHandle(kernel)); });
}

CUresult cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice) {
  return driverCall("cuKernelGetAttribute", [&] { into(pi) = attributeOf(images().functionOfHandle(kernel), attrib); });
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice) {
  return driverCall("cuKernelSetAttribute", [&] { setFunctionAttribute(images().functionOfHandle(kernel), attrib, val); });
}

CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  return driverCall("cuFuncGetAttribute", [&] { into(pi) = attributeOf(images().functionOfHandle(hfunc), attrib); });
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  return driverCall("cuFuncSetAttribute", [&] { setFunctionAttribute(images().functionOfHandle(hfunc), attrib, value); });
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache) {
  return driverCall("cuFuncSetCacheConfig", [&] { images().functionOfHandle(hfunc); });
}

CUresult cuFuncGetName(const char** name, CUfunction hfunc) {
  return driverCall("cuFuncGetName", [&] { into(name) = images().functionOfHandle(hfunc).name.c_str(); });
}

CUresult cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
  return driverCall("cuFuncGetModule", [&] { into(hmod) = reinterpret_cast<CUmodule>(images().functionOfHandle(hfunc).image); });
}
