#include "conv/api/handles.hpp"

#include <mutex>

using namespace shiftconv;

Status shiftconv_device::kernelOf(const plan::Plan& plan, const device::Kernel*& kernel) {
  {
    const std::shared_lock reading(mutex_);
    if (const auto found = kernels_.find(plan.kernelName()); found != kernels_.end()) {
      kernel = found->second;
      return {};
    }
  }
  const std::unique_lock writing(mutex_);
  if (const auto found = kernels_.find(plan.kernelName()); found != kernels_.end()) {
    kernel = found->second;
    return {};
  }
  const device::ModuleImage image = plan.image();
  auto module = modules_.find(image.name);
  if (module == modules_.end()) {
    const device::Module* loaded = nullptr;
    if (Status status = device_->loadModule(image, loaded); !status.ok()) return status;
    module = modules_.emplace(image.name, loaded).first;
  }
  if (Status status = device_->findKernel(*module->second, plan.kernelName(), kernel); !status.ok()) return status;
  device_->nameWarps(*kernel, plan.warpRoles());
  kernels_.emplace(plan.kernelName(), kernel);
  return {};
}
