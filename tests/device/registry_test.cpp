#include "common/device/registry.hpp"

#include <gtest/gtest.h>

#include "common/device/cuda_device.hpp"

namespace shiftconv::device::tests {
namespace {

TEST(Registry, EndsWithTheEmulatedDevice) {
  const auto devices = enumerateDevices();
  ASSERT_FALSE(devices.empty());
  EXPECT_EQ(devices.back().kind, Kind::Emulated);
  for (size_t i = 0; i + 1 < devices.size(); ++i) EXPECT_EQ(devices[i].kind, Kind::Cuda);
}

TEST(Registry, WorksWithoutACudaDriver) {
  int count = 0;
  const Status status = cudaDeviceCount(count);
  if (status.ok()) GTEST_SKIP() << "this machine has a CUDA driver";
  EXPECT_FALSE(status.message().empty());
  EXPECT_EQ(enumerateDevices().size(), 1u);
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

TEST(Registry, RefusesASecondEmulatedDeviceNumber) {
  std::unique_ptr<Device> device;
  EXPECT_EQ(openDevice(Kind::Emulated, 1, device).code(), StatusCode::NotFound);
}

TEST(Registry, PresetsAreUsable) {
  for (const Preset& preset : presets()) {
    EXPECT_GE(preset.properties.multiprocessors, 1u) << preset.name;
    EXPECT_EQ(preset.properties.sharedBytesPerBlock, 232448u) << preset.name;
    EXPECT_EQ(hasTensorMemory(preset.properties), std::string(preset.name) != "H200") << preset.name;
  }
}

}  // namespace
}  // namespace shiftconv::device::tests
