// Device memory for tests that speak to a device through the seam.
#pragma once

#include <bit>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "common/device/device.hpp"
#include "tests/gemm/epilogue_judge.hpp"

namespace shiftconv::tests {

/// Throws what the status says.
inline void check(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

/// Device memory that goes away with the run.
class DeviceMemory {
 public:
  explicit DeviceMemory(device::Device& device) : device_(device) {}
  ~DeviceMemory() {
    for (const device::Address address : addresses_) static_cast<void>(device_.release(address));
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  template <class Pointer, class Element>
  Pointer upload(const std::vector<Element>& values) {
    if (values.empty()) return Pointer{};
    const device::Address address = reserve(values.size() * sizeof(Element));
    check(device_.copyToDevice(address, values.data(), values.size() * sizeof(Element), 0));
    return std::bit_cast<Pointer>(address);
  }
  template <class Pointer>
  Pointer poisoned(size_t bytes) {
    if (bytes == 0) return Pointer{};
    const device::Address address = reserve(bytes);
    check(device_.fill(address, std::to_integer<uint8_t>(kPoison), bytes, 0));
    return std::bit_cast<Pointer>(address);
  }
  std::vector<std::byte> download(const void* address, size_t bytes) {
    std::vector<std::byte> values(bytes);
    if (bytes != 0) check(device_.copyToHost(values.data(), std::bit_cast<device::Address>(address), bytes, 0));
    return values;
  }

 private:
  device::Address reserve(size_t bytes) {
    device::Address address = 0;
    check(device_.allocate(bytes, address));
    addresses_.push_back(address);
    return address;
  }
  device::Device& device_;
  std::vector<device::Address> addresses_;
};

}  // namespace shiftconv::tests
