// The driver API but for its memory, call by call: what each leaves, and what it says to arguments that are wrong.
#include <cstring>
#include <functional>

#include "tests/runtime/calls_fixture.hpp"

namespace shiftconv::tests {
namespace {

class DriverCalls : public Calls {
 protected:
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
  EXPECT_CODE(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
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
  // Each thread's own default stream has functions of its own.
  void *legacy = nullptr, *perThread = nullptr;
  EXPECT_DONE(cuGetProcAddress("cuStreamSynchronize", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  EXPECT_DONE(cuGetProcAddress("cuStreamSynchronize", &legacy, 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status));
  EXPECT_DONE(cuGetProcAddress("cuStreamSynchronize", &perThread, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
  EXPECT_EQ(found, reinterpret_cast<void*>(&cuStreamSynchronize));
  EXPECT_EQ(legacy, found);
  EXPECT_NE(perThread, found);
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
  std::array<char, 12> log{};
  log.fill('x');
  CUjit_option options[]{CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER};
  void* values[]{reinterpret_cast<void*>(log.size() - 1), log.data()};
  EXPECT_EQ(cuModuleLoadDataEx(&module, nullptr, 2, options, values), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(std::string(log.data()), "an argumen") << "what fits, and its end";
  EXPECT_EQ(log.back(), 'x');
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
  EXPECT_DONE(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0));
  EXPECT_EQ(attributeOf(shift, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 0);
  EXPECT_CODE(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1), CUDA_ERROR_INVALID_VALUE);
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

/// PTX writes extents of one to three numbers; those that are left out are 1.
TEST_F(DriverCalls, DirectivesOfKernelsHaveOneToThreeNumbers) {
  const struct {
    const char* directive;
    int threads, width, height, depth;
    std::array<unsigned, 3> block = {static_cast<unsigned>(threads), 1, 1};
  } kernels[] = {{".maxntid 96", 96, 0, 0, 0},
                 {".maxntid 6, 8", 48, 0, 0, 0},
                 {".maxntid 6, 8, 5", 240, 0, 0, 0},
                 {".reqntid 40", 40, 0, 0, 0},
                 {".reqntid 10, 7", 70, 0, 0, 0, {10, 7, 1}},
                 {".reqntid 2, 3, 7", 42, 0, 0, 0, {2, 3, 7}},
                 {".reqnctapercluster 4", 1024, 4, 1, 1},
                 {".reqnctapercluster 2, 3", 1024, 2, 3, 1},
                 {".reqnctapercluster 1, 2, 4", 1024, 1, 2, 4},
                 {"", 1024, 0, 0, 0}};
  std::string ptx = ".version 9.0\n.target sm_100a\n.address_size 64\n";
  for (size_t i = 0; i < std::size(kernels); ++i)
    ptx += ".visible .entry kernel" + std::to_string(i) + "() " + kernels[i].directive + " { ret; }\n";
  CUmodule module = nullptr;
  ASSERT_EQ(cuModuleLoadData(&module, ptx.c_str()), CUDA_SUCCESS);
  for (size_t i = 0; i < std::size(kernels); ++i) {
    const auto& [directive, threads, width, height, depth, block] = kernels[i];
    SCOPED_TRACE(directive);
    CUfunction function = nullptr;
    EXPECT_DONE(cuModuleGetFunction(&function, module, ("kernel" + std::to_string(i)).c_str()));
    for (const auto& [attribute, expected] : {std::pair{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, threads},
                                              {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, width},
                                              {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, height},
                                              {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, depth}}) {
      int value = -77;
      EXPECT_DONE(cuFuncGetAttribute(&value, attribute, function));
      EXPECT_EQ(value, expected) << attribute;
    }
    const auto x = static_cast<unsigned>(std::max(width, 1)), y = static_cast<unsigned>(std::max(height, 1)),
               z = static_cast<unsigned>(std::max(depth, 1)), all = static_cast<unsigned>(threads);
    EXPECT_DONE(cuLaunchKernel(function, x, y, z, block[0], block[1], block[2], 0, nullptr, nullptr, nullptr));
    if (threads < 1024) {
      EXPECT_CODE(cuLaunchKernel(function, x, y, z, all + 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
    }
  }
  EXPECT_DONE(cuModuleUnload(module));
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
  cluster.value.clusterDim.x = 3;
  EXPECT_EQ(clusters(), 9 * 10 + 2) << "of room for 32 blocks, and for 8";
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
  // The driver has no code of its own for a wrong configuration.
  const unsigned wrong[][6] = {{0, 1, 1, 96, 1, 1}, {1, 65536, 1, 1, 1, 1}, {1, 1, 65536, 1, 1, 1}, {1, 1, 1, 0, 1, 1},
                               {1, 1, 1, 1, 1, 65}, {1, 1, 1, 1025, 1, 1},  {1, 1, 1, 97, 1, 1}};
  for (const auto& [x, y, z, columns, rows, planes] : wrong)
    EXPECT_CODE(cuLaunchKernel(shift, x, y, z, columns, rows, planes, 0, nullptr, arguments, nullptr), CUDA_ERROR_INVALID_VALUE);
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

}  // namespace
}  // namespace shiftconv::tests
