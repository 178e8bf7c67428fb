// An emulated device that keeps account of memory and streams, and of what is copied into its memory.
#pragma once

#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "common/device/emulated_device.hpp"

namespace shiftconv::tests {

class CountingDevice final : public device::Device {
 public:
  explicit CountingDevice(std::string_view target) : emulated_(target) {}

  std::map<device::Address, size_t> live;  ///< bytes of each allocation that was not released
  std::vector<size_t> allocated;           ///< bytes of every allocation there ever was
  std::set<device::Stream> streams;        ///< that were not destroyed
  std::map<device::Address, std::vector<uint8_t>> copied;
  device::EmulatedDevice& emulated() { return emulated_; }

  const device::Properties& properties() const override { return emulated_.properties(); }
  std::string driverVersion() const override { return emulated_.driverVersion(); }
  Status allocate(size_t bytes, device::Address& address) override {
    Status status = emulated_.allocate(bytes, address);
    if (status.ok()) live[address] = bytes, allocated.push_back(bytes);
    return status;
  }
  Status release(device::Address address) override {
    live.erase(address);
    return emulated_.release(address);
  }
  Status copyToDevice(device::Address destination, const void* source, size_t bytes, device::Stream stream) override {
    copied[destination].assign(static_cast<const uint8_t*>(source), static_cast<const uint8_t*>(source) + bytes);
    return emulated_.copyToDevice(destination, source, bytes, stream);
  }
  Status copyToHost(void* destination, device::Address source, size_t bytes, device::Stream stream) override {
    return emulated_.copyToHost(destination, source, bytes, stream);
  }
  Status fill(device::Address destination, uint8_t value, size_t bytes, device::Stream stream) override {
    return emulated_.fill(destination, value, bytes, stream);
  }
  Status createStream(device::Stream& stream) override {
    Status status = emulated_.createStream(stream);
    if (status.ok()) streams.insert(stream);
    return status;
  }
  Status destroyStream(device::Stream stream) override {
    streams.erase(stream);
    return emulated_.destroyStream(stream);
  }
  Status synchronize(device::Stream stream) override { return emulated_.synchronize(stream); }
  Status time(device::Stream stream, const std::function<Status()>& enqueue, double& seconds) override {
    return emulated_.time(stream, enqueue, seconds);
  }
  Status loadModule(const device::ModuleImage& image, const device::Module*& module) override {
    return emulated_.loadModule(image, module);
  }
  Status findKernel(const device::Module& module, std::string_view name, const device::Kernel*& kernel) override {
    return emulated_.findKernel(module, name, kernel);
  }
  Status launch(const device::Kernel& kernel, const LaunchConfig& config, std::span<const void* const> arguments,
                device::Stream stream) override {
    return emulated_.launch(kernel, config, arguments, stream);
  }
  Status encodeTiled(const device::TiledMap& description, device::TensorMap& map) override {
    return emulated_.encodeTiled(description, map);
  }
  Status encodeIm2col(const device::Im2colMap& description, device::TensorMap& map) override {
    return emulated_.encodeIm2col(description, map);
  }

 private:
  device::EmulatedDevice emulated_;
};

}  // namespace shiftconv::tests
