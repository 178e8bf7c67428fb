// The runtime API, call by call: devices, libraries and streams; what each call leaves, and what it says to arguments that are
// wrong. Memory: memory_calls_test.cpp; graphs: graph_calls_test.cpp.
#include <cstring>
#include <functional>

#include "tests/runtime/calls_fixture.hpp"

// What nvcc writes for <<<>>>; crt/host_runtime.h of the toolkit declares it for generated code only.
extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t sharedBytes, CUstream_st* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* sharedBytes, void* stream);
}

namespace shiftconv::tests {
namespace {

class RuntimeCalls : public Calls {
 protected:
  /// The kernel `name` of kCallsPtx, whose library lives as long as the test.
  const void* kernel(const char* name) {
    if (library_ == nullptr) {
      EXPECT_DONE(cudaLibraryLoadData(&library_, kCallsPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    }
    cudaKernel_t found = nullptr;
    EXPECT_DONE(cudaLibraryGetKernel(&found, library_, name));
    return found;
  }
  void TearDown() override {
    if (library_ != nullptr) {
      EXPECT_DONE(cudaLibraryUnload(library_));
    }
  }

 private:
  cudaLibrary_t library_ = nullptr;
};

TEST_F(RuntimeCalls, ThereIsOneDevice) {
  int device = 7, list[] = {0, 0, 1};
  unsigned flags = 7;
  cudaDeviceProp properties{};
  EXPECT_DONE(cudaChooseDevice(&device, &properties));
  EXPECT_EQ(device, 0);
  EXPECT_DONE(cudaInitDevice(0, 0, 0));
  EXPECT_DONE(cudaSetValidDevices(list, 2));
  EXPECT_CODE(cudaSetValidDevices(list, 3), cudaErrorInvalidDevice);
  EXPECT_CODE(cudaSetValidDevices(nullptr, 1), cudaErrorInvalidValue);
  EXPECT_CODE(cudaInitDevice(1, 0, 0), cudaErrorInvalidDevice);
  EXPECT_CODE(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice) << "of itself";
  EXPECT_CODE(cudaDeviceEnablePeerAccess(1, 0), cudaErrorInvalidDevice);
  EXPECT_CODE(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
  EXPECT_CODE(cudaDeviceDisablePeerAccess(1), cudaErrorInvalidDevice);
  EXPECT_DONE(cudaSetDeviceFlags(cudaDeviceScheduleYield));
  EXPECT_DONE(cudaGetDeviceFlags(&flags));
  EXPECT_EQ(flags, unsigned{cudaDeviceScheduleYield});
  EXPECT_DONE(cudaSetDeviceFlags(cudaDeviceScheduleAuto));
  EXPECT_DONE(cudaDeviceSetCacheConfig(cudaFuncCachePreferShared));
  EXPECT_DONE(cudaCtxResetPersistingL2Cache());
  EXPECT_DONE(cudaDeviceReset());
  EXPECT_DONE(cudaProfilerStart());
  EXPECT_DONE(cudaProfilerStop());
  int least = 7, greatest = 7;
  EXPECT_DONE(cudaDeviceGetStreamPriorityRange(&least, nullptr));
  EXPECT_DONE(cudaDeviceGetStreamPriorityRange(nullptr, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, -5);
}

// Programs call it still.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST_F(RuntimeCalls, EntryPointsAreFoundByName) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult status{};
  EXPECT_DONE(cudaGetDriverEntryPoint("cuMemFree", &found, cudaEnableDefault, &status));
  EXPECT_EQ(status, cudaDriverEntryPointSuccess);
  EXPECT_NE(found, nullptr);
  EXPECT_DONE(cudaGetDriverEntryPoint("cuMemFree", &found, cudaEnableDefault, nullptr));
  EXPECT_DONE(cudaGetDriverEntryPoint("cuNoSuchFunction", &found, cudaEnableDefault, &status));
  EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
  EXPECT_EQ(found, nullptr);
  EXPECT_CODE(cudaGetDriverEntryPoint(nullptr, &found, cudaEnableDefault, &status), cudaErrorInvalidValue);
  EXPECT_CODE(cudaGetDriverEntryPoint("cuMemFree", nullptr, cudaEnableDefault, &status), cudaErrorInvalidValue);
}
#pragma GCC diagnostic pop

TEST_F(RuntimeCalls, LibrariesHoldKernelsAndVariables) {
  const std::string path = ptxFile();
  for (const bool fromFile : {false, true}) {
    SCOPED_TRACE(fromFile);
    cudaLibrary_t library = nullptr;
    EXPECT_DONE(fromFile ? cudaLibraryLoadFromFile(&library, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0)
                         : cudaLibraryLoadData(&library, kCallsPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    cudaKernel_t shift = nullptr, again = nullptr, kernels[3] = {};
    EXPECT_DONE(cudaLibraryGetKernel(&shift, library, "shift"));
    EXPECT_DONE(cudaGetKernel(&again, shift));
    EXPECT_EQ(again, shift);
    auto* memory = allocated<int>(5 * 4);
    int by = 13;
    void* arguments[] = {&memory, &by};
    EXPECT_DONE(cudaLaunchKernel(shift, 1, 5, arguments, 0, nullptr));
    EXPECT_EQ(fromDevice<int>(memory, 5), shifted(5, 13));
    EXPECT_DONE(cudaFree(memory));
    void* variable = nullptr;
    size_t bytes = 0;
    EXPECT_DONE(cudaLibraryGetGlobal(&variable, nullptr, library, "offset"));
    EXPECT_EQ(fromDevice<int>(variable, 1), std::vector<int>{7});
    EXPECT_DONE(cudaLibraryGetGlobal(nullptr, &bytes, library, "twelve"));
    EXPECT_EQ(bytes, 12u);
    unsigned count = 0;
    EXPECT_DONE(cudaLibraryGetKernelCount(&count, library));
    EXPECT_EQ(count, 2u);
    EXPECT_DONE(cudaLibraryEnumerateKernels(kernels, 1, library));
    EXPECT_TRUE(kernels[0] != nullptr && kernels[1] == nullptr) << "as many as there is room for";
    EXPECT_DONE(cudaLibraryEnumerateKernels(kernels, 3, library));
    EXPECT_TRUE(kernels[0] != kernels[1] && kernels[1] != nullptr && kernels[2] == nullptr);
    EXPECT_TRUE(kernels[0] == shift || kernels[1] == shift);
    EXPECT_CODE(cudaLibraryGetKernel(&again, library, "absent"), cudaErrorSymbolNotFound);
    EXPECT_CODE(cudaLibraryGetGlobal(&variable, &bytes, library, "absent"), cudaErrorSymbolNotFound);
    EXPECT_CODE(cudaLibraryGetKernel(nullptr, library, "shift"), cudaErrorInvalidValue);
    EXPECT_CODE(cudaLibraryGetKernelCount(nullptr, library), cudaErrorInvalidValue);
    EXPECT_DONE(cudaLibraryUnload(library));
    EXPECT_CODE(cudaLibraryUnload(library), cudaErrorInvalidResourceHandle);
    EXPECT_CODE(cudaLibraryGetKernelCount(&count, library), cudaErrorInvalidResourceHandle);
    EXPECT_CODE(cudaLaunchKernel(shift, 1, 5, arguments, 0, nullptr), cudaErrorInvalidDeviceFunction);
  }
  cudaLibrary_t library = nullptr;
  EXPECT_CODE(cudaLibraryLoadFromFile(&library, testing::TempDir().c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              cudaErrorFileNotFound)
      << "a folder";
  EXPECT_CODE(
      cudaLibraryLoadData(&library, ".version 9.0\n.target sm_100a\n.visible .entry (", nullptr, nullptr, 0, nullptr, nullptr, 0),
      cudaErrorInvalidPtx);
  EXPECT_CODE(cudaLibraryLoadData(nullptr, kCallsPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_CODE(cudaLibraryLoadData(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_CODE(cudaLibraryLoadFromFile(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_CODE(cudaLibraryLoadFromFile(&library, "/nonexistent.ptx", nullptr, nullptr, 0, nullptr, nullptr, 0),
              cudaErrorFileNotFound);
}

/// A kernel that the device cannot execute is there, and fails when it is launched; its neighbour runs.
TEST_F(RuntimeCalls, KernelsThatCannotRunFailAlone) {
  cudaLibrary_t library = nullptr;
  EXPECT_DONE(cudaLibraryLoadFromFile(&library, SHIFTCONV_PARTLY_UNSUPPORTED_PTX, nullptr, nullptr, 0, nullptr, nullptr, 0));
  cudaKernel_t reaches = nullptr, fills = nullptr;
  EXPECT_DONE(cudaLibraryGetKernel(&reaches, library, "_Z7reachesv"));
  EXPECT_DONE(cudaLibraryGetKernel(&fills, library, "_ZN2ns5fillsEPjj"));
  testing::internal::CaptureStderr();
  EXPECT_CODE(cudaLaunchKernel(reaches, 1, 5, nullptr, 0, nullptr), cudaErrorNoKernelImageForDevice);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("vadd2.u32.u32.u32.add"), std::string::npos) << said;
  auto* memory = allocated<int>(5 * 4);
  int value = 13;
  void* arguments[] = {&memory, &value};
  EXPECT_DONE(cudaLaunchKernel(fills, 1, 5, arguments, 0, nullptr));
  EXPECT_EQ(fromDevice<int>(memory, 5), std::vector<int>(5, 13));
  EXPECT_DONE(cudaFree(memory));
  EXPECT_DONE(cudaLibraryUnload(library));
}

TEST_F(RuntimeCalls, KernelsHaveTheirAttributes) {
  const void* const shift = kernel("shift");
  const auto handle = static_cast<cudaKernel_t>(const_cast<void*>(shift));
  EXPECT_DONE(cudaKernelSetAttributeForDevice(handle, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000, 0));
  EXPECT_DONE(cudaKernelSetAttributeForDevice(handle, cudaFuncAttributePreferredSharedMemoryCarveout, 37, 0));
  cudaFuncAttributes attributes{};
  EXPECT_DONE(cudaFuncGetAttributes(&attributes, shift));
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 60000);
  EXPECT_EQ(attributes.preferredShmemCarveout, 37);
  EXPECT_EQ(attributes.sharedSizeBytes, 400u);
  EXPECT_EQ(attributes.localSizeBytes, 32u);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 96);
  EXPECT_EQ(attributes.numRegs, 40);
  EXPECT_EQ(attributes.ptxVersion, 100);
  EXPECT_EQ(attributes.binaryVersion, 100);
  EXPECT_EQ(attributes.clusterDimMustBeSet, 0);
  EXPECT_DONE(cudaFuncGetAttributes(&attributes, kernel("pair")));
  EXPECT_EQ(attributes.clusterDimMustBeSet, 1);
  EXPECT_EQ(attributes.requiredClusterWidth, 2);
  EXPECT_EQ(attributes.requiredClusterHeight, 1);
  EXPECT_EQ(attributes.requiredClusterDepth, 1);
  EXPECT_DONE(cudaFuncSetCacheConfig(shift, cudaFuncCachePreferL1));
  EXPECT_CODE(cudaFuncSetCacheConfig(&nobody, cudaFuncCachePreferL1), cudaErrorInvalidDeviceFunction);
  EXPECT_CODE(
      cudaKernelSetAttributeForDevice(reinterpret_cast<cudaKernel_t>(&nobody), cudaFuncAttributeMaxDynamicSharedMemorySize, 1, 0),
      cudaErrorInvalidResourceHandle);
  int blocks = 0;
  for (const int threads : {1, 32}) {
    EXPECT_DONE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shift, threads, 0));
    EXPECT_EQ(blocks, 32) << threads << " threads: as many as there may be";
  }
  for (const int threads : {0, -1, 1025})
    EXPECT_CODE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shift, threads, 0), cudaErrorInvalidValue) << threads;
  EXPECT_CODE(cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, shift, 32, 0), cudaErrorInvalidValue);
  int size = 0;
  cudaLaunchConfig_t config{};
  EXPECT_DONE(cudaOccupancyMaxPotentialClusterSize(&size, shift, &config));
  EXPECT_EQ(size, 8);
  EXPECT_DONE(cudaFuncSetAttribute(shift, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  EXPECT_DONE(cudaOccupancyMaxPotentialClusterSize(&size, shift, &config));
  EXPECT_EQ(size, 16);
  EXPECT_CODE(cudaOccupancyMaxPotentialClusterSize(nullptr, shift, &config), cudaErrorInvalidValue);
  EXPECT_CODE(cudaOccupancyMaxPotentialClusterSize(&size, shift, nullptr), cudaErrorInvalidValue);
}

/// Results that may be left out: any of them alone is what it is among all.
TEST_F(RuntimeCalls, ResultsMayBeLeftOut) {
  cudaLibrary_t library = nullptr;
  ASSERT_EQ(cudaLibraryLoadData(&library, kCallsPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
  CUmodule module = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, kCallsPtx), CUDA_SUCCESS);
  const void* const shift = kernel("shift");
  const cudaChannelFormatDesc format = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
  cudaArray_t array = nullptr;
  EXPECT_DONE(cudaMallocArray(&array, &format, 24, 3, 0));
  CUdeviceptr memory = 0;
  EXPECT_DONE(cuMemAlloc(&memory, 100));
  cudaStream_t stream = nullptr;
  EXPECT_DONE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  EXPECT_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  using Results = std::array<void*, 4>;
  const auto as = []<class T>(T*, void* result) { return static_cast<T*>(result); };
  constexpr size_t* kSize = nullptr;
  constexpr int* kInt = nullptr;
  size_t offset = 0;
  const struct {
    const char* name;
    size_t results;
    std::function<cudaError_t(const Results&)> call;
  } calls[] = {
      {"cudaFuncGetParamInfo", 1, [&](const Results& r) { return cudaFuncGetParamInfo(shift, 1, &offset, as(kSize, r[0])); }},
      {"cudaLibraryGetGlobal", 2,
       [&](const Results& r) { return cudaLibraryGetGlobal(static_cast<void**>(r[0]), as(kSize, r[1]), library, "twelve"); }},
      {"cudaMemGetInfo", 2, [&](const Results& r) { return cudaMemGetInfo(as(kSize, r[0]), as(kSize, r[1])); }},
      {"cudaDeviceGetStreamPriorityRange", 2,
       [&](const Results& r) { return cudaDeviceGetStreamPriorityRange(as(kInt, r[0]), as(kInt, r[1])); }},
      {"cudaArrayGetInfo", 3,
       [&](const Results& r) {
         return cudaArrayGetInfo(static_cast<cudaChannelFormatDesc*>(r[0]), static_cast<cudaExtent*>(r[1]),
                                 static_cast<unsigned*>(r[2]), array);
       }},
      {"cudaStreamGetCaptureInfo", 3,
       [&](const Results& r) {
         cudaStreamCaptureStatus status{};
         return cudaStreamGetCaptureInfo(stream, &status, static_cast<unsigned long long*>(r[0]), static_cast<cudaGraph_t*>(r[1]),
                                         nullptr, nullptr, as(kSize, r[2]));
       }},
      {"cuModuleGetGlobal", 2,
       [&](const Results& r) {
         return codeOf(cuModuleGetGlobal(static_cast<CUdeviceptr*>(r[0]), as(kSize, r[1]), module, "twelve"));
       }},
      {"cuMemGetAddressRange", 2,
       [&](const Results& r) {
         return codeOf(cuMemGetAddressRange(static_cast<CUdeviceptr*>(r[0]), as(kSize, r[1]), memory + 7));
       }},
      {"cuCtxGetStreamPriorityRange", 2,
       [&](const Results& r) { return codeOf(cuCtxGetStreamPriorityRange(as(kInt, r[0]), as(kInt, r[1]))); }},
  };
  for (const auto& [name, results, call] : calls) {
    SCOPED_TRACE(name);
    using Bytes = std::array<uint8_t, 32>;  // of a cudaExtent or a cudaChannelFormatDesc at most
    const auto poison = [] {
      Bytes bytes;
      bytes.fill(0xa5);
      return bytes;
    };
    std::array<Bytes, 4> whole{poison(), poison(), poison(), poison()};
    Results all{};
    for (size_t i = 0; i < results; ++i) all[i] = whole[i].data();
    EXPECT_DONE(call(all));
    for (size_t i = 0; i < results; ++i) {
      EXPECT_NE(whole[i], poison()) << "result " << i;
      Bytes alone = poison();
      Results one{};
      one[i] = alone.data();
      EXPECT_DONE(call(one));
      EXPECT_EQ(alone, whole[i]) << "result " << i;
    }
    EXPECT_DONE(call({}));
  }
  cudaGraph_t captured = nullptr;
  EXPECT_DONE(cudaStreamEndCapture(stream, &captured));
  EXPECT_DONE(cudaGraphDestroy(captured));
  EXPECT_DONE(cudaStreamDestroy(stream));
  EXPECT_DONE(cuMemFree(memory));
  EXPECT_DONE(cudaFreeArray(array));
  EXPECT_DONE(cuModuleUnload(module));
  EXPECT_DONE(cudaLibraryUnload(library));
}

TEST_F(RuntimeCalls, StreamsKeepWhatTheyWereMadeWith) {
  for (const auto& [asked, got] : {std::pair{-7, -5}, {-5, -5}, {-3, -3}, {0, 0}, {2, 0}}) {
    cudaStream_t stream = nullptr, other = nullptr;
    int priority = 7;
    EXPECT_DONE(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, asked));
    EXPECT_DONE(cudaStreamGetPriority(stream, &priority));
    EXPECT_EQ(priority, got) << "within the range of the device";
    EXPECT_DONE(cudaStreamCreate(&other));
    EXPECT_DONE(cudaStreamCopyAttributes(other, stream));
    EXPECT_DONE(cudaStreamGetPriority(other, &priority));
    EXPECT_EQ(priority, got);
    cudaLaunchAttributeValue value{};
    EXPECT_DONE(cudaStreamSetAttribute(other, cudaLaunchAttributeAccessPolicyWindow, &value));
    EXPECT_DONE(cudaStreamQuery(other));
    EXPECT_DONE(cudaStreamDestroy(other));
    EXPECT_CODE(cudaStreamQuery(other), cudaErrorInvalidResourceHandle);
    EXPECT_CODE(cudaStreamCopyAttributes(stream, other), cudaErrorInvalidResourceHandle);
    EXPECT_CODE(cudaStreamSetAttribute(other, cudaLaunchAttributeAccessPolicyWindow, &value), cudaErrorInvalidResourceHandle);
    EXPECT_DONE(cudaStreamDestroy(stream));
  }
}

/// The default streams have handles, too; that of a thread is one stream, and its own.
TEST_F(RuntimeCalls, DefaultStreamsHaveHandles) {
  const auto idOf = [](cudaStream_t stream) {
    unsigned long long id = 0;
    EXPECT_DONE(cudaStreamGetId(stream, &id));
    return id;
  };
  EXPECT_EQ(idOf(cudaStreamLegacy), idOf(nullptr));
  EXPECT_EQ(idOf(cudaStreamPerThread), idOf(cudaStreamPerThread));
  EXPECT_NE(idOf(cudaStreamPerThread), idOf(cudaStreamLegacy));
  auto* const memory = allocated<uint8_t>(16);
  EXPECT_DONE(cudaMemsetAsync(memory, 7, 16, cudaStreamPerThread));
  EXPECT_DONE(cudaStreamSynchronize(cudaStreamPerThread));
  EXPECT_EQ(fromDevice<uint8_t>(memory, 16), std::vector<uint8_t>(16, 7));
  for (const cudaStream_t stream : {cudaStream_t{}, cudaStreamLegacy, cudaStreamPerThread}) {
    unsigned flags = 7;
    EXPECT_DONE(cudaStreamGetFlags(stream, &flags));
    EXPECT_EQ(flags, unsigned{cudaStreamDefault});
    EXPECT_CODE(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
  }
  EXPECT_DONE(cudaFree(memory));
}

TEST_F(RuntimeCalls, EventsAreRecordedWithFlags) {
  cudaEvent_t event = nullptr;
  float milliseconds = -1;
  EXPECT_DONE(cudaEventCreate(&event));
  EXPECT_CODE(cudaEventElapsedTime(&milliseconds, event, event), cudaErrorInvalidResourceHandle) << "not recorded";
  EXPECT_DONE(cudaEventRecordWithFlags(event, nullptr, cudaEventRecordDefault));
  EXPECT_DONE(cudaEventElapsedTime(&milliseconds, event, event));
  EXPECT_EQ(milliseconds, 0);
  EXPECT_CODE(cudaEventRecordWithFlags(event, reinterpret_cast<cudaStream_t>(&nobody), 0), cudaErrorInvalidResourceHandle);
  EXPECT_DONE(cudaEventDestroy(event));
  EXPECT_CODE(cudaEventRecordWithFlags(event, nullptr, 0), cudaErrorInvalidResourceHandle);
}

TEST_F(RuntimeCalls, ThreadsExchangeTheirCaptureMode) {
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  EXPECT_DONE(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  EXPECT_DONE(cudaThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
  EXPECT_CODE(cudaThreadExchangeStreamCaptureMode(nullptr), cudaErrorInvalidValue);
}

/// The last one that was pushed, each once.
TEST_F(RuntimeCalls, ConfigurationsOfLaunchesArePopped) {
  cudaStream_t stream = nullptr, got = nullptr;
  EXPECT_DONE(cudaStreamCreate(&stream));
  EXPECT_EQ(__cudaPushCallConfiguration({2, 3, 4}, {5, 6, 7}, 89, nullptr), 0u);
  EXPECT_EQ(__cudaPushCallConfiguration({8, 1, 1}, {9, 1, 1}, 10, stream), 0u);
  dim3 grid, block;
  size_t bytes = 0;
  EXPECT_DONE(__cudaPopCallConfiguration(&grid, &block, &bytes, &got));
  EXPECT_TRUE(grid.x == 8 && block.x == 9 && bytes == 10 && got == stream);
  EXPECT_DONE(__cudaPopCallConfiguration(&grid, &block, &bytes, &got));
  EXPECT_TRUE(grid.x == 2 && grid.y == 3 && grid.z == 4 && block.x == 5 && block.y == 6 && block.z == 7);
  EXPECT_TRUE(bytes == 89 && got == nullptr);
  EXPECT_CODE(__cudaPopCallConfiguration(&grid, &block, &bytes, &got), cudaErrorMissingConfiguration);
  EXPECT_DONE(cudaStreamDestroy(stream));
}

}  // namespace
}  // namespace shiftconv::tests
