// The driver API, call by call: what each leaves, and what it says to arguments that are wrong.
#include <cstring>
#include <functional>

#include "tests/runtime/calls_fixture.hpp"

namespace shiftconv::tests {
namespace {

class DriverCalls : public Calls {
 protected:
  static CUdeviceptr addressOf(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
  /// Launches `shift` and reads what it has left.
  static void expectShifts(CUfunction function, int by, int offset = 7) {
    auto* memory = allocated<int>(33 * 4);
    void* arguments[] = {&memory, &by};
    EXPECT_DONE(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
    EXPECT_EQ(fromDevice<int>(memory, 32), shifted(32, by + offset - 7));
    EXPECT_DONE(cudaFree(memory));
  }
};

TEST_F(DriverCalls, ContextsArePushedAndPoppedAsOftenAsEachOther) {
  CUcontext primary = nullptr, other = nullptr;
  const auto expectPushed = [&](int times) {
    for (int i = 0; i < times; ++i) {
      other = nullptr;
      EXPECT_DONE(cuCtxPopCurrent(&other));
      EXPECT_EQ(other, primary);
    }
    EXPECT_CODE(cuCtxPopCurrent(&other), CUDA_ERROR_INVALID_CONTEXT);
  };
  EXPECT_DONE(cuDevicePrimaryCtxRetain(&primary, 0));
  expectPushed(0);
  EXPECT_DONE(cuCtxPushCurrent(primary));
  EXPECT_DONE(cuCtxPushCurrent(primary));
  EXPECT_DONE(cuCtxSetCurrent(primary));
  expectPushed(2);
  EXPECT_DONE(cuCtxSetCurrent(primary));
  expectPushed(1);
  EXPECT_DONE(cuCtxPushCurrent(primary));
  EXPECT_DONE(cuCtxSetCurrent(nullptr));
  expectPushed(0);
  EXPECT_DONE(cuCtxCreate(&other, nullptr, 0, 0));
  EXPECT_EQ(other, primary);
  EXPECT_DONE(cuCtxPushCurrent(primary));
  EXPECT_DONE(cuCtxDestroy(other));
  EXPECT_DONE(cuCtxPopCurrent(nullptr));
  expectPushed(0);
  EXPECT_DONE(cuCtxDestroy(primary));
  expectPushed(0);
  EXPECT_DONE(cuDevicePrimaryCtxRelease(0));
  EXPECT_DONE(cuDevicePrimaryCtxSetFlags(0, 0));
  EXPECT_DONE(cuDevicePrimaryCtxReset(0));
  const auto nobodys = reinterpret_cast<CUcontext>(&nobody);
  EXPECT_CODE(cuCtxPushCurrent(nobodys), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_CODE(cuCtxSetCurrent(nobodys), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_CODE(cuCtxDestroy(nobodys), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(DriverCalls, ThereIsOneDevice) {
  CUdevice device = -1;
  CUcontext context = nullptr;
  CUuuid uuid{};
  size_t bytes = 0;
  int value = 0;
  unsigned flags = 0;
  char name[32] = "";
  EXPECT_DONE(cuDeviceGetName(name, 5, 0));
  EXPECT_STREQ(name, "emul");
  for (const int none : {-1, 1}) {
    EXPECT_CODE(cuDeviceGet(&device, none), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_CODE(cuDeviceGetName(name, 5, none), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_CODE(cuDeviceGetUuid(&uuid, none), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_CODE(cuDeviceTotalMem(&bytes, none), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_CODE(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, none), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_CODE(cuDeviceCanAccessPeer(&value, 0, none), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_CODE(cuDeviceCanAccessPeer(&value, none, 0), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_CODE(cuDevicePrimaryCtxRetain(&context, none), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_CODE(cuDevicePrimaryCtxRelease(none), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_CODE(cuDevicePrimaryCtxReset(none), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_CODE(cuDevicePrimaryCtxSetFlags(none, 0), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_CODE(cuDevicePrimaryCtxGetState(none, &flags, &value), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_CODE(cuCtxCreate(&context, nullptr, 0, none), CUDA_ERROR_INVALID_DEVICE);
  }
  size_t before = 0, after = 0;
  EXPECT_DONE(cuCtxGetLimit(&before, CU_LIMIT_STACK_SIZE));
  EXPECT_DONE(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, before + 16));
  EXPECT_DONE(cuCtxGetLimit(&after, CU_LIMIT_STACK_SIZE));
  EXPECT_EQ(after, before + 16);
  EXPECT_DONE(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, before));
  EXPECT_CODE(cuCtxSetLimit(static_cast<CUlimit>(77), 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
  int least = 7, greatest = 7;
  EXPECT_DONE(cuCtxGetStreamPriorityRange(&least, nullptr));
  EXPECT_DONE(cuCtxGetStreamPriorityRange(nullptr, &greatest));
  EXPECT_EQ(least, 0);
  EXPECT_EQ(greatest, -5);
}

TEST_F(DriverCalls, EntryPointsAreFoundByName) {
  void* found = &nobody;
  CUdriverProcAddressQueryResult status{};
  EXPECT_DONE(cuGetProcAddress("cuMemAlloc", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
  CUdeviceptr memory = 0;
  EXPECT_DONE(reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t)>(found)(&memory, 16));
  EXPECT_DONE(cuMemFree(memory));
  EXPECT_DONE(cuGetProcAddress("cuNoSuchFunction", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(found, nullptr);
  EXPECT_CODE(cuGetProcAddress("cuNoSuchFunction", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, nullptr), CUDA_ERROR_NOT_FOUND);
  EXPECT_CODE(cuGetProcAddress(nullptr, &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuGetProcAddress("cuMemAlloc", nullptr, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverCalls, ModulesAreLoadedInEveryWayAndUnloaded) {
  const std::string path = ptxFile();
  const struct {
    const char* name;
    std::function<CUresult(CUmodule*)> load;
  } ways[] = {{"cuModuleLoad", [&](CUmodule* module) { return cuModuleLoad(module, path.c_str()); }},
              {"cuModuleLoadData", [](CUmodule* module) { return cuModuleLoadData(module, kCallsPtx); }},
              {"cuModuleLoadDataEx", [](CUmodule* module) { return cuModuleLoadDataEx(module, kCallsPtx, 0, nullptr, nullptr); }},
              {"cuModuleLoadFatBinary", [](CUmodule* module) { return cuModuleLoadFatBinary(module, kCallsPtx); }}};
  for (const auto& [name, load] : ways) {
    SCOPED_TRACE(name);
    CUmodule module = nullptr, again = nullptr;
    CUfunction function = nullptr;
    CUdeviceptr address = 0;
    size_t bytes = 0;
    ASSERT_EQ(load(&module), CUDA_SUCCESS);
    EXPECT_DONE(cuModuleGetFunction(&function, module, "shift"));
    EXPECT_DONE(cuFuncGetModule(&again, function));
    EXPECT_EQ(again, module);
    expectShifts(function, 100);
    EXPECT_DONE(cuModuleGetGlobal(&address, nullptr, module, "offset"));
    EXPECT_DONE(cuMemsetD32(address, 9, 1));
    expectShifts(function, 100, 9);
    EXPECT_DONE(cuMemsetD32(address, 7, 1));
    EXPECT_DONE(cuModuleGetGlobal(nullptr, &bytes, module, "twelve"));
    EXPECT_EQ(bytes, 12u);
    EXPECT_CODE(cuModuleGetGlobal(&address, &bytes, module, "thirteen"), CUDA_ERROR_NOT_FOUND);
    EXPECT_CODE(cuModuleGetFunction(&function, module, "twelve"), CUDA_ERROR_NOT_FOUND);
    EXPECT_DONE(cuModuleUnload(module));
    EXPECT_CODE(cuModuleGetFunction(&function, module, "shift"), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_CODE(cuFuncGetModule(&again, function), CUDA_ERROR_INVALID_HANDLE) << "its functions are gone, too";
    EXPECT_CODE(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_CODE(load(nullptr), CUDA_ERROR_INVALID_VALUE);
  }
  CUmodule module = nullptr;
  EXPECT_CODE(cuModuleLoad(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuModuleLoadData(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuModuleLoadDataEx(&module, nullptr, 0, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuModuleLoadFatBinary(&module, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverCalls, LibrariesHoldKernelsAndVariables) {
  const std::string path = ptxFile();
  for (const bool fromFile : {false, true}) {
    SCOPED_TRACE(fromFile);
    CUlibrary library = nullptr;
    ASSERT_EQ(fromFile ? cuLibraryLoadFromFile(&library, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0)
                       : cuLibraryLoadData(&library, kCallsPtx, nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_SUCCESS);
    CUmodule module = nullptr;
    CUkernel kernel = nullptr;
    CUfunction function = nullptr, same = nullptr;
    EXPECT_DONE(cuLibraryGetModule(&module, library));
    EXPECT_DONE(cuLibraryGetKernel(&kernel, library, "shift"));
    EXPECT_DONE(cuKernelGetFunction(&function, kernel));
    EXPECT_DONE(cuModuleGetFunction(&same, module, "shift"));
    EXPECT_EQ(function, same);
    expectShifts(function, -3);
    CUdeviceptr address = 0;
    size_t bytes = 0;
    EXPECT_DONE(cuLibraryGetGlobal(&address, &bytes, library, "offset"));
    EXPECT_EQ(bytes, 4u);
    EXPECT_EQ(fromDevice<int>(reinterpret_cast<void*>(address), 1), std::vector<int>{7});
    EXPECT_CODE(cuLibraryGetKernel(&kernel, library, "offset"), CUDA_ERROR_NOT_FOUND);
    EXPECT_CODE(cuLibraryGetGlobal(&address, &bytes, library, "shift"), CUDA_ERROR_NOT_FOUND);
    EXPECT_CODE(cuLibraryGetKernel(nullptr, library, "shift"), CUDA_ERROR_INVALID_VALUE);
    EXPECT_CODE(cuLibraryGetModule(nullptr, library), CUDA_ERROR_INVALID_VALUE);
    EXPECT_CODE(cuKernelGetFunction(nullptr, kernel), CUDA_ERROR_INVALID_VALUE);
    EXPECT_DONE(cuLibraryUnload(library));
    EXPECT_CODE(cuKernelGetFunction(&function, kernel), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_CODE(cuLibraryGetModule(&module, library), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_CODE(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
  }
  CUlibrary library = nullptr;
  EXPECT_CODE(cuLibraryLoadData(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuLibraryLoadFromFile(&library, "/nonexistent.ptx", nullptr, nullptr, 0, nullptr, nullptr, 0),
              CUDA_ERROR_FILE_NOT_FOUND);
}

// Attributes that can be set are set to something else than the rest has.
TEST_F(DriverCalls, FunctionsHaveTheirAttributes) {
  CUlibrary library = nullptr;
  ASSERT_EQ(cuLibraryLoadData(&library, kCallsPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
  CUkernel shift = nullptr, pair = nullptr;
  CUfunction function = nullptr;
  EXPECT_DONE(cuLibraryGetKernel(&shift, library, "shift"));
  EXPECT_DONE(cuLibraryGetKernel(&pair, library, "pair"));
  EXPECT_DONE(cuKernelGetFunction(&function, shift));
  const auto attributeOf = [](CUkernel kernel, CUfunction_attribute attribute) {
    int ofKernel = -77, ofFunction = -78;
    CUfunction same = nullptr;
    EXPECT_DONE(cuKernelGetFunction(&same, kernel));
    EXPECT_DONE(cuKernelGetAttribute(&ofKernel, attribute, kernel, 0));
    EXPECT_DONE(cuFuncGetAttribute(&ofFunction, attribute, same));
    EXPECT_EQ(ofKernel, ofFunction);
    return ofKernel;
  };
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 96);
  EXPECT_EQ(attributeOf(pair, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 400);
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES), 0);
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 32);
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_NUM_REGS), 40);
  EXPECT_EQ(attributeOf(pair, CU_FUNC_ATTRIBUTE_NUM_REGS), 64) << "65536 registers for 1024 threads";
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_PTX_VERSION), 100);
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_BINARY_VERSION), 100);
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA), 0);
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 0);
  EXPECT_EQ(attributeOf(pair, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 1);
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 0);
  EXPECT_EQ(attributeOf(pair, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 2);
  EXPECT_EQ(attributeOf(pair, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT), 1);
  EXPECT_EQ(attributeOf(pair, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH), 1);
  const std::pair<CUfunction_attribute, int> settable[] = {{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000},
                                                           {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 37},
                                                           {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2},
                                                           {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 4},
                                                           {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 3},
                                                           {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1},
                                                           {CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 2}};
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 48 * 1024);
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), -1);
  for (const auto& [attribute, value] : settable) EXPECT_DONE(cuKernelSetAttribute(attribute, value, shift, 0));
  for (const auto& [attribute, value] : settable) EXPECT_EQ(attributeOf(shift, attribute), value) << attribute;
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 1);
  EXPECT_DONE(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024 - 400));
  EXPECT_CODE(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024 - 399),
              CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 227 * 1024 - 400);
  EXPECT_CODE(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 32), CUDA_ERROR_INVALID_VALUE);
  int value = 0;
  EXPECT_CODE(cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(77), function), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuKernelGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, shift, 0), CUDA_ERROR_INVALID_VALUE);
  const char* name = nullptr;
  EXPECT_DONE(cuFuncGetName(&name, function));
  EXPECT_STREQ(name, "shift");
  EXPECT_DONE(cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_L1));
  const auto nobodys = reinterpret_cast<CUfunction>(&nobody);
  EXPECT_CODE(cuFuncSetCacheConfig(nobodys, CU_FUNC_CACHE_PREFER_L1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CODE(cuFuncSetAttribute(nobodys, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_DONE(cuLibraryUnload(library));
}

// 2048 threads and 64 Ki registers of a multiprocessor, 228 KiB of shared memory of which each block takes 1 KiB more than it asks
// for.
TEST_F(DriverCalls, OccupancyIsWorkedOutByHand) {
  CUmodule module = nullptr;
  CUfunction shift = nullptr, pair = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, kCallsPtx), CUDA_SUCCESS);
  EXPECT_DONE(cuModuleGetFunction(&shift, module, "shift"));
  EXPECT_DONE(cuModuleGetFunction(&pair, module, "pair"));
  const auto blocks = [](CUfunction function, int threads, size_t shared) {
    int count = -1;
    EXPECT_DONE(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, function, threads, shared));
    return count;
  };
  // A warp of `shift` has 40 * 32 = 1280 registers, which are 5 units of 256.
  EXPECT_EQ(blocks(shift, 96, 0), 65536 / (3 * 1280));
  EXPECT_EQ(blocks(shift, 65, 0), 65536 / (3 * 1280)) << "whole warps";
  EXPECT_EQ(blocks(shift, 32, 0), 32) << "blocks at most";
  EXPECT_EQ(blocks(shift, 97, 0), 0) << "more threads than it was compiled for";
  EXPECT_EQ(blocks(shift, 96, 40000), 233472 / (40000 + 400 + 1024));
  EXPECT_EQ(blocks(shift, 96, 233472 - 1424), 1);
  EXPECT_EQ(blocks(shift, 96, 233472 - 1423), 0);
  EXPECT_EQ(blocks(pair, 1024, 0), 1);
  EXPECT_EQ(blocks(pair, 1, 0), 32);
  int count = 0;
  EXPECT_CODE(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, pair, 1025, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuOccupancyMaxActiveBlocksPerMultiprocessor(&count, pair, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, pair, 32, 0), CUDA_ERROR_INVALID_VALUE);
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim = {3, 1, 1};
  CUlaunchConfig config{};
  config.gridDimX = 6, config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 1024, config.blockDimY = config.blockDimZ = 1;
  const auto clusters = [&] {
    EXPECT_DONE(cuOccupancyMaxActiveClusters(&count, pair, &config));
    return count;
  };
  // 148 multiprocessors in nine groups of 16 and one of 4, each with room for one block.
  EXPECT_EQ(clusters(), 9 * 8 + 2) << "the two that the kernel asks for";
  config.attrs = &cluster, config.numAttrs = 1;
  EXPECT_EQ(clusters(), 9 * 5 + 1);
  cluster.value.clusterDim = {1, 1, 1};
  EXPECT_EQ(clusters(), 148);
  config.blockDimX = 512;
  EXPECT_EQ(clusters(), 2 * 148);
  EXPECT_CODE(cuOccupancyMaxActiveClusters(nullptr, pair, &config), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuOccupancyMaxActiveClusters(&count, pair, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuModuleUnload(module));
}

TEST_F(DriverCalls, LaunchesTakeArgumentsInBothWays) {
  CUmodule module = nullptr;
  CUfunction shift = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, kCallsPtx), CUDA_SUCCESS);
  EXPECT_DONE(cuModuleGetFunction(&shift, module, "shift"));
  auto* memory = allocated<int>(96 * 4);
  int by = 5;
  void* arguments[] = {&memory, &by};
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 96;
  EXPECT_DONE(cuLaunchKernelEx(&config, shift, arguments, nullptr));
  EXPECT_EQ(fromDevice<int>(memory, 96), shifted(96, 5));
  struct {
    int* memory;
    int by;
  } block{memory, 11};
  size_t bytes = sizeof memory + sizeof by;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_END};
  EXPECT_DONE(cuLaunchKernelEx(&config, shift, nullptr, extra));
  EXPECT_EQ(fromDevice<int>(memory, 96), shifted(96, 11));
  by = 23;
  EXPECT_DONE(cuLaunchCooperativeKernel(shift, 1, 1, 1, 96, 1, 1, 0, nullptr, arguments));
  EXPECT_EQ(fromDevice<int>(memory, 96), shifted(96, 23));
  void* nothing[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  EXPECT_CODE(cuLaunchKernel(shift, 1, 1, 1, 96, 1, 1, 0, nullptr, nullptr, nothing), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuLaunchKernel(shift, 1, 1, 1, 96, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuLaunchKernelEx(nullptr, shift, arguments, nullptr), CUDA_ERROR_INVALID_VALUE);
  config.blockDimX = 97;
  EXPECT_CODE(cuLaunchKernelEx(&config, shift, arguments, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuLaunchCooperativeKernel(shift, 17 * 148 + 1, 1, 1, 96, 1, 1, 0, nullptr, arguments),
              CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_CODE(cuLaunchKernel(reinterpret_cast<CUfunction>(&nobody), 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr),
              CUDA_ERROR_INVALID_HANDLE);
  int seen = 0;
  EXPECT_DONE(cuLaunchHostFunc(
      nullptr, [](void* data) { ++*static_cast<int*>(data); }, &seen));
  EXPECT_DONE(cuCtxSynchronize());
  EXPECT_EQ(seen, 1);
  EXPECT_CODE(cuLaunchHostFunc(nullptr, nullptr, &seen), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cudaFree(memory));
  EXPECT_DONE(cuModuleUnload(module));
}

TEST_F(DriverCalls, StreamsAndEvents) {
  CUstream stream = nullptr;
  CUevent first = nullptr, second = nullptr;
  EXPECT_DONE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  EXPECT_CODE(cuStreamCreate(&stream, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuEventCreate(&first, CU_EVENT_DEFAULT));
  EXPECT_DONE(cuEventCreate(&second, CU_EVENT_DEFAULT));
  float milliseconds = -1;
  EXPECT_DONE(cuEventRecord(first, stream));
  EXPECT_CODE(cuEventElapsedTime(&milliseconds, first, second), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CODE(cuEventElapsedTime(&milliseconds, second, first), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_DONE(cuStreamSynchronize(stream));
  EXPECT_DONE(cuEventRecord(second, stream));
  EXPECT_DONE(cuEventElapsedTime(&milliseconds, first, second));
  EXPECT_GE(milliseconds, 0);
  EXPECT_LT(milliseconds, 60000);
  EXPECT_CODE(cuEventElapsedTime(nullptr, first, second), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuStreamWaitEvent(stream, second, 0));
  EXPECT_DONE(cuEventSynchronize(second));
  EXPECT_DONE(cuEventQuery(second));
  EXPECT_DONE(cuStreamQuery(stream));
  const auto noEvent = reinterpret_cast<CUevent>(&nobody);
  const auto noStream = reinterpret_cast<CUstream>(&nobody);
  EXPECT_CODE(cuEventRecord(noEvent, stream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CODE(cuEventRecord(first, noStream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CODE(cuEventSynchronize(noEvent), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CODE(cuEventQuery(noEvent), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CODE(cuStreamWaitEvent(noStream, first, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CODE(cuStreamWaitEvent(stream, noEvent, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CODE(cuStreamQuery(noStream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CODE(cuStreamSynchronize(noStream), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_CODE(cuStreamDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE) << "a default stream";
  EXPECT_DONE(cuEventDestroy(first));
  EXPECT_CODE(cuEventDestroy(first), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_DONE(cuEventDestroy(second));
  EXPECT_DONE(cuStreamDestroy(stream));
  EXPECT_CODE(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(DriverCalls, StreamsThatCaptureAnswerNoQuery) {
  CUstream stream = nullptr;
  cudaGraph_t graph = nullptr;
  CUstreamCaptureStatus status{};
  EXPECT_DONE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  EXPECT_DONE(cuStreamIsCapturing(stream, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  for (CUresult (*const wait)(CUstream) : {cuStreamQuery, cuStreamSynchronize}) {
    EXPECT_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    EXPECT_DONE(cuStreamIsCapturing(stream, &status));
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_CODE(wait(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_DONE(cuStreamIsCapturing(stream, &status));
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_CODE(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  }
  EXPECT_DONE(cuStreamDestroy(stream));
}

TEST_F(DriverCalls, MemoryOfEveryKindSaysWhatItIs) {
  CUdeviceptr device = 0, managed = 0, pitched = 0;
  void *pinned = nullptr, *mapped = nullptr;
  size_t pitch = 0;
  EXPECT_DONE(cuMemAlloc(&device, 1000));
  EXPECT_DONE(cuMemAllocManaged(&managed, 1001, CU_MEM_ATTACH_GLOBAL));
  EXPECT_DONE(cuMemAllocHost(&pinned, 1002));
  EXPECT_DONE(cuMemHostAlloc(&mapped, 1003, CU_MEMHOSTALLOC_DEVICEMAP));
  EXPECT_DONE(cuMemAllocPitch(&pitched, &pitch, 513, 3, 4));
  EXPECT_EQ(pitch, 1024u);
  unsigned flags = 7;
  EXPECT_DONE(cudaHostGetFlags(&flags, mapped));
  EXPECT_EQ(flags, unsigned{CU_MEMHOSTALLOC_DEVICEMAP});
  EXPECT_DONE(cudaHostGetFlags(&flags, pinned));
  EXPECT_EQ(flags, 0u);
  const struct {
    CUdeviceptr address;
    size_t bytes;
    unsigned type;
    bool isManaged, hasHostAddress;
  } all[] = {{device, 1000, CU_MEMORYTYPE_DEVICE, false, false},
             {managed, 1001, CU_MEMORYTYPE_DEVICE, true, true},
             {addressOf(pinned), 1002, CU_MEMORYTYPE_HOST, false, true},
             {addressOf(mapped), 1003, CU_MEMORYTYPE_HOST, false, true},
             {pitched, 3 * 1024, CU_MEMORYTYPE_DEVICE, false, false}};
  for (const auto& [address, bytes, type, isManaged, hasHostAddress] : all) {
    SCOPED_TRACE(bytes);
    CUdeviceptr base = 0;
    size_t size = 0;
    const CUdeviceptr inside = address + bytes - 1;
    EXPECT_DONE(cuMemGetAddressRange(&base, nullptr, inside));
    EXPECT_DONE(cuMemGetAddressRange(nullptr, &size, inside));
    EXPECT_EQ(base, address);
    EXPECT_EQ(size, bytes);
    EXPECT_CODE(cuMemGetAddressRange(&base, &size, address + bytes), CUDA_ERROR_INVALID_VALUE);
    unsigned got = 0;
    CUdeviceptr devicePointer = 0, hostPointer = 0, start = 0;
    size_t range = 0;
    int ordinal = 7;
    bool gotManaged = !isManaged, gotMapped = false, synchronous = true;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,      CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
                                        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,   CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                        CU_POINTER_ATTRIBUTE_MAPPED,           CU_POINTER_ATTRIBUTE_SYNC_MEMOPS};
    void* data[] = {&got, &devicePointer, &start, &range, &ordinal, &gotManaged, &gotMapped, &synchronous};
    EXPECT_DONE(cuPointerGetAttributes(std::size(data), attributes, data, inside));
    EXPECT_EQ(got, type);
    EXPECT_EQ(devicePointer, inside);
    EXPECT_EQ(start, address);
    EXPECT_EQ(range, bytes);
    EXPECT_EQ(ordinal, 0);
    EXPECT_EQ(gotManaged, isManaged);
    EXPECT_TRUE(gotMapped);
    EXPECT_FALSE(synchronous);
    EXPECT_CODE(cuPointerGetAttribute(&hostPointer, CU_POINTER_ATTRIBUTE_HOST_POINTER, inside),
                hasHostAddress ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(hostPointer, hasHostAddress ? inside : 0);
  }
  unsigned type = 0;
  EXPECT_CODE(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, addressOf(&nobody)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_CONTEXT, device), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_CODE(cuPointerGetAttribute(&type, static_cast<CUpointer_attribute>(77), device), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_CODE(cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device), CUDA_ERROR_INVALID_VALUE);
  // Each kind is freed by its own call.
  EXPECT_CODE(cuMemFreeHost(reinterpret_cast<void*>(device)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemFree(addressOf(pinned)), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemFree(device + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuMemFreeHost(pinned));
  EXPECT_DONE(cuMemFreeHost(mapped));
  for (const CUdeviceptr memory : {device, managed, pitched}) {
    EXPECT_DONE(cuMemFree(memory));
    EXPECT_CODE(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_CODE(cuMemAlloc(&device, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemAllocPitch(&device, nullptr, 16, 2, 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemAllocManaged(nullptr, 16, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemAllocHost(nullptr, 16), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemHostAlloc(nullptr, 16, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(DriverCalls, MemoryOfStreamsIsFreedInStreams) {
  size_t before = 0, during = 0, after = 0, total = 0;
  CUdeviceptr memory = 0;
  EXPECT_DONE(cuMemGetInfo(&before, &total));
  EXPECT_DONE(cuMemAllocAsync(&memory, 1 << 16, nullptr));
  EXPECT_DONE(cuMemGetInfo(&during, &total));
  EXPECT_EQ(during, before - (1 << 16));
  EXPECT_CODE(cuMemFreeAsync(memory + 4, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuMemFreeAsync(memory, nullptr));
  EXPECT_DONE(cuMemGetInfo(&after, &total));
  EXPECT_EQ(after, before);
  EXPECT_CODE(cuMemFreeAsync(memory, nullptr), CUDA_ERROR_INVALID_VALUE);
}

/// Rows of 5 bytes, 7 and 11 apart, from the third byte of the second row to the second byte of the fourth.
TEST_F(DriverCalls, RowsAreCopiedBetweenAllKindsOfMemory) {
  std::vector<uint8_t> source(7 * 6), target(11 * 8, 0xEE), expected(11 * 8, 0xEE);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<uint8_t>(i + 1);
  for (size_t y = 0; y < 3; ++y)
    for (size_t x = 0; x < 5; ++x) expected[(y + 3) * 11 + x + 1] = source[(y + 1) * 7 + x + 2];
  auto* const deviceSource = allocated<uint8_t>(source.size());
  auto* const deviceTarget = allocated<uint8_t>(target.size(), 0xEE);
  EXPECT_DONE(cudaMemcpy(deviceSource, source.data(), source.size(), cudaMemcpyHostToDevice));
  for (const bool fromDevice : {false, true})
    for (const bool toDevice : {false, true})
      for (const bool asynchronous : {false, true}) {
        SCOPED_TRACE(testing::Message() << fromDevice << toDevice << asynchronous);
        std::fill(target.begin(), target.end(), uint8_t{0xEE});
        EXPECT_DONE(cudaMemset(deviceTarget, 0xEE, target.size()));
        CUDA_MEMCPY2D copy{};
        copy.srcMemoryType = fromDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        copy.srcHost = source.data(), copy.srcDevice = addressOf(deviceSource);
        copy.srcPitch = 7, copy.srcXInBytes = 2, copy.srcY = 1;
        copy.dstMemoryType = toDevice ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
        copy.dstHost = target.data(), copy.dstDevice = addressOf(deviceTarget);
        copy.dstPitch = 11, copy.dstXInBytes = 1, copy.dstY = 3;
        copy.WidthInBytes = 5, copy.Height = 3;
        EXPECT_DONE(asynchronous ? cuMemcpy2DAsync(&copy, nullptr) : cuMemcpy2D(&copy));
        EXPECT_DONE(cuCtxSynchronize());
        EXPECT_EQ(toDevice ? this->fromDevice<uint8_t>(deviceTarget, target.size()) : target, expected);
        copy.srcPitch = 4;
        EXPECT_CODE(cuMemcpy2D(&copy), static_cast<CUresult>(cudaErrorInvalidPitchValue));
      }
  // A pitch matters where there is a second row.
  for (const auto& [width, height, code] : {std::tuple{7u, 2u, CUDA_SUCCESS},
                                            {8u, 2u, static_cast<CUresult>(cudaErrorInvalidPitchValue)},
                                            {8u, 1u, CUDA_SUCCESS},
                                            {8u, 0u, CUDA_SUCCESS},
                                            {0u, 2u, CUDA_SUCCESS}})
    for (const bool source7 : {false, true}) {
      SCOPED_TRACE(testing::Message() << width << " " << height << source7);
      CUDA_MEMCPY2D copy{};
      copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
      copy.srcDevice = addressOf(deviceSource), copy.dstDevice = addressOf(deviceTarget);
      copy.srcPitch = source7 ? 7 : 20, copy.dstPitch = source7 ? 20 : 7;
      copy.WidthInBytes = width, copy.Height = height;
      EXPECT_CODE(cuMemcpy2D(&copy), code);
    }
  CUDA_MEMCPY2D array{};
  array.srcMemoryType = CU_MEMORYTYPE_ARRAY, array.dstMemoryType = CU_MEMORYTYPE_HOST;
  EXPECT_CODE(cuMemcpy2D(&array), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_CODE(cuMemcpy2D(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cudaFree(deviceSource));
  EXPECT_DONE(cudaFree(deviceTarget));
}

TEST_F(DriverCalls, CopiesAndFillsOfEveryKind) {
  CUstream stream = nullptr;
  EXPECT_DONE(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  auto* const a = allocated<uint8_t>(64);
  auto* const b = allocated<uint8_t>(64);
  std::vector<uint8_t> host(64), got(64);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<uint8_t>(3 * i + 1);
  const CUdeviceptr to = addressOf(a), from = addressOf(b);
  const struct {
    const char* name;
    std::function<void()> copy;
  } copies[] = {{"HtoD", [&] { EXPECT_DONE(cuMemcpyHtoD(to + 5, host.data(), 17)); }},
                {"HtoDAsync", [&] { EXPECT_DONE(cuMemcpyHtoDAsync(to + 5, host.data(), 17, stream)); }},
                {"DtoD", [&] { EXPECT_DONE(cuMemcpyDtoD(to + 5, from, 17)); }},
                {"DtoDAsync", [&] { EXPECT_DONE(cuMemcpyDtoDAsync(to + 5, from, 17, stream)); }},
                {"any", [&] { EXPECT_DONE(cuMemcpy(to + 5, from, 17)); }},
                {"anyAsync", [&] { EXPECT_DONE(cuMemcpyAsync(to + 5, from, 17, stream)); }}};
  EXPECT_DONE(cudaMemcpy(b, host.data(), 64, cudaMemcpyHostToDevice));
  for (const auto& [name, copy] : copies) {
    SCOPED_TRACE(name);
    EXPECT_DONE(cudaMemset(a, 0, 64));
    copy();
    EXPECT_DONE(cuStreamSynchronize(stream));
    std::vector<uint8_t> expected(64);
    std::copy_n(host.begin(), 17, expected.begin() + 5);
    EXPECT_EQ(fromDevice<uint8_t>(a, 64), expected);
  }
  EXPECT_DONE(cuMemcpyDtoH(got.data() + 2, from + 3, 9));
  EXPECT_TRUE(got[1] == 0 && std::equal(host.begin() + 3, host.begin() + 12, got.begin() + 2) && got[11] == 0);
  std::fill(got.begin(), got.end(), uint8_t{0});
  EXPECT_DONE(cuMemcpyDtoHAsync(got.data() + 2, from + 3, 9, stream));
  EXPECT_DONE(cuStreamSynchronize(stream));
  EXPECT_TRUE(got[1] == 0 && std::equal(host.begin() + 3, host.begin() + 12, got.begin() + 2) && got[11] == 0);
  EXPECT_CODE(cuMemcpyHtoD(to + 60, host.data(), 5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemcpyDtoD(to, addressOf(host.data()), 5), CUDA_ERROR_INVALID_VALUE);
  const struct {
    size_t bytes, count;
    uint32_t value;
    std::function<CUresult(bool)> fill;
  } fills[] = {
      {1, 13, 0xAB, [&](bool wait) { return wait ? cuMemsetD8(to + 8, 0xAB, 13) : cuMemsetD8Async(to + 8, 0xAB, 13, stream); }},
      {2, 7, 0xABCD,
       [&](bool wait) { return wait ? cuMemsetD16(to + 8, 0xABCD, 7) : cuMemsetD16Async(to + 8, 0xABCD, 7, stream); }},
      {4, 5, 0xABCDEF12,
       [&](bool wait) { return wait ? cuMemsetD32(to + 8, 0xABCDEF12, 5) : cuMemsetD32Async(to + 8, 0xABCDEF12, 5, stream); }}};
  for (const auto& [bytes, count, value, fill] : fills)
    for (const bool wait : {false, true}) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes, " << wait);
      EXPECT_DONE(cudaMemset(a, 0, 64));
      EXPECT_DONE(fill(wait));
      EXPECT_DONE(cuStreamSynchronize(stream));
      std::vector<uint8_t> expected(64);
      for (size_t i = 0; i < count; ++i) std::memcpy(&expected[8 + i * bytes], &value, bytes);
      EXPECT_EQ(fromDevice<uint8_t>(a, 64), expected);
    }
  EXPECT_CODE(cuMemsetD16(to + 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemsetD32(to + 2, 1, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuMemsetD8(to + 60, 1, 5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cuStreamDestroy(stream));
  EXPECT_DONE(cudaFree(a));
  EXPECT_DONE(cudaFree(b));
}

/// A map whose address is replaced is the one that is made with that address.
TEST_F(DriverCalls, TensorMapsTakeAnotherAddress) {
  auto* const memory = allocated<std::byte>(1 << 16);
  const cuuint64_t dims[] = {64, 9, 7, 2}, strides[] = {128, 9 * 128, 7 * 9 * 128};
  const cuuint32_t steps[] = {1, 1, 1, 1}, box[] = {64, 4, 2, 1};
  const int lower[] = {-1, -2}, upper[] = {1, 0};
  const auto im2col = [&](CUtensorMap* map, cuuint32_t rank, const int* low, const int* up, void* address) {
    return cuTensorMapEncodeIm2col(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank, address, dims, strides, low, up, 64, 32, steps,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  const auto tiled = [&](CUtensorMap* map, const cuuint32_t* extent, const cuuint64_t* sizes, void* address) {
    return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, address, sizes, strides, extent, steps,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  alignas(64) CUtensorMap first, second, broken{};
  for (const bool isIm2col : {false, true}) {
    SCOPED_TRACE(isIm2col);
    EXPECT_DONE(isIm2col ? im2col(&first, 4, lower, upper, memory) : tiled(&first, box, dims, memory));
    EXPECT_DONE(isIm2col ? im2col(&second, 4, lower, upper, memory + 4096) : tiled(&second, box, dims, memory + 4096));
    EXPECT_NE(std::memcmp(&first, &second, sizeof first), 0);
    EXPECT_DONE(cuTensorMapReplaceAddress(&first, memory + 4096));
    EXPECT_EQ(std::memcmp(&first, &second, sizeof first), 0);
    EXPECT_CODE(cuTensorMapReplaceAddress(&first, memory + 8), CUDA_ERROR_INVALID_VALUE) << "not a multiple of 16";
  }
  EXPECT_CODE(im2col(&first, 2, lower, upper, memory), CUDA_ERROR_INVALID_VALUE) << "rank";
  EXPECT_DONE(im2col(&first, 3, lower, upper, memory));
  EXPECT_CODE(im2col(&first, 4, nullptr, upper, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(im2col(&first, 4, lower, nullptr, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(im2col(nullptr, 4, lower, upper, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(tiled(&first, nullptr, dims, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(tiled(&first, box, nullptr, memory), CUDA_ERROR_INVALID_VALUE);
  auto* const crooked = reinterpret_cast<CUtensorMap*>(reinterpret_cast<char*>(nobody.data()) + 8);
  EXPECT_CODE(tiled(crooked, box, dims, memory), CUDA_ERROR_INVALID_VALUE) << "not aligned to 64 bytes";
  EXPECT_CODE(cuTensorMapReplaceAddress(nullptr, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_CODE(cuTensorMapReplaceAddress(&broken, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_DONE(cudaFree(memory));
}

/// Ranks 1 to 5, of which the first has no strides; every argument that a rank needs, and numbers that name nothing.
TEST_F(DriverCalls, TensorMapsHaveOneToFiveDimensions) {
  auto* const memory = allocated<std::byte>(1 << 16);
  const cuuint64_t dims[] = {64, 3, 4, 2, 5, 6}, strides[] = {128, 384, 1536, 3072, 15360};
  const cuuint32_t steps[] = {1, 1, 1, 1, 1, 1}, box[] = {64, 2, 3, 1, 2, 1};
  alignas(64) CUtensorMap map;
  struct Numbers {
    int type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16, interleave = 0, swizzle = 0, promotion = 0, fill = 0;
  };
  const auto encoded = [&](cuuint32_t rank, const cuuint64_t* pitches, const cuuint32_t* elementSteps, const Numbers& numbers) {
    return cuTensorMapEncodeTiled(
        &map, static_cast<CUtensorMapDataType>(numbers.type), rank, memory, dims, pitches, box, elementSteps,
        static_cast<CUtensorMapInterleave>(numbers.interleave), static_cast<CUtensorMapSwizzle>(numbers.swizzle),
        static_cast<CUtensorMapL2promotion>(numbers.promotion), static_cast<CUtensorMapFloatOOBfill>(numbers.fill));
  };
  for (const cuuint32_t rank : {1u, 2u, 3u, 4u, 5u}) {
    EXPECT_DONE(encoded(rank, strides, steps, {})) << rank;
    EXPECT_CODE(encoded(rank, nullptr, steps, {}), rank == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE) << rank;
    EXPECT_CODE(encoded(rank, strides, nullptr, {}), CUDA_ERROR_INVALID_VALUE) << rank;
  }
  for (const cuuint32_t rank : {0u, 6u}) EXPECT_CODE(encoded(rank, strides, steps, {}), CUDA_ERROR_INVALID_VALUE) << rank;
  for (int Numbers::*const one : {&Numbers::type, &Numbers::interleave, &Numbers::swizzle, &Numbers::promotion, &Numbers::fill})
    for (const int none : {-1, 77}) {
      Numbers numbers;
      numbers.*one = none;
      EXPECT_CODE(encoded(2, strides, steps, numbers), CUDA_ERROR_INVALID_VALUE) << none;
    }
  EXPECT_DONE(cudaFree(memory));
}

}  // namespace
}  // namespace shiftconv::tests
