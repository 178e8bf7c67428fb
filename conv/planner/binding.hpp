// A plan with its tensors' addresses on a device: kernels loaded, tensor maps encoded, parameters filled in, once.
#pragma once

#include <memory>
#include <vector>

#include "common/device/device.hpp"
#include "conv/plan/plan.hpp"
#include "conv/planner/kernel_cache.hpp"

namespace shiftconv::plan {

using TensorAddresses = PerTensor<device::Address>;

/// A device of the compute capability that the plan was made for.
Status checkDevice(const Plan& plan, const device::Properties& properties);

/// Aligned, present exactly where the plan has one (where one is optional, also absent), and nothing written has a byte of anything
/// else. The message names the tensor.
Status checkTensors(const Plan& plan, const TensorAddresses& tensors);

/// Of one launch: all parameters, each rounded up to 128 bytes, and how many there are.
inline constexpr size_t kMostParameterBytes = 4096, kMostParameters = 16;

/// Binds and runs once. Allocates nothing once the cache has the plan's kernels.
Status runOnce(const Plan& plan, KernelCache& kernels, const TensorAddresses& tensors, device::Stream stream);

/// Immutable once made; may run on several threads and streams at once. The device, the cache and the tensors must outlive it.
class Binding {
 public:
  /// Checks device and tensors first.
  static Status make(std::shared_ptr<const Plan> plan, KernelCache& kernels, const TensorAddresses& tensors,
                     std::unique_ptr<Binding>& binding);

  /// Enqueues the plan's launches and nothing else: no allocation, no synchronisation.
  Status run(device::Stream stream) const;
  /// The same once with other tensors, which it checks first: no allocation, no synchronisation, no lock.
  Status run(const TensorAddresses& tensors, device::Stream stream) const;

  const Plan& plan() const { return *plan_; }

 private:
  struct Launch {
    const device::Kernel* kernel = nullptr;
    LaunchConfig config;
    std::vector<layout::TensorMapImage> storage;  ///< every parameter starts at a multiple of 128 bytes
    std::vector<const void*> arguments;
  };

  std::shared_ptr<const Plan> plan_;
  device::Device* device_ = nullptr;
  std::vector<Launch> launches_;
};

}  // namespace shiftconv::plan
