#include "conv/planner/kernel_cache.hpp"

#include <fmt/format.h>

#include <mutex>

namespace shiftconv::plan {

namespace {

#ifdef SHIFTCONV_QUICK_BUILD
constexpr bool kLeavesKernelsOut = true;
#else
constexpr bool kLeavesKernelsOut = false;
#endif

/// `status`, with what to do about it where a build for tests lacks the kernel: the planner takes the same plans in every build.
Status explained(Status status, std::string_view kernel) {
  if (!kLeavesKernelsOut || status.code() != StatusCode::NotFound) return status;
  return {StatusCode::Unsupported,
          fmt::format("this plan's kernel {} is not in this library, which was built for tests without it; ./bootstrap build makes a "
                      "library with all kernels ({})",
                      kernel, status.message())};
}

}  // namespace

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
  if (Status status = device_.findKernel(*module->second, launch.kernel, kernel); !status.ok()) return explained(status, launch.kernel);
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
