// The host side of the test kernels: device memory, tensor maps, launch.
#pragma once

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/emulator/tma/tensor_map.hpp"
#include "tests/support/subject.hpp"

namespace shiftconv::tests {

/// One launch of a loaded kernel, with the device memory it needs for as long as this object lives.
class DeviceRun {
 public:
  /// `observe`: who watches the kernel in place of the hazard checker, if anybody.
  DeviceRun(emulator::Emulator& emulator, const emulator::LoadedModule& module, std::string kernel,
            emulator::machine::ObserverFactory observe = {})
      : emulator_(emulator), module_(module), kernel_(std::move(kernel)), observe_(std::move(observe)) {}
  ~DeviceRun();
  DeviceRun(const DeviceRun&) = delete;
  DeviceRun& operator=(const DeviceRun&) = delete;

  template <class T>
  uint64_t upload(const std::vector<T>& values) {
    const uint64_t address = reserve(values.size() * sizeof(T));
    overwrite(address, values);
    return address;
  }
  /// Poisoned memory for results.
  uint64_t reserve(uint64_t bytes);
  void release(uint64_t address);
  /// Writes into memory of upload() or reserve().
  template <class T>
  void overwrite(uint64_t address, const std::vector<T>& values) {
    std::memcpy(emulator_.memory().access(address, values.size() * sizeof(T), 1, true), values.data(), values.size() * sizeof(T));
  }
  template <class T>
  std::vector<T> download(uint64_t address, size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), emulator_.memory().access(address, count * sizeof(T), 1, false), count * sizeof(T));
    return values;
  }
  emulator::Emulator& emulator() const { return emulator_; }
  /// Runs the kernel to its end. `arguments[i]` points at the value of parameter i.
  Observation launch(const emulator::machine::LaunchConfig& config, std::span<const void* const> arguments,
                     const emulator::Options& options);

 private:
  emulator::Emulator& emulator_;
  const emulator::LoadedModule& module_;
  std::string kernel_;
  std::vector<uint64_t> allocations_;
  emulator::machine::ObserverFactory observe_;
};

/// A row-major tensor, dimensions and box innermost first, with the swizzle of the box's width. Throws std::invalid_argument.
emulator::tma::TensorMapImage swizzledMap(emulator::tma::DataType type, uint64_t address, std::vector<uint64_t> dims,
                                          std::vector<uint32_t> box);

/// "" or the first element that differs, by its bits.
template <class T>
std::string firstDifference(const std::vector<T>& computed, const std::vector<T>& expected, std::string_view what);

/// A problem for a kernel; `run` launches it through a DeviceRun and compares with the host reference.
struct KernelTrial {
  std::string name;
  std::function<Observation(DeviceRun& run, const emulator::Options& options)> run;
};

/// `ptx` is the text of a module with `kernel` in it.
Subject makeSubject(std::string kernel, std::string ptx, std::vector<KernelTrial> trials);

}  // namespace shiftconv::tests
