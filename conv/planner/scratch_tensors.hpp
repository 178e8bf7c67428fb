// Tensors of a problem on a device, for runs whose results nobody reads.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "common/device/device.hpp"
#include "conv/planner/binding.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

/// Device memory as long as it lives; the device must outlive it.
class ScratchTensors {
 public:
  ScratchTensors(device::Device& device, device::Stream stream) : device_(device), stream_(stream) {}
  ~ScratchTensors();
  ScratchTensors(const ScratchTensors&) = delete;
  ScratchTensors& operator=(const ScratchTensors&) = delete;

  /// All tensors but the workspace, with values in [-1, 1) (u8: to 100, s8: around 0; factors: 1), because multiplying zeros would
  /// take less power, so less time, than multiplying numbers. What runs write is zero.
  Status make(const Problem& problem);
  /// A workspace of so many bytes or more; what was bound to a smaller one must not run again.
  Status makeWorkspace(size_t bytes);
  /// Those that a plan takes.
  TensorAddresses of(const Plan& plan) const;

 private:
  Status fill(TensorName tensor, const std::optional<DataType>& type, size_t bytes);

  device::Device& device_;
  device::Stream stream_;
  TensorAddresses addresses_;
  size_t workspaceBytes_ = 0;
  std::vector<std::vector<std::byte>> patterns_;  ///< must stay until the stream has copied them
};

}  // namespace shiftconv::plan
