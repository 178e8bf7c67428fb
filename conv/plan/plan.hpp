// A plan: how one algorithm computes one problem. Immutable, made without a device, shared by any number of threads.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/device/device.hpp"
#include "conv/plan/problem.hpp"

namespace shiftconv::plan {

/// Device addresses of one run; 0 where there is none.
struct RunTensors {
  device::Address input = 0, filter = 0, bias = 0, output = 0, workspace = 0;
};

class Plan {
 public:
  Plan(const Problem& problem, int computeMajor, int computeMinor)
      : problem_(problem), computeMajor_(computeMajor), computeMinor_(computeMinor) {}
  virtual ~Plan() = default;

  const Problem& problem() const { return problem_; }
  /// Of the device that the plan was made for.
  int computeMajor() const { return computeMajor_; }
  int computeMinor() const { return computeMinor_; }

  virtual std::string_view algorithm() const = 0;
  virtual const std::string& kernelName() const = 0;
  /// Lines about the algorithm's own choices.
  virtual std::string describe() const = 0;
  virtual size_t workspaceBytes() const { return 0; }
  /// The code that holds kernelName().
  virtual device::ModuleImage image() const = 0;
  virtual std::vector<std::string> warpRoles() const = 0;

  /// Enqueues the work. `kernel` is kernelName() on `device`. Checked arguments; no allocation, no synchronisation.
  virtual Status run(device::Device& device, const device::Kernel& kernel, const RunTensors& tensors,
                     device::Stream stream) const = 0;

 private:
  const Problem problem_;
  const int computeMajor_, computeMinor_;
};

}  // namespace shiftconv::plan
