#include "common/device/registry.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "common/device/cuda_device.hpp"
#include "common/device/emulated_targets.hpp"
#include "common/emulator/program/target.hpp"

namespace shiftconv::device::tests {
namespace {

TEST(Registry, EndsWithTheEmulatedDevices) {
  const auto devices = enumerateDevices();
  ASSERT_GE(devices.size(), 2u);
  EXPECT_EQ(devices[devices.size() - 2].name, "emulated sm_100a");
  EXPECT_EQ(devices.back().name, "emulated sm_90a");
  for (size_t i = 0; i < devices.size(); ++i) EXPECT_EQ(devices[i].kind, i + 2 < devices.size() ? Kind::Cuda : Kind::Emulated);
}

TEST(Registry, WorksWithoutACudaDriver) {
  int count = 0;
  const Status status = cudaDeviceCount(count);
  if (status.ok()) GTEST_SKIP() << "this machine has a CUDA driver";
  EXPECT_FALSE(status.message().empty());
  EXPECT_EQ(enumerateDevices().size(), 2u);
  std::unique_ptr<Device> device;
  const Status opened = openDevice(Kind::Cuda, 0, device);
  EXPECT_FALSE(opened.ok());
  EXPECT_NE(opened.message().find("CUDA driver"), std::string::npos) << opened.message();
  if (std::getenv("SHIFTCONV_OLD_DRIVER") == nullptr) return;  // tests/device/old_driver.cpp
  EXPECT_EQ(opened.message().rfind("the CUDA driver is too old, libcuda.so.1 lacks cuDriverGetVersion, cuGetErrorName, "
                                   "cuGetErrorString, cuDeviceGet, cuDeviceGetName, ",
                                   0),
            0u)
      << opened.message();
}

TEST(Registry, NeverSimulatesUnasked) {
  int count = 0;
  if (cudaDeviceCount(count).ok() && count > 0) GTEST_SKIP() << "this machine has a GPU";
  std::unique_ptr<Device> device;
  for (const Suitability& suitability : {kSupported, kTensorMemory}) {
    const Status status = openGpu(suitability, device);
    EXPECT_EQ(status.code(), StatusCode::NotFound);
    EXPECT_EQ(status.message().rfind(std::string("there is no GPU ") + suitability.words + ": ", 0), 0u) << status.message();
  }
  EXPECT_EQ(openDevice(DeviceName{}, device).message(), openGpu(kSupported, device).message());
  EXPECT_FALSE(device);
}

Properties gpu(const char* name, int major, int minor) { return {Kind::Cuda, name, major, minor, 1, 0, 0, 0}; }

TEST(Registry, SaysWhatItFoundAndHowToAskForTheEmulatedDevice) {
  const Properties found[] = {gpu("NVIDIA RTX", 12, 0), gpu("NVIDIA A100", 8, 0)};
  const std::string asked =
      "; the emulated device, which is slow, is opened when it is named: SHIFTCONV_DEVICE_EMULATED, or \"emulated\" in the "
      "environment "
      "variable SHIFTCONV_DEVICE";
  const std::string start = "there is no GPU of compute capability 9.0, 10.0, 10.3 or 11.0: ";
  EXPECT_EQ(noGpuSuits(kSupported, {}, found), start + "only NVIDIA RTX (12.0), NVIDIA A100 (8.0)" + asked);
  EXPECT_EQ(noGpuSuits(kSupported, {}, {}), start + "the CUDA driver shows no GPU" + asked);
  EXPECT_EQ(noGpuSuits(kSupported, {StatusCode::DeviceError, "no driver at all"}, {}), start + "no driver at all" + asked);
}

TEST(Registry, SupportsTheCapabilitiesThatItHasKernelsFor) {
  for (const auto& [major, minor, supported, tensorMemory] : {std::tuple{8, 9, false, false},
                                                              {9, 0, true, false},
                                                              {10, 0, true, true},
                                                              {10, 1, false, false},
                                                              {10, 3, true, true},
                                                              {11, 0, true, true},
                                                              {12, 0, false, false},
                                                              {12, 1, false, false}}) {
    EXPECT_EQ(kSupported.holds(gpu("", major, minor)), supported) << major << "." << minor;
    EXPECT_EQ(kTensorMemory.holds(gpu("", major, minor)), tensorMemory) << major << "." << minor;
  }
}

TEST(DeviceName, ReadsEveryForm) {
  const auto read = [](std::string_view text) {
    DeviceName name{Kind::Cuda, 77};
    const Status status = parseDeviceName(text, name);
    EXPECT_TRUE(status.ok()) << status.message();
    return std::pair(name.kind, name.index);
  };
  EXPECT_EQ(read("auto"), std::pair(std::optional<Kind>(), 0));
  EXPECT_EQ(read("cuda"), std::pair(std::optional(Kind::Cuda), 0));
  EXPECT_EQ(read("cuda:0"), std::pair(std::optional(Kind::Cuda), 0));
  EXPECT_EQ(read("cuda:13"), std::pair(std::optional(Kind::Cuda), 13));
  EXPECT_EQ(read("emulated"), std::pair(std::optional(Kind::Emulated), 0));
  for (const std::string_view target : emulatedTargets()) {
    const auto [kind, index] = read("emulated:" + std::string(target));
    std::unique_ptr<Device> device;
    ASSERT_TRUE(openDevice(DeviceName{kind, index}, device).ok());
    EXPECT_EQ(device->properties().name, "emulated " + std::string(target));
  }
}

TEST(DeviceName, NamesTheFormsWhenItIsWrong) {
  for (const char* text : {"", "gpu", "Auto", "cuda:", "cuda:-1", "cuda:1x", "cuda:99999999999", "cuda 1",
                           "emulated:", "emulated:sm_80", "emulated:sm_90", "emulated ", " auto"}) {
    DeviceName name{Kind::Cuda, 77};
    const Status status = parseDeviceName(text, name);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << text;
    EXPECT_EQ(status.message(), std::string("must be auto, cuda, cuda:N (GPU N of the driver), emulated, emulated:sm_100a or "
                                            "emulated:sm_90a, but is \"") +
                                    text + "\"");
    EXPECT_EQ(name.index, 77);
  }
  DeviceName name;
  EXPECT_LT(parseDeviceName(std::string(100'000, 'x'), name).message().size(), 300u);
}

TEST(Registry, OpensEmulatedDevicesByNumber) {
  std::unique_ptr<Device> device;
  for (const auto& [number, name] : {std::pair{0, "emulated sm_100a"}, {1, "emulated sm_90a"}}) {
    ASSERT_TRUE(openDevice(Kind::Emulated, number, device).ok());
    EXPECT_EQ(device->properties().name, name);
  }
  for (const int number : {-1, 2}) {
    const Status status = openDevice(Kind::Emulated, number, device);
    EXPECT_EQ(status.code(), StatusCode::NotFound);
    EXPECT_NE(status.message().find("sm_100a, sm_90a"), std::string::npos) << status.message();
  }
}

TEST(Registry, DescribesEmulatedDevicesAsTheEmulatorHasThem) {
  for (const std::string_view target : emulatedTargets()) {
    const Properties properties = emulatedProperties(target);
    const emulator::program::Target& model = *emulator::program::findTarget(target);
    EXPECT_EQ(properties.computeMajor, static_cast<int>(model.computeMajor));
    EXPECT_EQ(properties.computeMinor, static_cast<int>(model.computeMinor));
    EXPECT_EQ(properties.sharedBytesPerBlock, model.device->sharedBytesPerCta);
    EXPECT_EQ(properties.l2Bytes, model.device->l2Bytes);
    EXPECT_GT(properties.globalBytes, 0u);
  }
}

TEST(Registry, PresetsAreUsable) {
  for (const Preset& preset : presets()) {
    EXPECT_GE(preset.properties.multiprocessors, 1u) << preset.name;
    EXPECT_EQ(preset.properties.sharedBytesPerBlock, 232448u) << preset.name;
    EXPECT_EQ(hasTensorMemory(preset.properties), preset.properties.computeMajor != 9) << preset.name;
  }
}

}  // namespace
}  // namespace shiftconv::device::tests
