#include "conv/planner/kernel_cache.hpp"

#include <mutex>

namespace shiftconv::plan {

Status KernelCache::find(const PlannedLaunch& launch, const device::Kernel*& kernel) {
  {
    const std::shared_lock reading(mutex_);
    if (const auto found = kernels_.find(launch.kernel); found != kernels_.end()) {
      kernel = found->second;
      return {};
    }
  }
  const std::unique_lock writing(mutex_);
  if (const auto found = kernels_.find(launch.kernel); found != kernels_.end()) {
    kernel = found->second;
    return {};
  }
  auto module = modules_.find(launch.image.name);
  if (module == modules_.end()) {
    const device::Module* loaded = nullptr;
    if (Status status = device_.loadModule(launch.image, loaded); !status.ok()) return status;
    module = modules_.emplace(launch.image.name, loaded).first;
  }
  if (Status status = device_.findKernel(*module->second, launch.kernel, kernel); !status.ok()) return status;
  device_.nameWarps(*kernel, launch.warpRoles);
  kernels_.emplace(launch.kernel, kernel);
  return {};
}

Status KernelCache::prepare(const Plan& plan) {
  for (const PlannedLaunch& launch : plan.launches) {
    const device::Kernel* kernel = nullptr;
    if (Status status = find(launch, kernel); !status.ok()) return status;
  }
  return {};
}

}  // namespace shiftconv::plan
