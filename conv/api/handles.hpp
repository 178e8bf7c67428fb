// What the opaque handles of the C API point at.
#pragma once

#include <shiftconv/shiftconv.h>

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>

#include "common/device/device.hpp"
#include "common/device/emulated_device.hpp"
#include "conv/plan/plan.hpp"

struct shiftconv_plan {
  std::shared_ptr<const shiftconv::plan::Plan> plan;
};

struct shiftconv_device {
 public:
  explicit shiftconv_device(std::unique_ptr<shiftconv::device::Device> opened) : device_(std::move(opened)) {}

  shiftconv::device::Device& device() { return *device_; }
  /// nullptr on GPUs.
  shiftconv::device::EmulatedDevice* emulated() { return dynamic_cast<shiftconv::device::EmulatedDevice*>(device_.get()); }

  /// The plan's kernel on this device; loaded on first use, afterwards a look-up that does not allocate.
  shiftconv::Status kernelOf(const shiftconv::plan::Plan& plan, const shiftconv::device::Kernel*& kernel);

 private:
  std::unique_ptr<shiftconv::device::Device> device_;
  std::shared_mutex mutex_;  ///< guards the maps
  std::map<std::string, const shiftconv::device::Module*, std::less<>> modules_;
  std::map<std::string, const shiftconv::device::Kernel*, std::less<>> kernels_;
};
