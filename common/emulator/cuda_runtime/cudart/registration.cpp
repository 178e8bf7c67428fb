// What the code that nvcc writes around a program calls: registration of device code before main, and launches by <<<>>>.
#include <cstring>

#include "common/emulator/cuda_runtime/core/call.hpp"
#include "common/emulator/cuda_runtime/core/images.hpp"
#include "common/emulator/cuda_runtime/core/settings.hpp"
#include "common/emulator/cuda_runtime/cudart/launching.hpp"

// Declared by crt/host_runtime.h of the toolkit, for the generated code only; signatures as there.
#pragma GCC visibility push(default)
extern "C" {
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterVar(void** handle, char* hostVariable, char* deviceAddress, const char* deviceName, int external, size_t bytes,
                       int constant, int global);
void __cudaRegisterManagedVar(void** handle, void** hostPointer, char* deviceAddress, const char* deviceName, int external,
                              size_t bytes, int constant, int global);
char __cudaInitModule(void** handle);
void __cudaRegisterFunction(void** handle, const char* hostFunction, char* deviceFunction, const char* deviceName, int threadLimit,
                            uint3* tid, uint3* bid, dim3* block, dim3* grid, int* warpSize);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t sharedBytes, CUstream_st* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* sharedBytes, void* stream);
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* hostFunction);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t sharedBytes,
                               cudaStream_t stream);
}
#pragma GCC visibility pop

namespace shiftconv::runtime {
namespace {

/// What <<<grid, block, shared, stream>>> has pushed and its stub has not popped yet.
struct Configuration {
  dim3 grid, block;
  size_t sharedBytes = 0;
  cudaStream_t stream = nullptr;
};
thread_local std::vector<Configuration> configurations;

}  // namespace
}  // namespace shiftconv::runtime

using namespace shiftconv::runtime;

void** __cudaRegisterFatBinary(void* wrapper) {
  Wrapper text;
  std::memcpy(&text, wrapper, sizeof text);
  Image* image = nullptr;
  call("__cudaRegisterFatBinary", [&] {
    if (text.magic != Wrapper::kMagic) say("the program registers device code in an unknown wrapper");
    if (text.version == Wrapper::kLinkedVersion)
      say("the program was linked from relocatable device code (-rdc=true), which the emulated device cannot link; compile it "
          "with -rdc=false");
    image = &ImageTable::instance().add(text.data, "the program");
  });
  return reinterpret_cast<void**>(image);
}

void __cudaRegisterFatBinaryEnd(void**) {}

// The program is ending, or a library with device code is unloaded; the image stays, as exit handlers may still launch.
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterVar(void** handle, char* hostVariable, char*, const char* deviceName, int, size_t, int, int) {
  call("__cudaRegisterVar", [&] {
    ImageTable& images = ImageTable::instance();
    images.nameVariable(hostVariable, {&images.findImage(handle), deviceName});
  });
}

void __cudaRegisterManagedVar(void** handle, void** hostPointer, char*, const char* deviceName, int, size_t, int, int) {
  call("__cudaRegisterManagedVar", [&] {
    ImageTable& images = ImageTable::instance();
    images.nameVariable(hostPointer, {&images.findImage(handle), deviceName, hostPointer});
  });
}

char __cudaInitModule(void** handle) {
  return call("__cudaInitModule", [&] { ImageTable::instance().findImage(handle).loaded(); }) == cudaSuccess ? 1 : 0;
}

void __cudaRegisterFunction(void** handle, const char* hostFunction, char*, const char* deviceName, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {
  call("__cudaRegisterFunction", [&] {
    ImageTable& images = ImageTable::instance();
    images.nameFunction(hostFunction, images.findImage(handle).declareFunction(deviceName));
  });
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t sharedBytes, CUstream_st* stream) {
  configurations.push_back({grid, block, sharedBytes, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* sharedBytes, void* stream) {
  return call(
      "__cudaPopCallConfiguration",
      [&] {
        if (configurations.empty()) throw Failure(cudaErrorMissingConfiguration, "no launch was configured");
        const Configuration configuration = configurations.back();
        configurations.pop_back();
        *grid = configuration.grid;
        *block = configuration.block;
        *sharedBytes = configuration.sharedBytes;
        *static_cast<cudaStream_t*>(stream) = configuration.stream;
      },
      Api::RuntimeQuery);
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* hostFunction) {
  return call("__cudaGetKernel", [&] { *kernel = reinterpret_cast<cudaKernel_t>(&ImageTable::instance().function(hostFunction)); });
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t sharedBytes,
                               cudaStream_t stream) {
  return call("__cudaLaunchKernel", [&] { launchKernel(kernel, grid, block, arguments, sharedBytes, stream, false); });
}
