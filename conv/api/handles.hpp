// What the opaque handles of the C API stand for. A handle is a number, not an address: it says of what kind it is, and no number
// is used twice, so that a handle that was closed, or one of another kind, is recognised without touching freed memory.
#pragma once

#include <shiftconv/shiftconv.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "common/device/device.hpp"
#include "conv/plan/plan.hpp"
#include "conv/planner/binding.hpp"
#include "conv/planner/kernel_cache.hpp"

namespace shiftconv::api {

/// What a shiftconv_device_t stands for.
class OpenDevice {
 public:
  explicit OpenDevice(std::unique_ptr<device::Device> opened) : device_(std::move(opened)), kernels_(*device_) {}

  device::Device& device() { return *device_; }
  /// nullptr on GPUs.
  device::Emulation* emulation() { return device_->emulation(); }
  plan::KernelCache& kernels() { return kernels_; }

  /// Set when the handle is closed while bindings still hold the device.
  void close() { closed_ = true; }
  bool closed() const { return closed_; }

 private:
  std::unique_ptr<device::Device> device_;
  plan::KernelCache kernels_;
  std::atomic<bool> closed_ = false;
};

/// What a shiftconv_plan_t stands for.
struct OpenPlan {
  std::shared_ptr<const plan::Plan> plan;
  std::string kernelName, algorithm;
};

/// What a shiftconv_binding_t stands for.
struct OpenBinding {
  std::shared_ptr<OpenDevice> device;
  std::unique_ptr<plan::Binding> binding;  ///< goes before the device
};

enum class HandleKind : uint8_t { Device = 1, Plan = 2, Binding = 3 };

namespace detail {
/// The number of a new handle.
uintptr_t newHandle(HandleKind kind);
/// Why `handle` is not a live handle of this kind.
Status notALiveHandle(uintptr_t handle, HandleKind kind, const char* argument);
}  // namespace detail

/// The live handles of one kind. May be used by several threads at once.
template <class Handle, class Object, HandleKind kKind>
class HandleTable {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const std::unique_lock writing(mutex_);
    const uintptr_t number = detail::newHandle(kKind);
    objects_.emplace(number, std::move(object));
    return reinterpret_cast<Handle>(number);
  }

  /// Does not allocate unless it fails. `argument` is what the failing sentence calls it.
  Status find(Handle handle, const char* argument, std::shared_ptr<Object>& object) const {
    const auto number = reinterpret_cast<uintptr_t>(handle);
    const std::shared_lock reading(mutex_);
    const auto found = objects_.find(number);
    if (found == objects_.end()) return detail::notALiveHandle(number, kKind, argument);
    object = found->second;
    return {};
  }

  Status remove(Handle handle, const char* argument, std::shared_ptr<Object>& object) {
    const auto number = reinterpret_cast<uintptr_t>(handle);
    const std::unique_lock writing(mutex_);
    const auto found = objects_.find(number);
    if (found == objects_.end()) return detail::notALiveHandle(number, kKind, argument);
    object = std::move(found->second);
    objects_.erase(found);
    return {};
  }

 private:
  mutable std::shared_mutex mutex_;
  std::unordered_map<uintptr_t, std::shared_ptr<Object>> objects_;
};

HandleTable<shiftconv_device_t, OpenDevice, HandleKind::Device>& devices();
HandleTable<shiftconv_plan_t, OpenPlan, HandleKind::Plan>& plans();
HandleTable<shiftconv_binding_t, OpenBinding, HandleKind::Binding>& bindings();

}  // namespace shiftconv::api
