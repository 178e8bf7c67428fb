// The `grouped` engine: convolutions with 2 to 16 channels a group. See conv/algorithms/grouped/grouped.cu for the
// kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "common/launch.hpp"
#include "common/layout/tensor_map.hpp"
#include "conv/algorithms/grouped/params.hpp"
#include "conv/plan/rates.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

struct GroupedPlan {
  kernels::grouped::Params params{};  ///< bias and filter are filled in per run
  bool scales = false;                ///< 8-bit operands, short epilogues: Params::epilogue in place of bias and relu
  layout::TiledMap input{}, output{};
  LaunchConfig launch{};
  std::string kernelName;
  double waves = 0;
  double modelledClocks = 0;
  Resource bound = Resource::DeviceMemory;

  std::string describe() const;
};

/// Empty when the engine can run the problem, else one sentence naming field and limit.
std::string groupedRefusal(const Problem& problem, const device::Properties& properties);
/// Requires groupedRefusal(...) to be empty.
GroupedPlan planGrouped(const Problem& problem, const device::Properties& properties);

/// Names of a CTA's warps, for counters and profiles.
std::vector<std::string> groupedWarpRoles();

}  // namespace shiftconv::plan
