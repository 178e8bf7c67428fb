// Devices, plans and bindings that outlive a call, for the targets of the XLA FFI.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <shiftconv/shiftconv.hpp>
#include <string>
#include <string_view>

namespace shiftconv::runtimes::jax {

/// Addresses of a call's tensors: input, filter, bias, residual, channel scale, output; nullptr where the problem has none.
using Addresses = std::array<const void*, 6>;

/// A problem with its plan on one device.
class PlannedProblem {
 public:
  PlannedProblem(const Convolution& problem, const Device& device, const PlanOptions& options);

  const Convolution& problem() const { return problem_; }
  const TensorBytes& bytes() const { return bytes_; }
  /// The binding to these addresses: one of the last kMostBindings, or a new one.
  std::shared_ptr<const Binding> bindingTo(const Addresses& addresses);
  /// Binds and runs once.
  void run(const Addresses& addresses) const;

 private:
  static constexpr size_t kMostBindings = 64;

  Convolution problem_;
  const Device& device_;
  Plan plan_;
  TensorBytes bytes_;
  std::mutex mutex_;  ///< guards the bindings
  std::map<Addresses, std::shared_ptr<const Binding>> bindings_;
};

/// An open device and the plans made for it. Lives until the process ends.
class PlanningDevice {
 public:
  explicit PlanningDevice(const std::string& name) : device_(name), properties_(device_.properties()) {}

  const Device& device() const { return device_; }
  Device& device() { return device_; }
  /// `text` is a problem as shiftconv_problem_parse reads it; " | algorithm NAME" and " | options LIST" may follow. Throws Error.
  PlannedProblem& plan(std::string_view text);

 private:
  Device device_;
  DeviceProperties properties_;
  std::shared_mutex mutex_;  ///< guards the plans
  std::map<std::string, PlannedProblem, std::less<>> plans_;
};

/// GPU `ordinal` of the CUDA driver, opened on first use.
PlanningDevice& gpu(int ordinal);
/// The emulated device that SHIFTCONV_DEVICE names. Throws Error where it names none.
PlanningDevice& emulated();

}  // namespace shiftconv::runtimes::jax
