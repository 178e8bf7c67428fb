// What only a CUDA driver has: binaries, JIT compilation, its own words in errors, contexts. It is a GPU's, or the emulated one.
#include <cuda.h>
#include <dlfcn.h>

#include <array>

#include "common/device/cuda_device.hpp"
#include "common/device/embedded_ptx.hpp"
#include "tests/device/seam_fixture.hpp"

namespace shiftconv::device::tests {
namespace {

TEST_F(SeamTest, LoadsTheBinaryAlone) {
  const ModuleImage binary = image();
  const Module* module = nullptr;
  ASSERT_SUCCESS(device_->loadModule(binary, module));
}

TEST_F(SeamTest, FallsBackToPtxWhenTheBinaryIsOfNoUse) {
  ModuleImage text = image();
  const std::array<PtxImage, 2> texts{{{"sm_100a", ptxFor(text, "sm_100a")}, {"sm_90a", ptxFor(text, "sm_90a")}}};
  text.ptx = texts;
  const std::string broken = "not a cubin";
  text.fatbin = std::as_bytes(std::span(broken.c_str(), broken.size() + 1));
  const Module* module = nullptr;
  ASSERT_SUCCESS(device_->loadModule(text, module));
}

TEST_F(SeamTest, QuotesTheDriver) {
  const PtxImage nonsense{"sm_90", "this is not PTX"};
  const Module* module = nullptr;
  const Status status = device_->loadModule({"nonsense", {&nonsense, 1}, {}}, module);
  EXPECT_NE(status.message().find("cuModuleLoadDataEx failed: CUDA_ERROR_"), std::string::npos) << status.message();
  const Properties& gpu = device_->properties();
  const std::string start =
      gpu.name + " (compute capability " + std::to_string(gpu.computeMajor) + "." + std::to_string(gpu.computeMinor) +
      ") cannot load module nonsense: binary: no binary; PTX: for sm_90: cuModuleLoadDataEx failed: CUDA_ERROR_";
  EXPECT_EQ(status.message().rfind(start, 0), 0u) << status.message();
  EXPECT_EQ(status.code(), StatusCode::Unsupported);
  // After the code in parentheses: what the compiler in the driver says of the text.
  const size_t log = status.message().find("): ", start.size());
  ASSERT_NE(log, std::string::npos) << status.message();
  EXPECT_GT(status.message().size(), log + 10) << status.message();
}

/// The driver itself, asked beside the device.
template <class Function>
Function* driverCall(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

TEST_F(SeamTest, KnowsItsProperties) {
  const Properties& properties = device_->properties();
  EXPECT_EQ(properties.kind, Kind::Cuda);
  std::array<char, 128> name{};
  ASSERT_EQ(driverCall<CUresult(char*, int, CUdevice)>("cuDeviceGetName")(name.data(), name.size(), 0), CUDA_SUCCESS);
  EXPECT_EQ(properties.name, name.data());
  const auto attribute = [](CUdevice_attribute which) {
    int value = -1;
    EXPECT_EQ(driverCall<CUresult(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute")(&value, which, 0), CUDA_SUCCESS);
    return value;
  };
  EXPECT_EQ(properties.computeMajor, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  EXPECT_EQ(properties.computeMinor, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  EXPECT_EQ(static_cast<int>(properties.multiprocessors), attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  EXPECT_EQ(static_cast<int>(properties.sharedBytesPerBlock), attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  EXPECT_EQ(static_cast<int>(properties.l2Bytes), attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  EXPECT_GT(properties.l2Bytes, 1u << 20);
  size_t bytes = 0;
  ASSERT_EQ(driverCall<CUresult(size_t*, CUdevice)>("cuDeviceTotalMem_v2")(&bytes, 0), CUDA_SUCCESS);
  EXPECT_EQ(properties.globalBytes, bytes);
  EXPECT_GT(properties.globalBytes, uint64_t{1} << 30);
  int version = 0;
  ASSERT_EQ(driverCall<CUresult(int*)>("cuDriverGetVersion")(&version), CUDA_SUCCESS);
  const std::string text = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  EXPECT_EQ(device_->driverVersion().substr(0, device_->driverVersion().find(',')), text);
}

/// Whatever happens in a call, the device's context is not current afterwards.
TEST_F(SeamTest, LeavesTheCallersContextAsItWas) {
  const auto pop = [] {
    CUcontext context = nullptr;
    return driverCall<CUresult(CUcontext*)>("cuCtxPopCurrent_v2")(&context);
  };
  EXPECT_EQ(pop(), CUDA_ERROR_INVALID_CONTEXT) << "this thread has none";
  const Address out = memory(64);
  const Kernel* ranks = kernel("cluster_ranks");
  ASSERT_TRUE(ranks);
  const std::array<const void*, 1> arguments{&out};
  ASSERT_SUCCESS(device_->launch(*ranks, grid(2, 32), arguments, 0));
  EXPECT_FALSE(device_->launch(*ranks, grid(1, 1025), arguments, 0).ok());
  TensorMap map;
  EXPECT_FALSE(device_->encodeTiled(TiledMap{}, map).ok());
  EXPECT_FALSE(device_->encodeIm2col(Im2colMap{}, map).ok());
  double seconds = 0;
  ASSERT_SUCCESS(device_->time(
      0, [] { return Status(); }, seconds));
  ASSERT_SUCCESS(device_->synchronize(0));
  EXPECT_EQ(pop(), CUDA_ERROR_INVALID_CONTEXT) << "a call has left one";
}

TEST_F(SeamTest, NeedsKernelsOfItsOwn) {
  const Address out = memory(64);
  std::unique_ptr<Device> emulated;
  ASSERT_SUCCESS(openDevice(Kind::Emulated, device_->properties().computeMajor == 9 ? 1 : 0, emulated));
  const Module* module = nullptr;
  const Kernel* foreign = nullptr;
  ASSERT_SUCCESS(emulated->loadModule(image(), module));
  ASSERT_SUCCESS(emulated->findKernel(*module, "cluster_ranks", foreign));
  const std::array<const void*, 1> arguments{&out};
  EXPECT_EQ(device_->launch(*foreign, grid(1, 32), arguments, 0).message(), "the kernel was not loaded by a CUDA device");
}

TEST_F(SeamTest, SaysWhatALaunchWas) {
  const Address out = memory(64);
  const Kernel* ranks = kernel("cluster_ranks");
  ASSERT_TRUE(ranks);
  const std::array<const void*, 1> arguments{&out};
  const LaunchConfig wrong{.grid = {4, 6, 10}, .block = {33, 32, 2}, .cluster = {2, 3, 1}, .dynamicSharedBytes = 77};
  const std::string message = device_->launch(*ranks, wrong, arguments, 0).message();
  EXPECT_EQ(message.rfind("launch of cluster_ranks with grid 4x6x10, block 33x32x2, cluster 2x3x1, 77 bytes of dynamic shared "
                          "memory: cuLaunchKernelEx failed: CUDA_ERROR_INVALID_VALUE (1, ",
                          0),
            0u)
      << message;
}

TEST_F(SeamTest, RefusesKernelsOfAnotherDevice) {
  std::unique_ptr<Device> emulated;
  ASSERT_SUCCESS(openDevice(Kind::Emulated, 0, emulated));
  const Module* module = nullptr;
  ASSERT_SUCCESS(emulated->loadModule(image(), module));
  const Kernel* foreign = nullptr;
  EXPECT_EQ(device_->findKernel(*module, "affine", foreign).code(), StatusCode::InvalidArgument);
}

TEST(CudaRegistry, RefusesDeviceNumbersThatDoNotExist) {
  std::unique_ptr<Device> device;
  const Status status = openDevice(Kind::Cuda, 1000, device);
  EXPECT_EQ(status.code(), StatusCode::NotFound) << status.message();
  int count = 0;
  if (!cudaDeviceCount(count).ok()) GTEST_SKIP() << "no driver";
  EXPECT_NE(status.message().find("there is no CUDA device 1000; the driver shows "), std::string::npos) << status.message();
  EXPECT_EQ(openDevice(Kind::Cuda, -1, device).code(), StatusCode::NotFound);
  EXPECT_EQ(device, nullptr);
}

/// The primary context is the program's: who opens a device holds it, and who closes the last one gives it back.
TEST(CudaRegistry, ReleasesThePrimaryContext) {
  int count = 0;
  if (!cudaDeviceCount(count).ok() || count == 0) GTEST_SKIP() << "no driver, or no GPU";
  const auto isActive = [] {
    unsigned flags = 0;
    int active = -1;
    EXPECT_EQ(driverCall<CUresult(CUdevice, unsigned*, int*)>("cuDevicePrimaryCtxGetState")(0, &flags, &active), CUDA_SUCCESS);
    return active == 1;
  };
  ASSERT_FALSE(isActive()) << "another test has a device open";
  std::unique_ptr<Device> first, second;
  ASSERT_SUCCESS(openDevice(Kind::Cuda, 0, first));
  ASSERT_SUCCESS(openDevice(Kind::Cuda, 0, second));
  first.reset();
  EXPECT_TRUE(isActive());
  second.reset();
  EXPECT_FALSE(isActive());
}

TEST(CudaRegistry, OpensTheFirstGpuThatSuits) {
  const std::vector<Properties> devices = enumerateDevices();
  int count = 0;
  if (!cudaDeviceCount(count).ok() || count != 1 || !kSupported.holds(devices[0])) GTEST_SKIP() << "not one GPU that is supported";
  EXPECT_EQ(devices.size(), 3u);
  std::unique_ptr<Device> device;
  ASSERT_SUCCESS(openGpu(kSupported, device));
  EXPECT_EQ(device->properties().name, devices[0].name);
  device.reset();
  const Status suits = openGpu(kTensorMemory, device);
  EXPECT_EQ(suits.ok(), devices[0].computeMajor >= 10) << suits.message();
  EXPECT_EQ(device != nullptr, suits.ok());
  if (suits.ok()) return;
  EXPECT_NE(suits.message().find(": only " + devices[0].name + " (9.0); "), std::string::npos) << suits.message();
}

}  // namespace
}  // namespace shiftconv::device::tests
