// The device under test and its kernels: the emulated device, or with SEAM_ON_GPU the first GPU (tests are skipped when there is
// none of a compute capability that the kernels are built for).
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/device/registry.hpp"
#include "seam_kernels_image.hpp"

namespace shiftconv::device::tests {

#define ASSERT_SUCCESS(call)                                         \
  do {                                                               \
    const ::shiftconv::Status status_ = (call);                      \
    ASSERT_TRUE(status_.ok()) << #call << ": " << status_.message(); \
  } while (false)

class SeamTest : public testing::Test {
 protected:
  void SetUp() override {
#ifdef SEAM_ON_GPU
    const std::vector<Properties> devices = enumerateDevices();
    if (devices[0].kind != Kind::Cuda || devices[0].computeMajor < 9 || devices[0].computeMajor > 11)
      GTEST_SKIP() << "no GPU of compute capability 9.0, 10.x or 11.0";
    ASSERT_SUCCESS(openDevice(Kind::Cuda, 0, device_));
#else
    ASSERT_SUCCESS(openDevice(Kind::Emulated, 0, device_));
#endif
  }

  void TearDown() override {
    for (Address address : allocations_) EXPECT_TRUE(device_->release(address).ok());
  }

  static ModuleImage image() { return images::seam_kernels(); }

  const Kernel* kernel(const char* name) {
    if (!module_) {
      Status status = device_->loadModule(image(), module_);
      EXPECT_TRUE(status.ok()) << status.message();
      if (!status.ok()) return nullptr;
    }
    const Kernel* found = nullptr;
    Status status = device_->findKernel(*module_, name, found);
    EXPECT_TRUE(status.ok()) << status.message();
    return found;
  }

  template <class Element>
  Address upload(const std::vector<Element>& values, Stream stream = 0) {
    const Address address = memory(values.size() * sizeof(Element));
    EXPECT_TRUE(device_->copyToDevice(address, values.data(), values.size() * sizeof(Element), stream).ok());
    return address;
  }

  Address memory(size_t bytes) {
    Address address = 0;
    Status status = device_->allocate(bytes, address);
    EXPECT_TRUE(status.ok()) << status.message();
    allocations_.push_back(address);
    return address;
  }

  template <class Element>
  std::vector<Element> download(Address address, size_t count, Stream stream = 0) {
    std::vector<Element> values(count);
    Status status = device_->copyToHost(values.data(), address, count * sizeof(Element), stream);
    EXPECT_TRUE(status.ok()) << status.message();
    status = device_->synchronize(stream);
    EXPECT_TRUE(status.ok()) << status.message();
    return values;
  }

  static LaunchConfig grid(uint32_t blocks, uint32_t threads, uint32_t sharedBytes = 0, uint32_t cluster = 1) {
    LaunchConfig config;
    config.grid.x = blocks;
    config.block.x = threads;
    config.cluster.x = cluster;
    config.dynamicSharedBytes = sharedBytes;
    return config;
  }

  std::unique_ptr<Device> device_;
  const Module* module_ = nullptr;
  std::vector<Address> allocations_;
};

}  // namespace shiftconv::device::tests
