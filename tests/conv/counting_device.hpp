// An emulated device that keeps account of memory and streams, and of what is copied into its memory. One of its calls may fail.
#pragma once

#include <cstring>
#include <map>
#include <set>
#include <string>
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
  bool runsKernels = true;  ///< false: launches are noted and do nothing
  int calls = 0;
  int failing = -1;    ///< the call that fails, counted from 0
  std::string failed;  ///< its name
  device::EmulatedDevice& emulated() { return emulated_; }

  const device::Properties& properties() const override { return emulated_.properties(); }
  std::string driverVersion() const override { return emulated_.driverVersion(); }
  Status allocate(size_t bytes, device::Address& address) override {
    Status status = counted("allocate");
    if (status.ok()) status = emulated_.allocate(bytes, address);
    if (status.ok()) live[address] = bytes, allocated.push_back(bytes);
    return status;
  }
  Status release(device::Address address) override {
    live.erase(address);
    const Status status = counted("release");
    return status.ok() ? emulated_.release(address) : status;
  }
  Status copyToDevice(device::Address destination, const void* source, size_t bytes, device::Stream stream) override {
    copied[destination].assign(static_cast<const uint8_t*>(source), static_cast<const uint8_t*>(source) + bytes);
    const Status status = counted("copyToDevice");
    return status.ok() ? emulated_.copyToDevice(destination, source, bytes, stream) : status;
  }
  Status copyToHost(void* destination, device::Address source, size_t bytes, device::Stream stream) override {
    const Status status = counted("copyToHost");
    return status.ok() ? emulated_.copyToHost(destination, source, bytes, stream) : status;
  }
  Status fill(device::Address destination, uint8_t value, size_t bytes, device::Stream stream) override {
    const Status status = counted("fill");
    return status.ok() ? emulated_.fill(destination, value, bytes, stream) : status;
  }
  Status createStream(device::Stream& stream) override {
    Status status = counted("createStream");
    if (status.ok()) status = emulated_.createStream(stream);
    if (status.ok()) streams.insert(stream);
    return status;
  }
  Status destroyStream(device::Stream stream) override {
    streams.erase(stream);
    const Status status = counted("destroyStream");
    return status.ok() ? emulated_.destroyStream(stream) : status;
  }
  Status synchronize(device::Stream stream) override {
    const Status status = counted("synchronize");
    return status.ok() ? emulated_.synchronize(stream) : status;
  }
  Status time(device::Stream stream, const std::function<Status()>& enqueue, double& seconds) override {
    const Status status = counted("time");
    return status.ok() ? emulated_.time(stream, enqueue, seconds) : status;
  }
  Status loadModule(const device::ModuleImage& image, const device::Module*& module) override {
    const Status status = counted("loadModule");
    if (!runsKernels) {
      module = &none_.module;
      return status;
    }
    return status.ok() ? emulated_.loadModule(image, module) : status;
  }
  Status findKernel(const device::Module& module, std::string_view name, const device::Kernel*& kernel) override {
    const Status status = counted("findKernel");
    if (!runsKernels) {
      kernel = &none_.kernel;
      return status;
    }
    return status.ok() ? emulated_.findKernel(module, name, kernel) : status;
  }
  Status launch(const device::Kernel& kernel, const LaunchConfig& config, std::span<const void* const> arguments,
                device::Stream stream) override {
    const Status status = counted("launch");
    return status.ok() && runsKernels ? emulated_.launch(kernel, config, arguments, stream) : status;
  }
  Status encodeTiled(const device::TiledMap& description, device::TensorMap& map) override {
    const Status status = counted("encodeTiled");
    return status.ok() ? emulated_.encodeTiled(description, map) : status;
  }
  Status encodeIm2col(const device::Im2colMap& description, device::TensorMap& map) override {
    const Status status = counted("encodeIm2col");
    return status.ok() ? emulated_.encodeIm2col(description, map) : status;
  }

 private:
  Status counted(const char* name) {
    if (calls++ != failing) return {};
    failed = name;
    return {StatusCode::DeviceError, failed + " fails"};
  }

  struct Nothing {
    struct : device::Module {
    } module;
    struct : device::Kernel {
    } kernel;
  };
  Nothing none_;
  device::EmulatedDevice emulated_;
};

}  // namespace shiftconv::tests
