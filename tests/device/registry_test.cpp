#include "common/device/registry.hpp"

#include <gtest/gtest.h>

#include "common/device/cuda_device.hpp"

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
}

TEST(Registry, PrefersTensorMemoryAndSaysWhyItHasNone) {
  std::unique_ptr<Device> device;
  std::string note;
  ASSERT_TRUE(openPreferredDevice(device, note).ok());
  ASSERT_TRUE(device);
  EXPECT_TRUE(hasTensorMemory(device->properties()));
  if (device->properties().kind == Kind::Emulated) {
    EXPECT_NE(note.find("emulated device"), std::string::npos) << note;
    EXPECT_NE(note.find("Blackwell"), std::string::npos) << note;
  } else {
    EXPECT_TRUE(note.empty()) << note;
  }
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

TEST(Registry, PresetsAreUsable) {
  for (const Preset& preset : presets()) {
    EXPECT_GE(preset.properties.multiprocessors, 1u) << preset.name;
    EXPECT_EQ(preset.properties.sharedBytesPerBlock, 232448u) << preset.name;
    EXPECT_EQ(hasTensorMemory(preset.properties), preset.properties.computeMajor != 9) << preset.name;
  }
}

}  // namespace
}  // namespace shiftconv::device::tests
