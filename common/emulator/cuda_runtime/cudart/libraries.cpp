// Code loaded at run time and entry points of the driver: CUDA Runtime API, "Library Management" and "Driver Entry Point Access".

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/entry_points.hpp"
#include "common/emulator/cuda_runtime/core/images.hpp"

using namespace shiftconv::runtime;

namespace {

void entryPoint(const char* symbol, void** result, unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
  require(symbol != nullptr && result != nullptr, "an argument is null");
  *result = driverEntryPoint(symbol, flags);
  if (status != nullptr) *status = *result == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
}

Image& imageOf(cudaLibrary_t library) { return ImageTable::instance().findImage(library); }

}  // namespace

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** funcPtr, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* driverStatus) {
  return call("cudaGetDriverEntryPoint", [&] { entryPoint(symbol, funcPtr, flags, driverStatus); });
}

// All versions of the driver that a program may ask for are older than the one that is emulated.
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** funcPtr, unsigned int, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* driverStatus) {
  return call("cudaGetDriverEntryPointByVersion", [&] { entryPoint(symbol, funcPtr, flags, driverStatus); });
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**, unsigned int, cudaLibraryOption*,
                                void**, unsigned int) {
  return call("cudaLibraryLoadData", [&] {
    require(library != nullptr && code != nullptr, "an argument is null");
    *library = reinterpret_cast<cudaLibrary_t>(&ImageTable::instance().load(code));
  });
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* fileName, cudaJitOption*, void**, unsigned int,
                                    cudaLibraryOption*, void**, unsigned int) {
  return call("cudaLibraryLoadFromFile", [&] {
    require(library != nullptr && fileName != nullptr, "an argument is null");
    *library = reinterpret_cast<cudaLibrary_t>(&ImageTable::instance().loadFile(fileName));
  });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return call("cudaLibraryUnload", [&] { ImageTable::instance().remove(imageOf(library)); });
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* pKernel, cudaLibrary_t library, const char* name) {
  return call("cudaLibraryGetKernel", [&] { into(pKernel) = reinterpret_cast<cudaKernel_t>(&imageOf(library).function(name)); });
}

cudaError_t cudaLibraryGetGlobal(void** dptr, size_t* bytes, cudaLibrary_t library, const char* name) {
  return call("cudaLibraryGetGlobal", [&] {
    const VariablePlace place = imageOf(library).variable(name);
    if (dptr != nullptr) *dptr = reinterpret_cast<void*>(place.address);
    if (bytes != nullptr) *bytes = place.bytes;
  });
}

cudaError_t cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t lib) {
  return call("cudaLibraryGetKernelCount", [&] { into(count) = static_cast<unsigned>(imageOf(lib).loaded().kernels().size()); });
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int numKernels, cudaLibrary_t lib) {
  return call("cudaLibraryEnumerateKernels", [&] {
    for (const std::string& name : imageOf(lib).loaded().kernels()) {
      if (numKernels-- == 0) return;
      *kernels++ = reinterpret_cast<cudaKernel_t>(&imageOf(lib).function(name));
    }
  });
}
