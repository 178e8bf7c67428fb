// Kernels that have been loaded on a device. Each is loaded once.
#pragma once

#include <map>
#include <shared_mutex>
#include <string>

#include "common/device/device.hpp"
#include "conv/plan/plan.hpp"

namespace shiftconv::plan {

/// Belongs to one device, which must outlive it. May be used by several threads at once.
class KernelCache {
 public:
  explicit KernelCache(device::Device& device) : device_(device) {}

  device::Device& device() const { return device_; }
  /// The kernel of a launch, loaded on first use; afterwards a look-up that does not allocate.
  Status find(const PlannedLaunch& launch, const device::Kernel*& kernel);
  /// Loads every kernel of the plan.
  Status prepare(const Plan& plan);

 private:
  device::Device& device_;
  std::shared_mutex mutex_;  ///< guards the maps
  std::map<std::string, const device::Module*, std::less<>> modules_;
  std::map<std::string, const device::Kernel*, std::less<>> kernels_;
};

}  // namespace shiftconv::plan
