// The `depthwise` engine: one filter for each channel. See conv/algorithms/depthwise/depthwise.cu for the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/device/device.hpp"
#include "common/launch.hpp"
#include "common/layout/tensor_map.hpp"
#include "conv/algorithms/depthwise/params.hpp"
#include "conv/plan/rates.hpp"
#include "conv/problem/problem.hpp"

namespace shiftconv::plan {

struct DepthwisePlan {
  kernels::depthwise::Params params{};  ///< bias, filter and output are filled in per run
  layout::TiledMap input{}, output{}, residual{};
  LaunchConfig launch{};
  bool full = false;    ///< the whole epilogue, without `output` and `residual`
  bool scales = false;  ///< another epilogue than the whole one reads params.epilogue, too
  std::string kernelName;
  double waves = 0;
  double modelledClocks = 0;
  Resource bound = Resource::DeviceMemory;

  std::string describe() const;
};

/// Empty when the engine can run the problem, else one sentence naming field and limit.
std::string depthwiseRefusal(const Problem& problem, const device::Properties& properties);
/// Requires depthwiseRefusal(...) to be empty.
DepthwisePlan planDepthwise(const Problem& problem, const device::Properties& properties);

/// Names of a CTA's warps, for counters and profiles.
std::vector<std::string> depthwiseWarpRoles();

}  // namespace shiftconv::plan
